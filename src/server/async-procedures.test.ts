import { fileURLToPath } from 'node:url';
import { beforeAll, beforeEach, describe, expect, it } from 'vitest';
import { RunningProcedures } from '../../test/support/running-procedures.ts';
import { present } from '../assert.ts';
import type { FetchOutcome, LaneEnd } from '../module/lane.ts';
import { encodeHttpResponse } from '../protocol/http-abi.ts';
import { callerIdentity } from '../values/identity-roles.ts';
import type { Value } from '../values/value.ts';

const folder = fileURLToPath(new URL('../../test/fixtures/modules/patience', import.meta.url));

const response = {
  kind: 'response',
  head: encodeHttpResponse({ headers: [], version: 'HTTP/1.1', code: 200 }),
  body: new TextEncoder().encode('an answer'),
  url: 'http://words.example/',
  isRedirected: false,
} as const satisfies FetchOutcome;

const ada = { sender: callerIdentity(0xadan), jwtPayload: '{"iss":"i","sub":"ada"}' };
const bob = { sender: callerIdentity(0xb0bn), jwtPayload: '{"iss":"i","sub":"bob"}' };

describe('asynchronous procedures of a module', () => {
  let module: RunningProcedures;
  beforeAll(async () => {
    module = await RunningProcedures.of(folder);
  });
  beforeEach(() => {
    const { link } = module.lane;
    link.asked.length = 0;
    link.cancelled.length = 0;
    link.callers.length = 0;
    link.fetch = () => ({ kind: 'failed', message: 'asked to wait' });
  });

  /** Completes what is waited for, in order, until the call has ended. */
  function finish(number: number, outcome?: FetchOutcome): LaneEnd {
    for (;;) {
      const ended = module.lane.complete(outcome);
      const own = ended.find(({ call }) => call === number);
      if (own !== undefined) return own.end;
    }
  }

  function value(name: string, args: Value[] = [], outcome?: FetchOutcome): Value {
    return module.valueOf(name, finish(module.begin(name, args), outcome));
  }

  const notes = () => module.value('notes') as string[];

  it('[living 2.2] wait, and then return', () => {
    const first = module.begin('nap', [10, 'first']);
    const second = module.begin('nap', [2.5, 'second']);
    expect(module.lane.link.asked).toMatchObject([
      { call: first, operation: { kind: 'sleep', micros: 10_000n } },
      { call: second, operation: { kind: 'sleep', micros: 2_500n } },
    ]);
    // The second is the first to go on.
    module.lane.link.asked.reverse();
    module.lane.logs.length = 0;
    const [ended] = module.lane.complete();
    expect([ended?.call, module.valueOf('nap', ended?.end)]).toEqual([second, 'second']);
    expect(module.lane.logs).toMatchObject([{ message: 'slept second', functionName: 'nap' }]);
    expect(module.valueOf('nap', finish(first))).toBe('first');
    expect(value('long')).toEqual([]);
  });

  it('[living 2.2] return at once where they have nothing to wait for', () => {
    expect(module.value('bodies')).toEqual([
      '201 application/json tea',
      '4 false true',
      'TypeError: the body was read already: it can be read once',
      '2',
      '3',
      'null',
    ]);
  });

  it('[living 2.2] fail with what they throw, wherever they are', () => {
    expect(finish(module.begin('fails'))).toMatchObject({
      kind: 'failed',
      message: 'Uncaught TypeError: a bug',
      trace: [{ moduleName: expect.stringMatching(/^src\/index\.ts:\d+:\d+$/) }],
    });
    expect(finish(module.begin('wrong'))).toMatchObject({
      kind: 'failed',
      message: expect.stringContaining('procedure `wrong` must return U32'),
    });
  });

  it('[living 2.2] act for their own caller, whichever call goes on in between', () => {
    const [one, two] = [module.begin('steps', [2], ada), module.begin('steps', [2], bob)];
    expect(module.lane.complete()).toEqual([]);
    expect(module.lane.complete()).toEqual([]);
    const ends = [...module.lane.complete(), ...module.lane.complete()];
    expect(ends.map(({ call }) => call)).toEqual([one, two]);
    expect(module.valueOf('steps', ends[0]?.end)).toEqual(['ada', 'ada', 'ada']);
    expect(module.valueOf('steps', ends[1]?.end)).toEqual(['bob', 'bob', 'bob']);
    // A reducer and two transactions for each step.
    const own = [one, one, one];
    const other = [two, two, two];
    expect(module.lane.link.callers).toEqual([
      ...own,
      ...other,
      ...own,
      ...other,
      ...own,
      ...other,
    ]);
    const written = notes().filter((text) => text.startsWith('tx '));
    const expected = [0, 1, 2].flatMap((step) => [`tx ${step} of 0ada`, `tx ${step} of 0b0b`]);
    expect(written).toEqual(expected);
  });

  it('[living 2.2] act for their own caller when another call resolves what they wait for', () => {
    const opener = module.begin('openLater', ['tea'], bob);
    const waiting = module.begin('wait', [], ada);
    const ended = module.lane.complete();
    expect(ended.map(({ call }) => call).sort()).toEqual([opener, waiting]);
    const own = ended.find(({ call }) => call === waiting);
    expect(module.valueOf('wait', own?.end)).toBe('tea for 0ada');
  });

  it('[living 2.2] go on when a synchronous procedure resolves what they wait for', () => {
    const pause = module.begin('nap', [1, 'pause']);
    const waiting = module.begin('wait', [], ada);
    expect(module.value('open', ['coffee'], bob)).toBe('0b0b');
    const [ended] = module.lane.runner.takeEnded();
    expect([ended?.call, module.valueOf('wait', ended?.end)]).toEqual([waiting, 'coffee for 0ada']);
    finish(pause);
  });

  it.each(['withTx', 'read', 'call', 'random', 'http'])(
    '[living 2.2] cannot be used by others once they have ended: %s',
    (how) => {
      finish(module.begin('keep', [], ada));
      const text = 'NotInTransaction: the call of this `ctx` has ended: it cannot be used any more';
      expect(module.value('misuse', [how], bob)).toBe(text);
    },
  );

  it.each(['fetch', 'sleep'])('[living 2.2] wait for nothing once they have ended: %s', (how) => {
    finish(module.begin('keep', [], ada));
    expect(module.value('misuseLater', [how], bob)).toMatch(/^NotInTransaction: the call of this /);
  });

  it('[living 2.2] are who they are, also for another call that has their context', () => {
    const kept = module.begin('keep', [], ada);
    expect(module.value('misuse', ['withTx'], bob)).toBe('0ada');
    expect(module.value('misuse', ['inside'], bob)).toMatch(/^WouldBlockTransaction: /);
    finish(kept);
  });

  it('[living 2.6] fail at once when nothing can resolve what they wait for', () => {
    const message = expect.stringContaining('awaits a promise that nothing will resolve');
    expect(module.run('never').end).toMatchObject({ kind: 'failed', message });
    // As long as another call waits for something, that may resolve it.
    const pause = module.begin('nap', [1, 'pause']);
    const waiting = module.begin('wait');
    const ended = module.lane.complete();
    expect(ended.map(({ call }) => call)).toEqual([pause, waiting]);
    expect(ended[1]?.end).toMatchObject({ kind: 'failed', message });
  });

  it('[module-sdk 6.4] draw nothing twice, and see time pass', () => {
    expect(new Set(value('draws') as number[]).size).toBe(3);
    const [before, after, accepted] = value('clock') as bigint[];
    expect((before as bigint) * 1_000n).toBeLessThanOrEqual(accepted as bigint);
    expect(after).toBeGreaterThan(before as bigint);
  });

  it('[living 2.8] are notified when nobody waits for them, and can tidy up', () => {
    const number = module.begin('tidy');
    module.lane.runner.abort(number, 'the caller is gone');
    const [ended] = module.lane.runner.takeEnded();
    const why = 'AbortError: the call was aborted: the caller is gone';
    expect(module.valueOf('tidy', ended?.end)).toBe(`true heard true ${why}; ${why}`);
    expect(notes()).toContain('tidied');
    expect(module.lane.link.cancelled).toHaveLength(1);
    // It has ended.
    module.lane.runner.abort(number, 'the caller is gone');
    expect(module.lane.runner.takeEnded()).toEqual([]);
  });

  it('[living 2.6] are dropped alone', () => {
    const [dropped, other] = [module.begin('nap', [1, 'one']), module.begin('nap', [1, 'other'])];
    module.lane.runner.drop(dropped);
    expect(module.lane.runner.takeEnded()).toEqual([]);
    expect(module.lane.link.cancelled).toHaveLength(1);
    expect(module.lane.complete()).toEqual([]);
    expect(module.valueOf('nap', finish(other))).toBe('other');
  });

  const many = '1024 requests and sleeps of this call are waiting; await some of them first';
  const blocked =
    'WouldBlockTransaction: Attempted async or blocking op while holding open a transaction';
  it.each([
    ['nan', 'TypeError: `ctx.sleep` takes a TimeDuration or milliseconds, not NaN'],
    ['tooMany', `HostCallFailure: ${many}`],
    ['tooManyRequests', `HttpError: ${many}`],
    ['inside', 'TypeError: The body of `withTx` returned a promise: it must be synchronous.'],
    ['fetchInside', blocked],
    ['controller', 'Error: changed my mind'],
    ['aborted', 'AbortError: this operation was aborted'],
    ['any', 'AbortError: this operation was aborted'],
    ['redirect', 'TypeError: redirect: never is none of follow, error, manual'],
    ['made', 'TypeError: use `new AbortController().signal`'],
  ])('[living 2.2] fail as they should: %s', (what, text) => {
    expect(module.value('attempt', [what])).toBe(text);
  });

  it('[living 2.2] wait for the first, or for all', () => {
    expect(value('attempt', ['race'])).toBe('first');
    expect(module.lane.link.cancelled).toHaveLength(1);
    module.lane.link.asked.length = 0;
    expect(value('attempt', ['all'])).toBe('one,two,three');
  });

  it('[living 2.2] wait no longer than a signal says', () => {
    const number = module.begin('attempt', ['timeout']);
    const asked = module.lane.link.asked.map(({ operation }) => operation);
    expect(asked).toEqual([
      { kind: 'sleep', micros: 20_000n },
      { kind: 'sleep', micros: 60_000_000n },
    ]);
    const text = 'TimeoutError: the time of the signal is over';
    expect(module.valueOf('attempt', finish(number))).toBe(text);
    expect(module.lane.link.cancelled).toHaveLength(1);
  });

  it('[living 2.2, module-sdk 6.4] send requests, and read what they are answered', () => {
    const number = module.begin('ask', ['http://words.example/en']);
    const asked = present(module.lane.link.asked[0]?.operation, 'a request');
    if (asked.kind !== 'fetch') throw new Error('not a request');
    expect(asked.request).toMatchObject({
      redirect: 'manual',
      head: { method: 'POST', uri: 'http://words.example/en', timeoutMicros: 1_500_000n },
    });
    expect(new TextDecoder().decode(asked.request.body)).toBe('a body');
    const headers = [{ name: 'x-two', value: new TextEncoder().encode('zwei') }];
    const end = finish(number, {
      kind: 'response',
      head: encodeHttpResponse({ headers, version: 'HTTP/1.1', code: 302 }),
      body: new Uint8Array(200_000).fill(65),
      url: 'http://words.example/de',
      isRedirected: true,
    });
    expect(module.valueOf('ask', end)).toEqual([
      '302 false http://words.example/de true true',
      'zwei',
      '200000 200000',
      'TypeError: the body was read already: it can be read once',
    ]);
    expect(value('get', ['http://words.example/'], response)).toBe('200 an answer');
    const failed = { kind: 'failed', message: 'no route' } as const;
    expect(value('get', ['http://words.example/'], failed)).toBe('HttpError: no route');
  });

  it('[living 2.7] send no requests where that is off', () => {
    delete module.lane.link.fetch;
    const text = 'HttpError: module outbound HTTP requests are disabled';
    expect(module.value('get', ['http://words.example/'])).toBe(text);
  });
});

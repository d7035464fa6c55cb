import { fileURLToPath } from 'node:url';
import { beforeAll, beforeEach, describe, expect, it } from 'vitest';
import { calledMicros } from '../../test/support/module-under-test.ts';
import { RunningProcedures } from '../../test/support/running-procedures.ts';
import type { OutboundRequest } from '../module/lane.ts';
import { encodeHttpResponse } from '../protocol/http-abi.ts';

const folder = fileURLToPath(new URL('../../test/fixtures/modules/errands', import.meta.url));

describe('procedures of a module', () => {
  let module: RunningProcedures;
  beforeAll(async () => {
    module = await RunningProcedures.of(folder);
    expect(module.value('add', [1, 'Ada'])).toBe('added');
  });
  beforeEach(() => {
    module.lane.link.commitCount = 0;
    delete module.lane.link.fetch;
  });

  it('[module-sdk 6.4] change and read in transactions of their own', () => {
    const level = module.value('train', [1, 0]) as number;
    expect(module.value('train', [1, 3])).toBe(level + 3);
    expect(module.lane.link.commitCount).toBe(3);
    expect(module.value('nothing')).toEqual([]);
  });

  it('[living 2.4] get the reason why a read was stopped', () => {
    module.lane.link.stopsReads = 'too much was changed';
    expect(module.failure('train', [1, 0])).toContain('too much was changed');
    module.lane.link.stopsReads = undefined;
    expect(module.value('train', [1, 0])).toEqual(expect.any(Number));
  });

  it('[module-sdk 6.4] get the errors of the data', () => {
    expect(module.value('add', [1, 'Other'])).toBe('taken: hero id');
    expect(module.value('add', [2, 'Ada'])).toBe('taken: hero name');
    expect(module.lane.link.commitCount).toBe(0);
  });

  it('[abi 12] throw out of a transaction, which is then rolled back', () => {
    expect(module.failure('train', [7, 1])).toBe('no hero 7');
    expect(module.lane.link.commitCount).toBe(0);
    expect(module.value('train', [1, 1])).toEqual(expect.any(Number));
  });

  it('[module-sdk 6.4] know their caller, also inside of a transaction', () => {
    const sender = 0x5e4dn.toString(16).padStart(64, '0');
    expect(module.value('who')).toEqual([sender, String(calledMicros), 'true', 'no token']);
    const jwtPayload = '{"iss":"i","sub":"s"}';
    expect(module.value('who', [], { jwtPayload })).toMatchObject({ 3: 'token' });
    expect(module.value('who')).toMatchObject({ 3: 'no token' });
  });

  it('[abi 12] see the time of the call, and in a transaction that of the transaction', () => {
    const [accepted, first, second, clock] = module.value('times') as bigint[];
    expect(accepted).toBe(calledMicros);
    expect(clock).toBe((calledMicros / 1000n) * 1000n);
    expect(first).toBeGreaterThan(calledMicros);
    expect(second).toBeGreaterThan(first as bigint);
  });

  it('[module-sdk 6.4] never draw the same twice', () => {
    expect(new Set(module.value('draw') as number[]).size).toBe(4);
    const [first, second] = module.value('ids') as string[];
    expect((first as string) < (second as string)).toBe(true);
  });

  it('[living 2.4] call reducers, with their values and errors', () => {
    const level = module.value('train', [1, 0]) as number;
    expect(module.value('calls', [1, 4])).toBe(`level ${level + 4}`);
    expect(module.value('calls', [1, 11])).toBe('refused TooHigh 11');
    expect(module.value('calls', [5, 1])).toBe('refused Unknown {}');
    expect(module.value('callsByName', ['raise'])).toBe(String(level + 5));
    expect(module.value('callsByName', ['refuse'])).toBe('SenderError: not today');
    const crashed = 'Error: reducer `crash` failed: Uncaught Error: a bug';
    expect(module.value('callsByName', ['crash'])).toBe(crashed);
    const unknown = "TypeError: There is no reducer with the name 'train'";
    expect(module.value('callsByName', ['train'])).toBe(unknown);
  });

  const blocked =
    'WouldBlockTransaction: Attempted async or blocking op while holding open a transaction (17)';
  const off = 'HttpError: module outbound HTTP requests are disabled';
  it.each([
    ['nested', blocked],
    ['readInside', blocked],
    ['callInside', blocked],
    ['fetch', off],
    ['fetchInside', off],
    ['writeInRead', expect.stringMatching(/^TypeError: .*insert/)],
    ['late', expect.stringContaining('NotInTransaction')],
    ['asyncBody', expect.stringContaining('returned a promise: it must be synchronous')],
    ['noReducer', expect.stringContaining('takes a reducer that the module exports')],
  ])('[module-sdk 6.4, abi 12] cannot do this: %s', (what, text) => {
    expect(module.value('attempt', [what])).toEqual(text);
    expect(module.value('attempt', [what])).toEqual(text);
  });

  it('[module-sdk 6.4] cannot send a request inside of a transaction', () => {
    module.lane.link.fetch = () => ({ kind: 'failed', message: 'not reached' });
    expect(module.value('attempt', ['fetchInside'])).toBe(blocked);
    expect(module.value('attempt', ['fetch'])).toBe('HttpError: not reached');
  });

  it('[module-sdk 6.4] send requests and wait for the response', () => {
    const sent: OutboundRequest[] = [];
    module.lane.link.fetch = (request) => {
      sent.push(request);
      const headers = [{ name: 'x-two', value: new TextEncoder().encode('zwei Wörter') }];
      const body = new TextEncoder().encode('x'.repeat(200_000));
      const head = { headers, version: 'HTTP/2', code: 404 } as const;
      const answered = { body, url: request.head.uri, isRedirected: false };
      return { kind: 'response', head: encodeHttpResponse(head), ...answered };
    };
    const long = 'x'.repeat(200_000);
    const reply = module.value('ask', ['https://words.example/en']);
    expect(reply).toEqual(['404', 'false', 'zwei Wörter', long]);
    const [{ head, body } = present()] = sent;
    expect(new TextDecoder().decode(body)).toBe('a body');
    expect(head).toMatchObject({ method: 'POST', uri: 'https://words.example/en' });
    expect(head).toMatchObject({ timeoutMicros: 1_500_000n, version: 'HTTP/1.1' });
    const headers = head.headers.map(({ name, value }) => [name, new TextDecoder().decode(value)]);
    expect(headers).toEqual([
      ['x-one', 'ein Wört'],
      ['accept', 'text/plain'],
    ]);
  });

  it('[abi 12] run a body once more when its commit is refused, and no more than that', () => {
    const warning = 'warn: committing anonymous transaction failed';
    module.lane.link.refusals.push('over quota');
    const once = module.run('retries', [1]);
    expect(once).toMatchObject({ end: { kind: 'returned' }, lines: [warning] });
    expect(module.lane.link.commitCount).toBe(1);
    module.lane.link.refusals.push('over quota', 'still over quota');
    const twice = module.run('retries', [2]);
    expect(twice.lines).toEqual([warning]);
    const message = 'Uncaught Error: transaction retry failed again';
    expect(twice.end).toMatchObject({ kind: 'failed', message });
  });

  it('[abi 12] fail with whatever they throw, a SenderError included', () => {
    expect(module.failure('fails', ['sender'])).toBe('no, thank you');
    expect(module.failure('fails', ['null'])).toBe('Uncaught null');
    const { end } = module.run('fails', ['bug']);
    expect(end).toMatchObject({ kind: 'failed', message: 'Uncaught TypeError: a bug' });
    const [frame] = end.kind === 'failed' ? end.trace : [];
    expect(frame).toMatchObject({ functionName: 'fails' });
  });

  it('[module-sdk 6.4, living 2.2] must return a value of their type, and no promise', () => {
    expect(module.failure('wrong')).toContain('procedure `wrong` must return');
    expect(module.value('promises')).toBe('later');
  });
});

function present(): never {
  throw new Error('nothing was sent');
}

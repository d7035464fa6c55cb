import { Duplex, PassThrough } from 'node:stream';
import { describe, expect, it, vi } from 'vitest';
import { limits } from '../../limits.ts';
import type { FetchOutcome, OutboundRequest } from '../../module/lane.ts';
import type { EnvReader } from '../../module/module-env.ts';
import { encodeHttpRequest, encodeHttpResponse } from '../../protocol/http-abi.ts';
import { type DatabaseIdentity, databaseIdentity } from '../../values/identity-roles.ts';
import type { EnvSource } from '../lanes/lane-env.ts';
import { encodeLaneMessage, type LaneMessage } from '../messages/lane-frames.ts';
import type { Outbound, Sender, WayOptions } from '../outbound/outbound.ts';
import { openWay } from '../outbound/way-requests.ts';
import { KeeperLink } from './keeper-link.ts';
import { ProcessLanes } from './process-lanes.ts';
import { type LaneOwner, LaneService } from './seat-lanes.ts';

const identity = databaseIdentity(5n);
const request: OutboundRequest = {
  head: {
    method: 'GET',
    headers: [],
    timeoutMicros: undefined,
    uri: 'http://a.example/',
    version: 'HTTP/1.1',
  },
  body: new Uint8Array(0),
};
const sent = {
  head: encodeHttpRequest(request.head),
  body: request.body,
  redirect: 'follow',
} as const;

/** Requests that wait until a test answers them. */
class Requests implements Outbound, Sender {
  readonly isEnabled = true;
  readonly asked: {
    readonly database: DatabaseIdentity;
    readonly request: OutboundRequest;
    readonly signal: AbortSignal;
    readonly answer: (outcome: FetchOutcome) => void;
  }[] = [];

  open(database: DatabaseIdentity, options: WayOptions) {
    return openWay(this, database, options);
  }

  fetch(database: DatabaseIdentity, one: OutboundRequest, signal: AbortSignal) {
    return new Promise<FetchOutcome>((answer) => {
      this.asked.push({ database, request: one, signal, answer });
      signal.addEventListener('abort', () => answer({ kind: 'failed', message: 'cancelled' }));
    });
  }
}

/** The gateway's side of a process, with streams in place of its channel. */
function lanesOf(given: {
  readonly places?: LaneService;
  readonly outbound?: Outbound | undefined;
  readonly env?: EnvSource;
}) {
  const {
    env,
    places = new LaneService(),
    outbound = 'outbound' in given ? undefined : new Requests(),
  } = given;
  const [toGateway, toKeeper] = [new PassThrough(), new PassThrough()];
  const broken: string[] = [];
  const entering: number[] = [];
  const stuck = vi.fn();
  const channel = Duplex.from({ readable: toGateway, writable: toKeeper });
  channel.on('error', () => undefined);
  const lanes = new ProcessLanes(channel, {
    identity,
    generation: 3,
    places,
    outbound,
    env,
    entering: (count) => entering.push(count),
    broken: (error) => broken.push(String(error)),
    stuck,
  });
  const send = (...messages: readonly LaneMessage[]) => {
    for (const message of messages) toGateway.write(Buffer.concat(encodeLaneMessage(message)));
  };
  const link = () => {
    const other = Duplex.from({ readable: toKeeper, writable: toGateway });
    other.on('error', () => undefined);
    return new KeeperLink(other, { sendsRequests: true, history: workOn });
  };
  return { lanes, send, link, broken, entering, stuck, toGateway, toKeeper };
}

/** Ends with its task, or when that is stopped, or as if its thread had ended. */
function workOn(task: string, signal: AbortSignal): Promise<string | undefined> {
  if (task === 'lost') return Promise.resolve(undefined);
  if (task !== 'endless') return Promise.resolve(`did ${task}`);
  return new Promise((resolve) => {
    signal.addEventListener('abort', () => resolve('stopped'));
  });
}

const owner = (): LaneOwner & { readonly told: boolean[] } => {
  const told: boolean[] = [];
  return { told, wanted: (isWanted) => void told.push(isWanted) };
};

describe('the lanes of a process', () => {
  it('[living 2.1] have places of the service, in order, and give them back', async () => {
    const places = new LaneService();
    const other = owner();
    places.join(other);
    for (let left = limits.hostLanesMax - 1; left > 0; left -= 1) places.enter(() => undefined);
    const { link: makeLink, entering, lanes } = lanesOf({ places });
    const link = makeLink();
    const mine = owner();
    link.join(mine);
    const begun: number[] = [];
    const withdraws = [1, 2, 3].map((number) => link.enter(() => begun.push(number)));
    await expect.poll(() => [begun, other.told]).toEqual([[1], [true]]);
    await expect.poll(() => mine.told).toEqual([true]);
    withdraws[1]?.();
    link.release();
    await expect.poll(() => begun).toEqual([1, 3]);
    await expect
      .poll(() => [mine.told, other.told])
      .toEqual([
        [true, false],
        [true, false],
      ]);
    expect(entering).toEqual([1, 1]);
    // What is left when the process ends is for others.
    const next = vi.fn();
    places.enter(next);
    expect(next).not.toHaveBeenCalled();
    lanes.end();
    expect(next).toHaveBeenCalledTimes(1);
  });

  it('[history 3.8] come with the tasks on the history of their database', async () => {
    const { lanes, link, broken } = lanesOf({});
    link();
    const stop = new AbortController();
    const never = new AbortController().signal;
    const endless = lanes.history('endless', stop.signal);
    await expect(lanes.history('one', never)).resolves.toBe('did one');
    await expect(lanes.history('lost', never)).resolves.toBe('');
    await expect(lanes.history('endless', AbortSignal.abort())).resolves.toBe('stopped');
    stop.abort();
    await expect(endless).resolves.toBe('stopped');
    const cut = lanes.history('endless', never);
    lanes.end();
    await expect(cut).resolves.toBe('');
    await expect(lanes.history('one', never)).resolves.toBe('');
    expect(broken).toEqual([]);
    const other = lanesOf({});
    other.send({ kind: 'historyDone', id: 1, answer: 'unasked' });
    await expect.poll(() => other.broken).toHaveLength(1);
  });

  it('[living 2.1] give a place back that comes after they no longer want it', async () => {
    const places = new LaneService();
    for (let left = limits.hostLanesMax - 1; left > 0; left -= 1) places.enter(() => undefined);
    const link = lanesOf({ places }).link();
    const begin = vi.fn();
    // Both messages are on their way before the answer to the first.
    link.enter(begin)();
    const next = vi.fn();
    link.enter(next);
    await expect.poll(() => next.mock.calls.length).toBe(1);
    expect(begin).not.toHaveBeenCalled();
  });

  it('[living 2.7] send requests in the name of their database, many at once', async () => {
    const outbound = new Requests();
    const link = lanesOf({ outbound }).link();
    const abort = new AbortController();
    const stranger = databaseIdentity(6n);
    const first = link.fetch(stranger, request, abort.signal);
    const second = link.fetch(stranger, { ...request, body: Uint8Array.of(2) }, abort.signal);
    const third = link.fetch(stranger, request, AbortSignal.abort());
    await expect.poll(() => outbound.asked.length).toBe(3);
    expect(outbound.asked.map(({ database }) => database)).toEqual([identity, identity, identity]);
    expect(outbound.asked[1]?.request.body).toEqual(Uint8Array.of(2));
    expect(await third).toEqual({ kind: 'failed', message: 'cancelled' });
    const head = encodeHttpResponse({ headers: [], version: 'HTTP/1.1', code: 200 });
    const body = Uint8Array.of(1);
    const response = { kind: 'response', head, body, url: 'u', isRedirected: false } as const;
    // Its body is given away.
    outbound.asked[1]?.answer({ ...response, body: Uint8Array.of(1) });
    expect(await second).toEqual(response);
    expect(outbound.asked[0]?.signal.aborted).toBe(false);
    abort.abort();
    expect(await first).toEqual({ kind: 'failed', message: 'cancelled' });
  });

  it('[living 4.2] have the configuration of their database, as it is when they ask', async () => {
    const env = { version: 1, values: { KEY: 'ö', URL: '' }, secrets: ['KEY'], unreadable: [] };
    const answers: (() => void)[] = [];
    const readers: EnvReader[] = [];
    const following = new Set<() => void | Promise<void>>();
    let current = env;
    const source: EnvSource = {
      whole: (asked) => {
        readers.push(asked);
        return new Promise((resolve) => answers.push(() => resolve(current)));
      },
      follow: (_, changed) => {
        following.add(changed);
        return () => following.delete(changed);
      },
    };
    const { link: makeLink, lanes } = lanesOf({ env: source });
    const link = makeLink();
    const changes = vi.fn();
    const unfollow = link.follow(identity, changes);
    const [one, other] = ['1', '2'].map((digit) => ({
      ...{ identity: databaseIdentity(6n), generation: 0 },
      program: digit.repeat(64),
    })) as [EnvReader, EnvReader];
    const first = link.whole(one);
    await expect.poll(() => answers.length).toBe(1);
    const second = link.whole(one);
    const third = link.whole(other);
    const fourth = link.whole(one);
    for (const changed of following) await changed();
    expect(changes).toHaveBeenCalledTimes(1);
    answers[0]?.();
    expect(await first).toEqual(env);
    current = { ...env, version: 2 };
    await expect.poll(() => answers.length).toBe(2);
    answers[1]?.();
    expect([await second, await fourth]).toEqual([current, current]);
    current = { ...env, version: 3 };
    await expect.poll(() => answers.length).toBe(3);
    answers[2]?.();
    expect(await third).toEqual(current);
    // Of which database, and which generation, is not for the process to say.
    const asked = [one, one, other].map(({ program }) => ({ identity, generation: 3, program }));
    expect(readers).toEqual(asked);
    unfollow();
    lanes.end();
    expect(following.size).toBe(0);
  });

  it('[living 6.2] are ended when they ask for the configuration twice at once', async () => {
    const source = { whole: () => new Promise<never>(() => {}), follow: () => () => undefined };
    const { send, broken } = lanesOf({ env: source });
    const program = 'a'.repeat(64);
    send({ kind: 'askEnv', program }, { kind: 'askEnv', program });
    await expect.poll(() => broken).toEqual(['Error: it asks for what it will get']);
  });

  it('[living 2.8] leave no request behind when their process ends', async () => {
    const outbound = new Requests();
    const { lanes, send } = lanesOf({ outbound });
    send({ kind: 'request', id: 1, ...sent });
    await expect.poll(() => outbound.asked.length).toBe(1);
    lanes.end();
    await expect.poll(() => outbound.asked[0]?.signal.aborted).toBe(true);
  });

  it('[living 6.3] that cannot be ended are reported', async () => {
    const { link, stuck } = lanesOf({});
    link().stuck(() => undefined);
    await expect.poll(() => stuck.mock.calls.length).toBe(1);
  });

  it('[living 6.2] get no more answers than they take', async () => {
    const outbound = new Requests();
    const { send, toGateway, toKeeper } = lanesOf({ outbound });
    toKeeper.pause();
    const head = encodeHttpResponse({ headers: [], version: 'HTTP/1.1', code: 200 });
    const answer = (at: number) => {
      const body = new Uint8Array(limits.outboundBodyBytesMax);
      outbound.asked[at]?.answer({ kind: 'response', head, body, url: 'u', isRedirected: false });
    };
    const inFlight = 6;
    for (let id = 1; id <= inFlight; id += 1) send({ kind: 'request', id, ...sent });
    await expect.poll(() => outbound.asked.length).toBe(inFlight);
    for (let at = 0; at < inFlight; at += 1) answer(at);
    await expect.poll(() => toKeeper.writableLength).toBeGreaterThan(0);
    await new Promise((resolve) => setImmediate(resolve));
    send({ kind: 'request', id: 77, ...sent });
    await new Promise((resolve) => setTimeout(resolve, 50));
    expect(outbound.asked).toHaveLength(inFlight);
    toKeeper.resume();
    await expect.poll(() => outbound.asked.length).toBe(inFlight + 1);
    expect(toGateway.destroyed).toBe(false);
  });

  const enter = { kind: 'enter' } as const;
  it.each<[string, readonly LaneMessage[], string]>([
    ['that end before they begin', [{ kind: 'leave' }], 'that has not begun'],
    [
      'beyond those of a database',
      Array.from({ length: 2 * limits.databaseLanesMax + 1 }, () => enter),
      'more lanes',
    ],
    [
      'whose requests have one number',
      [1, 1].map((id) => ({ kind: 'request', id, ...sent }) as const),
      'number of another one',
    ],
    [
      'with too many requests',
      Array.from(
        { length: limits.databaseLanesMax * limits.outboundRequestsMax + 1 },
        (_, at) => ({ kind: 'request', id: at + 1, ...sent }) as const,
      ),
      'too many requests',
    ],
    [
      'whose request has no head',
      [{ kind: 'request', id: 1, ...sent, head: Uint8Array.of(1, 1) }],
      'has broken',
    ],
    ['that speak for the gateway', [{ kind: 'entered' }], 'of the kind `entered`'],
  ])('[living 6.2] have their process ended: %s', async (_what, messages, reason) => {
    const { send, broken } = lanesOf({});
    send(...messages);
    await expect.poll(() => broken).toEqual([expect.stringContaining(reason)]);
  });

  it('[living 6.2] have their process ended for a request where none may be sent', async () => {
    const { send, broken } = lanesOf({ outbound: undefined });
    send({ kind: 'request', id: 1, ...sent });
    await expect.poll(() => broken).toEqual([expect.stringContaining('none may be sent')]);
  });
});

import { MessageChannel } from 'node:worker_threads';
import { afterEach, describe, expect, it, vi } from 'vitest';
import { limits } from '../../limits.ts';
import type { AsyncOutcome, FetchOutcome, OutboundRequest } from '../../module/lane.ts';
import type { RequestMessage } from '../outbound/request-way.ts';
import { LaneOperations, machineSleep } from './lane-operations.ts';
import { LaneSender } from './lane-sender.ts';

const closes: (() => void)[] = [];
afterEach(() => {
  for (const close of closes.splice(0)) close();
});

/** A lane's end of a way, and what has arrived at the other one. */
function way() {
  const { port1, port2 } = new MessageChannel();
  const sent: RequestMessage[] = [];
  const answered: (readonly [number, FetchOutcome])[] = [];
  port1.on('message', (message: RequestMessage) => sent.push(message));
  const answers = new SharedArrayBuffer(4);
  const sender = new LaneSender({ port: port2, renewals: undefined, answers }, (id, outcome) =>
    answered.push([id, outcome]),
  );
  const answer = (id: number) => {
    port1.postMessage([{ id, outcome: outcomeOf(id) }]);
    Atomics.add(new Int32Array(answers), 0, 1);
  };
  closes.push(() => port1.close());
  return { sender, sent, answered, answer };
}

/** A failure says which request it is of. */
const outcomeOf = (id: number): FetchOutcome => ({ kind: 'failed', message: `of ${id}` });

function request(bytes = 0): OutboundRequest {
  const head = { method: 'GET', headers: [], uri: 'http://words.example/', version: 'HTTP/1.1' };
  return {
    head: { ...head, timeoutMicros: undefined } as OutboundRequest['head'],
    body: new Uint8Array(bytes),
  };
}

describe('the requests of a lane', () => {
  it('[living 2.2] are answered by their numbers, in any order', async () => {
    const { sender, sent, answered, answer } = way();
    expect([sender.send(request()), sender.send(request())]).toEqual([1, 2]);
    await vi.waitUntil(() => sent.length === 2);
    expect(sent).toMatchObject([
      { kind: 'send', id: 1, redirect: 'follow' },
      { kind: 'send', id: 2 },
    ]);
    answer(2);
    answer(1);
    await vi.waitUntil(() => answered.length === 2);
    expect(answered).toEqual([
      [2, outcomeOf(2)],
      [1, outcomeOf(1)],
    ]);
  });

  it('[living 2.2] lose no answer and no order to one that blocks', async () => {
    const { sender, answered, answer } = way();
    for (const id of [1, 2, 3]) expect(sender.send(request())).toBe(id);
    for (const id of [3, 1, 4, 2]) answer(id);
    expect(sender.wait(request())).toEqual(outcomeOf(4));
    // The answers that came first are handed over from the event loop.
    expect(answered).toEqual([]);
    await vi.waitUntil(() => answered.length === 3);
    expect(answered.map(([id]) => id)).toEqual([3, 1, 2]);
  });

  it('[living 2.2] are not answered once they are cancelled', async () => {
    const { sender, sent, answered, answer } = way();
    sender.send(request());
    sender.send(request());
    sender.cancel(1);
    await vi.waitUntil(() => sent.length === 3);
    expect(sent[2]).toEqual({ kind: 'cancel', id: 1 });
    answer(1);
    answer(2);
    await vi.waitUntil(() => answered.length === 1);
    expect(answered).toEqual([[2, outcomeOf(2)]]);
  });

  it('[living 2.6] are bounded, and a cancelled one counts until it is answered', async () => {
    const { sender, sent, answered, answer } = way();
    for (let id = 1; id <= limits.outboundRequestsMax; id += 1) sender.send(request());
    sender.cancel(1);
    const text = `error sending request: ${limits.outboundRequestsMax} requests of this database`;
    const refused = { kind: 'failed', message: `${text} are running` };
    const last = sender.send(request());
    expect(sender.wait(request())).toEqual(refused);
    await vi.waitUntil(() => answered.length === 1);
    expect(answered).toEqual([[last, refused]]);
    answer(1);
    answer(2);
    await vi.waitUntil(() => answered.length === 2);
    sender.send(request());
    await vi.waitUntil(() => sent.length === limits.outboundRequestsMax + 2);
  });

  it('[living 2.6] are bounded by their bodies, and sent by giving them away', async () => {
    const { sender, sent, answered } = way();
    const most = limits.outboundBodiesBytesMax / limits.outboundBodyBytesMax;
    const requests = Array.from({ length: most + 1 }, () => request(limits.outboundBodyBytesMax));
    for (const one of requests) sender.send(one);
    await vi.waitUntil(() => answered.length === 1 && sent.length === most);
    const message = 'error sending request: bodies of running requests exceed 256 MiB';
    expect(answered).toEqual([[most + 1, { kind: 'failed', message }]]);
    expect(requests[0]?.body).toHaveLength(0);
    expect(sent[0]).toMatchObject({ body: { length: limits.outboundBodyBytesMax } });
    const large = sender.wait(request(limits.outboundBodyBytesMax + 1));
    expect(large).toMatchObject({ message: expect.stringContaining('larger than 16 MiB') });
  });
});

describe('the operations of a lane', () => {
  it('[living 2.2] are completed once, with their call', async () => {
    const completed: (readonly [number, AsyncOutcome, number])[] = [];
    const { sender, answer } = way();
    const operations = new LaneOperations({
      sender,
      startSleep: machineSleep,
      completed: (...all) => completed.push(all),
    });
    const asked = [
      operations.ask({ kind: 'fetch', request: request() }, 7),
      operations.ask({ kind: 'sleep', micros: 0n }, 8),
      operations.ask({ kind: 'sleep', micros: 2n ** 63n - 1n }, 9),
      operations.ask({ kind: 'fetch', request: request() }, 9),
    ];
    expect(asked).toEqual([1, 2, 3, 4]);
    for (const operation of [3, 4]) operations.cancel(operation);
    operations.answered(1, outcomeOf(1));
    operations.answered(1, outcomeOf(1));
    answer(2);
    await vi.waitUntil(() => completed.length === 2);
    expect(completed).toEqual([
      [1, outcomeOf(1), 7],
      [2, { kind: 'slept' }, 8],
    ]);
    for (const operation of [1, 2, 77]) operations.cancel(operation);
  });

  it('[living 2.2] sleep for no less than they say', async () => {
    const begin = performance.now();
    await new Promise<void>((over) => machineSleep(30_500n, over));
    expect(performance.now() - begin).toBeGreaterThanOrEqual(30.5);
  });
});

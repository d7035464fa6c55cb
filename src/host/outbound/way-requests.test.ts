import { setTimeout as pause } from 'node:timers/promises';
import { afterEach, describe, expect, it, vi } from 'vitest';
import { outdatedText } from '../../database/procedures/running-call.ts';
import { limits } from '../../limits.ts';
import type { FetchOutcome, OutboundRequest } from '../../module/lane.ts';
import { encodeHttpRequest, encodeHttpResponse } from '../../protocol/http-abi.ts';
import { type DatabaseIdentity, databaseIdentity } from '../../values/identity-roles.ts';
import type { OpenWay } from './outbound.ts';
import type { AnswerMessage } from './request-way.ts';
import { openWay } from './way-requests.ts';

interface Sent {
  readonly database: DatabaseIdentity;
  readonly request: OutboundRequest;
  readonly signal: AbortSignal;
  /** Of the event loop, where a test counts them. */
  readonly turn: number;
  answer(outcome: FetchOutcome): void;
}

const database = databaseIdentity(7n);
const open: OpenWay[] = [];
afterEach(() => {
  for (const requests of open.splice(0)) requests.close();
});

/** The requests of a lane without a thread; a test says what comes of them. */
function lane(turn = () => 0, lanes = 1) {
  const sent: Sent[] = [];
  const broken: string[] = [];
  const answers: AnswerMessage[] = [];
  const outbound = {
    fetch: (of: DatabaseIdentity, request: OutboundRequest, signal: AbortSignal) =>
      new Promise<FetchOutcome>((answer) => {
        sent.push({ database: of, request, signal, answer, turn: turn() });
        signal.addEventListener('abort', () => answer({ kind: 'failed', message: 'cancelled' }));
      }),
  };
  const options = { lanes, broken: (message: string) => broken.push(message) };
  const requests = openWay(outbound, database, options);
  open.push(requests);
  const { port, answers: counted } = requests.way;
  port.on('message', (some: AnswerMessage[]) => answers.push(...some));
  const count = () => new Int32Array(counted)[0];
  const post = (message: unknown) => port.postMessage(message);
  return { requests, sent, broken, answers, count, post };
}

const head = encodeHttpRequest({
  method: 'GET',
  headers: [],
  timeoutMicros: undefined,
  uri: 'http://words.example/',
  version: 'HTTP/1.1',
});
const request = { kind: 'send', id: 1, head, body: new Uint8Array(0), redirect: 'follow' } as const;
const response = {
  kind: 'response',
  head: encodeHttpResponse({ headers: [], version: 'HTTP/1.1', code: 204 }),
  body: new Uint8Array(3),
  url: 'http://words.example/',
  isRedirected: false,
} as const;

describe('the requests of a way', () => {
  it('[living 2.7] are sent for its database, and answered before they are counted', async () => {
    const { sent, answers, count, post } = lane();
    for (const number of [1, 2]) {
      post({ ...request, id: number });
      await vi.waitUntil(() => sent.length === number);
      expect(sent[number - 1]).toMatchObject({ database, request: { head: { method: 'GET' } } });
      sent[number - 1]?.answer({ ...response, body: Uint8Array.of(number) });
      await vi.waitUntil(() => answers.length === number);
      const answer = { id: number, outcome: { body: { 0: number } } };
      expect([count(), answers[number - 1]]).toMatchObject([number, answer]);
    }
  });

  it.each([
    ['nothing', null],
    ['text', 'GET /'],
    ['no body', { ...request, body: undefined }],
    ['no number', { ...request, id: undefined }],
    ['number 0', { ...request, id: 0 }],
    ['another kind', { ...request, kind: 'receive' }],
    ['another way with redirects', { ...request, redirect: 'constructor' }],
    ['a head that is none', { ...request, head: Uint8Array.of(200, 1) }],
    ['a head with more behind it', { ...request, head: Uint8Array.of(...head, 0) }],
    ['a long head', { ...request, head: new Uint8Array(4 * limits.outboundHeadBytesMax + 1) }],
    ['a large body', { ...request, body: new Uint8Array(limits.outboundBodyBytesMax + 1) }],
    ['a list as its body', { ...request, body: [1, 2] }],
  ])('[living 2.7] end a lane that sends %s', async (_what, message) => {
    const { sent, broken, post } = lane();
    post(message);
    post(request);
    await vi.waitUntil(() => broken.length > 0);
    await pause(20);
    expect([sent.length, broken.length]).toEqual([0, 1]);
  });

  it('[living 2.6] run at once, and are answered as they come', async () => {
    const { sent, answers, post } = lane();
    for (const id of [1, 2, 3]) post({ ...request, id });
    await vi.waitUntil(() => sent.length === 3);
    for (const at of [1, 2, 0]) sent[at]?.answer({ ...response, body: new Uint8Array(3) });
    await vi.waitUntil(() => answers.length === 3);
    expect(answers.map(({ id }) => id)).toEqual([2, 3, 1]);
  });

  it('[living 2.6] begin a few at a time, so that others come between them', async () => {
    let turn = 0;
    let isOver = false;
    const count = (): void => {
      turn += 1;
      if (!isOver) setImmediate(count);
    };
    count();
    const { sent, post } = lane(() => turn);
    for (let id = 1; id <= 40; id += 1) post({ ...request, id });
    await vi.waitUntil(() => sent.length === 40);
    isOver = true;
    const turns = new Set(sent.map((one) => one.turn));
    expect(turns.size).toBeGreaterThanOrEqual(40 / 4 - 1);
  });

  it('[living 2.2] are cancelled one by one, and answered all the same', async () => {
    const { sent, answers, broken, post } = lane();
    for (const id of [1, 2]) post({ ...request, id });
    for (const id of [1, 77]) post({ kind: 'cancel', id });
    await vi.waitUntil(() => answers.length === 1);
    expect(answers).toEqual([{ id: 1, outcome: { kind: 'failed', message: 'cancelled' } }]);
    expect([sent[0]?.signal.aborted, sent[1]?.signal.aborted, broken]).toEqual([true, false, []]);
    // Its number is free again.
    post(request);
    await vi.waitUntil(() => sent.length === 3);
  });

  it('[living 2.6] end a lane that uses a number twice', async () => {
    const { sent, broken, count, post } = lane();
    post(request);
    post(request);
    await vi.waitUntil(() => broken.length > 0);
    expect(broken).toEqual([
      'The lane of a procedure has broken: a request while one of its number is under way',
    ]);
    expect([sent.length, sent[0]?.signal.aborted, count()]).toEqual([1, true, 0]);
  });

  it('[living 2.6] end a lane that sends more than a lane may', async () => {
    const { sent, broken, post } = lane();
    for (let id = 1; id <= limits.outboundRequestsMax + 1; id += 1) post({ ...request, id });
    await vi.waitUntil(() => broken.length > 0);
    expect(broken).toEqual(['The lane of a procedure has broken: too many requests']);
    expect(sent.length).toBeLessThanOrEqual(limits.outboundRequestsMax);
  });

  it('[living 2.6] are as many as the lanes that share it may send', async () => {
    const { sent, broken, post } = lane(() => 0, 2);
    for (let id = 1; id <= 2 * limits.outboundRequestsMax; id += 1) post({ ...request, id });
    await vi.waitUntil(() => sent.length === 2 * limits.outboundRequestsMax, 10_000);
    post({ ...request, id: 3 * limits.outboundRequestsMax });
    await vi.waitUntil(() => broken.length > 0);
    expect(broken).toEqual(['The lane of a procedure has broken: too many requests']);
  });

  it('[living 2.6] end a lane that sends larger ones than a lane may', async () => {
    const { sent, broken, post } = lane();
    const body = new Uint8Array(limits.outboundBodyBytesMax);
    const most = limits.outboundBodiesBytesMax / body.length;
    for (let id = 1; id <= most + 1; id += 1) post({ ...request, id, body });
    await vi.waitUntil(() => broken.length > 0);
    expect(broken).toEqual(['The lane of a procedure has broken: too large requests']);
    expect(sent.length).toBeLessThanOrEqual(most);
  });

  it('[living 2.8] end with their lane', async () => {
    const { requests, sent, answers, count, post } = lane();
    post(request);
    await vi.waitUntil(() => sent.length === 1);
    requests.close();
    await vi.waitUntil(() => sent[0]?.signal.aborted === true);
    await pause(20);
    expect([answers.length, count()]).toEqual([0, 0]);
  });

  it('[living 2.3] end with their program, and no more are sent', async () => {
    const { requests, sent, answers, post } = lane();
    post(request);
    await vi.waitUntil(() => sent.length === 1);
    requests.replaced();
    await vi.waitUntil(() => answers.length === 1);
    post({ ...request, id: 2 });
    await vi.waitUntil(() => answers.length === 2);
    const outcome = { kind: 'failed', message: outdatedText };
    expect([sent.length, answers]).toEqual([1, [1, 2].map((id) => ({ id, outcome }))]);
  });
});

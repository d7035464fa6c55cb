import { setTimeout as pause } from 'node:timers/promises';
import { afterEach, describe, expect, it, vi } from 'vitest';
import { outdatedText } from '../../database/procedures/running-call.ts';
import { limits } from '../../limits.ts';
import type { FetchOutcome, OutboundRequest } from '../../module/lane.ts';
import { encodeHttpRequest } from '../../protocol/http-abi.ts';
import { type DatabaseIdentity, databaseIdentity } from '../../values/identity-roles.ts';
import { LaneRequests } from './lane-requests.ts';

interface Sent {
  readonly database: DatabaseIdentity;
  readonly request: OutboundRequest;
  readonly signal: AbortSignal;
  answer(outcome: FetchOutcome): void;
}

const database = databaseIdentity(7n);
const open: LaneRequests[] = [];
afterEach(() => {
  for (const requests of open.splice(0)) requests.close();
});

/** The requests of a lane without a thread; a test says what comes of them. */
function lane() {
  const sent: Sent[] = [];
  const broken: string[] = [];
  const answers: FetchOutcome[] = [];
  const outbound = {
    isEnabled: true,
    fetch: (of: DatabaseIdentity, request: OutboundRequest, signal: AbortSignal) =>
      new Promise<FetchOutcome>((answer) => {
        sent.push({ database: of, request, signal, answer });
        signal.addEventListener('abort', () => answer({ kind: 'failed', message: 'cancelled' }));
      }),
  };
  const requests = new LaneRequests(outbound, database, (message) => broken.push(message));
  open.push(requests);
  const { port, answers: counted } = requests.way;
  port.on('message', (outcome: FetchOutcome) => answers.push(outcome));
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
const request = { head, body: new Uint8Array(0) };
const response: FetchOutcome = {
  kind: 'response',
  head: { headers: [], version: 'HTTP/1.1', code: 204 },
  body: new Uint8Array(3),
};

describe('the requests of a lane', () => {
  it('[living 2.7] are sent for its database, and answered before they are counted', async () => {
    const { sent, answers, count, post } = lane();
    for (const number of [1, 2]) {
      post(request);
      await vi.waitUntil(() => sent.length === number);
      expect(sent[number - 1]).toMatchObject({ database, request: { head: { method: 'GET' } } });
      sent[number - 1]?.answer({ ...response, body: Uint8Array.of(number) });
      await vi.waitUntil(() => answers.length === number);
      expect([count(), answers[number - 1]]).toMatchObject([number, { body: { 0: number } }]);
    }
  });

  it.each([
    ['nothing', null],
    ['text', 'GET /'],
    ['no body', { head }],
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

  it('[living 2.6] end a lane that sends one while one is under way', async () => {
    const { sent, broken, count, post } = lane();
    post(request);
    post(request);
    await vi.waitUntil(() => broken.length > 0);
    expect(broken).toEqual([
      'The lane of a procedure has broken: a request while one is under way',
    ]);
    expect([sent.length, sent[0]?.signal.aborted, count()]).toEqual([1, true, 0]);
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
    post(request);
    await vi.waitUntil(() => answers.length === 2);
    const refused = { kind: 'failed', message: outdatedText };
    expect([sent.length, answers]).toEqual([1, [refused, refused]]);
  });
});

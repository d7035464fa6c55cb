import { describe, expect, it } from 'vitest';
import { limits } from '../../limits.ts';
import { encodeHttpRequest, encodeHttpResponse } from '../../protocol/http-abi.ts';
import { encodeLaneMessage, type LaneMessage, LaneMessageReader } from './lane-frames.ts';

function bytesOf(message: LaneMessage): Buffer {
  return Buffer.concat(encodeLaneMessage(message));
}

function read(...chunks: readonly Uint8Array[]): LaneMessage[] {
  const reader = new LaneMessageReader();
  const messages: LaneMessage[] = [];
  for (const chunk of chunks) reader.push(Buffer.from(chunk), (message) => messages.push(message));
  return messages;
}

/** A frame of this kind with this body. */
function frame(kind: number, ...body: readonly number[]): Buffer {
  const head = Buffer.alloc(5);
  head.writeUInt32LE(1 + body.length, 0);
  head[4] = kind;
  return Buffer.concat([head, Buffer.from(body)]);
}

const header = { name: 'x-one', value: Uint8Array.of(1, 255) };
const request = {
  head: encodeHttpRequest({
    method: 'PURGE',
    headers: [header, header],
    timeoutMicros: 7n,
    uri: 'http://a.example/ü',
    version: 'HTTP/1.1',
  }),
  body: Uint8Array.of(0, 1, 2),
  redirect: 'manual',
} as const;
const response = {
  kind: 'response',
  head: encodeHttpResponse({ headers: [header], version: 'HTTP/1.1', code: 418 }),
  body: Uint8Array.of(9),
  url: 'http://b.example/ü',
  isRedirected: true,
} as const;

describe('[living 2.7] messages about lanes', () => {
  const messages: readonly LaneMessage[] = [
    ...(['enter', 'withdraw', 'leave', 'stuck', 'entered'] as const).map((kind) => ({ kind })),
    { kind: 'request', id: 2 ** 32 - 1, ...request },
    { kind: 'request', id: 0, ...request, body: new Uint8Array(200_000).fill(3) },
    { kind: 'abort', id: 3 },
    { kind: 'wanted', isWanted: true },
    { kind: 'wanted', isWanted: false },
    { kind: 'answer', id: 4, outcome: response },
    { kind: 'answer', id: 5, outcome: { kind: 'failed', message: 'nö' } },
    { kind: 'askEnv', program: '0123456789abcdef'.repeat(4) },
    { kind: 'envChanged' },
    { kind: 'history', id: 6, task: '{"kind":"status","holds":["ü"]}' },
    { kind: 'stopHistory', id: 6 },
    { kind: 'historyDone', id: 6, answer: '' },
    { kind: 'envSeen' },
    { kind: 'env', env: { version: 3, values: { KEY: 'ö' }, secrets: ['KEY'], unreadable: [] } },
  ];

  it('arrive as they were sent, however they are cut', () => {
    const all = Buffer.concat(messages.map(bytesOf));
    expect(read(all)).toEqual(messages);
    const cut: Buffer[] = [];
    for (let at = 0; at < all.length; at += 4_097) cut.push(all.subarray(at, at + 4_097));
    expect(read(...cut)).toEqual(messages);
  });

  it('share no memory with the frames that brought them', () => {
    const [message] = read(bytesOf({ kind: 'answer', id: 1, outcome: response }));
    const body = message?.kind === 'answer' && 'body' in message.outcome && message.outcome.body;
    expect(body).toBeInstanceOf(Uint8Array);
    expect((body as Uint8Array).buffer.byteLength).toBe(1);
  });

  it.each<[string, Buffer]>([
    ['of an unknown kind', frame(77)],
    ['with more than belongs to it', frame(1, 0)],
    ['with half a number', frame(5, 1, 0)],
    ['with a program that is cut', frame(10, ...Buffer.from('a'.repeat(63)))],
    ['with a program that is no hash', frame(10, ...Buffer.from('A'.repeat(64)))],
    ['without a program', frame(10)],
    ['with a head that is longer than the frame', frame(4, 1, 0, 0, 0, 0, 9, 0, 0, 0, 1)],
    ['without a head', frame(4, 1, 0, 0, 0)],
    ['with an unknown redirect', frame(4, 1, 0, 0, 0, 7, 0, 0, 0, 0)],
    ['that is empty', Buffer.alloc(4)],
    ['that is too long', Buffer.from([0, 0, 0, 255, 4])],
  ])('are refused, one %s', (_what, bytes) => {
    expect(() => read(bytes)).toThrow();
  });

  it('are refused with a body beyond the limit', () => {
    const body = new Uint8Array(limits.outboundBodyBytesMax + 1);
    const bytes = bytesOf({ kind: 'request', id: 1, ...request, body });
    expect(() => read(bytes)).toThrow(`a body of ${body.length} bytes`);
  });
});

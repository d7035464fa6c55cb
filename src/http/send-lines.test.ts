import { createServer, get, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import { afterEach, expect, it, vi } from 'vitest';
import { limits } from '../limits.ts';
import { sendLines } from './send-lines.ts';

let stop: () => void = () => undefined;
afterEach(() => stop());

/** A server that answers each request with this, and its address. */
async function serve(answer: (outgoing: ServerResponse) => void): Promise<string> {
  const server = createServer((_, outgoing) => answer(outgoing));
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  stop = () => {
    server.closeAllConnections();
    server.close();
  };
  return `http://127.0.0.1:${(server.address() as AddressInfo).port}/`;
}

it('[living 3.3] a large body waits for a client that does not read', async () => {
  const body = new Uint8Array(limits.handlerAnswerBytesMax).fill(7);
  let outgoing: ServerResponse | undefined;
  const url = await serve((response) => {
    outgoing = response;
    sendLines(response, { status: 200, lines: [], body });
  });
  let received = 0;
  const incoming = await new Promise<import('node:http').IncomingMessage>((resolve) => {
    get(url, { agent: false }, resolve);
  });
  // Nothing reads, so the socket fills up, and no more than a piece waits in memory.
  await vi.waitUntil(() => outgoing?.writableNeedDrain === true, { timeout: 20_000 });
  expect(outgoing?.writableLength).toBeLessThanOrEqual(2 * limits.handlerAnswerPieceBytes);
  expect(outgoing?.writableEnded).toBe(false);
  for await (const chunk of incoming) received += (chunk as Buffer).length;
  expect(received).toBe(body.length);
});

it('[http 13] a client that leaves ends it', async () => {
  const body = new Uint8Array(limits.handlerAnswerBytesMax);
  let outgoing: ServerResponse | undefined;
  const url = await serve((response) => {
    outgoing = response;
    sendLines(response, { status: 200, lines: [], body });
  });
  const request = get(url, { agent: false }, (incoming) => incoming.destroy());
  request.on('error', () => undefined);
  await vi.waitUntil(() => outgoing?.destroyed === true, { timeout: 20_000 });
  expect(outgoing?.writableEnded).toBe(false);
});

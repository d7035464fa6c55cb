import { createServer, type ServerResponse } from 'node:http';
import { type AddressInfo, connect, type Socket } from 'node:net';
import { expect, it } from 'vitest';
import { ListenerCopies } from './listener-copies.ts';
import { ServerEnd } from './stop-service.ts';

it('[cli §8] a stop waits for accepted requests, not for connections that never ask', async () => {
  let answer: ServerResponse | undefined;
  const server = createServer((_, response) => {
    answer = response;
  });
  const end = new ServerEnd(server, ListenerCopies.of(server, 0));
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  const { port } = server.address() as AddressInfo;
  const open = () =>
    new Promise<Socket>((resolve) => {
      const socket = connect({ port, host: '127.0.0.1' }, () => resolve(socket));
    });
  const [silent, asking] = [await open(), await open()];
  let text = '';
  asking.on('data', (chunk) => {
    text += chunk;
  });
  asking.write('GET / HTTP/1.1\r\nHost: a\r\n\r\n');
  await expect.poll(() => answer).toBeDefined();
  const isSilentClosed = new Promise((resolve) => silent.on('close', resolve));
  const isEnded = end.close(600_000);
  await isSilentClosed;
  expect(asking.closed).toBe(false);
  answer?.end('here');
  await isEnded;
  await expect.poll(() => text).toMatch(/connection: close[\s\S]*here/i);
});

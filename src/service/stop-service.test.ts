import { createServer, type Server, type ServerResponse } from 'node:http';
import { createServer as createTlsServer } from 'node:https';
import { type AddressInfo, connect, type Socket } from 'node:net';
import { expect, it } from 'vitest';
import { makeCertificate } from '../../test/support/certificate.ts';
import { ListenerCopies } from './listener-copies.ts';
import { ServerEnd } from './stop-service.ts';

it('[cli 8] a stop waits for accepted requests, not for connections that never ask', async () => {
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

it('[cli 8] over TLS a stop does not wait for handshakes either', async () => {
  const server = createTlsServer(makeCertificate()) as unknown as Server;
  const end = new ServerEnd(server, ListenerCopies.of(server, 0));
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  const { port } = server.address() as AddressInfo;
  const isTaken = new Promise((resolve) => server.once('connection', resolve));
  const socket = connect({ port, host: '127.0.0.1' });
  const isClosed = new Promise((resolve) => socket.on('close', resolve));
  await isTaken;
  await end.close(600_000);
  await isClosed;
});

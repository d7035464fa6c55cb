import { createServer, type Server } from 'node:http';
import https from 'node:https';
import { type AddressInfo, connect, type Socket } from 'node:net';
import { afterEach, describe, expect, it } from 'vitest';
import { makeCertificate } from '../../test/support/certificate.ts';
import { ListenerCopies } from './listener-copies.ts';

const ends: (() => void)[] = [];
afterEach(() => {
  for (const end of ends.splice(0)) end();
});

async function listening(): Promise<Server> {
  const server = createServer((request, response) => {
    let length = 0;
    request.on('data', (chunk: Buffer) => {
      length += chunk.length;
    });
    request.on('end', () => response.end(`${request.url} ${length}`));
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  ends.push(() => {
    server.close();
    server.closeAllConnections();
  });
  return server;
}

async function copiesOf(server: Server, count: number): Promise<ListenerCopies> {
  const copies = ListenerCopies.of(server, count);
  ends.push(() => void copies.close());
  await expect.poll(() => copies.count).toBe(count);
  return copies;
}

function connected(server: Server, port = portOf(server)): Promise<Socket> {
  return new Promise((resolve, reject) => {
    const socket = connect({ port, host: '127.0.0.1', allowHalfOpen: true });
    ends.push(() => socket.destroy());
    socket.once('connect', () => resolve(socket));
    socket.once('error', reject);
  });
}

function portOf(server: Server): number {
  return (server.address() as AddressInfo).port;
}

function keepBusy(millis: number): void {
  const end = performance.now() + millis;
  while (performance.now() < end);
}

const nextRound = () => new Promise((resolve) => setImmediate(resolve));

/** Returns the most connections accepted in one round while many were waiting. */
async function mostInOneRound(server: Server): Promise<number> {
  const waiting = 40;
  let taken = 0;
  let most = 0;
  server.on('connection', () => {
    taken += 1;
  });
  const clients = Array.from({ length: waiting }, () => connected(server));
  while (taken < waiting) {
    const before = taken;
    // Connections that arrive meanwhile are accepted in the next round.
    keepBusy(5);
    await nextRound();
    most = Math.max(most, taken - before);
  }
  await Promise.all(clients);
  return most;
}

describe('copies of a listener', () => {
  it('take a connection each in one round of the event loop', async () => {
    const alone = await listening();
    expect(await mostInOneRound(alone)).toBeLessThan(4);
    const server = await listening();
    await copiesOf(server, 7);
    expect(await mostInOneRound(server)).toBeGreaterThanOrEqual(6);
  });

  it('answer all requests while they are made and afterwards', async () => {
    const server = await listening();
    const port = portOf(server);
    const copies = ListenerCopies.of(server, 3);
    ends.push(() => void copies.close());
    let asked = 0;
    while (copies.count < 3 || asked < 50) {
      const body = 'x'.repeat(asked);
      const where = `http://127.0.0.1:${port}/${asked}`;
      const headers = { connection: 'close' };
      const answer = await fetch(where, { method: 'POST', body, headers });
      expect(await answer.text()).toBe(`/${asked} ${asked}`);
      asked += 1;
    }
  });

  it('answer a client that ends its side first', async () => {
    const server = await listening();
    await copiesOf(server, 7);
    for (let each = 0; each < 20; each += 1) {
      const socket = await connected(server);
      socket.end(`GET /${each} HTTP/1.1\r\nHost: a\r\nConnection: close\r\n\r\n`);
      let text = '';
      for await (const chunk of socket) text += String(chunk);
      expect(text).toContain(`/${each} 0`);
    }
  });

  it('answer over TLS', async () => {
    const { cert, key } = makeCertificate('copies');
    const server = https.createServer({ cert, key }, (_, response) => response.end('here'));
    await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
    ends.push(() => server.close());
    await copiesOf(server, 7);
    const where = `https://127.0.0.1:${portOf(server)}`;
    const answers = Array.from(
      { length: 20 },
      () =>
        new Promise((resolve, reject) => {
          const request = https.get(where, { agent: false, ca: cert }, async (incoming) => {
            let text = '';
            for await (const chunk of incoming) text += chunk;
            resolve(text);
          });
          request.on('error', reject);
        }),
    );
    expect(new Set(await Promise.all(answers))).toEqual(new Set(['here']));
  });

  it('take no more once they are closed, and wait for what they took', async () => {
    const server = await listening();
    const port = portOf(server);
    const copies = await copiesOf(server, 3);
    const sockets = await Promise.all(Array.from({ length: 20 }, () => connected(server)));
    await expect.poll(() => connectionsOf(server)).toBeGreaterThan(0);
    let isClosed = false;
    const both = Promise.all([
      copies.close(),
      new Promise<void>((resolve) => server.close(() => resolve())),
    ]).then(() => {
      isClosed = true;
    });
    await expect(connected(server, port)).rejects.toThrow();
    expect(isClosed).toBe(false);
    for (const socket of sockets) socket.destroy();
    await both;
  });
});

function connectionsOf(server: Server): Promise<number> {
  return new Promise((resolve) => server.getConnections((_, count) => resolve(count)));
}

import { connect, type Socket } from 'node:net';
import { type Load, Transfers } from './load.ts';

/**
 * Posts transfers over connections that are kept, one in flight on each, as HTTP/1.1 has it.
 * Requests are written by hand, so that the load takes little of what it shares with the service.
 */
export async function httpLoad(url: string, load: Load): Promise<void> {
  if (load.inFlight !== 1) throw new Error('a connection carries one request at a time');
  const transfers = new Transfers(load.workload);
  const { hostname, port } = new URL(url);
  const run = (): Promise<void> => {
    const socket = connect(Number(port), hostname);
    socket.setNoDelay(true);
    return post(socket, load, transfers);
  };
  await Promise.all(Array.from({ length: load.sockets }, run));
}

function post(socket: Socket, { meter }: Load, transfers: Transfers): Promise<void> {
  let sentAt = 0;
  const send = (): void => {
    transfers.next();
    const body = `{"from":${transfers.from},"to":${transfers.to},"amount":1}`;
    sentAt = performance.now();
    socket.write(
      `POST /transfer HTTP/1.1\r\nHost: bench\r\nContent-Length: ${body.length}\r\n\r\n${body}`,
      'latin1',
    );
  };
  return new Promise((resolve, reject) => {
    let text = '';
    socket.on('data', (chunk: Buffer) => {
      text += chunk.toString('latin1');
      // The answer has no body.
      if (!text.endsWith('\r\n\r\n')) return;
      const isDone = text.startsWith('HTTP/1.1 204');
      text = '';
      if (!isDone) reject(new Error('a transfer was refused'));
      else if (meter.replied(sentAt, performance.now())) send();
      else {
        socket.destroy();
        resolve();
      }
    });
    socket.on('error', reject);
    socket.on('connect', send);
  });
}

import type { IncomingMessage, ServerResponse } from 'node:http';
import type { Duplex } from 'node:stream';
import { getRequestListener } from '@hono/node-server';
import type { WebSocketDoor } from '../websocket/door.ts';
import type { Handler } from './listener.ts';

type Listener = ReturnType<typeof getRequestListener>;

/** What other hosts send: the same doors as for clients, with callers that are settled already. */
export class ClusterDoors {
  #listener: Listener | undefined;
  #sockets: WebSocketDoor | undefined;

  /** Before the doors are open nothing is done, and the sender tries again. */
  readonly onRequest = (request: IncomingMessage, response: ServerResponse): void => {
    if (this.#listener === undefined) response.writeHead(421).end();
    else void this.#listener(request, response);
  };

  readonly onUpgrade = (request: IncomingMessage, stream: Duplex, first: Buffer): void => {
    if (this.#sockets === undefined) stream.end(notOpen);
    else this.#sockets.handle(request, stream, first);
  };

  open(handler: Handler, sockets: WebSocketDoor): void {
    const options = { overrideGlobalObjects: false, autoCleanupIncoming: false };
    this.#listener = getRequestListener(
      handler as Parameters<typeof getRequestListener>[0],
      options,
    );
    this.#sockets = sockets;
  }
}

const notOpen =
  'HTTP/1.1 421 Misdirected Request\r\nconnection: close\r\ncontent-length: 0\r\n\r\n';

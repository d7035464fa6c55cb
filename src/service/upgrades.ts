import type { IncomingMessage, Server } from 'node:http';
import type { Duplex } from 'node:stream';
import { TLSSocket } from 'node:tls';
import { isSocketAddress } from '../websocket/admission.ts';
import type { WebSocketDoor } from '../websocket/door.ts';

/**
 * Routes upgrade requests. Node gives them all, with the bare connection, to the one upgrade
 * listener. Requests for anything but a WebSocket (such as an optional upgrade to HTTP/2) are
 * answered like normal requests. WebSocket requests that arrive before the door exists wait for it.
 */
export class Upgrades {
  #door: WebSocketDoor | undefined;
  #early: EarlyUpgrade[] = [];

  constructor(server: Server) {
    server.on('upgrade', (request, stream, head) => {
      if (isWebSocket(request)) this.#handle(request, stream, head);
      else serveWithoutOffer(server, request, stream, head);
    });
  }

  open(door: WebSocketDoor): void {
    this.#door = door;
    for (const { request, stream, head } of this.#early.splice(0)) {
      door.handle(request, stream, head);
    }
  }

  /** Drops waiting connections when there will be no door; they would keep the server open. */
  end(): void {
    for (const { stream } of this.#early.splice(0)) stream.destroy();
  }

  #handle(request: IncomingMessage, stream: Duplex, head: Buffer): void {
    const door = this.#door;
    if (door !== undefined) {
      door.handle(request, stream, head);
      return;
    }
    stream.on('error', () => stream.destroy());
    this.#early.push({ request, stream, head });
  }
}

interface EarlyUpgrade {
  readonly request: IncomingMessage;
  readonly stream: Duplex;
  readonly head: Buffer;
}

function isWebSocket({ method, url, headers }: IncomingMessage): boolean {
  const isAsked = method === 'GET' && headers.upgrade?.toLowerCase() === 'websocket';
  return isAsked && isSocketAddress(url);
}

/**
 * Serves a request as if it had not offered an upgrade. The parser has released its connection: the
 * bytes it took are put back, without the offer, and the server reads it as a new connection.
 */
function serveWithoutOffer(server: Server, request: IncomingMessage, stream: Duplex, head: Buffer) {
  // Left over from the previous parser.
  for (const event of ['pause', 'resume']) stream.removeAllListeners(event);
  stream.unshift(Buffer.concat([Buffer.from(headOf(request), 'latin1'), head]));
  server.emit(stream instanceof TLSSocket ? 'secureConnection' : 'connection', stream);
}

/** Rebuilds the request head without the offer. The response ends the connection. */
function headOf({ method, url, httpVersion, rawHeaders }: IncomingMessage): string {
  const lines = rawHeaders.flatMap((name, at) => {
    const isKept = at % 2 === 0 && !/^(?:connection|upgrade)$/i.test(name);
    return isKept ? [`${name}:${rawHeaders[at + 1]}`] : [];
  });
  const first = `${method} ${url} HTTP/${httpVersion}`;
  return [first, ...lines, 'connection:close', '', ''].join('\r\n');
}

import type { IncomingMessage, Server } from 'node:http';
import type { Duplex } from 'node:stream';
import { TLSSocket } from 'node:tls';
import { isSocketAddress } from '../websocket/admission.ts';
import type { WebSocketDoor } from '../websocket/door.ts';

/**
 * Where requests for an upgrade go. Node gives them all to one listener as soon as there is one,
 * with the bare connection: those that do not ask for a WebSocket where there is one (such as a
 * client that would rather speak HTTP/2, and need not) are answered like any other request. Those
 * that come before there is a door wait for it.
 */
export class Upgrades {
  #door: WebSocketDoor | undefined;
  #early: Knock[] = [];

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

  /** There will be no door: those that wait are sent away, or they would keep the server open. */
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

interface Knock {
  readonly request: IncomingMessage;
  readonly stream: Duplex;
  readonly head: Buffer;
}

function isWebSocket({ method, url, headers }: IncomingMessage): boolean {
  const isAsked = method === 'GET' && headers.upgrade?.toLowerCase() === 'websocket';
  return isAsked && isSocketAddress(url);
}

/**
 * Serves a request as if it had offered no other protocol. The parser has let go of its connection:
 * that gets back what was taken from it, without the offer, and the server reads it as a new one.
 */
function serveWithoutOffer(server: Server, request: IncomingMessage, stream: Duplex, head: Buffer) {
  // Those of the parser before.
  for (const event of ['pause', 'resume']) stream.removeAllListeners(event);
  stream.unshift(Buffer.concat([Buffer.from(headOf(request), 'latin1'), head]));
  server.emit(stream instanceof TLSSocket ? 'secureConnection' : 'connection', stream);
}

/** What stands before the body, as it came but for the offer. The answer ends the connection. */
function headOf({ method, url, httpVersion, rawHeaders }: IncomingMessage): string {
  const lines = rawHeaders.flatMap((name, at) => {
    const isKept = at % 2 === 0 && !/^(?:connection|upgrade)$/i.test(name);
    return isKept ? [`${name}:${rawHeaders[at + 1]}`] : [];
  });
  const first = `${method} ${url} HTTP/${httpVersion}`;
  return [first, ...lines, 'connection:close', '', ''].join('\r\n');
}

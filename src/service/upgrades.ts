import { type IncomingMessage, type Server, ServerResponse } from 'node:http';
import type { Duplex } from 'node:stream';
import { limits } from '../limits.ts';
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
      else serveAsRequest(server, request, stream);
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

/** What came with a body cannot be served: the parser has let go of the connection. */
function serveAsRequest(server: Server, request: IncomingMessage, stream: Duplex): void {
  stream.on('error', () => stream.destroy());
  const { headers } = request;
  const hasBody =
    headers['transfer-encoding'] !== undefined || Number(headers['content-length']) > 0;
  if (hasBody) {
    stream.write('HTTP/1.1 400 Bad Request\r\nconnection: close\r\ncontent-length: 0\r\n\r\n');
    endSoon(stream);
    return;
  }
  // Nobody reads the connection any more; unread, it would not tell that its client has gone.
  stream.resume();
  stream.once('end', () => stream.destroy());
  const response = new ServerResponse(request);
  response.shouldKeepAlive = false;
  response.assignSocket(request.socket);
  response.on('finish', () => {
    response.detachSocket(request.socket);
    endSoon(stream);
  });
  server.emit('request', request, response);
}

/**
 * Ends a connection that nobody reads any more. What the client still sends is let in for a moment:
 * unread, it would hide that the client has gone, or have the answer dropped.
 */
function endSoon(stream: Duplex): void {
  stream.end();
  stream.resume();
  const timer = setTimeout(() => stream.destroy(), limits.lingerMillisMax);
  stream.once('close', () => clearTimeout(timer));
}

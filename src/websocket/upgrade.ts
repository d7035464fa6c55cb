import type { IncomingMessage } from 'node:http';
import type { Duplex } from 'node:stream';
import { WebSocket, WebSocketServer } from 'ws';
import { limits } from '../limits.ts';
import type { Socket, SocketEvents } from './socket.ts';

/**
 * Speaks the protocol of WebSockets. This file is the only one that knows the library: it completes
 * handshakes that were admitted, and makes each socket a `Socket`. The library reads; frames with
 * data are written past it, because `outgoing.ts` makes them once for many sockets.
 */
export class Upgrader {
  readonly #server: WebSocketServer;

  constructor() {
    this.#server = new WebSocketServer({
      noServer: true,
      clientTracking: false,
      perMessageDeflate: false,
      maxPayload: limits.socketMessageBytesMax,
      // The library ends a connection whose pongs wait behind what the client does not read.
      autoPong: false,
      // Text that is none is a message that does not decode, which the room answers itself.
      skipUTF8Validation: true,
      WebSocket: StrictSocket,
      handleProtocols: (_offers, request) => this.#chosen.get(request)?.protocol ?? false,
    });
    this.#server.on('headers', (lines, request) => {
      const headers = this.#chosen.get(request)?.headers ?? {};
      for (const [name, value] of Object.entries(headers)) lines.push(`${name}: ${value}`);
    });
  }

  readonly #chosen = new WeakMap<IncomingMessage, Handshake>();

  /**
   * Answers 101. Returns `undefined` when the client has gone, or the handshake fails at what only
   * the library checks; the socket is ended then.
   */
  complete(
    request: IncomingMessage,
    stream: Duplex,
    head: Buffer,
    handshake: Handshake,
  ): UpgradedSocket | undefined {
    let socket: UpgradedSocket | undefined;
    this.#chosen.set(request, handshake);
    // The library ends the handshake over offers that it finds odd, such as one made twice.
    request.headers['sec-websocket-protocol'] = handshake.protocol;
    this.#server.handleUpgrade(request, stream, head, (client) => {
      socket = new UpgradedSocket(client, stream);
    });
    return socket;
  }
}

export interface Handshake {
  readonly protocol: string;
  /** Headers of the answer, beside those of every handshake. */
  readonly headers: Readonly<Record<string, string>>;
}

/**
 * The library answers a broken frame, or one that is too large, with a close frame; here the
 * connection just ends. It says why only when the client closes or when we do.
 */
class StrictSocket extends WebSocket {
  override close(code?: number, reason?: string | Buffer): void {
    if (code !== undefined && reason === undefined) this.terminate();
    else super.close(code, reason);
  }
}

/** A `Socket` whose events go to whoever listens; nothing is read before that. */
export class UpgradedSocket implements Socket {
  readonly #client: WebSocket;
  readonly #stream: Duplex & { readonly bytesRead?: number };
  #isReading = true;
  #isPongOut = false;
  /** The last ping that came while a pong waited to be written. */
  #unanswered: Buffer | undefined;

  constructor(client: WebSocket, stream: Duplex) {
    this.#client = client;
    this.#stream = stream;
    client.on('error', () => client.terminate());
  }

  get bytesRead(): number {
    return this.#stream.bytesRead ?? 0;
  }

  listen(events: SocketEvents): void {
    const client = this.#client;
    client.on('message', (data: Buffer, isBinary) => {
      if (this.#isReading) events.message(data, isBinary);
    });
    client.on('ping', (data: Buffer) => this.#pong(data));
    client.on('pong', () => events.pong());
    client.on('close', () => events.closed());
  }

  write(chunks: readonly Uint8Array[], written: () => void): void {
    const stream = this.#stream;
    if (!stream.writable) return;
    const last = chunks.length - 1;
    if (last > 0) stream.cork();
    for (const [at, chunk] of chunks.entries()) {
      if (at === last) stream.write(chunk, written);
      else stream.write(chunk);
    }
    if (last > 0) stream.uncork();
  }

  ping(): void {
    if (this.#client.readyState === WebSocket.OPEN) this.#client.ping();
  }

  close(code: number, reason: string): void {
    this.#isReading = false;
    this.#client.close(code, reason);
  }

  destroy(): void {
    this.#isReading = false;
    this.#client.terminate();
  }

  pause(): void {
    this.#client.pause();
  }

  resume(): void {
    this.#client.resume();
  }

  /** One pong waits at most: of pings that come meanwhile, only the last one has to be answered. */
  #pong(data: Buffer): void {
    if (this.#client.readyState !== WebSocket.OPEN) return;
    if (this.#isPongOut) {
      this.#unanswered = data;
      return;
    }
    this.#isPongOut = true;
    this.#client.pong(data, false, () => {
      this.#isPongOut = false;
      const next = this.#unanswered;
      this.#unanswered = undefined;
      if (next !== undefined) this.#pong(next);
    });
  }
}

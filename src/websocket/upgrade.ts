import type { IncomingMessage } from 'node:http';
import type { Duplex } from 'node:stream';
import { WebSocket, WebSocketServer } from 'ws';
import { limits } from '../limits.ts';
import type { Socket, SocketEvents } from './socket.ts';

/**
 * Adapts the WebSocket library; only this file knows it. It completes the handshakes of admitted
 * clients and wraps each connection as a `Socket`. The library reads; data frames are written past
 * it, because `encoded-message.ts` builds them once for many sockets.
 */
export class Upgrader {
  readonly #server: WebSocketServer;

  constructor() {
    this.#server = new WebSocketServer({
      noServer: true,
      clientTracking: false,
      perMessageDeflate: false,
      maxPayload: limits.socketMessageBytesMax,
      // With automatic pongs, the library ends a connection whose client does not read them.
      autoPong: false,
      // Invalid UTF-8 is a message that cannot be decoded, which this room answers itself.
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
   * Responds with 101. Returns `undefined`, with the socket ended, if the client has gone or the
   * handshake fails a check that only the library makes.
   */
  complete(
    request: IncomingMessage,
    stream: Duplex,
    head: Buffer,
    handshake: Handshake,
  ): UpgradedSocket | undefined {
    let socket: UpgradedSocket | undefined;
    this.#chosen.set(request, handshake);
    // The library would reject unusual offers, such as duplicates.
    request.headers['sec-websocket-protocol'] = handshake.protocol;
    this.#server.handleUpgrade(request, stream, head, (client) => {
      socket = new UpgradedSocket(client, stream);
    });
    return socket;
  }
}

export interface Handshake {
  readonly protocol: string;
  /** Headers of the response, in addition to those of every handshake. */
  readonly headers: Readonly<Record<string, string>>;
}

/**
 * Terminates the connection where the library would send a close frame after a broken or oversized
 * frame. The library passes a reason only when the client or this service closes.
 */
class StrictSocket extends WebSocket {
  override close(code?: number, reason?: string | Buffer): void {
    if (code !== undefined && reason === undefined) this.terminate();
    else super.close(code, reason);
  }
}

/** A `Socket` whose events go to its listener; nothing is read before `listen`. */
export class UpgradedSocket implements Socket {
  readonly #client: WebSocket;
  readonly #stream: Duplex & { readonly bytesRead?: number };
  #isReading = true;
  #isPongOut = false;
  /** The last ping received while a pong was waiting to be written. */
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

  /** Answers a ping. At most one pong waits; of the pings until then, the last is answered. */
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

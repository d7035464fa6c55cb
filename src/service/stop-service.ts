import type { Server, ServerResponse } from 'node:http';
import type { Socket } from 'node:net';
import { Server as TlsServer } from 'node:tls';
import type { ListenerCopies } from './listener-copies.ts';
import { connectionsBelow } from './tls.ts';

/**
 * Shuts a server down in order. Tracks its requests from the start: a client that keeps sending
 * requests on one connection could otherwise delay the end indefinitely.
 */
export class ServerEnd {
  readonly #server: Server;
  readonly #copies: ListenerCopies;
  /** By connection: a response queued behind another gets no event when its connection closes. */
  readonly #open = new Map<Socket, Set<ServerResponse>>();
  /**
   * Connections without a request so far, including unfinished TLS handshakes. The platform treats
   * them as busy.
   */
  readonly #silent = new Set<Socket>();
  #isEnding = false;

  constructor(server: Server, copies: ListenerCopies) {
    this.#server = server;
    this.#copies = copies;
    // Registered before any other listener, so nothing has been written yet.
    server.prependListener('request', ({ socket }, response) => {
      this.#silent.delete(socket);
      this.#watch(this.#openOn(socket), response);
    });
    server.prependListener('upgrade', (_, socket) => this.#silent.delete(socket as Socket));
    server.on('connection', (socket: Socket) => this.#holdSilent(socket));
    if (!(server instanceof TlsServer)) return;
    const below = connectionsBelow(server);
    server.on('secureConnection', (socket: Socket) => {
      const plain = below(socket);
      if (plain !== undefined) this.#silent.delete(plain);
      this.#holdSilent(socket);
    });
  }

  /**
   * Stops accepting connections, closes idle and silent ones, answers accepted requests and closes
   * their connections. After `millis` it cuts the rest, such as clients that do not read.
   */
  async close(millis: number): Promise<void> {
    this.#isEnding = true;
    const cut = setTimeout(() => this.#server.closeAllConnections(), millis);
    const copiesEnd = this.#copies.close();
    const end = new Promise<void>((resolve) => this.#server.close(() => resolve()));
    this.#server.closeIdleConnections();
    for (const socket of this.#silent) socket.destroy();
    for (const open of this.#open.values()) open.forEach(announceEnd);
    await Promise.all([end, copiesEnd]);
    clearTimeout(cut);
  }

  #holdSilent(socket: Socket): void {
    this.#silent.add(socket);
    socket.once('close', () => this.#silent.delete(socket));
  }

  #openOn(socket: Socket): Set<ServerResponse> {
    const known = this.#open.get(socket);
    if (known !== undefined) return known;
    const open = new Set<ServerResponse>();
    this.#open.set(socket, open);
    socket.once('close', () => this.#open.delete(socket));
    return open;
  }

  #watch(open: Set<ServerResponse>, response: ServerResponse): void {
    open.add(response);
    if (this.#isEnding) announceEnd(response);
    response.once('close', () => {
      open.delete(response);
      // A response that began before the shutdown could not announce it.
      if (this.#isEnding) setImmediate(() => this.#server.closeIdleConnections());
    });
  }
}

/** Tells the client that this is the last response on its connection. */
function announceEnd(response: ServerResponse): void {
  if (!response.headersSent) response.setHeader('connection', 'close');
}

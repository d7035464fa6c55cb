import type { Server, ServerResponse } from 'node:http';
import type { Socket } from 'node:net';
import { Server as TlsServer } from 'node:tls';
import type { ListenerCopies } from './listener-copies.ts';
import { connectionsBelow } from './tls.ts';

/**
 * Ends a server in order. Watches its requests from the start: a client that keeps its connection
 * and sends one request after another would otherwise hold the end up for as long as it likes.
 */
export class ServerEnd {
  readonly #server: Server;
  readonly #copies: ListenerCopies;
  /** By connection: an answer that waits behind another one is not told when theirs ends. */
  readonly #open = new Map<Socket, Set<ServerResponse>>();
  /**
   * Connections that have asked nothing yet, over TLS also those that have not come to it: the
   * platform takes them for busy ones.
   */
  readonly #silent = new Set<Socket>();
  #isEnding = false;

  constructor(server: Server, copies: ListenerCopies) {
    this.#server = server;
    this.#copies = copies;
    // Before any other listener, so that nothing has been written yet.
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
   * Takes no new connections, closes idle and silent ones, answers the requests that were accepted
   * and closes their connections; after `millis` it cuts what is left, such as a client that does
   * not read.
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
      // An answer that had begun before the end could not announce it.
      if (this.#isEnding) setImmediate(() => this.#server.closeIdleConnections());
    });
  }
}

/** Tells the client that this answer is the last one on its connection. */
function announceEnd(response: ServerResponse): void {
  if (!response.headersSent) response.setHeader('connection', 'close');
}

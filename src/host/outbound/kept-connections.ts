import { type ClientRequest, Agent as HttpAgent } from 'node:http';
import { Agent as HttpsAgent } from 'node:https';
import type { Duplex } from 'node:stream';
import { limits } from '../../limits.ts';

/**
 * Connections of one database, kept for its next request to the same server. Another database never
 * gets one of them: what the rules allow differs, and servers may treat a connection as one client.
 */
export class KeptConnections {
  /** Those that nobody uses, each with what is called when it closes. */
  readonly #idle = new Map<Duplex, () => void>();
  readonly #http = new KeepingHttpAgent(this);
  readonly #https = new KeepingHttpsAgent(this);

  agentFor(url: URL): HttpAgent {
    return url.protocol === 'https:' ? this.#https : this.#http;
  }

  get idleCount(): number {
    return this.#idle.size;
  }

  get hasRoom(): boolean {
    return this.idleCount < limits.outboundIdleConnectionsMax;
  }

  /** Nobody uses this connection any more, and it is kept. */
  rests(connection: Duplex): void {
    const closed = () => this.#idle.delete(connection);
    this.#idle.set(connection, closed);
    connection.once('close', closed);
  }

  isUsed(connection: Duplex): void {
    const closed = this.#idle.get(connection);
    if (closed !== undefined) connection.off('close', closed);
    this.#idle.delete(connection);
  }

  close(): void {
    this.#http.destroy();
    this.#https.destroy();
  }
}

/** An idle connection that servers are about to close as well fails the request that gets it. */
const options = { keepAlive: true, timeout: limits.outboundIdleMillisMax } as const;

class KeepingHttpAgent extends HttpAgent {
  readonly #kept: KeptConnections;

  constructor(kept: KeptConnections) {
    super(options);
    this.#kept = kept;
  }

  override keepSocketAlive(socket: Duplex): boolean {
    const isKept = this.#kept.hasRoom && keepsAlive(super.keepSocketAlive(socket));
    if (isKept) this.#kept.rests(socket);
    return isKept;
  }

  override reuseSocket(socket: Duplex, request: ClientRequest): void {
    this.#kept.isUsed(socket);
    super.reuseSocket(socket, request);
  }
}

class KeepingHttpsAgent extends HttpsAgent {
  readonly #kept: KeptConnections;

  constructor(kept: KeptConnections) {
    super(options);
    this.#kept = kept;
  }

  override keepSocketAlive(socket: Duplex): boolean {
    const isKept = this.#kept.hasRoom && keepsAlive(super.keepSocketAlive(socket));
    if (isKept) this.#kept.rests(socket);
    return isKept;
  }

  override reuseSocket(socket: Duplex, request: ClientRequest): void {
    this.#kept.isUsed(socket);
    super.reuseSocket(socket, request);
  }
}

/** The platform declares no result and returns whether the socket is kept. */
function keepsAlive(result: unknown): boolean {
  return result !== false;
}

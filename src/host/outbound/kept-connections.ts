import { Agent as HttpAgent } from 'node:http';
import { Agent as HttpsAgent } from 'node:https';
import type { Duplex } from 'node:stream';
import { limits } from '../../limits.ts';

/**
 * Connections of one database, kept for its next request to the same server. Another database never
 * gets one of them: what the rules allow differs, and servers may treat a connection as one client.
 */
export class KeptConnections {
  readonly #http = new KeepingHttpAgent(this);
  readonly #https = new KeepingHttpsAgent(this);

  agentFor(url: URL): HttpAgent {
    return url.protocol === 'https:' ? this.#https : this.#http;
  }

  get idleCount(): number {
    const idle = [this.#http, this.#https].flatMap(({ freeSockets }) => Object.values(freeSockets));
    return idle.reduce((sum, sockets) => sum + (sockets?.length ?? 0), 0);
  }

  get hasRoom(): boolean {
    return this.idleCount < limits.outboundIdleConnectionsMax;
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
    return this.#kept.hasRoom && keepsAlive(super.keepSocketAlive(socket));
  }
}

class KeepingHttpsAgent extends HttpsAgent {
  readonly #kept: KeptConnections;

  constructor(kept: KeptConnections) {
    super(options);
    this.#kept = kept;
  }

  override keepSocketAlive(socket: Duplex): boolean {
    return this.#kept.hasRoom && keepsAlive(super.keepSocketAlive(socket));
  }
}

/** The platform declares no result and returns whether the socket is kept. */
function keepsAlive(result: unknown): boolean {
  return result !== false;
}

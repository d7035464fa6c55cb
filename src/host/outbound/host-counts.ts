import { limits } from '../../limits.ts';
import type { DatabaseIdentity } from '../../values/identity-roles.ts';

/** What came of requests to one host. */
export interface HostFigures {
  readonly database: DatabaseIdentity;
  /** A host name or an address; `other` for those that are not named. */
  readonly host: string;
  responses: number;
  failures: number;
  /** Bodies alone. */
  bytesSent: number;
  bytesReceived: number;
}

const otherHosts = 'other';

/**
 * Counts requests by database and host. Modules choose the hosts, so only so many are named:
 * `limits.outboundDatabaseHostNamesMax` of one database, `limits.outboundHostNamesMax` of all. The
 * others share one entry for each database.
 */
export class HostCounts {
  readonly #databases = new Map<DatabaseIdentity, Map<string, HostFigures>>();
  #named = 0;

  /** `figures`: of counts before, which these go on with. */
  constructor(figures: readonly HostFigures[] = []) {
    for (const { database, host, ...counted } of figures) {
      Object.assign(this.of(database, host), counted);
    }
  }

  of(database: DatabaseIdentity, host: string): HostFigures {
    const hosts = this.#databases.get(database) ?? new Map<string, HostFigures>();
    this.#databases.set(database, hosts);
    const known = hosts.get(host);
    if (known !== undefined) return known;
    const isFull =
      hosts.size >= limits.outboundDatabaseHostNamesMax ||
      this.#named >= limits.outboundHostNamesMax;
    if (isFull && host !== otherHosts) return this.of(database, otherHosts);
    const figures = { database, host, ...noFigures };
    hosts.set(host, figures);
    if (host !== otherHosts) this.#named += 1;
    return figures;
  }

  /** Requests to refused addresses, whose hosts are never named. */
  ofRefused(database: DatabaseIdentity): HostFigures {
    return this.of(database, otherHosts);
  }

  get all(): readonly HostFigures[] {
    return [...this.#databases.values()].flatMap((hosts) => [...hosts.values()]);
  }

  forget(database: DatabaseIdentity): void {
    const hosts = this.#databases.get(database);
    this.#named -= [...(hosts?.keys() ?? [])].filter((host) => host !== otherHosts).length;
    this.#databases.delete(database);
  }
}

const noFigures = { responses: 0, failures: 0, bytesSent: 0, bytesReceived: 0 };

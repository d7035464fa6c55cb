import type { RequestCaller } from '../auth/caller.ts';
import { type Payers, payersOf } from '../auth/payers.ts';
import type { ClusterPart } from '../cluster/cluster-part.ts';
import { wishOf } from '../doors/read-wish.ts';
import type { CopyClient } from '../host/feeds/live-connection.ts';
import type { HostedDatabase } from '../host/hosted-database.ts';
import { timesFor } from '../host/replication/copy-times.ts';
import { readCopy } from '../host/replication/read-copy.ts';
import { limits } from '../limits.ts';
import type { DatabaseIdentity } from '../values/identity-roles.ts';
import type { Admitted } from './admission.ts';

export type CopyPart = Pick<ClusterPart, 'copies' | 'knowsRights'>;

/** A connection that reads this host's copy of a database that another host leads. */
interface CopyConnection {
  /** Ends it: its client finds another host. */
  leave(): void;
}

/**
 * The clients whose queries this host answers from its copies. While there are any, the leaders are
 * asked how far they are; and they leave when nobody may know here any more who has which rights.
 */
export class CopyClients {
  readonly #part: CopyPart;
  readonly #connections = new Map<CopyConnection, DatabaseIdentity>();
  #timer: NodeJS.Timeout | undefined;
  /** When rights were known last, by the monotonic clock. */
  #knewAt = 0;

  constructor(part: CopyPart) {
    this.#part = part;
  }

  /** True if this host's copy has what the client wants, and takes reads; else the leader does. */
  async serves({ database, caller, wish }: Admitted): Promise<boolean> {
    if (!this.#part.knowsRights) return false;
    const times = timesFor(() => ({ payers: payersIn(caller) }), this.#part.copies);
    const { identity, handle } = database;
    if (!handle.copy.takesConnections) return false;
    const readable = { database: identity, copy: handle.copy, times };
    const read = await readCopy(readable, wishOf(wish, database), async () => {
      return { answer: undefined, offset: times.settledOffset(identity) };
    });
    return read.kind === 'read' && this.#part.knowsRights;
  }

  /** The client of a connection, for its database. */
  clientOf(
    { identity }: Pick<HostedDatabase, 'identity'>,
    { caller, protocol }: { readonly caller: RequestCaller; readonly protocol: string },
  ): CopyClient {
    const { copies } = this.#part;
    const wait = { millisMax: limits.copyWaitMillisMax, payers: payersIn(caller) };
    return {
      ...{ caller, protocol, sinceMillis: Date.now() },
      reach: (offset) => {
        // Too many who wait for commits is for them to hear of; this one hears with the next look.
        copies.untilSettled(identity, offset, wait).catch(() => undefined);
      },
    };
  }

  add(connection: CopyConnection, { identity }: Pick<HostedDatabase, 'identity'>): void {
    this.#connections.set(connection, identity);
    this.#knewAt = performance.now();
    this.#timer ??= setInterval(() => this.#look(), limits.copyClientsLookMillis).unref();
  }

  delete(connection: CopyConnection): void {
    if (!this.#connections.delete(connection) || this.#connections.size > 0) return;
    clearInterval(this.#timer);
    this.#timer = undefined;
  }

  #look(): void {
    const now = performance.now();
    if (this.#part.knowsRights) this.#knewAt = now;
    // Asking for it has the leader asked.
    const databases = new Set(this.#connections.values());
    for (const database of databases) this.#part.copies.ageMillis(database, 0);
    if (now - this.#knewAt < limits.copyClientsMillisMax) return;
    for (const connection of [...this.#connections.keys()]) connection.leave();
  }
}

function payersIn(caller: RequestCaller): Payers {
  return payersOf(caller, caller.address ?? '');
}

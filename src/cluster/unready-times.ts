import { limits } from '../limits.ts';
import type { HostId } from '../shared-log/host-ids.ts';
import type { DatabaseIdentity } from '../values/identity-roles.ts';
import type { PlacedDatabase } from './place-copies.ts';

/** A copy that could not lead, since when, and when it was looked at last. */
interface Unready {
  readonly since: number;
  readonly seenAt: number;
}

/** For how long copies could not lead, by the word of their hosts. */
export class UnreadyTimes {
  readonly #byDatabase = new Map<DatabaseIdentity, Map<HostId, Unready>>();

  /** Notes how the copies of a database are; returns the milliseconds of those that are unready. */
  note(
    { database, leader, held, wishes }: Omit<PlacedDatabase, 'unreadyMillis'>,
    hasAnswered: (host: HostId) => boolean,
    now: number,
  ): ReadonlyMap<HostId, number> {
    // Where nobody leads, they have nothing to follow.
    if (leader === undefined) this.#byDatabase.delete(database);
    if (leader === undefined) return new Map();
    const known = this.#byDatabase.get(database) ?? new Map<HostId, Unready>();
    for (const host of new Set([...held.keys(), ...wishes])) {
      if (held.get(host) === true) known.delete(host);
      else if (hasAnswered(host)) {
        known.set(host, { since: known.get(host)?.since ?? now, seenAt: now });
      }
    }
    // A host that had no success with a copy is not sent it again at once.
    for (const [host, { seenAt }] of known) {
      if (now - seenAt >= limits.copyUnreadyRestMillis) known.delete(host);
    }
    if (known.size > 0) this.#byDatabase.set(database, known);
    else this.#byDatabase.delete(database);
    return new Map([...known].map(([host, { since }]) => [host, now - since]));
  }

  /** Forgets other databases. */
  keep(databases: { has(database: DatabaseIdentity): boolean }): void {
    for (const database of this.#byDatabase.keys()) {
      if (!databases.has(database)) this.#byDatabase.delete(database);
    }
  }

  clear(): void {
    this.#byDatabase.clear();
  }
}

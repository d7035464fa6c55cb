import { limits } from '../limits.ts';
import { overBudget } from '../sql/failure.ts';
import type { Rights } from '../sql/rights.ts';
import type { CallerIdentity } from '../values/identity-roles.ts';

/** The identity that is charged for a query, and with how much. */
export interface ChargedQuery {
  readonly rights: Rights;
  /** The identity that first asked for it. */
  readonly identity: CallerIdentity;
  /** Memory that it is charged for. */
  bytes: number;
}

export interface MemoryBounds {
  readonly bytesMax: number;
  readonly identityBytesMax: number;
}

/**
 * The estimated memory of all live queries. One identity can use a share of it, so that no one
 * takes all; only a caller whom no row limit binds can use all of it. A query with several
 * subscribers is charged to the first of them.
 */
export class QueryMemory {
  readonly #bounds: MemoryBounds;
  readonly #ofIdentity = new Map<CallerIdentity, number>();
  #bytes = 0;

  constructor(bounds: Partial<MemoryBounds>) {
    const { liveQueryBytesMax: bytesMax, liveIdentityBytesMax: identityBytesMax } = limits;
    this.#bounds = { bytesMax, identityBytesMax, ...bounds };
  }

  get bytes(): number {
    return this.#bytes;
  }

  /** Throws `SqlFailure` if a query cannot have that much memory. */
  requireRoom({ identity, rights, bytes: before }: ChargedQuery, bytes: number): void {
    const grown = bytes - before;
    const ofIdentity = this.#ofIdentity.get(identity) ?? 0;
    const { bytesMax, identityBytesMax } = this.#bounds;
    if (grown > 0 && this.#bytes + grown > bytesMax) throw overBudget(`${noMemory}; ${advice}`);
    const isBound = !rights.exceedsRowLimit;
    if (grown > 0 && isBound && ofIdentity + grown > identityBytesMax) {
      throw overBudget(shareText(identityBytesMax));
    }
  }

  /** Charges a query that much, in place of its previous charge. Throws `SqlFailure`. */
  charge(query: ChargedQuery, bytes: number): void {
    const { identity } = query;
    const grown = bytes - query.bytes;
    if (grown === 0) return;
    this.requireRoom(query, bytes);
    const ofIdentity = this.#ofIdentity.get(identity) ?? 0;
    query.bytes = bytes;
    this.#bytes += grown;
    if (ofIdentity + grown > 0) this.#ofIdentity.set(identity, ofIdentity + grown);
    else this.#ofIdentity.delete(identity);
  }

  giveBack(query: ChargedQuery): void {
    this.charge(query, 0);
  }
}

const advice = 'unsubscribe from some, or let one query cover several of them';
const noMemory = 'The database watches many different queries and has no memory for more';

function shareText(bytesMax: number): string {
  const mebibytes = Math.floor(bytesMax / 2 ** 20);
  return `Your live queries use more than ${mebibytes} MiB, the limit for one identity; ${advice}`;
}

import { limits } from '../limits.ts';
import { overBudget } from '../sql/failure.ts';
import type { Rights } from '../sql/rights.ts';

/** Who is charged for a query, and with how much. */
export interface ChargedQuery {
  readonly rights: Rights;
  /** Of whoever asked for it first. */
  readonly identity: bigint;
  /** What it is charged with. */
  bytes: number;
}

export interface MemoryBounds {
  readonly bytesMax: number;
  readonly identityBytesMax: number;
}

/**
 * The memory of all live queries, estimated. One identity may take a share of it, so that nobody
 * takes all; who may do what they like with the database may take all of it, too. A query that
 * several watch is charged to the first of them.
 */
export class QueryMemory {
  readonly #bounds: MemoryBounds;
  readonly #ofIdentity = new Map<bigint, number>();
  #bytes = 0;

  constructor(bounds: Partial<MemoryBounds>) {
    const { liveQueryBytesMax: bytesMax, liveIdentityBytesMax: identityBytesMax } = limits;
    this.#bounds = { bytesMax, identityBytesMax, ...bounds };
  }

  get bytes(): number {
    return this.#bytes;
  }

  /** Charges a query with that much, instead of what it was. Throws `SqlFailure`. */
  charge(query: ChargedQuery, bytes: number): void {
    const { identity, rights } = query;
    const grown = bytes - query.bytes;
    if (grown === 0) return;
    const ofIdentity = this.#ofIdentity.get(identity) ?? 0;
    const { bytesMax, identityBytesMax } = this.#bounds;
    if (grown > 0 && this.#bytes + grown > bytesMax) throw overBudget(fullText);
    const isBound = !rights.exceedsRowLimit;
    if (grown > 0 && isBound && ofIdentity + grown > identityBytesMax) {
      throw overBudget(shareText(identityBytesMax));
    }
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
const fullText = `The database watches many different queries and has no memory for more; ${advice}`;

function shareText(bytesMax: number): string {
  const mebibytes = Math.floor(bytesMax / 2 ** 20);
  return `Your live queries take more than the ${mebibytes} MiB that one identity may; ${advice}`;
}

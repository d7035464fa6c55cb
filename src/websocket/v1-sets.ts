import type { SetId } from '../database/live/set-id.ts';
import type { SetUpdate } from '../host/feeds/live-connection.ts';
import type { LiveUpdate, QueryRows } from '../live/live-update.ts';

/**
 * The queries that a connection of version 1 holds, with use counts: rows of a query in two of its
 * sets are sent once.
 */
export class V1Sets {
  readonly #sets = new Map<SetId, readonly number[]>();
  readonly #uses = new Map<number, number>();

  get ids(): SetId[] {
    return [...this.#sets.keys()];
  }

  has(setId: SetId): boolean {
    return this.#sets.has(setId);
  }

  /** Adds a set. Returns those of its queries that no other set held. */
  add(setId: SetId, queries: readonly QueryRows[]): QueryRows[] {
    this.#sets.set(
      setId,
      queries.map(({ query }) => query),
    );
    return queries.filter(({ query }) => {
      const uses = this.#uses.get(query) ?? 0;
      this.#uses.set(query, uses + 1);
      return uses === 0;
    });
  }

  /** Removes a set. Returns the ids of those of its queries that no set holds any more. */
  remove(setId: SetId): ReadonlySet<number> {
    const freed = new Set<number>();
    for (const query of this.#sets.get(setId) ?? []) {
      const uses = (this.#uses.get(query) ?? 1) - 1;
      if (uses > 0) {
        this.#uses.set(query, uses);
      } else {
        this.#uses.delete(query);
        freed.add(query);
      }
    }
    this.#sets.delete(setId);
    return freed;
  }

  clear(): void {
    this.#sets.clear();
    this.#uses.clear();
  }

  /** Returns the updates to send for a commit: each query once, of the sets that are still held. */
  updatesOf(sets: readonly SetUpdate[]): ReadonlySet<LiveUpdate> {
    const updates = new Set<LiveUpdate>();
    for (const set of sets) {
      if (!this.#sets.has(set.setId)) continue;
      for (const update of set.updates) updates.add(update);
    }
    return updates;
  }
}

import type { TableId } from '../schema/ids.ts';
import type { Rights } from '../sql/rights.ts';
import type { CommitOffset } from '../store/commit-offset.ts';
import type { BrokenParts } from './broken-parts.ts';

/** A table or view by its id, a function by its canonical name. */
export type UsedPart = TableId | string;

/**
 * When the parts of the program last changed in a way that breaks its clients. A client that stays
 * connected through an update knows the program as it was when it connected: if it uses a part that
 * has changed since, it has to connect again, too.
 */
export class ChangedParts {
  readonly #at = new Map<UsedPart, CommitOffset>();
  /** Tables whose row filters alone have changed. */
  readonly #filteredAt = new Map<TableId, CommitOffset>();

  /** `offset`: the commit of the update. */
  note({ tables, filtered, functions }: BrokenParts, offset: CommitOffset): void {
    for (const part of [...tables, ...functions]) this.#at.set(part, offset);
    for (const table of filtered) this.#filteredAt.set(table, offset);
  }

  /** Forgets everything: no client is connected that could know an earlier program. */
  clear(): void {
    this.#at.clear();
    this.#filteredAt.clear();
  }

  hasFunction(name: string, since: CommitOffset): boolean {
    return (this.#at.get(name) ?? 0) > since;
  }

  hasTable(table: TableId, since: CommitOffset, rights: Rights): boolean {
    if ((this.#at.get(table) ?? 0) > since) return true;
    return !rights.bypassesFilters && (this.#filteredAt.get(table) ?? 0) > since;
  }
}

import type { RowRef } from './row-ref.ts';

/**
 * Gets what commits do to the rows of one table, within each commit, in no special order. A row is
 * readable through its ref meanwhile.
 */
export interface RowWatcher {
  /** A row that was not there before. */
  came(ref: RowRef): void;
  /** A row that was there before; its slot can be reused afterwards. */
  went(ref: RowRef): void;
}

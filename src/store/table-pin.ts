import type { DerivedRequest } from './derived-body.ts';
import type { DerivedIndex } from './derived-index.ts';
import type { RangeRequest } from './key-range.ts';
import type { LaterRows } from './later-rows.ts';
import type { RowRef, RowRefs } from './row-ref.ts';
import type { Table } from './table.ts';
import type { Index } from './table-index.ts';

/** Where a paused statement finds the rows of a table. */
export interface RowSource {
  readonly rowCount: number;
  /**
   * The row after `ref` in storage order (`noRow`: the first), or `noRow` at the end. The order
   * does not change; `ref` can be any row of the source.
   */
  nextRow(ref: RowRef): RowRef;
  /**
   * The rows of the source that have the key, in unspecified order. `key[0, keyLength)` is the
   * encoded index columns one after another, as for `Table.scanPoint`; any index will do. Throws
   * `DecodeError` if the bytes are not a key.
   */
  lookUp(index: Index, key: Uint8Array, keyLength: number): RowRefs;
  /**
   * The rows of the source in the range: those that still exist, and those deleted since, each in
   * index order. Like `Table.scanRange`, it needs an index that supports ranges.
   */
  scanRange(index: Index, range: RangeRequest): PinnedRange;
  /**
   * Rows of the source among which are all that fulfil the request, in unspecified order;
   * `undefined`: all rows.
   */
  search(index: DerivedIndex, request: DerivedRequest): RowRefs | undefined;
}

/**
 * A snapshot of the rows of one table, for a read that pauses while others write. Created by
 * `Table.pin()`, between transactions, and read between transactions only. Commits, rollbacks and
 * `clear` do not affect it.
 *
 * Rows are never changed in place, so a pin copies nothing: it prevents the slots of rows deleted
 * since from being reused, and makes inserts go to later pages. A `RowRef` that the pin has shown,
 * or that the table showed at the moment of the pin (in `scanRange` of an index, say), stays
 * readable through the table's `pageOf`, `offsetOf`, `lengthOf` and `copyRow` until `release`.
 *
 * `limits.sqlHeldBytesMax` limits what pins hold: beyond it, the oldest is *revoked*, and so are
 * all when the schema changes. That happens only during writes. So code that resumes must call
 * `requireValid` before it reads anything, including refs that it has kept; between two pauses a
 * pin stays valid.
 */
export interface TablePin extends RowSource {
  readonly table: Table;
  /** Rows at the moment of the pin. */
  readonly rowCount: number;
  /** Bytes of rows deleted since that are kept for this pin, and perhaps for others. */
  readonly heldBytes: number;
  /** True until `release`, unless it is revoked first. */
  readonly isValid: boolean;
  /**
   * True if no row was inserted or deleted since the moment of the pin. It can be false although
   * the rows are the same again, and is false when the pin is not valid.
   */
  readonly isUnchanged: boolean;
  /** Throws `PinRevokedError`. The error is for the caller of the read: do not catch it. */
  requireValid(): void;
  /** True if the row existed at the moment of the pin. */
  has(ref: RowRef): boolean;
  /**
   * Costs one lookup in the current index while nothing was deleted since; afterwards a second one,
   * in a tree of the deleted rows that the first lookup builds and later ones extend.
   */
  lookUp(index: Index, key: Uint8Array, keyLength: number): RowRefs;
  /** Deleted rows cost the same as for `lookUp`. */
  scanRange(index: Index, range: RangeRequest): PinnedRange;
  /**
   * The rows that were inserted since and still exist. Must be read before anything else is
   * written, and before the pin is released. Throws `PinRevokedError`.
   */
  laterRows(): LaterRows;
  /** Releases everything; calling it again does nothing. The pin must not be read afterwards. */
  release(): void;
}

export interface PinnedRange {
  readonly present: RowRefs;
  readonly deleted: RowRefs;
}

/** A pin was revoked during a paused read. The message is for the caller of the read. */
export class PinRevokedError extends Error {
  override readonly name = 'PinRevokedError';
}

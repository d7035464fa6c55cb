import type { RangeRequest } from './key-range.ts';
import type { LaterRows } from './later-rows.ts';
import type { RowRef, RowRefs } from './row-ref.ts';
import type { Table } from './table.ts';
import type { Index } from './table-index.ts';

/** Where a statement that has paused finds rows of a table. */
export interface RowSource {
  readonly rowCount: number;
  /**
   * The row after `ref` in storage order (`noRow`: the first), or `noRow` at the end. The order
   * stays the same; `ref` may be any row of the source.
   */
  nextRow(ref: RowRef): RowRef;
  /**
   * The rows of the source that have the key, in unspecified order. `key[0, keyLength)` is the
   * encoded index columns one after another, as for `Table.scanPoint`; any index will do. Throws
   * `DecodeError` when the bytes are not a key.
   */
  lookUp(index: Index, key: Uint8Array, keyLength: number): RowRefs;
  /**
   * The rows of the source that are in the range: those that are there still and those that were
   * deleted since, each in the order of the index. As `Table.scanRange` with an index that supports
   * ranges.
   */
  scanRange(index: Index, range: RangeRequest): PinnedRange;
}

/**
 * The rows of one table as they were when it was pinned, for a read that pauses while others write.
 * Made by `Table.pin()`, between transactions, and read between transactions only. Commits,
 * rollbacks and `clear` leave it as it is.
 *
 * Rows are never changed in place, so a pin copies nothing: it keeps the slots of rows that were
 * deleted since from being used again, and makes inserts go to later pages. A `RowRef` that the pin
 * has shown, or that the table showed at the moment of the pin (`scanRange` of an index, say),
 * stays readable through the table's `pageOf`, `offsetOf`, `lengthOf` and `copyRow` until
 * `release`.
 *
 * What pins hold is bounded by `limits.sqlHeldBytesMax`: beyond it, the oldest is *revoked*, and so
 * are all when the schema changes. That happens only while something is written. So whoever
 * resumes calls `requireValid` first, before it reads anything, refs that it has kept included; in
 * between two pauses a pin stays valid.
 */
export interface TablePin extends RowSource {
  readonly table: Table;
  /** Rows at the moment of the pin. */
  readonly rowCount: number;
  /** Bytes of rows that were deleted since and are kept for this pin, and maybe for others. */
  readonly heldBytes: number;
  /** True until `release`, unless it is revoked before. */
  readonly isValid: boolean;
  /**
   * True when no row came or went since the moment of the pin. It may be false although the rows
   * are the same again, and is when the pin is not valid.
   */
  readonly isUnchanged: boolean;
  /** Throws `PinRevokedError`. The error is for the caller of the read: let it pass. */
  requireValid(): void;
  /** True when the row was there at the moment of the pin. */
  has(ref: RowRef): boolean;
  /**
   * Costs a look at the present index as long as nothing was deleted since; afterwards a second
   * one, in a tree of the deleted rows that the first look-up builds and later ones complete.
   */
  lookUp(index: Index, key: Uint8Array, keyLength: number): RowRefs;
  /** What deleted rows cost is told at `lookUp`. */
  scanRange(index: Index, range: RangeRequest): PinnedRange;
  /**
   * The rows that came since and are there now. To be read before anything else is written, and
   * before the pin is released. Throws `PinRevokedError`.
   */
  laterRows(): LaterRows;
  /** Lets everything go; a second time does nothing. The pin is not read afterwards. */
  release(): void;
}

export interface PinnedRange {
  readonly present: RowRefs;
  readonly deleted: RowRefs;
}

/** A pin was taken away from a paused read. The message is for whoever asked for the read. */
export class PinRevokedError extends Error {
  override readonly name = 'PinRevokedError';
}

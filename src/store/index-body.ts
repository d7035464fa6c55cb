import type { KeyRange } from './key-range.ts';
import type { RefList } from './ref-list.ts';
import type { RowRef } from './row-ref.ts';

/**
 * The data structure behind an index. It holds refs of visible rows only. A unique index never
 * holds two rows with equal keys: its owner checks before it adds.
 *
 * `probe` remembers the place where it looked. The `…Probed` methods use that place and are legal
 * only as long as nothing else has changed or probed this index.
 */
export interface IndexBody {
  /** Bytes held. */
  readonly bytes: number;
  add(ref: RowRef): void;
  /** Removes a row that is in the index; its bytes are still those it was added with. */
  remove(ref: RowRef): void;
  /** Appends the rows that have the key, in unspecified order. */
  collectPoint(key: Uint8Array, at: number, length: number, into: RefList): void;
}

export interface UniqueBody extends IndexBody {
  /**
   * True once the keys are of a kind that this structure serves badly. The owner then immediately
   * builds another from the visible rows: the row added last may be missing here.
   */
  readonly isUnfit: boolean;
  /** The row that has the same key as the given row, or `noRow`. */
  probe(row: Uint8Array, at: number, length: number): RowRef;
  /** The row that has the key, or `noRow`. */
  find(key: Uint8Array, at: number, length: number): RowRef;
  /** Adds the probed row, now stored as `ref`; the probe found nothing. */
  addProbed(ref: RowRef): void;
  /** Replaces the row that the probe found with `ref`, which has an equal key. */
  replaceProbed(ref: RowRef): void;
}

export interface RangeBody extends IndexBody {
  /** Appends the rows inside the range in key order, or only some at one end of it. */
  collectRange(range: KeyRange, into: RefList, part?: RangePart): void;
}

/** One end of a range. */
export interface RangePart {
  readonly countMax: number;
  /** True for the last rows, in descending order. */
  readonly isDescending: boolean;
}

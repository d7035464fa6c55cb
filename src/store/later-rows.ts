import type { DerivedRequest } from './derived-body.ts';
import type { DerivedIndex } from './derived-index.ts';
import { isOlder, type Moment } from './held-rows.ts';
import type { RangeRequest } from './key-range.ts';
import { noRow, type RowRef, type RowRefs, rowRef } from './row-ref.ts';
import type { Table } from './table.ts';
import type { Index } from './table-index.ts';
import type { PinnedRange, RowSource } from './table-pin.ts';

/** The visible rows of a table that a pin does not see: they were inserted after its moment. */
export class LaterRows implements RowSource {
  readonly #table: Table;
  readonly #moment: Moment;

  /** Created by `TablePin.laterRows`. */
  constructor(table: Table, moment: Moment) {
    this.#table = table;
    this.#moment = moment;
  }

  get rowCount(): number {
    return this.countUpTo(Number.POSITIVE_INFINITY);
  }

  /** The number of rows, up to `countMax`. */
  countUpTo(countMax: number): number {
    let count = 0;
    for (let ref = this.nextRow(noRow); ref !== noRow; ref = this.nextRow(ref)) {
      if (count >= countMax) return countMax;
      count++;
    }
    return count;
  }

  nextRow(ref: RowRef): RowRef {
    return this.#table.heap.nextLater(ref, this.#moment);
  }

  lookUp(index: Index, key: Uint8Array, keyLength: number): RowRefs {
    return this.#later(index.scanPoint(key, keyLength));
  }

  scanRange(index: Index, range: RangeRequest): PinnedRange {
    return { present: this.#later(index.scanRange(range)), deleted: noRefs };
  }

  search(index: DerivedIndex, request: DerivedRequest): RowRefs | undefined {
    const refs = index.search(request);
    return refs && this.#later(refs);
  }

  #later(refs: RowRefs): RowRefs {
    return refs.filter((ref) => !isOlder(rowRef(ref), this.#moment));
  }
}

const noRefs: RowRefs = new Int32Array(0);

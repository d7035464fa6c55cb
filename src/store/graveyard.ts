import { RowKey } from './hash-key.ts';
import { HashIndex } from './index-hash.ts';
import { RefList } from './ref-list.ts';
import { offsetOf, type RowHeap, slotDeleted } from './row-heap.ts';
import { noRow, type RowRef } from './row-ref.ts';

/** Up to this many rows are compared one by one. */
const listedRowsMax = 8;

/**
 * The committed rows that the open transaction deleted from one table, so that inserting such a row
 * again can bring it back. They are hashed only when something is inserted after many deletes.
 */
export class Graveyard {
  readonly #heap: RowHeap;
  /** Can hold a row twice, and rows that came back: their state tells which. */
  readonly #rows = new RefList();
  /** Rows of the list that are in the set. */
  #hashedCount = 0;
  #set: HashIndex | undefined;

  constructor(heap: RowHeap) {
    this.#heap = heap;
  }

  add(ref: RowRef): void {
    this.#rows.push(ref);
  }

  /** The deleted row that equals these bytes, or `noRow`. */
  find(row: Uint8Array, at: number, length: number): RowRef {
    const rows = this.#rows;
    if (rows.length > listedRowsMax) return this.#findHashed(row, at, length);
    for (let index = 0; index < rows.length; index++) {
      const ref = rows.at(index);
      const isDeleted = this.#heap.stateOf(ref) === slotDeleted;
      if (isDeleted && this.#heap.rowEquals(ref, row, at, length)) return ref;
    }
    return noRow;
  }

  clear(): void {
    if (this.#rows.length === 0) return;
    this.#rows.clear();
    this.#hashedCount = 0;
    this.#set = undefined;
  }

  #findHashed(row: Uint8Array, at: number, length: number): RowRef {
    this.#set ??= new HashIndex(this.#heap, new RowKey(this.#heap));
    const set = this.#set;
    for (; this.#hashedCount < this.#rows.length; this.#hashedCount++) {
      const ref = this.#rows.at(this.#hashedCount);
      const page = this.#heap.pageOf(ref);
      const found = set.probe(page, offsetOf(ref), this.#heap.lengthOf(ref));
      if (found === noRow) set.addProbed(ref);
    }
    const found = set.probe(row, at, length);
    return found !== noRow && this.#heap.stateOf(found) === slotDeleted ? found : noRow;
  }
}

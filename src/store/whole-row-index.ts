import { RowKey } from './hash-key.ts';
import type { UniqueBody } from './index-body.ts';
import { HashIndex } from './index-hash.ts';
import { RowTreeIndex } from './index-tree.ts';
import { offsetOf, type RowHeap } from './row-heap.ts';
import { noRow, type RowRef } from './row-ref.ts';

/**
 * The visible rows of a table as a set, for tables without a unique index: it makes a second insert
 * of a row a no-op. Tables with a unique index find an equal row through that.
 */
export class WholeRowIndex {
  readonly #heap: RowHeap;
  #body: UniqueBody;

  constructor(heap: RowHeap) {
    this.#heap = heap;
    this.#body = new HashIndex(heap, new RowKey(heap));
  }

  get bytes(): number {
    return this.#body.bytes;
  }

  /** The row that equals these bytes, or `noRow`. */
  probe(row: Uint8Array, at: number, length: number): RowRef {
    return this.#body.probe(row, at, length);
  }

  /** The stored row is visible already. */
  addProbed(ref: RowRef): void {
    this.#body.addProbed(ref);
    if (this.#body.isUnfit) this.#becomeTree();
  }

  add(ref: RowRef): void {
    this.#body.add(ref);
    if (this.#body.isUnfit) this.#becomeTree();
  }

  remove(ref: RowRef): void {
    this.#body.remove(ref);
  }

  /** Adds all rows of the table to an empty set. */
  fill(): void {
    const heap = this.#heap;
    for (let ref = heap.nextVisible(noRow); ref !== noRow; ref = heap.nextVisible(ref)) {
      this.#body.add(ref);
      if (!this.#body.isUnfit) continue;
      this.#becomeTree();
      return;
    }
  }

  /** Adds all `rowCount` rows to an empty set; false if two of them are equal. */
  fillAtOnce(rowCount: number): boolean {
    const body = new HashIndex(this.#heap, new RowKey(this.#heap));
    this.#body = body;
    const second = body.fillAtOnce(rowCount);
    if (!body.isUnfit) return second === noRow;
    const tree = new RowTreeIndex(this.#heap);
    this.#body = tree;
    return fillTree(tree, this.#heap);
  }

  empty(): UniqueBody {
    const body = this.#body;
    this.#body = new HashIndex(this.#heap, new RowKey(this.#heap));
    return body;
  }

  restore(body: UniqueBody): void {
    this.#body = body;
  }

  #becomeTree(): void {
    this.#body = new RowTreeIndex(this.#heap);
    this.fill();
  }
}

/** False at the first row that is there already. */
function fillTree(tree: RowTreeIndex, heap: RowHeap): boolean {
  for (let ref = heap.nextVisible(noRow); ref !== noRow; ref = heap.nextVisible(ref)) {
    if (tree.probe(heap.pageOf(ref), offsetOf(ref), heap.lengthOf(ref)) !== noRow) return false;
    tree.addProbed(ref);
  }
  return true;
}

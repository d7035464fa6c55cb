import type { RangeBody, RangePart, UniqueBody } from './index-body.ts';
import type { Bound, KeyRange } from './key-range.ts';
import { OrderedKey, RowBytesKey } from './ordered-key.ts';
import type { RefList } from './ref-list.ts';
import type { RowHeap } from './row-heap.ts';
import { noRow, type RowRef } from './row-ref.ts';
import type { RowShape } from './row-shape.ts';
import { Tree } from './tree.ts';

/** An ordered index over the values of its columns: a B+tree. */
export class TreeIndex implements UniqueBody, RangeBody {
  readonly isUnfit = false;
  readonly #key: OrderedKey;
  readonly #tree: Tree;
  readonly #columnCount: number;

  constructor(heap: RowHeap, shape: RowShape, columns: readonly number[], isUnique: boolean) {
    this.#key = new OrderedKey(heap, shape, columns);
    this.#tree = new Tree(this.#key, !isUnique);
    this.#columnCount = columns.length;
  }

  get bytes(): number {
    return this.#tree.bytes;
  }

  probe(row: Uint8Array, at: number): RowRef {
    this.#key.loadRow(row, at);
    return this.#tree.find();
  }

  find(key: Uint8Array, at: number): RowRef {
    this.#key.loadKey(key, at, this.#columnCount);
    return this.#tree.find();
  }

  addProbed(ref: RowRef): void {
    this.#tree.insertHere(ref);
  }

  replaceProbed(ref: RowRef): void {
    this.#tree.replaceHere(ref);
  }

  add(ref: RowRef): void {
    this.#tree.add(ref);
  }

  remove(ref: RowRef): void {
    this.#tree.remove(ref);
  }

  collectPoint(key: Uint8Array, at: number, _length: number, into: RefList): void {
    this.#key.loadKey(key, at, this.#columnCount);
    this.#tree.startAt('before');
    this.#tree.collectTo('after', into);
  }

  collectRange(range: KeyRange, into: RefList, part?: RangePart): void {
    const { start, end } = range;
    if (this.#load(range, start))
      this.#tree.startAt(start.kind === 'excluded' ? 'after' : 'before');
    else this.#tree.startAtFirst();
    if (this.#load(range, end)) {
      this.#tree.collectTo(end.kind === 'excluded' ? 'before' : 'after', into, part);
    } else {
      this.#tree.collectToLast(into, part);
    }
  }

  /** Loads the columns that a bound restricts; false if it restricts none. */
  #load(range: KeyRange, bound: Bound): boolean {
    const { bytes, prefixColumns } = range;
    if (bound.kind !== 'unbounded') this.#key.loadKeyAnd(bytes, 0, prefixColumns, bound.at);
    else if (prefixColumns > 0) this.#key.loadKey(bytes, 0, prefixColumns);
    else return false;
    return true;
  }
}

/** The set of whole rows as a tree: used when a hash of them is unfit. */
export class RowTreeIndex implements UniqueBody {
  readonly isUnfit = false;
  readonly #key: RowBytesKey;
  readonly #tree: Tree;

  constructor(heap: RowHeap) {
    this.#key = new RowBytesKey(heap);
    this.#tree = new Tree(this.#key, false);
  }

  get bytes(): number {
    return this.#tree.bytes;
  }

  probe(row: Uint8Array, at: number, length: number): RowRef {
    this.#key.loadRow(row, at, length);
    return this.#tree.find();
  }

  find(row: Uint8Array, at: number, length: number): RowRef {
    return this.probe(row, at, length);
  }

  addProbed(ref: RowRef): void {
    this.#tree.insertHere(ref);
  }

  replaceProbed(ref: RowRef): void {
    this.#tree.replaceHere(ref);
  }

  add(ref: RowRef): void {
    this.#tree.add(ref);
  }

  remove(ref: RowRef): void {
    this.#tree.remove(ref);
  }

  collectPoint(key: Uint8Array, at: number, length: number, into: RefList): void {
    const ref = this.find(key, at, length);
    if (ref !== noRow) into.push(ref);
  }
}

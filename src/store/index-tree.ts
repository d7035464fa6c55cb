import type { RangeBody, RangePart, UniqueBody } from './index-body.ts';
import type { Bound, KeyRange } from './key-range.ts';
import { OrderedKey, RowBytesKey } from './ordered-key.ts';
import type { RefList } from './ref-list.ts';
import type { RowHeap } from './row-heap.ts';
import { noRow, type RowRef } from './row-ref.ts';
import type { RowShape } from './row-shape.ts';
import { Tree } from './tree.ts';

/**
 * An ordered index over the values of its columns: a B+tree.
 *
 * In a sparse one (`isSparse` in `schema`) a row that lacks a value in a column of the key is in
 * nobody's way: `probe` and `find` pass over such rows, `collectPoint` and ranges do not.
 */
export class TreeIndex implements UniqueBody, RangeBody {
  readonly isUnfit = false;
  readonly #key: OrderedKey;
  readonly #tree: Tree;
  readonly #columnCount: number;
  readonly #isSparse: boolean;
  /** Whether any number of rows may have the key of the probed row. */
  #isProbedFree = false;

  constructor(heap: RowHeap, shape: RowShape, columns: readonly number[], rule: Uniqueness) {
    this.#key = new OrderedKey(heap, shape, columns);
    this.#tree = new Tree(this.#key, rule !== 'unique');
    this.#isSparse = rule === 'sparse';
    this.#columnCount = columns.length;
  }

  get bytes(): number {
    return this.#tree.bytes;
  }

  probe(row: Uint8Array, at: number): RowRef {
    this.#key.loadRow(row, at);
    this.#isProbedFree = this.#isSparse && this.#key.lacksValue();
    return this.#isProbedFree ? noRow : this.#tree.find();
  }

  find(key: Uint8Array, at: number): RowRef {
    return this.isFree(key, at) ? noRow : this.#tree.find();
  }

  /** Whether any number of rows may have the key. Loads it. */
  isFree(key: Uint8Array, at: number): boolean {
    this.#key.loadKey(key, at, this.#columnCount);
    return this.#isSparse && this.#key.lacksValue();
  }

  addProbed(ref: RowRef): void {
    if (this.#isProbedFree) this.#tree.add(ref);
    else this.#tree.insertHere(ref);
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

/** Which rows may share a key: none, those that lack a value, or all. */
export type Uniqueness = 'unique' | 'sparse' | 'shared';

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

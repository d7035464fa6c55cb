import { present } from '../assert.ts';
import { encodedComparatorOf } from '../values/compare.ts';
import { specialKindOf } from '../values/special-types.ts';
import type { AlgebraicType } from '../values/type.ts';
import { exactPrefixLimit, type PrefixCode, prefixKindOf, prefixOf } from './key-prefix.ts';
import { offsetOf, type RowHeap } from './row-heap.ts';
import type { RowRef } from './row-ref.ts';
import type { RowShape } from './row-shape.ts';

/** The key that a tree looks up: loaded, then compared with stored rows. */
export interface TreeKey {
  /** Follows the order of keys: a smaller prefix means a smaller key. */
  readonly prefix: number;
  /** True if an equal prefix means an equal key, so that no row has to be read. */
  readonly isExact: boolean;
  /** Loads the key of a stored row. */
  loadStored(ref: RowRef): void;
  /** Sign of (loaded key − key of the stored row). */
  compareStored(ref: RowRef): number;
}

/** The first byte of an encoded option that holds nothing. */
const noneTag = 1;

type EncodedComparator = (a: Uint8Array, aAt: number, b: Uint8Array, bAt: number) => number;

/** A key of columns in the order of their values, or of the first columns of one. */
export class OrderedKey implements TreeKey {
  prefix = 0;
  isExact = false;
  #bytes: Uint8Array = new Uint8Array(0);
  /** How many leading columns are loaded, and where each begins in `#bytes`. */
  #count = 0;
  readonly #starts: Int32Array;
  readonly #heap: RowHeap;
  readonly #shape: RowShape;
  readonly #columns: readonly number[];
  readonly #comparators: readonly EncodedComparator[];
  /** Positions in the key of the columns that are options. */
  readonly #options: readonly number[];
  readonly #prefixCode: PrefixCode;
  readonly #isFirstExact: boolean;

  constructor(heap: RowHeap, shape: RowShape, columns: readonly number[]) {
    this.#heap = heap;
    this.#shape = shape;
    this.#columns = columns;
    this.#starts = new Int32Array(columns.length);
    const types = columns.map((column) => present(shape.columnTypes[column], 'type of a column'));
    this.#comparators = types.map((type) => encodedComparatorOf(type, shape.types));
    this.#options = [...types.keys()].filter(
      (at) => specialKindOf(types[at] as AlgebraicType) === 'option',
    );
    const kind = prefixKindOf(present(types[0], 'first column of a key'), shape.types);
    this.#prefixCode = kind.code;
    this.#isFirstExact = kind.isExact;
  }

  /** Loads the key of the valid row that begins at `at`. */
  loadRow(bytes: Uint8Array, at: number): void {
    for (let index = 0; index < this.#columns.length; index++) {
      this.#starts[index] = this.#shape.startOf(bytes, at, this.#columns[index] as number);
    }
    this.#finish(bytes, this.#columns.length);
  }

  loadStored(ref: RowRef): void {
    this.loadRow(this.#heap.pageOf(ref), offsetOf(ref));
  }

  /** Loads the values of the first `count` columns, which begin at `at` one after another. */
  loadKey(bytes: Uint8Array, at: number, count: number): void {
    let start = at;
    for (let index = 0; index < count; index++) {
      this.#starts[index] = start;
      start = this.#shape.skip(bytes, start, this.#columns[index] as number);
    }
    this.#finish(bytes, count);
  }

  /** Like `loadKey`, with one more column, whose value begins at `next`. */
  loadKeyAnd(bytes: Uint8Array, at: number, count: number, next: number): void {
    this.loadKey(bytes, at, count);
    this.#starts[count] = next;
    this.#finish(bytes, count + 1);
  }

  /** Whether the loaded key, of all columns, has an option without a value. */
  lacksValue(): boolean {
    for (let index = 0; index < this.#options.length; index++) {
      const start = this.#starts[this.#options[index] as number] as number;
      if (this.#bytes[start] === noneTag) return true;
    }
    return false;
  }

  compareStored(ref: RowRef): number {
    const page = this.#heap.pageOf(ref);
    const row = offsetOf(ref);
    for (let index = 0; index < this.#count; index++) {
      const stored = this.#shape.startOf(page, row, this.#columns[index] as number);
      const compare = this.#comparators[index] as EncodedComparator;
      const order = compare(this.#bytes, this.#starts[index] as number, page, stored);
      if (order !== 0) return order;
    }
    return 0;
  }

  #finish(bytes: Uint8Array, count: number): void {
    this.#bytes = bytes;
    this.#count = count;
    if (count === 0) return;
    const prefix = prefixOf(this.#prefixCode, bytes, this.#starts[0] as number);
    this.prefix = prefix;
    this.isExact =
      count === 1 && this.#isFirstExact && prefix < exactPrefixLimit && prefix > -exactPrefixLimit;
  }
}

/** Whole rows in the order of their bytes; equal only when every bit is. */
export class RowBytesKey implements TreeKey {
  prefix = 0;
  readonly isExact = false;
  #bytes: Uint8Array = new Uint8Array(0);
  #at = 0;
  #length = 0;
  readonly #heap: RowHeap;

  constructor(heap: RowHeap) {
    this.#heap = heap;
  }

  loadRow(bytes: Uint8Array, at: number, length: number): void {
    this.#bytes = bytes;
    this.#at = at;
    this.#length = length;
    let prefix = 0;
    for (let index = 0; index < 6; index++) {
      prefix = prefix * 256 + (index < length ? (bytes[at + index] as number) : 0);
    }
    this.prefix = prefix;
  }

  loadStored(ref: RowRef): void {
    this.loadRow(this.#heap.pageOf(ref), offsetOf(ref), this.#heap.lengthOf(ref));
  }

  compareStored(ref: RowRef): number {
    const page = this.#heap.pageOf(ref);
    const row = offsetOf(ref);
    const length = this.#heap.lengthOf(ref);
    const common = Math.min(length, this.#length);
    for (let index = 0; index < common; index++) {
      const order = (this.#bytes[this.#at + index] as number) - (page[row + index] as number);
      if (order !== 0) return order;
    }
    return this.#length - length;
  }
}

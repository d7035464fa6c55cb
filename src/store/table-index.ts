import { assert, present } from '../assert.ts';
import type { IndexSpec, TableSpec } from '../schema/catalog.ts';
import { isSparse } from '../schema/sparse-index.ts';
import { DecodeError } from '../values/binary-reader.ts';
import { ColumnKey } from './hash-key.ts';
import type { IndexBody, RangeBody, RangePart, UniqueBody } from './index-body.ts';
import { DirectIndex, isDirectType } from './index-direct.ts';
import { HashIndex } from './index-hash.ts';
import { TreeIndex } from './index-tree.ts';
import { checkKey, parseRange, type RangeRequest } from './key-range.ts';
import { RefList } from './ref-list.ts';
import { offsetOf, type RowHeap } from './row-heap.ts';
import { noRow, type RowRef, type RowRefs } from './row-ref.ts';
import { isPlain, type RowShape } from './row-shape.ts';
import type { Table } from './table.ts';

/**
 * An index of a table: its definition and the structure that serves it. A unique hash index is a
 * hash table and a unique direct index an array, unless it is sparse; all others, and those two
 * when their keys turn out unfit, are B+trees. The supported operations depend on the definition
 * alone.
 */
export class Index {
  readonly spec: IndexSpec;
  /** Unique among the rows that have a value in each of its columns. */
  readonly isSparse: boolean;
  readonly #heap: RowHeap;
  readonly #shape: RowShape;
  /** Bytes of a key if any bytes of that length are a key, else -1. */
  readonly #plainBytes: number;
  readonly #found = new RefList();
  #table: Table | undefined;
  #body: IndexBody;

  constructor(spec: IndexSpec, table: TableSpec, { heap, shape, body }: IndexParts) {
    this.spec = spec;
    this.isSparse = isSparse(spec, table, shape.types);
    this.#heap = heap;
    this.#shape = shape;
    const isPlainKey = spec.columns.every((column) =>
      isPlain(present(shape.columnTypes[column], 'type of a key column'), shape.types),
    );
    const sizes = spec.columns.map((column) => shape.fixedSize(column) ?? 0);
    this.#plainBytes = isPlainKey ? sizes.reduce((total, size) => total + size, 0) : -1;
    this.#body = body ?? this.#emptyBody();
  }

  /** The table it belongs to. */
  get table(): Table {
    return present(this.#table, 'table of an index');
  }

  get isUnique(): boolean {
    return this.spec.isUnique;
  }

  /** False for hash indexes: they support `scanPoint` only. */
  get supportsRange(): boolean {
    return this.spec.algorithm !== 'hash';
  }

  /** Bytes held. */
  get bytes(): number {
    return this.#body.bytes;
  }

  get body(): IndexBody {
    return this.#body;
  }

  attach(table: Table): void {
    this.#table = table;
  }

  /** True when `key[0, length)` is exactly one value of each column of the index. */
  isKey(key: Uint8Array, length: number): boolean {
    if (this.#plainBytes >= 0) return length === this.#plainBytes && length <= key.length;
    try {
      checkKey(key, length, this.#shape, this.spec.columns);
      return true;
    } catch (error) {
      if (error instanceof DecodeError) return false;
      throw error;
    }
  }

  /**
   * The row that has this valid key, or `noRow`. The index must be unique. In a sparse one no row
   * has a key that lacks a value.
   */
  find(key: Uint8Array, length: number): RowRef {
    return this.#unique().find(key, 0, length);
  }

  /** Whether this valid key lacks a value in a sparse index, so that it identifies no row. */
  isFree(key: Uint8Array): boolean {
    return this.isSparse && (this.#body as TreeIndex).isFree(key, 0);
  }

  /** Throws `DecodeError`. */
  scanPoint(key: Uint8Array, length: number): RowRefs {
    if (!this.isKey(key, length)) checkKey(key, length, this.#shape, this.spec.columns);
    this.#body.collectPoint(key, 0, length, this.#found);
    return this.#found.take();
  }

  /**
   * Rows in key order, or in the order of `part`, which can yield a few more than requested. Throws
   * `DecodeError`; asserts that the index supports ranges.
   */
  scanRange(request: RangeRequest, part?: RangePart): RowRefs {
    assert(this.supportsRange, 'the caller has asked whether the index supports ranges');
    const range = parseRange(request, this.#shape, this.spec.columns);
    (this.#body as RangeBody).collectRange(range, this.#found, part);
    return this.#found.take();
  }

  /** See `UniqueBody`. */
  probe(row: Uint8Array, at: number, length: number): RowRef {
    return this.#unique().probe(row, at, length);
  }

  /** See `UniqueBody`. The stored row is visible already. */
  addProbed(ref: RowRef): void {
    const body = this.#unique();
    body.addProbed(ref);
    if (body.isUnfit) this.#becomeTree();
  }

  replaceProbed(ref: RowRef): void {
    this.#unique().replaceProbed(ref);
  }

  /** The stored row is visible already. */
  add(ref: RowRef): void {
    this.#body.add(ref);
    if (this.spec.isUnique && this.#unique().isUnfit) this.#becomeTree();
  }

  remove(ref: RowRef): void {
    this.#body.remove(ref);
  }

  /**
   * Adds all rows of the table to an empty index. Stops at a row that violates uniqueness, and
   * returns it; else `noRow`.
   */
  fill(): RowRef {
    const heap = this.#heap;
    for (let ref = heap.nextVisible(noRow); ref !== noRow; ref = heap.nextVisible(ref)) {
      if (!this.spec.isUnique) {
        this.#body.add(ref);
        continue;
      }
      const body = this.#unique();
      if (body.probe(heap.pageOf(ref), offsetOf(ref), heap.lengthOf(ref)) !== noRow) return ref;
      body.addProbed(ref);
      if (!body.isUnfit) continue;
      this.#body = this.#emptyTree();
      return this.fill();
    }
    return noRow;
  }

  /** Like `fill`, when the number of rows is known. */
  fillAtOnce(rowCount: number): RowRef {
    const body = this.#body;
    if (!(body instanceof HashIndex)) return this.fill();
    const second = body.fillAtOnce(rowCount);
    if (!body.isUnfit) return second;
    this.#body = this.#emptyTree();
    return this.fill();
  }

  /** Removes all rows at once and returns the structure that holds them, for `restore`. */
  empty(): IndexBody {
    const body = this.#body;
    this.#body = this.#emptyBody();
    return body;
  }

  restore(body: IndexBody): void {
    this.#body = body;
  }

  #unique(): UniqueBody {
    return this.#body as UniqueBody;
  }

  #becomeTree(): void {
    this.#body = this.#emptyTree();
    assert(this.fill() === noRow, 'the rows of a unique index have different keys');
  }

  #emptyTree(): TreeIndex {
    return new TreeIndex(this.#heap, this.#shape, this.spec.columns, 'unique');
  }

  #emptyBody(): IndexBody {
    const { isUnique, columns } = this.spec;
    const [heap, shape] = [this.#heap, this.#shape];
    if (isUnique && !this.isSparse) return uniqueBody(this.spec, heap, shape);
    return new TreeIndex(heap, shape, columns, isUnique ? 'sparse' : 'shared');
  }
}

interface IndexParts {
  readonly heap: RowHeap;
  readonly shape: RowShape;
  /** The structure of an index that differs in its names only. */
  readonly body?: IndexBody | undefined;
}

function uniqueBody(spec: IndexSpec, heap: RowHeap, shape: RowShape): IndexBody {
  const { algorithm, columns } = spec;
  const [column] = columns;
  if (algorithm === 'hash') return new HashIndex(heap, new ColumnKey(heap, shape, columns));
  if (algorithm === 'direct' && column !== undefined && columns.length === 1) {
    const type = present(shape.columnTypes[column], 'type of a key column');
    if (isDirectType(type, shape.types)) return new DirectIndex(heap, shape, column);
  }
  return new TreeIndex(heap, shape, columns, 'unique');
}

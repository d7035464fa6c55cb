import { assert, present } from '../assert.ts';
import type { TableSpec } from '../schema/catalog.ts';
import type { IndexId, TableId } from '../schema/ids.ts';
import { isIntegerKind } from '../values/integer-range.ts';
import type { ProductType, Typespace } from '../values/type.ts';
import { resolveType } from '../values/typespace.ts';
import type { DerivedBody, DerivedRequest } from './derived-body.ts';
import { DerivedIndex } from './derived-index.ts';
import { DerivedIndexes } from './derived-indexes.ts';
import { HeldRows } from './held-rows.ts';
import type { IndexBody, RangePart } from './index-body.ts';
import type { RangeRequest } from './key-range.ts';
import type { IndexMemory, TableMemory } from './memory.ts';
import { PinLedger } from './pin-ledger.ts';
import { PinnedRows } from './pinned-rows.ts';
import { RefList } from './ref-list.ts';
import { isVisible, offsetOf, RowHeap } from './row-heap.ts';
import { noRow, type RowRef, type RowRefs } from './row-ref.ts';
import { RowShape } from './row-shape.ts';
import { Sequence } from './sequence.ts';
import { TableChanges } from './table-changes.ts';
import { Index } from './table-index.ts';
import type { TablePin } from './table-pin.ts';
import { type VectorColumn, vectorColumnsOf } from './vector-column.ts';
import { WholeRowIndex } from './whole-row-index.ts';

/**
 * The rows of one table, as they are now: a transaction sees its own changes.
 *
 * Scans are materialised as refs when they are opened. The bytes behind a ref stay readable until
 * the transaction that deletes the row ends, so no write disturbs a scan in progress.
 */
export class Table {
  readonly spec: TableSpec;
  /** The row as a product of its columns; refs index `types`. */
  readonly rowType: ProductType;
  readonly types: Typespace;
  readonly indexes: readonly Index[];
  readonly derivedIndexes: readonly DerivedIndex[];
  /** For the store room only: layout of rows, counters, pages, the writing side. */
  readonly shape: RowShape;
  readonly sequences: readonly SequenceColumn[];
  readonly vectors: readonly VectorColumn[];
  readonly heap: RowHeap;
  readonly changes: TableChanges;
  readonly held: HeldRows;
  /** The ledger of the store, once the table belongs to one. */
  pins: PinLedger = new PinLedger();
  /** Set where rows can be due: false for a row that would be due too far ahead. */
  guard: ((row: Uint8Array) => boolean) | undefined;
  readonly wholeRows: WholeRowIndex | undefined;
  readonly #scanned = new RefList();

  /** `kept`: parts of another table over the same rows, for a migration. */
  constructor(spec: TableSpec, types: Typespace, kept?: KeptParts) {
    this.spec = spec;
    this.types = types;
    this.rowType = {
      kind: 'product',
      elements: spec.columns.map(({ name, type }) => ({ name, type })),
    };
    this.shape = new RowShape(spec.columns, types);
    this.heap = kept?.heap ?? new RowHeap();
    this.indexes = spec.indexes.map(
      (index) =>
        new Index(index, spec, {
          heap: this.heap,
          shape: this.shape,
          body: kept?.bodies.get(index.id),
        }),
    );
    for (const index of this.indexes) index.attach(this);
    const hasKey = this.indexes.some((index) => index.isUnique && !index.isSparse);
    this.wholeRows = hasKey ? undefined : (kept?.wholeRows ?? new WholeRowIndex(this.heap));
    this.derivedIndexes = spec.derivedIndexes.map((index) => {
      return new DerivedIndex(index, this.heap, this.shape, kept?.derived.get(index.id));
    });
    this.sequences = sequenceColumnsOf(spec, types);
    this.vectors = vectorColumnsOf(spec, this.shape);
    this.held = new HeldRows(this.heap);
    const { indexes, wholeRows, derivedIndexes } = this;
    const derived = derivedIndexes.length === 0 ? undefined : new DerivedIndexes(derivedIndexes);
    this.changes = new TableChanges(this.held, { indexes, wholeRows, derived });
    this.changes.rowCount = kept?.rowCount ?? 0;
  }

  get id(): TableId {
    return this.spec.id;
  }

  get rowCount(): number {
    return this.changes.rowCount;
  }

  /** All rows, in storage order, which callers must not rely on. */
  scan(): RowRefs {
    this.heap.collectVisible(this.#scanned);
    return this.#scanned.take();
  }

  /**
   * The row after `ref` in storage order (`noRow`: the first), or `noRow` at the end. Walks without
   * materialising anything, so nothing may be written until the walk is over.
   */
  nextRow(ref: RowRef): RowRef {
    return this.heap.nextVisible(ref);
  }

  /**
   * Keeps the current rows readable for a read that continues after others have written. Costs a
   * few microseconds, whatever the size of the table. Not allowed inside a transaction that has
   * touched the table.
   */
  pin(): TablePin {
    assert(!this.changes.isTouched, 'a table is pinned between transactions');
    return new PinnedRows(this);
  }

  /**
   * The row with the key, which is the encoded index columns one after another; the index must be
   * unique. Returns -1 if there is none, -3 if the bytes are not a key.
   */
  find(index: Index, key: Uint8Array, keyLength: number): RowRef | -1 | -3 {
    assert(index.isUnique, 'only a unique index finds one row');
    if (!index.isKey(key, keyLength)) return -3;
    const ref = index.find(key, keyLength);
    return ref === noRow ? -1 : ref;
  }

  /** The rows with the key. Throws `DecodeError` if the bytes are not a key. */
  scanPoint(index: Index, key: Uint8Array, keyLength: number): RowRefs {
    return index.scanPoint(key, keyLength);
  }

  /**
   * The rows inside the bounds, in key order; none if the bounds are inverted. With `part`, about
   * that many at one end. Throws `DecodeError`. Asserts that the index supports ranges (hash
   * indexes do not).
   */
  scanRange(index: Index, bounds: RangeRequest, part?: RangePart): RowRefs {
    return index.scanRange(bounds, part);
  }

  /** Rows among which are all that fulfil the request; `undefined`: all rows. */
  search(index: DerivedIndex, request: DerivedRequest): RowRefs | undefined {
    return index.search(request);
  }

  /** The visible row equal to `bytes[at, at + length)`, or `noRow`; the bytes need not be a row. */
  findRow(bytes: Uint8Array, at: number, length: number): RowRef {
    if (!this.shape.isRow(bytes, at, at + length)) return noRow;
    return this.changes.findEqual(bytes, at, length);
  }

  /** True while the row is visible. */
  isVisible(ref: RowRef): boolean {
    return isVisible(this.heap.stateOf(ref));
  }

  /**
   * The bytes that hold the row; they must not be written. The row is `lengthOf(ref)` bytes at
   * `offsetOf(ref)`.
   */
  pageOf(ref: RowRef): Uint8Array {
    return this.heap.pageOf(ref);
  }

  offsetOf(ref: RowRef): number {
    return offsetOf(ref);
  }

  lengthOf(ref: RowRef): number {
    return this.heap.lengthOf(ref);
  }

  /** Offset, in the row's page, of one column of the row. */
  columnOffset(ref: RowRef, column: number): number {
    return this.shape.startOf(this.heap.pageOf(ref), offsetOf(ref), column);
  }

  /** Copies the row to `into` at `at`, if it fits, and returns its length. */
  copyRow(ref: RowRef, into: Uint8Array, at: number): number {
    return this.heap.copy(ref, into, at);
  }

  memory(): TableMemory {
    const held = [...this.indexes, ...this.derivedIndexes];
    const indexes: IndexMemory[] = held.map(({ spec, bytes }) => ({
      indexId: spec.id,
      name: spec.name,
      bytes,
    }));
    const wholeRowsBytes = this.wholeRows?.bytes ?? 0;
    const indexBytes = indexes.reduce((total, index) => total + index.bytes, wholeRowsBytes);
    const pageBytes = this.heap.allocatedBytes;
    return {
      tableId: this.spec.id,
      name: this.spec.name,
      rowCount: this.rowCount,
      rowBytes: this.heap.usedBytes,
      freeBytes: pageBytes - this.heap.usedBytes,
      heldBytes: this.held.bytes,
      wholeRowsBytes,
      indexes,
      totalBytes: pageBytes + indexBytes,
    };
  }
}

export interface KeptParts {
  readonly heap: RowHeap;
  readonly rowCount: number;
  /** By index id; an index without an entry is empty and has to be filled. */
  readonly bodies: ReadonlyMap<IndexId, IndexBody>;
  /** Likewise of derived indexes. */
  readonly derived: ReadonlyMap<IndexId, DerivedBody>;
  readonly wholeRows: WholeRowIndex | undefined;
}

/** A column that takes its value from a sequence when zero is written into it. */
export interface SequenceColumn {
  readonly sequence: Sequence;
  readonly column: number;
  /** Whether the current row got a value. */
  isFilled: boolean;
}

function sequenceColumnsOf(spec: TableSpec, types: Typespace): SequenceColumn[] {
  const columns = spec.sequences.map((sequence) => {
    const { type } = present(spec.columns[sequence.column], 'column of a sequence');
    const { kind } = resolveType(type, types);
    assert(isIntegerKind(kind), 'a sequence fills a column of integers');
    return { sequence: new Sequence(sequence, kind), column: sequence.column, isFilled: false };
  });
  return columns.sort((a, b) => a.column - b.column);
}

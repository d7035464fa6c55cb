import { assert } from '../assert.ts';
import { limits } from '../limits.ts';
import { boundTags, errorCodes, scratchBytes } from '../protocol/module-abi.ts';
import { indexId, tableId } from '../schema/ids.ts';
import { TreeIndex } from '../store/index-tree.ts';
import { parseRange, type RangeRequest } from '../store/key-range.ts';
import { RefList } from '../store/ref-list.ts';
import { noRow, type RowRef, type RowRefs, rowRef } from '../store/row-ref.ts';
import type { Store } from '../store/store.ts';
import type { Table } from '../store/table.ts';
import type { Index } from '../store/table-index.ts';
import type { RowSource } from '../store/table-pin.ts';
import type { Transaction } from '../store/transaction.ts';
import { DecodeError } from '../values/binary-reader.ts';
import { ReadRecorder, type ReadSet } from './read-set.ts';

/**
 * The buffer in which the program and its host exchange bytes. Rows, keys and bounds arrive in it
 * from offset 0; rows and generated columns leave in it.
 */
export interface Scratch {
  /** The whole buffer; `grow` replaces it. */
  readonly bytes: Uint8Array;
  /** Makes the buffer hold at least `minBytes`; contents are kept. */
  grow(minBytes: number): void;
}

/**
 * How many bytes of the scratch hold the three parts of a range: prefix, start bound, end bound.
 */
export interface RangeLengths {
  readonly prefixColumns: number;
  readonly prefixLength: number;
  readonly startLength: number;
  readonly endLength: number;
}

/** The rows of tables at one moment. */
export type PinnedTables = ReadonlyMap<Table, RowSource>;

/**
 * `loading`: the program is being evaluated or described. `idle`: no call runs. `viewing`: a view
 * is evaluated; what it reads is recorded, and it cannot write. `reading`: neither recorded, nor
 * can it write; with `pins`, others write between two calls.
 */
type State =
  | { readonly kind: 'loading' | 'idle' }
  | { readonly kind: 'running'; readonly transaction: Transaction }
  | { readonly kind: 'viewing'; readonly reads: ReadRecorder }
  | { readonly kind: 'reading'; readonly pins: PinnedTables | undefined };

/** What the names of tables as they were before a migration begin with. */
const oldPrefix = 'old.';

interface OpenIterator {
  readonly table: Table;
  readonly rows: RowRefs;
  position: number;
}

/**
 * The data calls of the module boundary over one store: ids and encoded rows in, numbers out. A
 * negative result is a negated error code, after which the transaction is unchanged. Programs see
 * user tables only, by canonical or source name. Nothing here depends on the engine of a program.
 *
 * The arguments come from the program: any number can be anything. An exception is a bug, or a full
 * stack below the program; an interrupted write leaves `isUnfinished` true for good, because the
 * store may then be half changed.
 */
export class HostCalls {
  /** The one that is served, or that of a call that works on another. */
  #store: Store;
  #served: Store;
  /** Tables that the call must not write though it writes others. */
  #sealed: ReadonlySet<Table> | undefined;
  readonly #scratch: Scratch;
  #state: State = { kind: 'loading' };
  #isWriting = false;
  /** Handle n is at n - 1; a closed handle leaves a hole that is reused. */
  #iterators: (OpenIterator | undefined)[] = [];
  #openCount = 0;

  constructor(store: Store, scratch: Scratch) {
    this.#store = store;
    this.#served = store;
    this.#scratch = scratch;
  }

  /** Replaces the store before the first call. */
  serve(store: Store): void {
    assert(this.#state.kind === 'loading', 'a program keeps its store');
    this.#store = store;
    this.#served = store;
  }

  /** True when the store must not be used any more. */
  get isUnfinished(): boolean {
    return this.#isWriting;
  }

  begin(transaction: Transaction): void {
    assert(!this.#isInCall(), 'calls of a program do not nest');
    this.#state = { kind: 'running', transaction };
  }

  /** Starts the evaluation of a view, which `endView` or `end` ends. */
  beginView(): void {
    assert(!this.#isInCall(), 'calls of a program do not nest');
    this.#state = { kind: 'viewing', reads: new ReadRecorder() };
  }

  /**
   * Starts a part of a migration over `store`, which `endMigration` or `end` ends: with a
   * transaction it can write the new tables, and without one what it reads is recorded.
   */
  beginMigration(store: Store, transaction: Transaction | undefined): void {
    if (transaction === undefined) this.beginView();
    else this.begin(transaction);
    this.#store = store;
    const tables = [...store.tables];
    this.#sealed = new Set(tables.filter(({ spec }) => spec.name.startsWith(oldPrefix)));
  }

  /** Ends it as `end` does; returns whether it has read any rows without a transaction. */
  endMigration(): boolean {
    if (this.#state.kind !== 'viewing') {
      this.end();
      return false;
    }
    const { tables, keys } = this.endView();
    return tables.size + keys.size > 0;
  }

  /** Starts a read of the rows as they are now, which `end` ends. */
  beginRead(): void {
    assert(!this.#isInCall(), 'calls of a program do not nest');
    this.#state = { kind: 'reading', pins: undefined };
  }

  /** Goes on with the read from pins of all user tables, made before anything else has written. */
  readFrom(pins: PinnedTables): void {
    assert(this.#state.kind === 'reading', 'a read is under way');
    this.#state = { kind: 'reading', pins };
  }

  /** Ends the view as `end` does; returns what was read since `beginView`. */
  endView(): ReadSet {
    assert(this.#state.kind === 'viewing', 'a view is being evaluated');
    const { reads } = this.#state;
    this.end();
    return reads.finish();
  }

  /** Closes what the call left open; until the next `begin` every data call is refused. */
  end(): void {
    this.#state = { kind: 'idle' };
    this.#store = this.#served;
    this.#sealed = undefined;
    if (this.#iterators.length > 0) this.#iterators = [];
    this.#openCount = 0;
  }

  /** 0 while a call runs; the negative code with which every call is refused otherwise. */
  refusal(): number {
    switch (this.#state.kind) {
      case 'running':
      case 'viewing':
      case 'reading':
        return 0;
      case 'loading':
        return -errorCodes.hostCallFailure;
      case 'idle':
        return -errorCodes.notInTransaction;
    }
  }

  tableId(name: string): number {
    if (this.#state.kind === 'loading') return this.refusal();
    const table = this.#store.tableByName(name);
    return table?.spec.kind === 'user' ? table.spec.id : -errorCodes.noSuchTable;
  }

  indexId(name: string): number {
    if (this.#state.kind === 'loading') return this.refusal();
    const index = this.#store.indexByName(name);
    return index?.table.spec.kind === 'user' ? index.spec.id : -errorCodes.noSuchIndex;
  }

  rowCount(tableId: number): number {
    if (!this.#isInCall()) return this.refusal();
    const table = this.#table(tableId);
    if (table === undefined) return -errorCodes.noSuchTable;
    this.#noteTable(table);
    return (this.#pinOf(table) ?? table).rowCount;
  }

  insert(tableId: number, rowLength: number): number {
    if (this.#state.kind !== 'running') return this.#writeRefusal();
    const table = this.#table(tableId);
    if (table === undefined) return -errorCodes.noSuchTable;
    if (this.#sealed?.has(table)) return -errorCodes.transactionReadOnly;
    if (!this.#holds(rowLength)) return -errorCodes.undecodable;
    this.#startWrite();
    const result = this.#state.transaction.insert(table, this.#scratch.bytes, rowLength);
    this.#isWriting = false;
    return result;
  }

  update(tableId: number, indexId: number, rowLength: number): number {
    if (this.#state.kind !== 'running') return this.#writeRefusal();
    const table = this.#table(tableId);
    if (table === undefined) return -errorCodes.noSuchTable;
    if (this.#sealed?.has(table)) return -errorCodes.transactionReadOnly;
    const index = this.#index(indexId);
    if (index === undefined || index.table !== table) return -errorCodes.noSuchIndex;
    if (!index.isUnique) return -errorCodes.indexNotUnique;
    if (!this.#holds(rowLength)) return -errorCodes.undecodable;
    this.#startWrite();
    const result = this.#state.transaction.update(table, index, this.#scratch.bytes, rowLength);
    this.#isWriting = false;
    return result;
  }

  /** Returns 1 if there was such a row. */
  deleteEqual(tableId: number, rowLength: number): number {
    if (this.#state.kind !== 'running') return this.#writeRefusal();
    const table = this.#table(tableId);
    if (table === undefined) return -errorCodes.noSuchTable;
    if (this.#sealed?.has(table)) return -errorCodes.transactionReadOnly;
    if (!this.#holds(rowLength)) return -errorCodes.undecodable;
    const { transaction } = this.#state;
    this.#startWrite();
    const result = orUndecodable(() =>
      Number(transaction.deleteEqual(table, this.#scratch.bytes, 0, rowLength)),
    );
    this.#isWriting = false;
    return result;
  }

  /** Returns the length of the row, which is then in the scratch. */
  find(indexId: number, keyLength: number): number {
    if (!this.#isInCall()) return this.refusal();
    const index = this.#index(indexId);
    if (index === undefined) return -errorCodes.noSuchIndex;
    if (!index.isUnique) return -errorCodes.indexNotUnique;
    if (!this.#holds(keyLength)) return -errorCodes.undecodable;
    const row = this.#findRow(index, keyLength);
    if (row === -3) return -errorCodes.undecodable;
    this.#noteKey(index, this.#scratch.bytes, keyLength);
    if (row === -1) return -errorCodes.noSuchRow;
    return this.#copyOut(index.table, row, 0);
  }

  scan(tableId: number): number {
    if (!this.#isInCall()) return this.refusal();
    const table = this.#table(tableId);
    if (table === undefined) return -errorCodes.noSuchTable;
    this.#noteTable(table);
    const pin = this.#pinOf(table);
    return this.#open(table, pin === undefined ? table.scan() : allOf(pin));
  }

  scanPoint(indexId: number, keyLength: number): number {
    if (!this.#isInCall()) return this.refusal();
    const found = this.#point(indexId, keyLength);
    if (typeof found === 'number') return found;
    this.#noteKey(found.index, this.#scratch.bytes, keyLength);
    return this.#open(found.index.table, found.rows);
  }

  scanRange(indexId: number, range: RangeLengths): number {
    if (!this.#isInCall()) return this.refusal();
    const found = this.#range(indexId, range);
    if (typeof found === 'number') return found;
    this.#noteRange(found.index, range);
    return this.#open(found.index.table, found.rows);
  }

  /**
   * Returns the bytes of whole rows now in the scratch: as many as fit into `scratchBytes`, at
   * least one. 0: no more rows exist, and the iterator is closed.
   */
  next(handle: number): number {
    if (!this.#isInCall()) return this.refusal();
    const iterator = this.#iterators[handle - 1];
    if (iterator === undefined) return -errorCodes.noSuchIterator;
    const { table, rows } = iterator;
    let { position } = iterator;
    let end = 0;
    while (position < rows.length) {
      const row = rows[position] as RowRef;
      if (end > 0 && end + table.lengthOf(row) > scratchBytes) break;
      end += this.#copyOut(table, row, end);
      position += 1;
    }
    iterator.position = position;
    if (end === 0) this.#release(handle);
    return end;
  }

  /** Returns 0. */
  close(handle: number): number {
    if (!this.#isInCall()) return this.refusal();
    if (this.#iterators[handle - 1] === undefined) return -errorCodes.noSuchIterator;
    this.#release(handle);
    return 0;
  }

  /** Returns the number of rows removed. */
  deletePoint(indexId: number, keyLength: number): number {
    if (this.#state.kind !== 'running') return this.#writeRefusal();
    const found = this.#point(indexId, keyLength);
    if (typeof found === 'number') return found;
    if (found.index.isFree(this.#scratch.bytes)) return 0;
    return this.#deleteMany(found.index.table, found.rows);
  }

  /** Returns the number of rows removed. */
  deleteRange(indexId: number, range: RangeLengths): number {
    if (this.#state.kind !== 'running') return this.#writeRefusal();
    const found = this.#range(indexId, range);
    return typeof found === 'number' ? found : this.#deleteMany(found.index.table, found.rows);
  }

  /** Returns the number of rows removed. */
  clear(tableId: number): number {
    if (this.#state.kind !== 'running') return this.#writeRefusal();
    const table = this.#table(tableId);
    if (table === undefined) return -errorCodes.noSuchTable;
    if (this.#sealed?.has(table)) return -errorCodes.transactionReadOnly;
    this.#startWrite();
    const result = this.#state.transaction.clear(table);
    this.#isWriting = false;
    return result;
  }

  /** JSON of table, index and columns of the last violated unique constraint; empty = none. */
  violation(): string {
    if (this.#state.kind !== 'running') return '';
    const { violation } = this.#state.transaction;
    if (violation === undefined) return '';
    const { table, index, columns } = violation;
    return JSON.stringify({ table, index, columns });
  }

  #isInCall(): boolean {
    return this.#state.kind !== 'loading' && this.#state.kind !== 'idle';
  }

  /** The code that refuses a write, in a state other than `running`. */
  #writeRefusal(): number {
    const refusal = this.refusal();
    return refusal === 0 ? -errorCodes.transactionReadOnly : refusal;
  }

  #table(id: number): Table | undefined {
    const table = this.#store.table(tableId(id));
    return table !== undefined && this.#isOffered(table) ? table : undefined;
  }

  #index(id: number): Index | undefined {
    const index = this.#store.index(indexId(id));
    return index !== undefined && this.#isOffered(index.table) ? index : undefined;
  }

  /** Rows of an event table are gone when their transaction ends, so no other can read them. */
  #isOffered({ spec }: Table): boolean {
    return spec.kind === 'user' && !(spec.isEvent && this.#state.kind !== 'running');
  }

  #pinOf(table: Table): RowSource | undefined {
    return this.#state.kind === 'reading' ? this.#state.pins?.get(table) : undefined;
  }

  #findRow(index: Index, keyLength: number): RowRef | -1 | -3 {
    const { table } = index;
    const pin = this.#pinOf(table);
    if (pin === undefined) return table.find(index, this.#scratch.bytes, keyLength);
    if (!index.isKey(this.#scratch.bytes, keyLength)) return -3;
    if (index.isFree(this.#scratch.bytes)) return -1;
    const [row] = pin.lookUp(index, this.#scratch.bytes, keyLength);
    return row === undefined ? -1 : rowRef(row);
  }

  #noteTable(table: Table): void {
    if (this.#state.kind === 'viewing') this.#state.reads.table(table.spec.id);
  }

  #noteKey(index: Index, key: Uint8Array, length: number): void {
    if (this.#state.kind === 'viewing') this.#state.reads.key(index, key, length);
  }

  /** A range that is one whole key counts as that key. */
  #noteRange(index: Index, range: RangeLengths): void {
    if (this.#state.kind !== 'viewing') return;
    const key = wholeKeyOf(index, range, this.#scratch.bytes);
    if (key === undefined) this.#noteTable(index.table);
    else this.#noteKey(index, key, key.length);
  }

  /** Whether `length` can be the length of something in the scratch. */
  #holds(length: number): boolean {
    return Number.isInteger(length) && length >= 0 && length <= this.#scratch.bytes.length;
  }

  /** Anything that interrupts the write, mostly a full stack, leaves the mark set. */
  #startWrite(): void {
    assert(!this.#isWriting, 'a write to the store did not end');
    this.#isWriting = true;
  }

  #copyOut(table: Table, row: RowRef, at: number): number {
    const length = table.lengthOf(row);
    if (at + length > this.#scratch.bytes.length) this.#scratch.grow(at + length);
    return table.copyRow(row, this.#scratch.bytes, at);
  }

  #open(table: Table, rows: RowRefs): number {
    if (this.#openCount >= limits.openIteratorsMax) return -errorCodes.noSpace;
    this.#openCount += 1;
    const hole =
      this.#openCount <= this.#iterators.length ? this.#iterators.indexOf(undefined) : -1;
    const slot = hole < 0 ? this.#iterators.length : hole;
    this.#iterators[slot] = { table, rows, position: 0 };
    return slot + 1;
  }

  #release(handle: number): void {
    this.#iterators[handle - 1] = undefined;
    this.#openCount -= 1;
  }

  #point(indexId: number, keyLength: number): { index: Index; rows: RowRefs } | number {
    const index = this.#index(indexId);
    if (index === undefined) return -errorCodes.noSuchIndex;
    if (!this.#holds(keyLength)) return -errorCodes.undecodable;
    const { bytes } = this.#scratch;
    const pin = this.#pinOf(index.table);
    return orUndecodable(() => {
      const rows = pin?.lookUp(index, bytes, keyLength) ?? index.scanPoint(bytes, keyLength);
      return { index, rows };
    });
  }

  #range(indexId: number, range: RangeLengths): { index: Index; rows: RowRefs } | number {
    const index = this.#index(indexId);
    if (index === undefined) return -errorCodes.noSuchIndex;
    if (!index.supportsRange) return -errorCodes.wrongIndexAlgorithm;
    const { prefixColumns, startLength, endLength } = range;
    // A prefix of no columns has no bytes, whatever the program says.
    const prefixLength = prefixColumns === 0 ? 0 : range.prefixLength;
    const lengths = [prefixColumns, prefixLength, startLength, endLength];
    if (!lengths.every((length) => this.#holds(length))) return -errorCodes.undecodable;
    const { bytes } = this.#scratch;
    const request = { bytes, prefixColumns, prefixLength, startLength, endLength };
    const pin = this.#pinOf(index.table);
    return orUndecodable(() => {
      const rows = pin === undefined ? index.scanRange(request) : rangeOf(pin, index, request);
      return { index, rows };
    });
  }

  #deleteMany(table: Table, rows: RowRefs): number {
    if (this.#state.kind !== 'running') return this.#writeRefusal();
    if (this.#sealed?.has(table)) return -errorCodes.transactionReadOnly;
    this.#startWrite();
    const result = this.#state.transaction.deleteMany(table, rows);
    this.#isWriting = false;
    return result;
  }
}

function allOf(pin: RowSource): RowRefs {
  const refs = new RefList();
  for (let ref = pin.nextRow(noRow); ref !== noRow; ref = pin.nextRow(ref)) refs.push(ref);
  return refs.take();
}

/** The rows of the range in the order of the index, deleted ones among the others. */
function rangeOf(pin: RowSource, index: Index, request: RangeRequest): RowRefs {
  const { present, deleted } = pin.scanRange(index, request);
  if (deleted.length === 0) return present;
  const { heap, shape } = index.table;
  const { columns } = index.spec;
  const ordered = new TreeIndex(heap, shape, columns, 'shared');
  for (const refs of [present, deleted]) for (const ref of refs) ordered.add(rowRef(ref));
  const refs = new RefList();
  ordered.collectRange(parseRange(request, shape, columns), refs);
  return refs.take();
}

function orUndecodable<Result>(run: () => Result): Result | number {
  try {
    return run();
  } catch (error) {
    if (error instanceof DecodeError) return -errorCodes.undecodable;
    throw error;
  }
}

/** The key that a checked range consists of, if its bounds allow nothing else. */
function wholeKeyOf(
  index: Index,
  { prefixColumns, prefixLength, startLength, endLength }: RangeLengths,
  bytes: Uint8Array,
): Uint8Array | undefined {
  if (prefixColumns + 1 !== index.spec.columns.length) return undefined;
  const prefixEnd = prefixColumns === 0 ? 0 : prefixLength;
  const startEnd = prefixEnd + startLength;
  if (bytes[prefixEnd] !== boundTags.included) return undefined;
  if (endLength > 0) {
    if (endLength !== startLength) return undefined;
    for (let at = 0; at < endLength; at++) {
      if (bytes[prefixEnd + at] !== bytes[startEnd + at]) return undefined;
    }
  }
  const key = new Uint8Array(prefixEnd + startLength - 1);
  key.set(bytes.subarray(0, prefixEnd));
  key.set(bytes.subarray(prefixEnd + 1, startEnd), prefixEnd);
  return key;
}

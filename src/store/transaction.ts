import { assert, present } from '../assert.ts';
import { limits } from '../limits.ts';
import { DecodeError } from '../values/binary-reader.ts';
import type { ChangeSet, TableChange } from './change-set.ts';
import type { CommitOffset } from './commit-offset.ts';
import { noRow, type RowRef, type RowRefs } from './row-ref.ts';
import type { RowShape } from './row-shape.ts';
import type { StoreState } from './store-state.ts';
import type { SequenceColumn, Table } from './table.ts';
import type { InsertResult } from './table-changes.ts';
import type { Index } from './table-index.ts';
import { type VectorFault, vectorFaultOf } from './vector-column.ts';

/**
 * The only writer. Changes are made in place and are visible at once; `rollback` undoes them all,
 * except sequence values, which stay consumed. A failed operation changes nothing, and the
 * transaction continues.
 *
 * Rows are passed in at the start of a buffer whose other bytes do not matter. `insert` and
 * `update` return the number of bytes of generated column values, which they place at the start of
 * the buffer in column order, or one of the negative codes below.
 */
export class Transaction {
  readonly #state: StoreState;
  readonly #touched: Table[] = [];
  #violation: UniqueViolation | undefined;
  #vectorFault: VectorFault | undefined;
  #isOpen = true;

  /** Created by `Store.begin`. */
  constructor(state: StoreState) {
    this.#state = state;
  }

  /** False after `commit` and `rollback`. */
  get isOpen(): boolean {
    return this.#isOpen;
  }

  /** Details of the last `uniqueViolation`. */
  get violation(): UniqueViolation | undefined {
    return this.#violation;
  }

  /** Details of the last `undecodable`, if it was a vector of another length. */
  get vectorFault(): VectorFault | undefined {
    return this.#vectorFault;
  }

  /** Tables with a net change so far. */
  changedTables(): Table[] {
    return this.#touched.filter(({ changes }) => changes.hasNetChange);
  }

  /** Net bytes of rows inserted and deleted so far; rows of event tables count as neither. */
  netBytes(): { readonly inserted: number; readonly deleted: number } {
    let inserted = 0;
    let deleted = 0;
    for (const { changes, spec } of this.#touched) {
      if (spec.isEvent) continue;
      inserted += changes.insertedBytes;
      deleted += changes.deletedBytes;
    }
    return { inserted, deleted };
  }

  /** Inserts a row. A row that exists already is left as it is: same result, no change. */
  insert(table: Table, row: Uint8Array, length: number): number {
    const code = this.#prepare(table, row, length);
    if (code < 0) return code;
    return this.#finish(table, row, table.changes.insert(row, length));
  }

  /** Replaces the row that has the new row's key in `index`. An equal row is left as it is. */
  update(table: Table, index: Index, row: Uint8Array, length: number): number {
    if (!index.isUnique) return notUnique;
    assert(index.table === table, 'the index belongs to the table');
    const code = this.#prepare(table, row, length);
    if (code < 0) return code;
    return this.#finish(table, row, table.changes.update(index, row, length));
  }

  /**
   * Moves the sequences of the table on, so that they continue behind the values that a row, as it
   * was given to `insert`, has written itself.
   */
  raiseSequences(table: Table, row: Uint8Array): void {
    for (const { sequence, column } of table.sequences) {
      const at = table.shape.startOf(row, 0, column);
      if (sequence.raise(row, at)) this.#state.mark(sequence);
    }
  }

  /** Deletes a visible row. */
  deleteRef(table: Table, ref: RowRef): void {
    this.#touch(table);
    table.changes.remove(ref);
  }

  /**
   * Deletes the row equal to `row[offset, offset + length)`; false if there is none. Throws
   * `DecodeError` if the bytes are not a row.
   */
  deleteEqual(table: Table, row: Uint8Array, offset: number, length: number): boolean {
    assert(this.#isOpen, 'the transaction is open');
    if (!table.shape.isRow(row, offset, offset + length)) throw new DecodeError('not a row');
    const ref = table.changes.findEqual(row, offset, length);
    if (ref === noRow) return false;
    this.deleteRef(table, ref);
    return true;
  }

  /** Deletes those of the rows that are still visible and returns their number. */
  deleteMany(table: Table, refs: RowRefs): number {
    this.#touch(table);
    return table.changes.removeMany(refs);
  }

  /** Deletes all visible rows and returns their number. */
  clear(table: Table): number {
    this.#touch(table);
    return table.changes.clear();
  }

  /** The net change so far, as `commit` would return it. Copies the rows; nothing ends. */
  pendingChanges(): TableChange[] {
    const { arena } = this.#state;
    return this.changedTables()
      .map(({ changes, spec }) => changes.pending(spec.id, arena))
      .sort((a, b) => a.tableId - b.tableId);
  }

  /** The net change of one table so far, copied like those of `pendingChanges`. */
  pendingChangesOf({ changes, spec }: Table): TableChange {
    return changes.pending(spec.id, this.#state.arena);
  }

  /** Undoes inserts into event tables, which a commit at this point would not keep. */
  dropEvents(): void {
    for (const { changes, spec } of this.#touched) if (spec.isEvent) changes.rollback();
  }

  /**
   * Ends the transaction. Returns its net change under the next offset, or `undefined` if there is
   * none; then no offset is used, unless `forced`.
   */
  commit(forced: boolean = false): ChangeSet | undefined {
    const tables = this.#settle();
    if (tables.length === 0 && !forced) return undefined;
    return this.#changeSet(this.#state.nextOffset(), tables);
  }

  /**
   * Like `commit`, for a transaction that belongs to the schema change applied just before: both
   * share one record and one offset.
   */
  commitJoined(): ChangeSet | undefined {
    const tables = this.#settle();
    return tables.length === 0 ? undefined : this.#changeSet(this.#state.offset, tables);
  }

  rollback(): void {
    this.#end();
    for (const { changes } of this.#touched) changes.rollback();
  }

  #changeSet(offset: CommitOffset, tables: readonly TableChange[]): ChangeSet {
    return { offset, tables, sequences: this.#state.takeSequenceMarks() };
  }

  /** Makes all changes permanent. */
  #settle(): TableChange[] {
    this.#end();
    const { arena } = this.#state;
    const tables: TableChange[] = [];
    for (const { changes, spec } of this.#touched) {
      if (!changes.isTouched) continue;
      if (spec.isEvent && changes.hasNetChange) tables.push(changes.commitEvents(spec.id, arena));
      else if (spec.isEvent) changes.rollback();
      else if (changes.hasNetChange) tables.push(changes.commit(spec.id, arena));
      else changes.commitNothing(arena);
    }
    this.#state.pins.settle();
    if (tables.length > 1) tables.sort((a, b) => a.tableId - b.tableId);
    return tables;
  }

  #end(): void {
    assert(this.#isOpen, 'a transaction ends once');
    this.#isOpen = false;
    this.#state.isOpen = false;
  }

  #touch(table: Table): void {
    assert(this.#isOpen, 'the transaction is open');
    if (!table.changes.isTouched) this.#noteTouched(table);
  }

  #noteTouched(table: Table): void {
    if (this.#touched.includes(table)) return;
    this.#touched.push(table);
    // Tables outside the catalog, such as results of views, share the limit on what pins hold.
    table.pins = this.#state.pins;
  }

  /** Checks the row and fills its generated columns. 0, or a code. */
  #prepare(table: Table, row: Uint8Array, length: number): number {
    this.#touch(table);
    if (length > limits.rowBytesMax) return hostFailure;
    this.#vectorFault = undefined;
    if (length > row.length || !table.shape.isRow(row, 0, length)) return undecodable;
    if (table.guard?.(row) === false) return delayTooLong;
    if (table.vectors.length > 0 && !this.#hasWholeVectors(table, row)) return undecodable;
    return table.sequences.length === 0 ? 0 : this.#fillSequences(table, row);
  }

  #hasWholeVectors({ spec, shape, vectors }: Table, row: Uint8Array): boolean {
    this.#vectorFault = vectorFaultOf(spec, shape, vectors, row);
    return this.#vectorFault === undefined;
  }

  #fillSequences(table: Table, row: Uint8Array): number {
    for (const column of table.sequences) column.isFilled = false;
    for (const drawn of table.sequences) {
      const { sequence } = drawn;
      const at = table.shape.startOf(row, 0, drawn.column);
      if (!sequence.isZeroIn(row, at)) continue;
      if (!sequence.advance()) return sequenceOverflow;
      this.#state.mark(sequence);
      sequence.write(row, at);
      drawn.isFilled = true;
    }
    return 0;
  }

  #finish(table: Table, row: Uint8Array, result: InsertResult | 'absent'): number {
    switch (result) {
      case 'inserted':
      case 'present':
        return table.sequences.length === 0 ? 0 : writeGenerated(table.sequences, row);
      case 'absent':
        return noSuchRow;
      case 'full':
        return hostFailure;
      case 'conflict':
        this.#violation = violationOf(table, row);
        return uniqueViolation;
    }
  }
}

/** Results of `insert` and `update`: the codes that modules see, negated. */
export const hostFailure = -1;
export const undecodable = -3;
export const uniqueViolation = -12;
export const delayTooLong = -13;
export const notUnique = -14;
export const noSuchRow = -15;
export const sequenceOverflow = -16;

/** The unique index that rejected a row; all by canonical name. */
export interface UniqueViolation {
  readonly table: string;
  readonly index: string;
  /** Names of the index's columns. */
  readonly columns: readonly string[];
  /** The rejected key: the encoded index columns one after another. */
  readonly key: Uint8Array;
}

function violationOf(table: Table, row: Uint8Array): UniqueViolation {
  const index = present(table.changes.conflict, 'index that refused the row');
  const { columns } = index.spec;
  const names = columns.map((column) => present(table.spec.columns[column], 'index column').name);
  return {
    table: table.spec.name,
    index: index.spec.name,
    columns: names,
    key: keyOf(table.shape, columns, row, 0),
  };
}

/** The values of some columns of a valid row, one after another. */
export function keyOf(
  shape: RowShape,
  columns: readonly number[],
  bytes: Uint8Array,
  row: number,
): Uint8Array {
  const key: number[] = [];
  for (const column of columns) {
    const start = shape.startOf(bytes, row, column);
    for (const byte of bytes.subarray(start, shape.skip(bytes, start, column))) key.push(byte);
  }
  return Uint8Array.from(key);
}

function writeGenerated(columns: readonly SequenceColumn[], row: Uint8Array): number {
  let length = 0;
  for (const { sequence, isFilled } of columns) {
    if (!isFilled) continue;
    sequence.write(row, length);
    length += sequence.widthBytes;
  }
  return length;
}

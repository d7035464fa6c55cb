import { assert, present } from '../assert.ts';
import type { Catalog, IndexSpec, SequenceSpec, TableSpec } from '../schema/catalog.ts';
import type { IndexId, TableId } from '../schema/ids.ts';
import { declareWords } from '../schema/migration-plan.ts';
import { isSparse } from '../schema/sparse-index.ts';
import { BinaryReader } from '../values/binary-reader.ts';
import { decoderOf } from '../values/decode.ts';
import { typesEqual } from '../values/typespace.ts';
import type { CommitOffset } from './commit-offset.ts';
import { copyBytes } from './copy-bytes.ts';
import type { DerivedBody } from './derived-body.ts';
import type { DerivedIndex } from './derived-index.ts';
import { type ConflictGroups, duplicatesOf, duplicatesText, violationText } from './duplicates.ts';
import type { IndexBody } from './index-body.ts';
import { RowHeap, slotCommitted } from './row-heap.ts';
import { noRow, type RowRef } from './row-ref.ts';
import type { StoreState } from './store-state.ts';
import { type KeptParts, type SequenceColumn, Table } from './table.ts';
import type { Index } from './table-index.ts';

/** The data does not allow the change. The message is for the publisher. */
export class MigrationError extends Error {
  override readonly name = 'MigrationError';
}

/** Rows share keys that are to be unique. */
export class ConflictError extends MigrationError {
  readonly conflicts: readonly ConflictGroups[];

  constructor(message: string, conflicts: readonly ConflictGroups[]) {
    super(message);
    this.conflicts = conflicts;
  }
}

/** By table id: the encoded values that existing rows get in the columns added at the end. */
export type ColumnDefaults = ReadonlyMap<TableId, readonly Uint8Array[]>;

/** What a declared migration has done to tables already. */
export interface ReplacedTables {
  /** By their ids in the next catalog: tables that are complete, with rows and sequences. */
  readonly tables: ReadonlyMap<TableId, Table>;
  /** Ids of tables that are dropped with their rows. */
  readonly dropped: ReadonlySet<TableId>;
}

export const noneReplaced: ReplacedTables = { tables: new Map(), dropped: new Set() };

/**
 * The tables of another catalog, built beside those in use. Tables are matched by id. Unchanged
 * parts are shared: pages as long as no column is added, an index as long as its columns, their
 * types, its algorithm and its uniqueness stay. Everything else is rebuilt, so until `apply` the
 * store is as it was, and a failure leaves nothing behind.
 *
 * Planning a migration decides which changes are legal. This class checks what depends on the rows,
 * in the order dropped tables, new indexes, new unique constraints, new sequences.
 */
export class Migration {
  readonly #state: StoreState;
  readonly #next: Catalog;
  readonly #preparedAt: CommitOffset;
  readonly #tables: Table[];
  readonly #before: Catalog;
  readonly #tablesBefore: readonly Table[];

  /** Created by `Store.prepareMigration`. */
  constructor(
    state: StoreState,
    next: Catalog,
    defaults: ColumnDefaults,
    replaced: ReplacedTables,
  ) {
    this.#state = state;
    this.#next = next;
    this.#preparedAt = state.offset;
    this.#before = state.catalog;
    this.#tablesBefore = [...state.tables.values()];
    checkDropped(state, next, replaced);
    const drafts = next.tables.map((spec) => {
      const table = replaced.tables.get(spec.id);
      return table === undefined ? draftOf(state, next, spec, defaults) : completeDraft(table);
    });
    for (const draft of drafts) fillNewIndexes(draft);
    for (const draft of drafts) fillNewlyUnique(draft);
    for (const draft of drafts) continueSequences(draft);
    this.#tables = drafts.map((draft) => draft.table);
  }

  /** A table as it will be. */
  tableByName(name: string): Table | undefined {
    return this.#tables.find(({ spec }) => spec.name === name);
  }

  /**
   * Swaps the catalog and the tables, and revokes all pins, since the rows kept from the old tables
   * are no longer theirs. Takes the next offset, which names the schema change.
   */
  apply(): CommitOffset {
    assert(!this.#state.isOpen, 'no migration inside a transaction');
    assert(this.#state.offset === this.#preparedAt, 'nothing is written while a migration waits');
    for (const { held } of this.#state.tables.values()) held.letGo('the schema changed meanwhile');
    this.#state.setTables(this.#next, this.#tables);
    return this.#state.nextOffset();
  }

  /**
   * Undoes `apply`: the store is as it was, including its offset. Nothing may be written in
   * between, and the migration must not be used again.
   */
  revert(): void {
    assert(!this.#state.isOpen, 'no migration inside a transaction');
    assert(this.#state.offset === this.#preparedAt + 1, 'nothing was written since');
    this.#state.setTables(this.#before, this.#tablesBefore);
    this.#state.offset = this.#preparedAt;
  }
}

/** A table being built. */
interface Draft {
  readonly table: Table;
  readonly old: Table | undefined;
  /** Indexes to fill: new ones, and those that become unique. */
  readonly toFill: readonly Index[];
  readonly derivedToFill: readonly DerivedIndex[];
  readonly fillsWholeRows: boolean;
}

function checkDropped(state: StoreState, next: Catalog, { dropped }: ReplacedTables): void {
  const kept = new Set(next.tables.map(({ id }) => id));
  for (const { spec, rowCount } of state.tables.values()) {
    if (kept.has(spec.id) || rowCount === 0 || dropped.has(spec.id)) continue;
    throw new MigrationError(
      `Cannot remove table \`${spec.name}\`: table contains data. Clear the table's rows ` +
        '(e.g. via a reducer) before removing it from your schema.\n' +
        `${declareWords} m.dropTable('${spec.sourceName}', { rows: 'discard' })`,
    );
  }
}

function completeDraft(table: Table): Draft {
  return { table, old: table, toFill: [], derivedToFill: [], fillsWholeRows: false };
}

function draftOf(
  state: StoreState,
  next: Catalog,
  spec: TableSpec,
  defaults: ColumnDefaults,
): Draft {
  const old = state.tables.get(spec.id);
  if (old === undefined || old.rowCount === 0) {
    const table = new Table(spec, next);
    return { table, old, toFill: [], derivedToFill: [], fillsWholeRows: false };
  }
  const kept = keptParts(old, state.catalog, next, spec, defaults.get(spec.id) ?? []);
  const table = new Table(spec, next, kept);
  return {
    table,
    old,
    toFill: table.indexes.filter((index) => !kept.bodies.has(index.spec.id)),
    derivedToFill: table.derivedIndexes.filter((index) => !kept.derived.has(index.spec.id)),
    fillsWholeRows: table.wholeRows !== undefined && table.wholeRows !== kept.wholeRows,
  };
}

/** The parts that a new table over the rows of `old` takes over. */
function keptParts(
  old: Table,
  before: Catalog,
  next: Catalog,
  spec: TableSpec,
  defaults: readonly Uint8Array[],
): KeptParts {
  const { rowCount } = old;
  const columnsAdded = spec.columns.length - old.spec.columns.length;
  assert(columnsAdded >= 0, `table ${spec.name} loses no column`);
  if (columnsAdded > 0) {
    assert(
      defaults.length === columnsAdded,
      `table ${spec.name} has a default for each new column`,
    );
    const heap = rewriteRows(old, defaults);
    return { heap, rowCount, bodies: new Map(), derived: new Map(), wholeRows: undefined };
  }
  const areTypesEqual = spec.columns.every((column, position) => {
    const was = present(old.spec.columns[position], 'column of the old table');
    return typesEqual(was.type, column.type, before, next);
  });
  const { heap, wholeRows } = old;
  if (!areTypesEqual) return { heap, rowCount, bodies: new Map(), derived: new Map(), wholeRows };
  const bodies = new Map<IndexId, IndexBody>();
  for (const index of spec.indexes) {
    const was = old.indexes.find(
      (candidate) =>
        isSameIndex(candidate.spec, index) && candidate.isSparse === isSparse(index, spec, next),
    );
    if (was !== undefined) bodies.set(index.id, was.body);
  }
  const derived = new Map<IndexId, DerivedBody>();
  for (const { id } of spec.derivedIndexes) {
    // A derived index has another id as soon as anything about it changes.
    const was = old.derivedIndexes.find((candidate) => candidate.spec.id === id);
    if (was !== undefined) derived.set(id, was.body);
  }
  return { heap, rowCount, bodies, derived, wholeRows };
}

function isSameIndex(a: IndexSpec, b: IndexSpec): boolean {
  return (
    a.id === b.id &&
    a.algorithm === b.algorithm &&
    a.isUnique === b.isUnique &&
    a.columns.length === b.columns.length &&
    a.columns.every((column, position) => column === b.columns[position])
  );
}

/** New pages that hold each row followed by the values of the added columns. */
function rewriteRows(old: Table, defaults: readonly Uint8Array[]): RowHeap {
  const heap = new RowHeap();
  const tailBytes = defaults.reduce((total, value) => total + value.length, 0);
  let row = new Uint8Array(1024);
  for (let ref = old.nextRow(noRow); ref !== noRow; ref = old.nextRow(ref)) {
    const length = old.lengthOf(ref);
    if (row.length < length + tailBytes) row = new Uint8Array((length + tailBytes) * 2);
    copyBytes(old.pageOf(ref), old.offsetOf(ref), row, 0, length);
    let end = length;
    for (const value of defaults) {
      row.set(value, end);
      end += value.length;
    }
    if (heap.place(row, 0, end, slotCommitted) === noRow) {
      throw new MigrationError(`Table \`${old.spec.name}\` is too large for the added columns`);
    }
  }
  return heap;
}

function fillNewIndexes({ table, old, toFill, derivedToFill, fillsWholeRows }: Draft): void {
  const wasThere = (index: Index) => old?.indexes.some(({ spec }) => spec.id === index.spec.id);
  for (const index of toFill) {
    if (wasThere(index)) continue;
    const duplicate = index.fill();
    if (duplicate !== noRow) throw duplicatesError(table, index, duplicate);
  }
  if (fillsWholeRows) table.wholeRows?.fill();
  for (const index of derivedToFill) index.fill();
}

function fillNewlyUnique({ table, old, toFill }: Draft): void {
  for (const index of toFill) {
    if (!old?.indexes.some(({ spec }) => spec.id === index.spec.id)) continue;
    if (index.fill() !== noRow) throw duplicatesError(table, index);
  }
}

/** `first`: a row that has the key of another, where the index is a new one. */
function duplicatesError(table: Table, index: Index, first?: RowRef): ConflictError {
  const conflicts = duplicatesOf(table, index);
  const groups = duplicatesText(table, conflicts);
  const text = first === undefined ? groups : `${violationText(table, index, first)}\n${groups}`;
  return new ConflictError(text, [conflicts]);
}

function continueSequences({ table, old }: Draft): void {
  for (const added of table.sequences) {
    const was = old?.sequences.find(
      ({ sequence, column }) =>
        sequence.spec.id === added.sequence.spec.id && column === added.column,
    );
    if (was === undefined) checkRange(table, added);
    else if (was.sequence.last !== undefined) added.sequence.resume(was.sequence.last);
  }
}

/** A new sequence must not hand out values that already exist. */
function checkRange(table: Table, { sequence, column }: SequenceColumn): void {
  const { spec } = sequence;
  const decode = decoderOf(present(table.shape.columnTypes[column], 'type of a sequence column'));
  for (let ref = table.nextRow(noRow); ref !== noRow; ref = table.nextRow(ref)) {
    const reader = new BinaryReader(table.pageOf(ref), table.columnOffset(ref, column));
    if (isInRange(BigInt(decode(reader) as number | bigint), spec)) {
      throw new MigrationError(
        `Precheck failed: added sequence ${spec.name} already has values in range`,
      );
    }
  }
}

function isInRange(value: bigint, { minValue, maxValue }: SequenceSpec): boolean {
  return value >= minValue && value <= maxValue;
}

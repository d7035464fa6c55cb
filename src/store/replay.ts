import type { TableId } from '../schema/ids.ts';
import type { ChangeSet, RowList, SequenceMark, TableChange } from './change-set.ts';
import { noRow } from './row-ref.ts';
import type { StoreState } from './store-state.ts';
import type { Table } from './table.ts';

/** A change that does not fit the state it is applied to: the log or a snapshot is wrong. */
export class ReplayError extends Error {
  override readonly name = 'ReplayError';
}

/**
 * Applies a committed change again. Nothing is generated or decided here: rows are inserted and
 * deleted exactly as recorded, and anything that does not fit is a `ReplayError`. The store is then
 * unusable, because part of the change has been applied.
 */
export function replayChange(state: StoreState, change: ChangeSet): void {
  if (change.offset !== state.offset) {
    throw new ReplayError(`found commit ${change.offset} where ${state.offset} should be`);
  }
  for (const table of change.tables) replayTable(tableOf(state, table.tableId), table);
  replaySequences(state, change.sequences);
  state.pins.settle();
}

/** Continues sequences after recorded values. Sequences dropped since are skipped. */
export function replaySequences(state: StoreState, marks: readonly SequenceMark[]): void {
  for (const { id, value } of marks) state.sequences.get(id)?.resume(value);
}

/** Adds rows that a snapshot holds. */
export function loadRows(state: StoreState, tableId: TableId, rows: RowList): void {
  const table = tableOf(state, tableId);
  forEachRow(table, rows, (bytes, at, length) => {
    if (!table.changes.load(bytes, at, length)) failReplay(table, 'a row is there already');
  });
}

/** Applies the change of one table. */
export function replayTable(table: Table, change: TableChange): void {
  // Rows of an event table existed for their subscribers only.
  if (table.spec.isEvent) return;
  forEachRow(table, change.deletes, (bytes, at, length) => {
    const ref = table.changes.findEqual(bytes, at, length);
    if (ref === noRow) failReplay(table, 'a deleted row is not there');
    table.changes.unload(ref);
  });
  forEachRow(table, change.inserts, (bytes, at, length) => {
    if (!table.changes.load(bytes, at, length))
      failReplay(table, 'an inserted row is there already');
  });
  if (change.truncated && table.rowCount > 0) failReplay(table, 'an emptied table has rows');
}

export function forEachRow(
  table: Table,
  rows: RowList,
  visit: (bytes: Uint8Array, at: number, length: number) => void,
): void {
  const { bytes, count } = rows;
  let at = 0;
  for (let left = count; left > 0; left--) {
    const end = table.shape.endOfRow(bytes, at, bytes.length);
    if (end < 0) failReplay(table, 'bytes are not a row');
    visit(bytes, at, end - at);
    at = end;
  }
  if (at !== bytes.length) failReplay(table, 'bytes are left over after the rows');
}

function tableOf(state: StoreState, id: TableId): Table {
  const table = state.tables.get(id);
  if (table === undefined) throw new ReplayError(`table ${id} does not exist`);
  return table;
}

export function failReplay(table: Table, problem: string): never {
  throw new ReplayError(`table ${table.spec.name}: ${problem}`);
}

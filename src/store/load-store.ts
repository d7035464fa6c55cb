import { assert } from '../assert.ts';
import type { Catalog } from '../schema/catalog.ts';
import type { TableId } from '../schema/ids.ts';
import type { RowList, SequenceMark } from './change-set.ts';
import type { CommitOffset } from './commit-offset.ts';
import { failReplay, forEachRow, ReplayError, replaySequences } from './replay.ts';
import type { StoreState } from './store-state.ts';
import { Table } from './table.ts';

/**
 * The tables of a snapshot while it is being read. They are built on the side: the store gets them
 * with `commit`, all at once, and without it nothing has happened.
 *
 * Rows are only copied as they come. Indexes are filled when all rows of a table are there: the
 * number of rows is known then, so nothing is split or moved to grow.
 */
export class StoreLoad {
  readonly #state: StoreState;
  readonly #catalog: Catalog;
  readonly #tables: ReadonlyMap<TableId, Table>;
  readonly #finished = new Set<TableId>();
  #isOver = false;

  /** Created by `Store.beginLoad`. */
  constructor(state: StoreState, catalog: Catalog) {
    this.#state = state;
    this.#catalog = catalog;
    this.#tables = new Map(catalog.tables.map((spec) => [spec.id, new Table(spec, catalog)]));
  }

  /** Adds rows of a table, in portions of any size. Throws `ReplayError`. */
  addRows(tableId: TableId, rows: RowList): void {
    assert(!this.#isOver, 'rows are loaded before the end');
    const table = this.#table(tableId);
    if (this.#finished.has(tableId)) failReplay(table, 'rows come after its end');
    if (table.spec.isEvent && rows.count > 0) failReplay(table, 'an event table has no rows');
    forEachRow(table, rows, (bytes, at, length) => table.changes.loadUnindexed(bytes, at, length));
  }

  /** All rows of a table were added. Throws `ReplayError` if there are not `rowCount` of them. */
  finishTable(tableId: TableId, rowCount: number): void {
    const table = this.#table(tableId);
    if (this.#finished.has(tableId)) failReplay(table, 'it ends twice');
    this.#finished.add(tableId);
    if (table.rowCount !== rowCount) {
      failReplay(table, `${table.rowCount} rows are there and not ${rowCount}`);
    }
    if (!table.changes.fillIndexes()) failReplay(table, 'two rows have the same key');
  }

  /** Replaces all tables of the store. Throws `ReplayError` if a table has rows but no end. */
  commit(offset: CommitOffset, sequences: readonly SequenceMark[]): void {
    assert(!this.#isOver && !this.#state.isOpen, 'what was loaded is committed once');
    for (const [id, table] of this.#tables) {
      if (table.rowCount > 0 && !this.#finished.has(id)) failReplay(table, 'its end is missing');
    }
    this.#isOver = true;
    this.#state.setTables(this.#catalog, [...this.#tables.values()]);
    this.#state.offset = offset;
    replaySequences(this.#state, sequences);
  }

  #table(id: TableId): Table {
    const table = this.#tables.get(id);
    if (table === undefined) throw new ReplayError(`table ${id} does not exist`);
    return table;
  }
}

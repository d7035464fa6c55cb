import { assert } from '../assert.ts';
import type { Catalog } from '../schema/catalog.ts';
import type { TableId } from '../schema/ids.ts';
import type { TableChange } from './change-set.ts';
import { ReplayError, replayTable } from './replay.ts';
import { Table } from './table.ts';

/**
 * The tables that staged records of a log describe, while the log is read: rows of a migration that
 * was under way. They count only if the record of the migration takes them.
 */
export class StagedTables {
  /** Names the run that they are of. */
  readonly run: number;
  readonly #catalog: Catalog;
  readonly #tables = new Map<TableId, Table>();

  constructor(run: number, catalog: Catalog) {
    this.run = run;
    this.#catalog = catalog;
  }

  /** Throws `ReplayError` if something does not fit the rows so far. */
  apply(changes: readonly TableChange[]): void {
    for (const change of changes) replayTable(this.#table(change.tableId), change);
  }

  /** The table with all its rows; the catalog of the migration has the same one. */
  take(id: TableId): Table {
    const table = this.#table(id);
    this.#tables.delete(id);
    return table;
  }

  #table(id: TableId): Table {
    const known = this.#tables.get(id);
    if (known !== undefined) return known;
    const spec = this.#catalog.tables.find((table) => table.id === id);
    if (spec === undefined)
      throw new ReplayError(`staged rows are of table ${id}, which is unknown`);
    assert(!spec.isEvent, 'an event table has no rows');
    const table = new Table(spec, this.#catalog);
    this.#tables.set(id, table);
    return table;
  }
}

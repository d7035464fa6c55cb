import { assert } from '../assert.ts';
import type { Catalog } from '../schema/catalog.ts';
import type { TableId } from '../schema/ids.ts';
import type { RowList, SequenceMark } from './change-set.ts';
import type { CommitOffset } from './commit-offset.ts';
import { DerivedLoads, type ImagePiece } from './derived-loads.ts';
import { failReplay, forEachRow, ReplayError, replaySequences } from './replay.ts';
import type { StoreState } from './store-state.ts';
import { Table } from './table.ts';

/** Faults of images that are kept; one says enough of an image, but a file can have any number. */
const faultsMax = 16;

/**
 * The tables of a snapshot while it is being read. They are built on the side: the store gets them
 * with `commit`, all at once, and without it nothing has happened.
 *
 * Rows are only copied as they come. Indexes are filled when all rows of a table are there: the
 * number of rows is known then, so nothing is split or moved to grow. Derived indexes come last:
 * from their images, and from the rows where there is none.
 */
export class StoreLoad {
  readonly #state: StoreState;
  readonly #catalog: Catalog;
  readonly #tables: ReadonlyMap<TableId, Table>;
  readonly #derived = new Map<TableId, DerivedLoads>();
  readonly #finished = new Set<TableId>();
  readonly #faults: string[] = [];
  #isOver = false;

  /** Created by `Store.beginLoad`. */
  constructor(state: StoreState, catalog: Catalog) {
    this.#state = state;
    this.#catalog = catalog;
    this.#tables = new Map(catalog.tables.map((spec) => [spec.id, new Table(spec, catalog)]));
  }

  /** Images that were there and are of no use; the indexes are built from the rows. */
  get faults(): readonly string[] {
    return this.#faults;
  }

  /** Adds rows of a table, in portions of any size. Throws `ReplayError`. */
  addRows(tableId: TableId, rows: RowList): void {
    assert(!this.#isOver, 'rows are loaded before the end');
    const table = this.#table(tableId);
    if (this.#finished.has(tableId)) failReplay(table, 'rows come after its end');
    if (table.spec.isEvent && rows.count > 0) failReplay(table, 'an event table has no rows');
    const derived = this.#derivedOf(table);
    forEachRow(table, rows, (bytes, at, length) => {
      const ref = table.changes.loadUnindexed(bytes, at, length);
      derived?.note(ref);
    });
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

  /** Takes a piece of an image; the table was finished. What makes no sense is one of `faults`. */
  addImage(tableId: TableId, piece: ImagePiece): void {
    const table = this.#tables.get(tableId);
    const isThere = table !== undefined && this.#finished.has(tableId);
    const derived = isThere ? this.#derivedOf(table) : undefined;
    if (derived === undefined) this.#note(`an image is of table ${tableId}`);
    else this.#note(derived.take(piece), table);
  }

  /** Replaces all tables of the store. Throws `ReplayError` if a table has rows but no end. */
  commit(offset: CommitOffset, sequences: readonly SequenceMark[]): void {
    assert(!this.#isOver && !this.#state.isOpen, 'what was loaded is committed once');
    for (const [id, table] of this.#tables) {
      if (table.rowCount > 0 && !this.#finished.has(id)) failReplay(table, 'its end is missing');
    }
    for (const derived of this.#derived.values()) derived.finish();
    this.#derived.clear();
    this.#isOver = true;
    this.#state.setTables(this.#catalog, [...this.#tables.values()]);
    this.#state.offset = offset;
    replaySequences(this.#state, sequences);
  }

  #derivedOf(table: Table): DerivedLoads | undefined {
    if (table.derivedIndexes.length === 0) return undefined;
    let derived = this.#derived.get(table.id);
    if (derived === undefined) {
      derived = new DerivedLoads(table.derivedIndexes);
      this.#derived.set(table.id, derived);
    }
    return derived;
  }

  #note(fault: string | undefined, table?: Table): void {
    if (fault === undefined || this.#faults.length === faultsMax) return;
    this.#faults.push(table === undefined ? fault : `table ${table.spec.name}: ${fault}`);
  }

  #table(id: TableId): Table {
    const table = this.#tables.get(id);
    if (table === undefined) throw new ReplayError(`table ${id} does not exist`);
    return table;
  }
}

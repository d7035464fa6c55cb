import { assert } from '../assert.ts';
import type { Catalog } from '../schema/catalog.ts';
import type { IndexId, TableId } from '../schema/ids.ts';
import type { ChangeSet, RowList, SequenceMark } from './change-set.ts';
import type { CommitOffset } from './commit-offset.ts';
import { StoreLoad } from './load-store.ts';
import type { StoreMemory } from './memory.ts';
import { type ColumnDefaults, Migration, noneReplaced, type ReplacedTables } from './migrate.ts';
import { loadRows, replayChange, replaySequences } from './replay.ts';
import { SnapshotPins } from './snapshot-pins.ts';
import { type SequencePositions, StoreState } from './store-state.ts';
import type { Table } from './table.ts';
import type { Index } from './table-index.ts';
import { Transaction } from './transaction.ts';

/**
 * The tables of one database, in memory, as of one commit. At most one transaction is open at a
 * time; everything here is synchronous and belongs to one thread.
 */
export class Store {
  readonly #state: StoreState;

  /** `heldBytesMax` limits what pins can hold, instead of `limits.sqlHeldBytesMax`. */
  constructor(catalog: Catalog, heldBytesMax?: number) {
    this.#state = new StoreState(catalog, heldBytesMax);
  }

  /** A store of these tables, which must be in no other one; one for each of the catalog. */
  static of(catalog: Catalog, tables: readonly Table[]): Store {
    const store = new Store({ ...catalog, tables: [] });
    store.#state.setTables(catalog, tables);
    return store;
  }

  get catalog(): Catalog {
    return this.#state.catalog;
  }

  /** The last commit applied to the tables. */
  get offset(): CommitOffset {
    return this.#state.offset;
  }

  get tables(): Iterable<Table> {
    return this.#state.tables.values();
  }

  table(id: TableId): Table | undefined {
    return this.#state.tables.get(id);
  }

  /** Canonical names take precedence over the module's own spelling. */
  tableByName(name: string): Table | undefined {
    const tables = [...this.#state.tables.values()];
    return (
      tables.find((table) => table.spec.name === name) ??
      tables.find((table) => table.spec.sourceName === name)
    );
  }

  index(id: IndexId): Index | undefined {
    return this.#state.indexes.get(id);
  }

  indexByName(name: string): Index | undefined {
    const indexes = [...this.#state.indexes.values()];
    return (
      indexes.find((index) => index.spec.name === name) ??
      indexes.find((index) => index.spec.sourceName === name)
    );
  }

  begin(): Transaction {
    assert(!this.#state.isOpen, 'one transaction at a time');
    this.#state.isOpen = true;
    return new Transaction(this.#state);
  }

  /**
   * The last values of sequences used since the last commit or the last call of this: a turn that
   * ends without a commit must still record them. Each is returned once.
   */
  takeSequenceMarks(): readonly SequenceMark[] {
    return this.#state.takeSequenceMarks();
  }

  /** The last value of every sequence that has ever handed one out, for a snapshot. */
  sequenceMarks(): SequenceMark[] {
    const marks: SequenceMark[] = [];
    for (const { spec, last } of this.#state.sequences.values()) {
      if (last !== undefined) marks.push({ id: spec.id, value: last });
    }
    return marks;
  }

  /** The current positions of all sequences. */
  sequencePositions(): SequencePositions {
    return this.#state.sequencePositions();
  }

  /**
   * Moves all sequences back to `positions`: values handed out since were never visible outside.
   * For work that was tried in a transaction and rolled back; the catalog must be unchanged.
   */
  returnSequences(positions: SequencePositions): void {
    assert(!this.#state.isOpen, 'sequences go back when the transaction is over');
    this.#state.returnSequences(positions);
  }

  /**
   * Applies a recorded change, the one after `offset`. A `ReplayError` leaves the store unusable.
   */
  replay(change: ChangeSet): void {
    assert(!this.#state.isOpen, 'no replay inside a transaction');
    this.#state.nextOffset();
    replayChange(this.#state, change);
  }

  /** Applies a recorded change that shares its offset with the schema change applied last. */
  replayJoined(change: ChangeSet): void {
    assert(!this.#state.isOpen, 'no replay inside a transaction');
    replayChange(this.#state, change);
  }

  /** Applies recorded marks. */
  resumeSequences(marks: readonly SequenceMark[]): void {
    replaySequences(this.#state, marks);
  }

  /** Begins to read a snapshot: the store keeps its tables until that is committed. */
  beginLoad(catalog: Catalog): StoreLoad {
    return new StoreLoad(this.#state, catalog);
  }

  /** Adds computed rows. Throws `ReplayError`. */
  loadRows(tableId: TableId, rows: RowList): void {
    assert(!this.#state.isOpen, 'no loading inside a transaction');
    loadRows(this.#state, tableId, rows);
  }

  /**
   * Lets transactions of this store write `table`, which is in no catalog. Its pins share the limit
   * of the others.
   */
  adopt(table: Table): void {
    table.pins = this.#state.pins;
  }

  /**
   * Keeps the current rows of all tables readable, for a snapshot; one at a time. Costs a few
   * microseconds for each table that has rows. `heldBytesMin` is for tests of the bound.
   */
  pinAll(heldBytesMin?: number): SnapshotPins {
    assert(!this.#state.isOpen, 'tables are pinned between transactions');
    return new SnapshotPins(this.#state.tables.values(), heldBytesMin);
  }

  /** Bytes kept for pins of reads. */
  get heldBytes(): number {
    return this.#state.pins.heldBytes;
  }

  /** True while rows that were kept for pins wait to be freed. */
  get hasLoose(): boolean {
    return this.#state.pins.hasLoose;
  }

  /**
   * Frees some of these rows, which takes about half a millisecond. Commits do so as well; this is
   * for a store that is not written to.
   */
  freeLoose(): void {
    this.#state.pins.freeLoose();
  }

  /**
   * Builds the tables of another catalog on the side. Throws `MigrationError` if the data does not
   * allow it; nothing changes before `apply`, which cannot fail. Nothing may be written in between.
   * `apply` revokes all pins. `defaults` holds, by table id, the encoded values of added columns.
   */
  prepareMigration(
    next: Catalog,
    defaults: ColumnDefaults,
    replaced: ReplacedTables = noneReplaced,
  ): Migration {
    assert(!this.#state.isOpen, 'no migration inside a transaction');
    return new Migration(this.#state, next, defaults, replaced);
  }

  memory(): StoreMemory {
    const tables = [...this.#state.tables.values()].map((table) => table.memory());
    return { totalBytes: tables.reduce((sum, { totalBytes }) => sum + totalBytes, 0), tables };
  }
}

import { describe, expect, it } from 'vitest';
import {
  type RandomTable,
  randomCatalog,
  randomRow,
} from '../../test/support/store/random-schema.ts';
import { present } from '../assert.ts';
import type { TableId } from '../schema/ids.ts';
import { Random } from '../testing/random.ts';
import type { ChangeSet } from './change-set.ts';
import type { CommitOffset } from './commit-offset.ts';
import { noRow, type RowRef } from './row-ref.ts';
import type { SnapshotPins } from './snapshot-pins.ts';
import { Store } from './store.ts';
import type { Table } from './table.ts';
import type { TablePin } from './table-pin.ts';
import { keyOf, type Transaction } from './transaction.ts';

/**
 * Random transactions over random tables; now and then all tables are pinned, read a few rows at a
 * time between later transactions, and loaded into an empty store. That store must equal one that
 * replayed the same commits, at the moment of the pins and after each commit since.
 */
const runCount = 30;
const transactionsPerRun = 60;

describe('[history 2.1, history 2.22] all tables, pinned, read in slices and loaded', () => {
  for (let seed = 1; seed <= runCount; seed++) {
    it(`are those of the moment, seed ${seed}`, () => new Run(seed).run());
  }
});

interface Reading {
  readonly pins: SnapshotPins;
  readonly offset: CommitOffset;
  readonly marks: ReturnType<Store['sequenceMarks']>;
  readonly rows: Map<TableId, Uint8Array[]>;
  table: number;
  ref: RowRef;
}

class Run {
  readonly #random: Random;
  readonly #store: Store;
  readonly #tables: readonly RandomTable[];
  readonly #changes: ChangeSet[] = [];
  #reading: Reading | undefined;
  #reads: TablePin[] = [];
  #checked = 0;

  constructor(seed: number) {
    this.#random = new Random(seed);
    const { catalog, tables } = randomCatalog(this.#random);
    this.#store = new Store(catalog);
    this.#tables = tables;
  }

  run(): void {
    for (let step = 0; step < transactionsPerRun; step++) {
      this.#transact();
      this.#pinForRead();
      if (this.#reading === undefined && this.#random.chance(0.3)) this.#reading = this.#begin();
      else if (this.#reading !== undefined) this.#readOn(this.#reading, this.#random.below(12));
    }
    if (this.#reading !== undefined) this.#readOn(this.#reading, Number.POSITIVE_INFINITY);
    expect(this.#checked).toBeGreaterThan(0);
    for (const pin of this.#reads) pin.release();
    while (this.#store.hasLoose) this.#store.freeLoose();
    expect(this.#store.heldBytes).toBe(0);
    for (const { held } of this.#store.tables) {
      expect([held.isIdle, held.waitingBytes]).toEqual([true, 0]);
    }
  }

  #transact(): void {
    const transaction = this.#store.begin();
    const actions = this.#random.between(1, 12);
    for (let action = 0; action < actions; action++) this.#act(transaction);
    const change = transaction.commit();
    if (change === undefined) return;
    this.#changes.push(copyOf(change));
  }

  #act(transaction: Transaction): void {
    const random = this.#random.pick(this.#tables);
    const table = tableOf(this.#store, random.spec.id);
    const row = new Uint8Array(256);
    const bytes = randomRow(this.#random, random);
    row.set(bytes);
    const [unique] = table.indexes.filter(({ isUnique }) => isUnique);
    const dice = this.#random.below(100);
    if (dice < 65) transaction.insert(table, row, bytes.length);
    else if (dice < 80 && unique !== undefined) {
      transaction.update(table, unique, row, bytes.length);
    } else if (dice < 97) {
      const some = table.scan().filter(() => this.#random.chance(0.2));
      transaction.deleteMany(table, some);
    } else transaction.clear(table);
  }

  /** Reads come and go beside the snapshot. */
  #pinForRead(): void {
    if (this.#random.chance(0.3)) {
      this.#reads.push(tableOf(this.#store, this.#random.pick(this.#tables).spec.id).pin());
    }
    if (this.#reads.length > 3) this.#reads.shift()?.release();
  }

  #begin(): Reading {
    const { offset } = this.#store;
    const marks = this.#store.sequenceMarks();
    const pins = this.#store.pinAll();
    return { pins, offset, marks, rows: new Map(), table: 0, ref: noRow };
  }

  #readOn(reading: Reading, countMax: number): void {
    for (let count = 0; count < countMax; count++) {
      const pin = reading.pins.tables[reading.table];
      if (pin === undefined) {
        this.#reading = undefined;
        this.#checked++;
        this.#check(reading);
        return;
      }
      reading.ref = pin.nextRow(reading.ref);
      if (reading.ref === noRow) {
        pin.release();
        reading.table++;
        continue;
      }
      const rows = reading.rows.get(pin.table.id) ?? [];
      rows.push(rowBytes(pin.table, reading.ref));
      reading.rows.set(pin.table.id, rows);
    }
  }

  #check({ rows, offset, marks }: Reading): void {
    const loaded = new Store(this.#store.catalog);
    const load = loaded.beginLoad(this.#store.catalog);
    for (const [id, list] of rows) {
      for (const portion of this.#portions(list)) {
        load.addRows(id, { bytes: joined(portion), count: portion.length });
      }
      load.finishTable(id, list.length);
    }
    for (const table of loaded.tables) expect(table.rowCount).toBe(0);
    load.commit(offset, marks);
    const replayed = new Store(this.#store.catalog);
    for (const change of this.#changes.slice(0, offset)) replayed.replay(change);
    replayed.resumeSequences(marks);
    this.#compare(loaded, replayed);
    for (const change of this.#changes.slice(offset)) {
      for (const store of [loaded, replayed]) store.replay(change);
      this.#compare(loaded, replayed);
    }
    // What a rolled back transaction has used is in no commit.
    for (const store of [loaded, replayed]) store.resumeSequences(this.#store.sequenceMarks());
    this.#compare(loaded, this.#store);
  }

  #portions(rows: readonly Uint8Array[]): Uint8Array[][] {
    const portions: Uint8Array[][] = [];
    for (let at = 0; at < rows.length; ) {
      const end = at + this.#random.between(1, 9);
      portions.push(rows.slice(at, end));
      at = end;
    }
    return portions;
  }

  #compare(store: Store, expected: Store): void {
    expect(store.offset).toBe(expected.offset);
    expect(store.sequenceMarks()).toEqual(expected.sequenceMarks());
    for (const table of store.tables) {
      const other = tableOf(expected, table.id);
      expect(hexesOf(table, table.scan())).toEqual(hexesOf(other, other.scan()));
      for (const [at, index] of table.indexes.entries()) {
        const otherIndex = present(other.indexes[at], 'index');
        for (const ref of table.scan().filter(() => this.#random.chance(0.2))) {
          const row = rowBytes(table, ref as RowRef);
          const key = keyOf(table.shape, index.spec.columns, row, 0);
          const found = hexesOf(table, table.scanPoint(index, key, key.length));
          expect(found).toEqual(hexesOf(other, other.scanPoint(otherIndex, key, key.length)));
        }
      }
    }
  }
}

/** The lists of a change set are of an arena that the next commit writes to. */
function copyOf(change: ChangeSet): ChangeSet {
  return {
    ...change,
    tables: change.tables.map((table) => ({
      ...table,
      inserts: { ...table.inserts, bytes: table.inserts.bytes.slice() },
      deletes: { ...table.deletes, bytes: table.deletes.bytes.slice() },
    })),
  };
}

function tableOf(store: Store, id: TableId): Table {
  return present(store.table(id), 'table');
}

function rowBytes(table: Table, ref: RowRef): Uint8Array {
  const bytes = new Uint8Array(table.lengthOf(ref));
  table.copyRow(ref, bytes, 0);
  return bytes;
}

function hexesOf(table: Table, refs: Int32Array): string[] {
  return [...refs].map((ref) => Buffer.from(rowBytes(table, ref as RowRef)).toString('hex')).sort();
}

function joined(rows: readonly Uint8Array[]): Uint8Array {
  return Uint8Array.from(rows.flatMap((row) => [...row]));
}

import { describe, expect, it } from 'vitest';
import { someSeeds } from '../../test/support/share.ts';
import {
  hexOf,
  type ModelChange,
  type ModelRow,
  ModelTable,
} from '../../test/support/store/model.ts';
import {
  changedTable,
  type RandomTable,
  randomCatalog,
  randomRow,
} from '../../test/support/store/random-schema.ts';
import { present } from '../assert.ts';
import { Random } from '../testing/random.ts';
import type { ChangeSet, RowList } from './change-set.ts';
import { MigrationError } from './migrate.ts';
import { rowRef } from './row-ref.ts';
import { Store } from './store.ts';
import type { Table } from './table.ts';
import type { Index } from './table-index.ts';
import {
  noSuchRow,
  notUnique,
  sequenceOverflow,
  type Transaction,
  undecodable,
  uniqueViolation,
} from './transaction.ts';

/**
 * Random transactions over random tables, compared with the model after every step; each committed
 * change is replayed into a second store, which must end up the same.
 */
const runCount = 60;
const stepsPerRun = 600;

describe('the store against the obvious model', () => {
  for (const seed of someSeeds(1, runCount)) {
    it(`[tables R1-R6, 3, 4, 5, 6, 9, 11] seed ${seed}`, () => new Run(seed).run(stepsPerRun));
  }
});

interface Subject {
  table: Table;
  copy: Table;
  model: ModelTable;
  random: RandomTable;
  /** Scans opened in this transaction: refs, and the rows they must yield until its end. */
  readonly scans: { readonly refs: Int32Array; readonly rows: readonly string[] }[];
}

class Run {
  readonly #random: Random;
  readonly #store: Store;
  readonly #copy: Store;
  readonly #subjects: Subject[];
  #transaction: Transaction;
  #nextId = 2000;

  constructor(seed: number) {
    this.#random = new Random(seed);
    const { catalog, tables } = randomCatalog(this.#random);
    this.#store = new Store(catalog);
    this.#copy = new Store(catalog);
    this.#subjects = tables.map((random) => ({
      table: present(this.#store.table(random.spec.id), 'table'),
      copy: present(this.#copy.table(random.spec.id), 'table'),
      model: new ModelTable(random.spec),
      random,
      scans: [],
    }));
    this.#transaction = this.#store.begin();
  }

  run(steps: number): void {
    for (let step = 0; step < steps; step++) {
      const subject = this.#random.pick(this.#subjects);
      this.#step(subject);
      expect(subject.table.rowCount).toBe(subject.model.rows.length);
      if (step % 5 === 0) this.#checkAll(subject);
    }
    this.#commit();
    for (const { copy, model } of this.#subjects) expect(rowsOf(copy)).toEqual(sorted(model.rows));
    expect(this.#copy.sequenceMarks()).toEqual(this.#store.sequenceMarks());
  }

  #step(subject: Subject): void {
    const dice = this.#random.below(100);
    if (dice < 40) this.#insert(subject);
    else if (dice < 55) this.#update(subject);
    else if (dice < 65) this.#deleteEqual(subject);
    else if (dice < 72) this.#deleteSome(subject);
    else if (dice < 82) this.#scanIndex(subject);
    else if (dice < 85) this.#insertGarbage(subject);
    else if (dice < 86) this.#clear(subject);
    else if (dice < 90) this.#openScan(subject);
    else if (dice < 97) this.#commit();
    else this.#rollback();
  }

  #insert({ table, model, random }: Subject): void {
    const bytes = randomRow(this.#random, random);
    const buffer = withSpace(bytes);
    const result = this.#transaction.insert(table, buffer, bytes.length);
    const made = model.generate(model.rowOf(bytes));
    if (made === undefined) {
      expect(result).toBe(sequenceOverflow);
    } else if (model.insert(made.row) === 'conflict') {
      expect(result).toBe(uniqueViolation);
      this.#checkViolation(model, made.row, undefined);
    } else {
      expect(hexOf(buffer.subarray(0, result))).toBe(made.generated);
    }
  }

  #update({ table, model, random }: Subject): void {
    if (table.indexes.length === 0) return;
    const index = this.#random.pick(table.indexes);
    const bytes = randomRow(this.#random, random);
    const buffer = withSpace(bytes);
    const result = this.#transaction.update(table, index, buffer, bytes.length);
    if (!index.isUnique) {
      expect(result).toBe(notUnique);
      return;
    }
    const made = model.generate(model.rowOf(bytes));
    if (made === undefined) {
      expect(result).toBe(sequenceOverflow);
      return;
    }
    const old = model.find(index.spec, made.row);
    const outcome = model.update(index.spec, made.row);
    if (outcome === 'absent') expect(result).toBe(noSuchRow);
    else if (outcome === 'done') expect(hexOf(buffer.subarray(0, result))).toBe(made.generated);
    else {
      expect(result).toBe(uniqueViolation);
      this.#checkViolation(model, made.row, old);
    }
  }

  #checkViolation(model: ModelTable, row: ModelRow, except: ModelRow | undefined): void {
    const names = model.conflicts(row, except).map(({ name }) => name);
    expect(names).toContain(this.#transaction.violation?.index);
  }

  #deleteEqual({ table, model, random }: Subject): void {
    const present = model.rows.length > 0 && this.#random.chance(0.7);
    const bytes = present
      ? bytesOf(this.#random.pick(model.rows).hex)
      : randomRow(this.#random, random);
    const padded = new Uint8Array(bytes.length + 6);
    padded.set(bytes, 3);
    const deleted = this.#transaction.deleteEqual(table, padded, 3, bytes.length);
    expect(deleted).toBe(model.delete(new Set([hexOf(bytes)])) === 1);
  }

  #deleteSome({ table, model }: Subject): void {
    const refs = table.scan().filter(() => this.#random.chance(0.2));
    // Rows deleted before are skipped.
    const twice = Int32Array.from([...refs, ...refs]);
    const hexes = new Set([...refs].map((ref) => hexOf(rowBytes(table, ref))));
    expect(this.#transaction.deleteMany(table, twice)).toBe(refs.length);
    expect(model.delete(hexes)).toBe(refs.length);
  }

  #insertGarbage({ table, random }: Subject): void {
    const bytes = randomRow(this.#random, random);
    const longer = Uint8Array.from([...bytes, 0]);
    expect(this.#transaction.insert(table, longer, longer.length)).toBe(undecodable);
    if (bytes.length === 0) return;
    expect(this.#transaction.insert(table, bytes, bytes.length - 1)).toBe(undecodable);
  }

  #clear({ table, model }: Subject): void {
    expect(this.#transaction.clear(table)).toBe(model.rows.length);
    model.delete(new Set(model.rows.map(({ hex }) => hex)));
  }

  #openScan({ table, scans }: Subject): void {
    const refs = table.scan();
    scans.push({ refs, rows: [...refs].map((ref) => hexOf(rowBytes(table, ref))) });
  }

  #commit(): void {
    this.#checkScans();
    const offset = this.#store.offset;
    const pending = this.#transaction.pendingChanges();
    const change = this.#transaction.commit();
    expect(pending).toEqual(change?.tables ?? []);
    const expected = this.#subjects.map(({ model }) => model.commit());
    if (expected.every((each) => each === undefined)) {
      expect(change).toBeUndefined();
      expect(this.#store.offset).toBe(offset);
      this.#copy.resumeSequences(this.#store.takeSequenceMarks());
    } else {
      this.#checkChange(present(change, 'change set'), expected);
      this.#copy.replay(present(change, 'change set'));
    }
    if (this.#random.chance(0.15)) this.#migrate(this.#random.pick(this.#subjects));
    this.#transaction = this.#store.begin();
  }

  /** Changes one thing about a table in both stores; fails exactly when rows share a unique key. */
  #migrate(subject: Subject): void {
    const { spec } = subject.random;
    const { table, added } = changedTable(this.#random, subject.random, this.#nextId++);
    const tables = this.#store.catalog.tables.map((each) => (each === spec ? table.spec : each));
    const catalog = { ...this.#store.catalog, tables };
    const defaults = new Map(added === undefined ? [] : [[spec.id, [added]]]);
    const tail = added === undefined ? '' : hexOf(added);
    const wider = new ModelTable(table.spec);
    const rows = subject.model.rows.map(({ hex }) => wider.rowOf(bytesOf(hex + tail)));
    const model = new ModelTable(table.spec, rows, subject.model.sequences);
    if (rows.some((row) => model.conflicts(row, row).length > 0)) {
      expect(() => this.#store.prepareMigration(catalog, defaults)).toThrow(MigrationError);
      return;
    }
    for (const store of [this.#store, this.#copy]) {
      store.prepareMigration(catalog, defaults).apply();
    }
    this.#subjects.forEach((each) => {
      each.table = present(this.#store.table(each.table.id), 'table');
      each.copy = present(this.#copy.table(each.table.id), 'table');
    });
    subject.model = model;
    subject.random = table;
    this.#checkAll(subject);
  }

  #checkChange(change: ChangeSet, expected: readonly (ModelChange | undefined)[]): void {
    expect(change.offset).toBe(this.#store.offset);
    this.#subjects.forEach(({ table, model }, at) => {
      const found = change.tables.find(({ tableId }) => tableId === table.id);
      const { inserts, deletes, truncated } = expected[at] ?? {};
      if (inserts === undefined) {
        expect(found).toBeUndefined();
        return;
      }
      expect(listOf(table, present(found, 'table change').inserts)).toEqual(inserts);
      expect(listOf(table, present(found, 'table change').deletes)).toEqual(deletes);
      expect(found?.truncated).toBe(!model.spec.isEvent && truncated);
    });
  }

  #rollback(): void {
    this.#checkScans();
    this.#transaction.rollback();
    for (const { model } of this.#subjects) model.rollback();
    for (const subject of this.#subjects) this.#checkAll(subject);
    this.#transaction = this.#store.begin();
  }

  #checkScans(): void {
    for (const { table, scans } of this.#subjects) {
      for (const { refs, rows } of scans) {
        expect([...refs].map((ref) => hexOf(rowBytes(table, ref)))).toEqual(rows);
      }
      scans.length = 0;
    }
  }

  #checkAll({ table, model }: Subject): void {
    expect(rowsOf(table)).toEqual(sorted(model.rows));
    for (const index of table.indexes) {
      for (const row of model.rows) {
        const bytes = bytesOf(row.hex);
        const key = keyOf(table, index.spec.columns, bytes);
        const equal = model.rows.filter((other) => model.compareKeys(index.spec, row, other) === 0);
        expect(rowsOf(table, table.scanPoint(index, key, key.length))).toEqual(sorted(equal));
        if (!index.isUnique) continue;
        const found = table.find(index, key, key.length);
        const expected = model.find(index.spec, row);
        expect(found > 0).toBe(expected !== undefined);
        if (found > 0) expect(hexOf(rowBytes(table, found))).toBe(row.hex);
      }
      if (index.supportsRange) this.#checkOrder(table, model, index);
    }
    const { rowBytes: used, freeBytes, totalBytes, indexes, wholeRowsBytes } = table.memory();
    const indexBytes = indexes.reduce((sum, { bytes }) => sum + bytes, 0);
    expect(totalBytes).toBe(used + freeBytes + indexBytes + wholeRowsBytes);
  }

  #checkOrder(table: Table, model: ModelTable, index: Index): void {
    const all = { bytes: Uint8Array.of(2), prefixColumns: 0, prefixLength: 0, startLength: 1 };
    const refs = table.scanRange(index, { ...all, endLength: 0 });
    expect(refs.length).toBe(model.rows.length);
    const rows = [...refs].map((ref) => model.rowOf(rowBytes(table, ref)));
    rows.forEach((row, at) => {
      const before = rows[at - 1];
      if (before === undefined) return;
      expect(model.compareKeys(index.spec, before, row)).toBeLessThanOrEqual(0);
    });
  }

  /** A point scan of any key, and a range scan with any prefix and bounds. */
  #scanIndex({ table, model, random }: Subject): void {
    if (table.indexes.length === 0) return;
    const index = this.#random.pick(table.indexes);
    const { columns } = index.spec;
    const [probe, low, high] = [0, 1, 2].map(() => randomRow(this.#random, random)) as Bytes3;
    const key = keyOf(table, columns, probe);
    const probed = model.rowOf(probe);
    const point = model.rows.filter((row) => model.compareKeys(index.spec, row, probed) === 0);
    expect(rowsOf(table, table.scanPoint(index, key, key.length))).toEqual(sorted(point));
    if (index.isUnique) {
      const found = table.find(index, key, key.length);
      expect(found > 0).toBe(model.find(index.spec, probed) !== undefined);
    }
    if (!index.supportsRange) return;
    const prefixColumns = this.#random.below(columns.length);
    const column = columns[prefixColumns] as number;
    const prefix = keyOf(table, columns.slice(0, prefixColumns), probe);
    const [startTag, endTag] = [this.#random.below(3), this.#random.below(3)];
    const start = boundOf(startTag, keyOf(table, [column], low));
    const isSame = this.#random.chance(0.2);
    const end = isSame ? new Uint8Array(0) : boundOf(endTag, keyOf(table, [column], high));
    const refs = table.scanRange(index, {
      bytes: Uint8Array.from([...prefix, ...start, ...end, 99]),
      prefixColumns,
      prefixLength: prefix.length,
      startLength: start.length,
      endLength: end.length,
    });
    const [from, to] = [
      model.rowOf(low).values[column],
      model.rowOf(isSame ? low : high).values[column],
    ];
    const lastTag = isSame ? startTag : endTag;
    const inside = model.rows.filter((row) => {
      if (model.compareKeys(index.spec, row, probed, prefixColumns) !== 0) return false;
      const toStart = model.compareColumn(column, row.values[column], from);
      const toEnd = model.compareColumn(column, row.values[column], to);
      return isInside(startTag, toStart) && isInside(lastTag, -toEnd);
    });
    expect(rowsOf(table, refs)).toEqual(sorted(inside));
    if (this.#random.chance(0.3)) {
      expect(this.#transaction.deleteMany(table, refs)).toBe(refs.length);
      model.delete(new Set(inside.map(({ hex }) => hex)));
    }
  }
}

type Bytes3 = [Uint8Array, Uint8Array, Uint8Array];

function boundOf(tag: number, value: Uint8Array): Uint8Array {
  return tag === 2 ? Uint8Array.of(2) : Uint8Array.from([tag, ...value]);
}

/** `order`: how far inside the bound, by sign. */
function isInside(tag: number, order: number): boolean {
  return tag === 2 || (tag === 0 ? order >= 0 : order > 0);
}

function keyOf(table: Table, columns: readonly number[], row: Uint8Array): Uint8Array {
  return Uint8Array.from(
    columns.flatMap((column) => {
      const start = table.shape.startOf(row, 0, column);
      return [...row.subarray(start, table.shape.skip(row, start, column))];
    }),
  );
}

function rowBytes(table: Table, raw: number): Uint8Array {
  const ref = rowRef(raw);
  const bytes = new Uint8Array(table.lengthOf(ref));
  table.copyRow(ref, bytes, 0);
  return bytes;
}

function rowsOf(table: Table, refs: Int32Array = table.scan()): string[] {
  return [...refs].map((ref) => hexOf(rowBytes(table, ref))).sort();
}

function sorted(rows: readonly ModelRow[]): string[] {
  return rows.map(({ hex }) => hex).sort();
}

function listOf(table: Table, { bytes, count }: RowList): string[] {
  const rows: string[] = [];
  let at = 0;
  for (let left = count; left > 0; left--) {
    const end = table.shape.endOfRow(bytes, at, bytes.length);
    rows.push(hexOf(bytes.subarray(at, end)));
    at = end;
  }
  expect(at).toBe(bytes.length);
  return rows.sort();
}

/** The row, with room for generated values. */
function withSpace(bytes: Uint8Array): Uint8Array {
  const buffer = new Uint8Array(bytes.length + 32);
  buffer.set(bytes);
  return buffer;
}

function bytesOf(hex: string): Uint8Array {
  return Uint8Array.from(hex.match(/../g) ?? [], (pair) => Number.parseInt(pair, 16));
}

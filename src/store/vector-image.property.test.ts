import { describe, expect, it } from 'vitest';
import { sampleCatalog } from '../../test/sql/sample-tables.ts';
import { someSeeds } from '../../test/support/share.ts';
import { ImageReading, loadReading } from '../../test/support/store/images.ts';
import { present } from '../assert.ts';
import { Random } from '../testing/random.ts';
import { encodeValue } from '../values/encode.ts';
import type { AlgebraicType } from '../values/type.ts';
import { noRow, rowRef } from './row-ref.ts';
import { Store } from './store.ts';
import type { Table } from './table.ts';
import { VectorRuler } from './vector-distance.ts';
import type { VectorIndex } from './vector-index.ts';

/**
 * Random changes of a table with an index of vectors, and searches, while a snapshot of it is
 * taken. The loaded index finds every row in a search that is wider than the table, and its graph
 * has the rows that the graph had.
 */

const floats: AlgebraicType = { kind: 'array', element: { kind: 'f32' } };
const length = 4;
const catalog = sampleCatalog({
  name: 't',
  columns: { id: { kind: 'u32' }, note: { kind: 'string' }, at: floats },
  indexes: ['unique:btree:id', `vector:at:l2:${length}`],
});

class Run {
  readonly random: Random;
  readonly store = new Store(catalog);
  #id = 0;

  constructor(seed: number) {
    this.random = new Random(seed);
  }

  get table(): Table {
    return present(this.store.tableByName('t'), 'the table');
  }

  insert(count: number): void {
    const { table, random } = this;
    const { elements } = table.rowType;
    const transaction = this.store.begin();
    for (let left = count; left > 0; left--) {
      const at = Array.from({ length }, () => random.below(1_000) / 100);
      const note = 'x'.repeat(random.below(40));
      const row = encodeValue({ kind: 'product', elements }, [this.#id++, note, at]);
      expect(transaction.insert(table, row, row.length)).toBe(0);
    }
    transaction.commit();
  }

  delete(share: number): void {
    const transaction = this.store.begin();
    const refs = this.table.scan().filter(() => this.random.chance(share));
    transaction.deleteMany(this.table, refs);
    if (this.random.chance(0.2)) transaction.rollback();
    else transaction.commit();
  }

  /** All rows get another note, and keep their vectors. */
  touch(): void {
    const { table, random } = this;
    const [index] = table.indexes;
    const transaction = this.store.begin();
    for (const ref of table.scan().filter(() => random.chance(0.1))) {
      const bytes = table.pageOf(rowRef(ref)).subarray(table.offsetOf(rowRef(ref)));
      const row = bytes.slice(0, table.lengthOf(rowRef(ref)));
      const [noteAt, noteLength] = [8, row[4] ?? 0];
      if (noteLength > 0) row[noteAt] = 0x61 + random.below(20);
      transaction.update(table, present(index, 'the key'), row, row.length);
    }
    transaction.commit();
  }

  search(table = this.table, width = 5): number[] {
    const ruler = new VectorRuler(
      'l2',
      Float64Array.from({ length }, () => this.random.below(10)),
    );
    const index = present(table.derivedIndexes[0], 'the index');
    return [...new Set(table.search(index, { kind: 'nearest', ruler, width }))];
  }

  takeIn(): void {
    while (bodyOf(this.table).waitingCount > 0) this.search();
  }

  change(): void {
    if (this.random.chance(0.3)) this.insert(this.random.below(20));
    if (this.random.chance(0.3)) this.delete(this.random.pick([0.01, 0.05, 0.3]));
    if (this.random.chance(0.3)) this.touch();
    if (this.random.chance(0.5)) this.search();
    const rows = this.search(this.table, 5_000);
    expect(rows.sort()).toEqual([...this.table.scan()].sort());
  }

  reading(chance: number): ImageReading {
    const reading = new ImageReading(this.store, 20_000);
    while (reading.step(this.random.pick([100, 400])))
      if (this.random.chance(chance)) this.change();
    return reading;
  }

  loaded(reading: ImageReading): Table {
    const { table, faults } = loadReading(this.store, this.table.id, reading, reading.pieces);
    expect(faults).toEqual([]);
    return table;
  }
}

function bodyOf(table: Table): VectorIndex {
  return present(table.derivedIndexes[0], 'the index').body as VectorIndex;
}

function allOf(table: Table): number[] {
  const refs: number[] = [];
  for (let ref = table.nextRow(noRow); ref !== noRow; ref = table.nextRow(ref)) refs.push(ref);
  return refs.sort();
}

describe('[history 2.32] an index of vectors from its image', () => {
  it.each(someSeeds(1, 24))('has all rows, whatever happened meanwhile (seed %s)', (seed) => {
    const run = new Run(seed);
    run.insert(run.random.between(1, 400));
    for (let left = run.random.below(30); left > 0; left--) run.search();
    const table = run.loaded(run.reading(run.random.pick([0.1, 0.5, 1])));
    const body = bodyOf(table);
    for (let round = 0; round < 60; round++) {
      expect(run.search(table, 5_000).sort()).toEqual(allOf(table));
      if (round % 3 === 0 && table.rowCount > 1) {
        for (const ref of table.scan().filter(() => run.random.chance(0.1))) {
          table.changes.unload(rowRef(ref));
        }
      }
    }
    expect(body.waitingCount).toBe(0);
  });

  it('has the graph as it was, and searches find the same by it', () => {
    const run = new Run(77);
    run.insert(3_000);
    run.takeIn();
    const table = run.loaded(run.reading(0));
    expect(bodyOf(table).waitingCount).toBe(0);
    const textOf = (from: Table, refs: readonly number[]) =>
      refs.map((ref) => from.pageOf(rowRef(ref))[from.offsetOf(rowRef(ref))]).sort();
    for (let seed = 0; seed < 40; seed++) {
      const [one, other] = [new Run(seed), new Run(seed)];
      expect(textOf(table, one.search(table))).toEqual(textOf(run.table, other.search(run.table)));
    }
  });

  it('keeps most of the graph while rows leave, and no search changes it meanwhile', () => {
    const run = new Run(5);
    run.insert(2_000);
    run.takeIn();
    run.insert(500);
    const reading = new ImageReading(run.store, 20_000);
    let waiting = Number.NaN;
    while (reading.step(60)) {
      if (reading.pieces.length === 0) continue;
      // The entries take more pieces than these.
      const isOpen = reading.pieces.length <= 3;
      if (Number.isNaN(waiting)) waiting = bodyOf(run.table).waitingCount;
      run.search();
      if (isOpen) expect(bodyOf(run.table).waitingCount).toBe(waiting);
      if (run.random.chance(0.05)) run.delete(0.01);
      waiting = bodyOf(run.table).waitingCount;
    }
    const table = run.loaded(reading);
    expect(bodyOf(table).waitingCount).toBeGreaterThanOrEqual(500);
    expect(bodyOf(table).waitingCount).toBeLessThan(1_200);
    // Later searches take rows in again.
    run.search();
    expect(bodyOf(run.table).waitingCount).toBeLessThan(waiting);
  });

  it('lets searches take rows in again when the snapshot is given up', () => {
    const run = new Run(6);
    run.insert(300);
    const reading = new ImageReading(run.store, 20_000);
    while (reading.pieces.length === 0) reading.step(50);
    run.search();
    expect(bodyOf(run.table).waitingCount).toBe(300);
    reading.pins.release();
    run.search();
    expect(bodyOf(run.table).waitingCount).toBeLessThan(300);
  });
});

describe('[history 2.33] an image of a graph that makes no sense', () => {
  const run = new Run(9);
  run.insert(60);
  run.takeIn();
  const reading = run.reading(0);
  const { pieces } = reading;

  it('is refused, or leads to an index with all rows', () => {
    let refused = 0;
    for (const [at, piece] of pieces.entries()) {
      for (let byte = 0; byte < piece.bytes.length; byte += 1 + run.random.below(5)) {
        const bytes = piece.bytes.slice();
        bytes[byte] = run.random.pick([0, 1, 59, 60, 0x7f, 0x80, 0xff]);
        const other = pieces.with(at, { ...piece, bytes });
        const { table, faults } = loadReading(run.store, run.table.id, reading, other);
        refused += faults.length;
        expect(run.search(table, 5_000).sort()).toEqual(allOf(table));
        for (const ref of table.scan().slice(0, 20)) table.changes.unload(rowRef(ref));
        expect(run.search(table, 5_000).sort()).toEqual(allOf(table));
      }
    }
    expect(refused).toBeGreaterThan(20);
  });
});

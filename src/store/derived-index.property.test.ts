import { expect, it } from 'vitest';
import { someSeeds } from '../../test/support/share.ts';
import {
  catalogFrom,
  encodeRow,
  f64,
  insert,
  readRow,
  string,
  type TableSketch,
  tableOf,
  u32,
  update,
} from '../../test/support/store/tables.ts';
import { present } from '../assert.ts';
import { Random } from '../testing/random.ts';
import { encodeValue } from '../values/encode.ts';
import type { AlgebraicType } from '../values/type.ts';
import type { Value } from '../values/value.ts';
import type { DerivedRequest, InvertedRequest } from './derived-body.ts';
import { InvertedIndex } from './inverted-index.ts';
import { RefList } from './ref-list.ts';
import { rowRef } from './row-ref.ts';
import { Store } from './store.ts';
import type { Table } from './table.ts';
import type { RowSource, TablePin } from './table-pin.ts';
import type { Transaction } from './transaction.ts';

/**
 * Random changes of a table with derived indexes, in transactions that commit or roll back, with
 * migrations and pins between them. What an index finds, tested again, is what a scan finds.
 */

const arrayOf = (element: AlgebraicType): AlgebraicType => ({ kind: 'array', element });
const point: AlgebraicType = {
  kind: 'product',
  elements: [
    { name: 'x', type: f64 },
    { name: 'name', type: string },
  ],
};
const columns = { id: u32, labels: arrayOf(string), points: arrayOf(point) };
const key = { columns: ['id'], unique: true };

const sketches: readonly TableSketch[] = [
  { columns, indexes: [key], inverted: ['labels', 'points'] },
  { columns, indexes: [key], inverted: ['labels'] },
  { columns, indexes: [key], inverted: [] },
];

const labels = ['', 'a', 'b', 'c', 'open', 'a rare one', 'é'];
const floats = [0, -0, Number.NaN, 1.5];

function someLabels(random: Random): string[] {
  return Array.from({ length: random.below(5) }, () => random.pick(labels));
}

function somePoints(random: Random): Value[][] {
  return Array.from({ length: random.below(3) }, () => [
    random.pick(floats),
    random.pick(['', 'p']),
  ]);
}

function rowOf(random: Random, id = random.below(60)): [number, string[], Value[][]] {
  return [id, someLabels(random), somePoints(random)];
}

/** Equal for equal elements: the zeros are one, and so are all NaN. */
const textOf = (element: Value): string =>
  JSON.stringify(element, (_, value) => (value === 0 ? 0 : Number.isNaN(value) ? 'NaN' : value));

class Changes {
  readonly #random: Random;
  readonly #store: Store;
  #pins: { readonly pin: TablePin; readonly rows: readonly Value[][] }[] = [];

  constructor(seed: number) {
    this.#random = new Random(seed);
    this.#store = new Store(catalogFrom({ t: present(sketches[0], 'sketch') }));
  }

  get #table(): Table {
    return tableOf(this.#store, 't');
  }

  run(): void {
    for (let round = 0; round < 25; round++) {
      this.#transact();
      this.#check(this.#table, this.#rows());
      for (const { pin, rows } of this.#pins) this.#checkPin(pin, rows);
      if (this.#random.chance(0.2)) this.#pins.push({ pin: this.#table.pin(), rows: this.#rows() });
      if (this.#random.chance(0.1)) this.#pins.splice(0, 1)[0]?.pin.release();
      if (this.#random.chance(0.15)) this.#migrate();
      if (this.#random.chance(0.1)) this.#reload();
    }
  }

  #transact(): void {
    const transaction = this.#store.begin();
    const count = this.#random.below(40);
    for (let step = 0; step < count; step++) this.#step(transaction);
    this.#check(this.#table, this.#rows());
    if (this.#random.chance(0.3)) transaction.rollback();
    else transaction.commit();
  }

  #step(transaction: Transaction): void {
    const table = this.#table;
    const random = this.#random;
    const refs = [...table.scan()].map(rowRef);
    switch (random.below(20)) {
      case 0:
        transaction.clear(table);
        return;
      case 1:
        transaction.deleteMany(table, Int32Array.from(refs.filter(() => random.chance(0.8))));
        return;
      case 2:
        for (let count = 0; count < 70; count++) insert(transaction, table, ...rowOf(random));
        return;
      case 3:
      case 4: {
        const ref = refs.length === 0 ? undefined : random.pick(refs);
        if (ref !== undefined) transaction.deleteRef(table, ref);
        return;
      }
      case 5:
      case 6:
      case 7:
      case 8:
        update(transaction, present(table.indexes[0], 'key'), ...rowOf(random));
        return;
      default:
        insert(transaction, table, ...rowOf(random));
    }
  }

  #migrate(): void {
    const next = catalogFrom({ t: this.#random.pick(sketches) });
    const migration = this.#store.prepareMigration(next, new Map());
    const before = this.#rows();
    migration.apply();
    if (this.#random.chance(0.3)) migration.revert();
    this.#check(this.#table, before);
    for (const { pin } of this.#pins) expect(pin.isValid).toBe(false);
    this.#pins = [];
  }

  /** The same rows from a snapshot. */
  #reload(): void {
    const { catalog } = this.#store;
    const store = new Store(catalog);
    const load = store.beginLoad(catalog);
    const rows = this.#rows();
    for (const row of rows) {
      const bytes = encodeRow(this.#table, row);
      load.addRows(this.#table.id, { count: 1, bytes });
    }
    load.finishTable(this.#table.id, rows.length);
    load.commit(this.#store.offset, []);
    this.#check(tableOf(store, 't'), rows);
  }

  #rows(): Value[][] {
    return [...this.#table.scan()].map((ref) => readRow(this.#table, ref));
  }

  #checkPin(pin: TablePin, rows: readonly Value[][]): void {
    if (!pin.isValid) return;
    this.#check(pin.table, rows, pin);
    const seen = new Set(rows.map(textOf));
    const later = this.#rows().filter((row) => !seen.has(textOf(row)));
    // A row that was deleted and came back is later, too.
    this.#check(pin.table, later, pin.laterRows(), true);
  }

  #check(
    table: Table,
    rows: readonly Value[][],
    source: Pick<RowSource, 'search'> = table,
    mayHaveMore = false,
  ): void {
    for (const index of table.derivedIndexes) {
      const { column } = index.spec;
      const type = present(table.rowType.elements[column], 'column').type;
      const element = type.kind === 'array' ? type.element : type;
      const wanted = Array.from({ length: this.#random.below(3) }, () =>
        column === 1 ? this.#random.pick(labels) : [this.#random.pick(floats), ''],
      ) as Value[];
      const match = this.#random.pick(['any', 'all'] as const);
      const elements = wanted.map((one) => encodeValue(element, one));
      const request: InvertedRequest = { kind: 'inverted', match, elements };
      const isHit = (row: Value[]) => {
        const held = new Set((row[column] as Value[]).map(textOf));
        const keys = wanted.map(textOf);
        return match === 'any' ? keys.some((k) => held.has(k)) : keys.every((k) => held.has(k));
      };
      const found = source.search(index, request satisfies DerivedRequest);
      if (found === undefined) {
        expect([match, wanted.length]).toEqual(['all', 0]);
        continue;
      }
      const hits = [...new Set(found)].map((ref) => readRow(table, ref)).filter(isHit);
      const texts = hits.map(textOf).sort();
      const expected = rows.filter(isHit).map(textOf).sort();
      if (mayHaveMore) expect(texts).toEqual(expect.arrayContaining(expected));
      else expect(texts).toEqual(expected);
    }
  }
}

it.each(someSeeds(1, 40))(
  '[ease 3.3] an index of elements finds what a scan finds (seed %s)',
  (seed) => {
    new Changes(seed).run();
  },
);

it('[ease 3.3] an index that is filled at once holds what one filled row by row holds', () => {
  const random = new Random(7);
  const store = new Store(catalogFrom({ t: present(sketches[0], 'sketch') }));
  const table = tableOf(store, 't');
  const transaction = store.begin();
  for (let id = 0; id < 3_000; id++) insert(transaction, table, ...rowOf(random, id));
  transaction.commit();
  const { heap, shape } = table;
  const bodies = [1, 500, 1_000_000].map((atOnce) => new InvertedIndex(heap, shape, 1, atOnce));
  for (const body of bodies) body.fill();
  for (const label of labels) {
    const request: InvertedRequest = {
      kind: 'inverted',
      match: 'any',
      elements: [encodeValue(string, label)],
    };
    const expected = table.search(present(table.derivedIndexes[0], 'index'), request);
    for (const body of bodies) {
      const found = new RefList();
      expect(body.collect(request, found)).toBe(true);
      expect(found.take()).toEqual(expected);
    }
  }
  for (const body of bodies) {
    for (const ref of table.scan()) body.remove(rowRef(ref));
    expect(body.bytes).toBe(new InvertedIndex(heap, shape, 1).bytes);
  }
});

it('[ease 3.3] an index that is emptied gives its memory back, and is counted', () => {
  const store = new Store(catalogFrom({ t: present(sketches[0], 'sketch') }));
  const table = tableOf(store, 't');
  const bytes = () => present(table.memory().indexes.at(-2), 'index of labels').bytes;
  const before = bytes();
  const transaction = store.begin();
  for (let id = 0; id < 5_000; id++) insert(transaction, table, id, ['all', `label ${id}`], []);
  transaction.commit();
  expect(bytes()).toBeGreaterThan(before + 10_000 * 12);
  const clearing = store.begin();
  clearing.clear(table);
  clearing.commit();
  expect(bytes()).toBe(before);
});

import { expect, it } from 'vitest';
import { someSeeds } from '../../test/support/share.ts';
import {
  catalogFrom,
  insert,
  readRow,
  string,
  type TableSketch,
  tableOf,
  u32,
  update,
} from '../../test/support/store/tables.ts';
import { present } from '../assert.ts';
import type { Language } from '../schema/languages.ts';
import { Search } from '../search/search.ts';
import { Random } from '../testing/random.ts';
import type { Value } from '../values/value.ts';
import { rowRef } from './row-ref.ts';
import { Store } from './store.ts';
import type { Table } from './table.ts';
import type { RowSource, TablePin } from './table-pin.ts';
import type { TextBody } from './text-body.ts';
import type { Transaction } from './transaction.ts';

/**
 * Random changes of a table with text indexes, in transactions that commit or roll back, with
 * migrations and pins between them. What an index finds, tested again, is what a scan finds, and
 * its statistics are those of the rows.
 */
const columns = { id: u32, title: string, body: string };
const key = { columns: ['id'], unique: true };
const sketches: readonly TableSketch[] = [
  { columns, indexes: [key], texts: { title: 'simple', body: 'english' } },
  { columns, indexes: [key], texts: { title: 'simple' } },
  { columns, indexes: [key], texts: { title: 'german', body: 'english' } },
];

const words =
  'all run running runs fox foxes Fox the über uber 東京都 京都 international Haus Häuser'.split(
    ' ',
  );
const queries = [
  ...['fox', 'run', 'runn*', '"the fox"', 'fox OR run', 'fox NOT run', 'NOT fox', 'intern* all'],
  ...['京', '京都', 'zebra', '', '(run OR all) -the', '"running foxes"', 'f*', 'w1*', 'w7 OR w8'],
];

function textOf(random: Random): string {
  const count = random.below(8);
  const some = Array.from({ length: count }, () => random.pick(words));
  if (random.chance(0.5)) some.push(`w${random.below(300)}`);
  return some.join(' ');
}

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
      const rows = this.#rows();
      this.#check(this.#table, rows);
      this.#checkStatistics(rows);
      for (const { pin, rows: seen } of this.#pins) if (pin.isValid) this.#check(pin, seen);
      if (this.#random.chance(0.2)) this.#pins.push({ pin: this.#table.pin(), rows });
      if (this.#random.chance(0.1)) this.#pins.splice(0, 1)[0]?.pin.release();
      if (this.#random.chance(0.15)) this.#migrate();
    }
  }

  #transact(): void {
    const transaction = this.#store.begin();
    for (let step = this.#random.below(40); step > 0; step--) this.#step(transaction);
    const rows = this.#rows();
    this.#check(this.#table, rows);
    this.#checkStatistics(rows);
    if (this.#random.chance(0.3)) transaction.rollback();
    else transaction.commit();
  }

  #step(transaction: Transaction): void {
    const table = this.#table;
    const random = this.#random;
    const row = (): Value[] => [random.below(3_000), textOf(random), textOf(random)];
    const refs = [...table.scan()].map(rowRef);
    switch (random.below(16)) {
      case 0:
        if (random.chance(0.3)) transaction.clear(table);
        return;
      case 1:
        for (let count = 0; count < 150; count++) insert(transaction, table, ...row());
        return;
      case 2:
        transaction.deleteMany(table, Int32Array.from(refs.filter(() => random.chance(0.5))));
        return;
      case 3:
      case 4:
        if (refs.length > 0) transaction.deleteRef(table, random.pick(refs));
        return;
      case 5:
      case 6:
      case 7: {
        const [id = 0] = refs.length > 0 ? readRow(table, random.pick(refs)) : [];
        const key = present(table.indexes[0], 'key');
        update(transaction, key, id, textOf(random), textOf(random));
        return;
      }
      default:
        insert(transaction, table, ...row());
    }
  }

  #migrate(): void {
    const migration = this.#store.prepareMigration(
      catalogFrom({ t: this.#random.pick(sketches) }),
      new Map(),
    );
    migration.apply();
    if (this.#random.chance(0.3)) migration.revert();
    this.#check(this.#table, this.#rows());
    this.#pins = [];
  }

  #rows(): Value[][] {
    return [...this.#table.scan()].map((ref) => readRow(this.#table, rowRef(ref)));
  }

  #check(source: Pick<RowSource, 'search'>, rows: readonly Value[][]): void {
    const table = this.#table;
    for (const index of table.derivedIndexes) {
      const { column, options } = index.spec;
      const language = this.#random.pick([options[0]?.value as Language, 'simple' as const]);
      const search = new Search(this.#random.pick(queries), language);
      const isHit = (row: Value[]) => search.matches(row[column] as string);
      const found = source.search(index, { kind: 'text', search });
      if (found === undefined) continue;
      const hits = [...new Set(found)].map((ref) => readRow(table, rowRef(ref))).filter(isHit);
      const idsOf = (some: readonly Value[][]) =>
        some.map(([id]) => Number(id)).sort((a, b) => a - b);
      expect(idsOf(hits), JSON.stringify(search.query)).toEqual(idsOf(rows.filter(isHit)));
    }
  }

  #checkStatistics(rows: readonly Value[][]): void {
    for (const { spec, body } of this.#table.derivedIndexes) {
      const search = new Search('fox run* zebra', spec.options[0]?.value as Language);
      const counts = [0, 0, 0];
      let length = 0;
      for (const row of rows) {
        const looked = search.look(row[spec.column] as string);
        length += looked.length;
        counts.forEach((count, word) => {
          counts[word] = count + ((looked.counts[word] ?? 0) > 0 ? 1 : 0);
        });
      }
      const statistics = (body as TextBody).index.statistics(search);
      expect(statistics).toEqual({ documents: rows.length, words: length, counts });
    }
  }
}

it.each(someSeeds(1, 40))('[ease 3.11] a text index finds what a scan finds (seed %s)', (seed) => {
  new Changes(seed).run();
});

it('[ease 3.11] a text index that is emptied gives its memory back, and is counted', () => {
  const store = new Store(catalogFrom({ t: present(sketches[0], 'sketch') }));
  const table = tableOf(store, 't');
  const bytes = () => present(table.memory().indexes.at(-1), 'index of bodies').bytes;
  const before = bytes();
  const transaction = store.begin();
  const count = 3_000;
  for (let id = 0; id < count; id++) insert(transaction, table, id, '', `running word${id} foxes`);
  transaction.commit();
  expect(bytes()).toBeGreaterThan(before + count * 60);
  const removing = store.begin();
  for (const ref of [...table.scan()]) removing.deleteRef(table, rowRef(ref));
  removing.commit();
  expect(bytes()).toBe(before);
});

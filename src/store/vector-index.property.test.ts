import { describe, expect, it } from 'vitest';
import { sampleCatalog } from '../../test/sql/sample-tables.ts';
import { someSeeds } from '../../test/support/share.ts';
import { present } from '../assert.ts';
import { limits } from '../limits.ts';
import { Random } from '../testing/random.ts';
import { encodeValue } from '../values/encode.ts';
import type { AlgebraicType } from '../values/type.ts';
import { noRow, type RowRef, rowRef } from './row-ref.ts';
import { Store } from './store.ts';
import type { RowSource, TablePin } from './table-pin.ts';
import type { Transaction } from './transaction.ts';
import { VectorRuler } from './vector-distance.ts';
import { VectorIndex } from './vector-index.ts';

/**
 * Random changes of a table with an index of vectors, in transactions that commit or roll back,
 * with pins between them. A search that is wider than the table finds every row, and no other.
 */

const floats: AlgebraicType = { kind: 'array', element: { kind: 'f32' } };
const length = 3;
const store = () =>
  new Store(
    sampleCatalog({
      name: 't',
      columns: { id: { kind: 'u32' }, note: { kind: 'string' }, at: floats },
      indexes: ['unique:btree:id', `vector:at:cosine:${length}`],
    }),
  );

class Changes {
  readonly #random: Random;
  readonly #store = store();
  readonly #pins: TablePin[] = [];

  constructor(seed: number) {
    this.#random = new Random(seed);
  }

  get #table() {
    return present(this.#store.tableByName('t'), 'the table');
  }

  run(): void {
    for (let round = 0; round < 30; round++) {
      const transaction = this.#store.begin();
      const count = this.#random.below(30);
      for (let step = 0; step < count; step++) this.#step(transaction);
      if (this.#random.chance(0.5)) this.#check(this.#table);
      if (this.#random.chance(0.3)) transaction.rollback();
      else transaction.commit();
      this.#check(this.#table);
      for (const pin of this.#pins) this.#check(pin);
      if (this.#random.chance(0.2)) this.#pins.push(this.#table.pin());
      if (this.#random.chance(0.2)) this.#pins.shift()?.release();
    }
  }

  #step(transaction: Transaction): void {
    const random = this.#random;
    const table = this.#table;
    const { elements } = table.rowType;
    const id = random.below(80);
    const old = [...table.scan()].find((ref) => {
      return table.pageOf(rowRef(ref))[table.offsetOf(rowRef(ref))] === id;
    });
    const at = Array.from({ length }, () => random.below(4) - 1);
    const row = encodeValue({ kind: 'product', elements }, [id, 'x'.repeat(random.below(9)), at]);
    if (random.chance(0.02)) transaction.clear(table);
    else if (old === undefined) expect(transaction.insert(table, row, row.length)).toBe(0);
    else if (random.chance(0.5)) transaction.deleteRef(table, rowRef(old));
    else {
      const index = present(table.indexes[0], 'the key');
      if (random.chance(0.5)) row.set(this.#vectorOf(rowRef(old)), row.length - length * 4);
      expect(transaction.update(table, index, row, row.length)).toBe(0);
    }
  }

  #vectorOf(ref: RowRef): Uint8Array {
    const start = this.#table.columnOffset(ref, 2) + 4;
    return this.#table.pageOf(ref).slice(start, start + length * 4);
  }

  #check(source: Pick<RowSource, 'search' | 'nextRow'>): void {
    const random = this.#random;
    const wanted = Float64Array.from({ length }, () => random.below(5) - 2);
    const ruler = new VectorRuler('cosine', wanted);
    const index = present(this.#table.derivedIndexes[0], 'the index');
    const found = source.search(index, { kind: 'nearest', ruler, width: 400 });
    const rows: number[] = [];
    for (let ref = source.nextRow(noRow); ref !== noRow; ref = source.nextRow(ref)) rows.push(ref);
    expect([...new Set(found)].sort()).toEqual(rows.sort());
  }
}

describe('[ease 3.12] an index of vectors holds the rows that there are', () => {
  it.each(someSeeds(100, 16))('seed %i', (seed) => {
    new Changes(seed).run();
  });
});

it('[ease 3.12] searches take waiting rows into the graph, and look at the others', () => {
  const made = store();
  const table = present(made.tableByName('t'), 'the table');
  const transaction = made.begin();
  const { elements } = table.rowType;
  for (let id = 0; id < 5_000; id++) {
    const row = encodeValue({ kind: 'product', elements }, [id, '', [id % 7, id % 11, id % 13]]);
    transaction.insert(table, row, row.length);
  }
  transaction.commit();
  const index = present(table.derivedIndexes[0], 'the index');
  const body = index.body as VectorIndex;
  const ruler = new VectorRuler('cosine', Float64Array.of(1, 2, 3));
  const search = () => table.search(index, { kind: 'nearest', ruler, width: 10 })?.length;
  expect(body).toBeInstanceOf(VectorIndex);
  // Too many wait: the rows are all that there are, until enough have a place.
  const { vectorWaitingMax, vectorCatchUpRows } = limits;
  for (let left = 5_000 - vectorCatchUpRows; left > vectorWaitingMax; left -= vectorCatchUpRows) {
    expect(search()).toBeUndefined();
    expect(body.waitingCount).toBe(left);
  }
  expect(search()).toBe(10 + body.waitingCount);
  while (body.waitingCount > 0) search();
  expect(search()).toBe(10);
});

import { describe, expect, it } from 'vitest';
import { someSeeds } from '../../test/support/share.ts';
import {
  deleteRow,
  encodeKey,
  i64,
  indexOf,
  insert,
  readRow,
  readRows,
  storeOf,
  string,
  tableOf,
  u32,
  update,
} from '../../test/support/store/tables.ts';
import { Random } from '../testing/random.ts';
import type { Value } from '../values/value.ts';
import type { Store } from './store.ts';
import type { Table } from './table.ts';
import type { Transaction } from './transaction.ts';

/**
 * Tables of thousands of rows, so that pages, segments and nodes split, merge and are released. The
 * model is a map from id to row; transactions make many changes at once, and half of them are
 * rolled back.
 */
type Row = [id: number, name: string, amount: bigint, group: number, label: string];

const algorithms = ['hash', 'btree', 'direct'] as const;

describe('large tables against a map', () => {
  for (const algorithm of algorithms) {
    for (const seed of someSeeds(1, 2)) {
      it(`[tables 6, 11] ${algorithm} key, seed ${seed}`, () => new Run(seed, algorithm).run());
    }
  }
});

class Run {
  readonly #random: Random;
  readonly #store: Store;
  readonly #copy: Store;
  readonly #table: Table;
  #rows = new Map<number, Row>();
  readonly #idLimit: number;

  constructor(seed: number, algorithm: 'hash' | 'btree' | 'direct') {
    this.#random = new Random(seed);
    const columns = { id: u32, name: string, amount: i64, group: u32, label: string };
    const open = () =>
      storeOf({
        t: {
          columns,
          indexes: [
            { columns: ['id'], algorithm, unique: true },
            { columns: ['group', 'name'] },
            { columns: ['name'], algorithm: 'hash' },
            { columns: ['amount'], algorithm: seed % 2 === 0 ? 'hash' : 'btree', unique: true },
            // Updates keep this key, and only the rows distinguish its keys.
            { columns: ['label'], unique: true },
          ],
        },
        // The same rows in a table where only the rows themselves are distinct.
        plain: { columns },
      });
    this.#store = open();
    this.#copy = open();
    this.#table = tableOf(this.#store, 't');
    // Sparse ids make a direct index give up; dense ones keep it.
    this.#idLimit = seed % 2 === 0 ? 20_000 : 4_000_000_000;
  }

  run(): void {
    for (let round = 0; round < 25; round++) {
      const before = new Map(this.#rows);
      const transaction = this.#store.begin();
      const actions = this.#random.between(1, 3);
      for (let action = 0; action < actions; action++) this.#act(transaction);
      if (this.#random.chance(0.4)) {
        transaction.rollback();
        this.#rows = before;
      } else {
        const change = transaction.commit();
        if (change !== undefined) this.#copy.replay(change);
      }
      this.#check(round);
    }
    for (const name of ['t', 'plain']) {
      const rows = sortedRows(tableOf(this.#store, name));
      sameRows(sortedRows(tableOf(this.#copy, name)), rows);
      sameRows(rows, [...this.#rows.values()].sort(byId));
    }
  }

  #act(transaction: Transaction): void {
    const dice = this.#random.below(20);
    if (dice < 9) this.#insertMany(transaction, this.#random.between(1, 2000));
    else if (dice < 13) this.#updateMany(transaction);
    else if (dice < 18) this.#deleteMany(transaction);
    else this.#clear(transaction);
  }

  #insertMany(transaction: Transaction, count: number): void {
    const isRising = this.#random.chance(0.3);
    const first = this.#random.below(this.#idLimit / 2);
    for (let done = 0; done < count; done++) {
      const id = isRising ? first + done : this.#random.below(this.#idLimit);
      if (this.#rows.has(id)) continue;
      this.#put(transaction, this.#rowOf(id, 0));
    }
  }

  #put(transaction: Transaction, row: Row): void {
    must(insert(transaction, this.#table, ...row) === 0);
    insert(transaction, tableOf(this.#store, 'plain'), ...row);
    this.#rows.set(row[0], row);
  }

  #updateMany(transaction: Transaction): void {
    const plain = tableOf(this.#store, 'plain');
    for (const [id, old] of this.#some(0.5)) {
      // Sometimes restores the first version: the deleted row must come back.
      const row = this.#rowOf(id, this.#random.below(3));
      must(update(transaction, indexOf(this.#table, 0), ...row) === 0);
      must(deleteRow(transaction, plain, ...old));
      insert(transaction, plain, ...row);
      this.#rows.set(id, row);
    }
  }

  #deleteMany(transaction: Transaction): void {
    for (const [id, row] of this.#some(this.#random.pick([0.05, 0.5, 1]))) {
      must(deleteRow(transaction, this.#table, ...row));
      must(deleteRow(transaction, tableOf(this.#store, 'plain'), ...row));
      this.#rows.delete(id);
    }
  }

  #clear(transaction: Transaction): void {
    const kept = this.#some(0.3).map(([, row]) => row);
    expect(transaction.clear(this.#table)).toBe(this.#rows.size);
    expect(transaction.clear(tableOf(this.#store, 'plain'))).toBe(this.#rows.size);
    this.#rows.clear();
    for (const row of kept) this.#put(transaction, row);
  }

  #some(share: number): [number, Row][] {
    return [...this.#rows].filter(() => this.#random.chance(share));
  }

  #rowOf(id: number, version: number): Row {
    const name = `name ${id % 97}${'x'.repeat(id % 40)}`;
    return [id, name, BigInt(id) * 3n + BigInt(version), id % 11, `label ${id}`];
  }

  #check(round: number): void {
    const table = this.#table;
    expect(table.rowCount).toBe(this.#rows.size);
    for (let probe = 0; probe < 50; probe++) {
      const known = this.#rows.size > 0 && this.#random.chance(0.7);
      const id = known ? this.#random.pick([...this.#rows.keys()]) : this.#random.below(1000);
      const ref = table.find(indexOf(table, 0), encodeKey(table, [0], [id]), 4);
      expect(ref < 0 ? undefined : readRow(table, ref)).toEqual(this.#rows.get(id));
      const label = encodeKey(table, [4], [`label ${id}`]);
      must(table.find(indexOf(table, 4), label, label.length) === ref);
    }
    if (round % 4 !== 0) return;
    sameRows(sortedRows(table), [...this.#rows.values()].sort(byId));
    this.#checkPoints(table);
    this.#checkRanges(table);
  }

  #checkPoints(table: Table): void {
    const [name] = this.#rowOf(this.#random.below(5000), 0).slice(1, 2) as [string];
    const key = encodeKey(table, [1], [name]);
    const found = readRows(table, table.scanPoint(indexOf(table, 2), key, key.length));
    const expected = [...this.#rows.values()].filter((row) => row[1] === name);
    expect((found as Row[]).sort(byId)).toEqual(expected.sort(byId));
  }

  #checkRanges(table: Table): void {
    const group = this.#random.below(11);
    const from = `name ${this.#random.below(100)}`;
    const prefix = encodeKey(table, [3], [group]);
    const start = encodeKey(table, [1], [from]);
    const refs = table.scanRange(indexOf(table, 1), {
      bytes: Uint8Array.from([...prefix, 1, ...start, 2]),
      prefixColumns: 1,
      prefixLength: prefix.length,
      startLength: start.length + 1,
      endLength: 1,
    });
    const names = readRows(table, refs).map((row: Value[]) => row[1]);
    const expected = [...this.#rows.values()].filter((row) => row[3] === group && row[1] > from);
    expect(names).toEqual(expected.map((row) => row[1]).sort());
  }
}

/** `expect` is too slow for checks that run a million times. */
function must(holds: boolean): void {
  if (!holds) throw new Error('the store disagrees with the model');
}

function sameRows(found: readonly Row[], expected: readonly Row[]): void {
  const text = (rows: readonly Row[]) => rows.map((row) => row.join()).join('\n');
  must(text(found) === text(expected));
}

function byId(a: Row, b: Row): number {
  return a[0] - b[0];
}

function sortedRows(table: Table): Row[] {
  return (readRows(table) as Row[]).sort(byId);
}

import { describe, expect, it } from 'vitest';
import {
  encodeKey,
  indexOf,
  insert,
  readRows,
  storeOf,
  string,
  tableOf,
  u32,
  update,
} from '../../test/support/store/tables.ts';
import { Random } from '../testing/random.ts';
import { hashBytes } from '../values/hash.ts';
import type { ChangeSet } from './change-set.ts';
import { noRow, type RowRef, rowRef } from './row-ref.ts';
import type { Store } from './store.ts';
import type { Transaction } from './transaction.ts';

/** Most of a large table is deleted, in bulk in one store, and row by row in another. */

const rowCount = 13_000;
const columns = { id: u32, group: u32, text: string };

function filled(): Store {
  const store = storeOf({
    t: {
      columns,
      indexes: [
        { columns: ['id'], algorithm: 'hash', unique: true },
        { columns: ['group', 'id'], unique: true },
        { columns: ['group'] },
        { columns: ['id'], algorithm: 'direct', unique: true },
      ],
    },
    plain: { columns, indexes: [{ columns: ['text'] }] },
  });
  const transaction = store.begin();
  for (let id = 0; id < rowCount; id++) {
    for (const name of ['t', 'plain']) insert(transaction, tableOf(store, name), ...rowOf(id));
  }
  transaction.commit();
  return store;
}

function rowOf(id: number): [number, number, string] {
  return [id, id % 17, `text ${id % 100}`];
}

type Delete = (transaction: Transaction, name: string, refs: readonly RowRef[]) => number;

/** Deletes, restores some, changes others, and ends; returns the outcome. */
function run(store: Store, seed: number, remove: Delete): (ChangeSet | undefined | number)[] {
  const random = new Random(seed);
  const keptShare = random.pick([0, 0.01, 0.2]);
  const results: (ChangeSet | undefined | number)[] = [];
  const transaction = store.begin();
  insert(transaction, tableOf(store, 't'), rowCount + 1, 1, 'before');
  for (const name of ['t', 'plain']) {
    const refs = [...tableOf(store, name).scan()]
      .map(rowRef)
      .filter(() => !random.chance(keptShare));
    results.push(remove(transaction, name, [...refs, ...refs.slice(0, 10)]));
    for (let step = 0; step < 500; step++) {
      insert(transaction, tableOf(store, name), ...rowOf(random.below(rowCount + 100)));
    }
  }
  const table = tableOf(store, 't');
  for (let step = 0; step < 300; step++) {
    const [id, group] = rowOf(random.below(rowCount));
    results.push(update(transaction, indexOf(table, 0), id, group, 'changed'));
  }
  if (seed % 3 === 0) transaction.rollback();
  else results.push(transaction.commit());
  return results;
}

/** All rows by every index, in its order where it has one, as short texts. */
function contentsOf(store: Store): string[] {
  const range = {
    ...{ bytes: Uint8Array.of(2, 2), prefixColumns: 0, prefixLength: 0 },
    ...{ startLength: 1, endLength: 1 },
  };
  const [table, plain] = [tableOf(store, 't'), tableOf(store, 'plain')];
  const found: number[] = [];
  for (let id = 0; id < rowCount + 2; id++) {
    const key = encodeKey(table, [0], [id]);
    const [byHash, direct] = [0, 3].map((at) => table.find(indexOf(table, at), key, key.length));
    if (byHash !== direct) throw new Error(`the indexes disagree about ${id}`);
    if (byHash !== -1) found.push(id);
  }
  const scans = [
    readRows(table).map(String).sort(),
    readRows(plain).map(String).sort(),
    readRows(table, table.scanRange(indexOf(table, 1), range)).map(String),
    readRows(table, table.scanRange(indexOf(table, 2), range))
      .map(String)
      .sort(),
    readRows(plain, plain.scanRange(indexOf(plain, 0), range))
      .map(String)
      .sort(),
  ];
  return [`${table.rowCount} ${plain.rowCount}`, found.join(), ...scans.map((scan) => scan.join())];
}

/** Two change sets are the same when their bytes are. */
function digestOf(results: readonly (ChangeSet | undefined | number)[]): string {
  return JSON.stringify(results, (_key, value: unknown) => {
    if (typeof value === 'bigint') return String(value);
    return value instanceof Uint8Array
      ? `${value.length} ${hashBytes(value, 0, value.length)}`
      : value;
  });
}

describe('deleting most of a large table', () => {
  it.each([1, 3])('does what deleting each row does, seed %i', (seed) => {
    const [jointly, singly] = [filled(), filled()];
    const pins = ['t', 'plain'].map((name) => tableOf(jointly, name).pin());
    const results = run(jointly, seed, (transaction, name, refs) =>
      transaction.deleteMany(tableOf(jointly, name), Int32Array.from(refs)),
    );
    const expected = run(singly, seed, (transaction, name, refs) => {
      const table = tableOf(singly, name);
      const visible = refs.filter((ref) => {
        if (!table.isVisible(ref)) return false;
        transaction.deleteRef(table, ref);
        return true;
      });
      return visible.length;
    });
    expect(digestOf(results)).toBe(digestOf(expected));
    expect(contentsOf(jointly).join('\n') === contentsOf(singly).join('\n')).toBe(true);
    for (const pin of pins) {
      let seen = 0;
      for (let ref = pin.nextRow(noRow); ref !== noRow; ref = pin.nextRow(ref)) seen++;
      expect(seen).toBe(rowCount);
      pin.release();
    }
  });
});

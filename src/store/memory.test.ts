import { describe, expect, it } from 'vitest';
import {
  i64,
  indexOf,
  insert,
  inTransaction,
  storeOf,
  string,
  tableOf,
  u32,
  update,
} from '../../test/support/store/tables.ts';
import { Random } from '../testing/random.ts';

describe('memory', () => {
  const columns = { id: u32, name: string, amount: i64 };
  const store = storeOf({
    hashed: { columns, indexes: [{ columns: ['id'], unique: true, algorithm: 'hash' }] },
    sorted: { columns, indexes: [{ columns: ['id'], unique: true }, { columns: ['name'] }] },
    plain: { columns },
  });
  const names = ['hashed', 'sorted', 'plain'];

  it('is accounted by table, by rows, free space and each index', () => {
    const empty = store.memory().totalBytes;
    expect(empty).toBeLessThan(5_000);
    const count = 50_000;
    inTransaction(store, (transaction) => {
      for (const name of names) {
        for (let id = 0; id < count; id++) {
          insert(transaction, tableOf(store, name), id, `${100_000_000_000 + id}`, 1n);
        }
      }
    });
    const { totalBytes, tables } = store.memory();
    expect(tables.map(({ name }) => name)).toEqual(names);
    expect(totalBytes).toBe(tables.reduce((sum, table) => sum + table.totalBytes, 0));
    for (const { rowCount, rowBytes, freeBytes } of tables) {
      expect(rowCount).toBe(count);
      expect(rowBytes).toBe(count * 32);
      expect(freeBytes).toBeLessThan(rowBytes);
    }
    const [hashed, sorted, plain] = tables;
    expect(hashed?.wholeRowsBytes).toBe(0);
    expect(plain?.indexes).toEqual([]);
    expect(plain?.wholeRowsBytes).toBeGreaterThan(count * 8);
    expect(sorted?.indexes.map(({ name }) => name)).toEqual([
      'sorted_id_idx_btree',
      'sorted_name_idx_btree',
    ]);
    for (const index of sorted?.indexes ?? []) {
      expect(index.bytes / count).toBeGreaterThanOrEqual(12);
      expect(index.bytes / count).toBeLessThan(26);
    }
  });

  it('goes back when rows go', () => {
    inTransaction(store, (transaction) => {
      for (const name of names)
        transaction.deleteMany(tableOf(store, name), tableOf(store, name).scan());
    });
    expect(store.memory().totalBytes).toBeLessThan(3.2 * 1024 * 1024);
    for (const { rowBytes, indexes } of store.memory().tables) {
      expect(rowBytes).toBe(0);
      for (const { bytes } of indexes) expect(bytes).toBeLessThan(5_000);
    }
  });
});

describe('rows that change while a table is pinned now and then', () => {
  const count = 100_000;

  it('take as much in the end as after a while', () => {
    const indexes = [{ columns: ['id'], unique: true, algorithm: 'hash' }] as const;
    const store = storeOf({ t: { columns: { id: u32, amount: i64 }, indexes } });
    const table = tableOf(store, 't');
    inTransaction(store, (transaction) => {
      for (let id = 0; id < count; id++) insert(transaction, table, id, 0n);
    });
    const random = new Random(7);
    const change = (changeCount: number) => {
      inTransaction(store, (transaction) => {
        for (let each = 0; each < changeCount; each++) {
          const id = random.below(count);
          update(transaction, indexOf(table, 0), id, BigInt(random.below(1_000_000)));
        }
      });
    };
    const roundsOf = (roundCount: number) => {
      for (let round = 0; round < roundCount; round++) {
        const pin = table.pin();
        change(100);
        pin.release();
        change(1_900);
      }
      return store.memory().totalBytes;
    };
    const soon = roundsOf(30);
    expect(roundsOf(100)).toBeLessThanOrEqual(1.2 * soon);
  });
});

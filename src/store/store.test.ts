import { describe, expect, it } from 'vitest';
import {
  decodeRows,
  deleteRow,
  encodeKey,
  f64,
  i64,
  indexOf,
  insert,
  inTransaction,
  readRow,
  readRows,
  storeOf,
  string,
  tableOf,
  u32,
  update,
} from '../../test/support/store/tables.ts';
import { optionType } from '../values/special-types.ts';
import type { Value } from '../values/value.ts';
import { commitOffset } from './commit-offset.ts';
import { noRow } from './row-ref.ts';
import { hostFailure, noSuchRow, notUnique, undecodable, uniqueViolation } from './transaction.ts';

function people() {
  const store = storeOf({
    person: {
      columns: { id: u32, name: string, age: u32 },
      indexes: [
        { columns: ['id'], algorithm: 'hash', unique: true },
        { columns: ['name'], unique: true },
        { columns: ['age'] },
      ],
    },
  });
  const table = tableOf(store, 'person');
  const find = (id: number) => {
    const ref = table.find(indexOf(table, 0), encodeKey(table, [0], [id]), 4);
    return ref < 0 ? undefined : readRow(table, ref);
  };
  return { store, table, byId: indexOf(table, 0), byName: indexOf(table, 1), find };
}

describe('rows as a set', () => {
  it('[tables R1, R2] inserting an equal row twice leaves one row and one insert', () => {
    const { store, table } = people();
    const transaction = store.begin();
    expect(insert(transaction, table, 1, 'Ann', 30)).toBe(0);
    expect(insert(transaction, table, 1, 'Ann', 30)).toBe(0);
    expect(table.rowCount).toBe(1);
    expect(transaction.commit()?.tables[0]?.inserts.count).toBe(1);
    inTransaction(store, (next) => expect(insert(next, table, 1, 'Ann', 30)).toBe(0));
    expect(store.offset).toBe(1);
  });

  it('[tables R2] a full duplicate is a no-op in a table without any index', () => {
    const store = storeOf({ note: { columns: { text: string } } });
    const note = tableOf(store, 'note');
    inTransaction(store, (transaction) => {
      insert(transaction, note, 'a');
      insert(transaction, note, 'a');
      insert(transaction, note, 'b');
    });
    expect(readRows(note)).toEqual([['a'], ['b']]);
  });

  it('[tables 12] a row has at most 32 MiB', () => {
    const store = storeOf({ note: { columns: { text: string } } });
    const note = tableOf(store, 'note');
    const transaction = store.begin();
    // Four bytes say how long the text is.
    const text = 'x'.repeat(32 * 1024 * 1024 - 4);
    expect(insert(transaction, note, text)).toBe(0);
    expect(insert(transaction, note, `${text}x`)).toBe(hostFailure);
    expect(note.rowCount).toBe(1);
    transaction.rollback();
  });

  it('[tables R3] deleting and inserting an equal row again changes nothing', () => {
    const { store, table } = people();
    inTransaction(store, (transaction) => insert(transaction, table, 1, 'Ann', 30));
    const transaction = store.begin();
    expect(deleteRow(transaction, table, 1, 'Ann', 30)).toBe(true);
    insert(transaction, table, 1, 'Ann', 30);
    expect(transaction.commit()).toBeUndefined();
    expect(store.offset).toBe(1);
    expect(readRows(table)).toEqual([[1, 'Ann', 30]]);
  });

  it('[tables R4] deleting a row of this transaction leaves no delta', () => {
    const { store, table } = people();
    const transaction = store.begin();
    insert(transaction, table, 1, 'Ann', 30);
    deleteRow(transaction, table, 1, 'Ann', 30);
    expect(transaction.commit()).toBeUndefined();
    expect(table.rowCount).toBe(0);
  });

  it('[tables R5] a changed row is one delete and one insert, both net', () => {
    const { store, table, byId } = people();
    inTransaction(store, (transaction) => insert(transaction, table, 1, 'Ann', 30));
    const transaction = store.begin();
    update(transaction, byId, 1, 'Ann', 31);
    update(transaction, byId, 1, 'Ann', 32);
    const change = transaction.commit()?.tables[0];
    expect(decodeRows(table.rowType, change?.deletes.bytes as Uint8Array, 1)).toEqual([
      [1, 'Ann', 30],
    ]);
    expect(decodeRows(table.rowType, change?.inserts.bytes as Uint8Array, 1)).toEqual([
      [1, 'Ann', 32],
    ]);
  });

  it('[tables R6] floats: rows differ bit by bit, keys compare by value', () => {
    const store = storeOf({
      loose: { columns: { x: f64 } },
      hashed: {
        columns: { x: f64 },
        indexes: [{ columns: ['x'], algorithm: 'hash', unique: true }],
      },
      sorted: { columns: { x: f64 }, indexes: [{ columns: ['x'], unique: true }] },
    });
    inTransaction(store, (transaction) => {
      const loose = tableOf(store, 'loose');
      for (const x of [0, -0, Number.NaN, Number.NaN]) insert(transaction, loose, x);
      expect(loose.rowCount).toBe(3);
      for (const name of ['hashed', 'sorted']) {
        const table = tableOf(store, name);
        insert(transaction, table, 0);
        expect(insert(transaction, table, -0)).toBe(uniqueViolation);
        insert(transaction, table, Number.NaN);
        const quiet = new Uint8Array([1, 0, 0, 0, 0, 0, 0xf8, 0xff]);
        expect(transaction.insert(table, quiet, 8)).toBe(uniqueViolation);
        expect(table.find(indexOf(table, 0), quiet, 8)).toBeGreaterThan(0);
      }
    });
  });
});

describe('unique constraints', () => {
  it('[tables 14.3] a violation changes nothing and the transaction goes on', () => {
    const { store, table } = people();
    const transaction = store.begin();
    insert(transaction, table, 1, 'Ann', 30);
    expect(insert(transaction, table, 2, 'Ann', 40)).toBe(uniqueViolation);
    expect(transaction.violation).toMatchObject({
      table: 'person',
      index: 'person_name_idx_btree',
      columns: ['name'],
      key: new Uint8Array([3, 0, 0, 0, 65, 110, 110]),
    });
    insert(transaction, table, 2, 'Bob', 40);
    transaction.commit();
    expect(readRows(table)).toEqual([
      [1, 'Ann', 30],
      [2, 'Bob', 40],
    ]);
  });

  it('[tables 1] checks are immediate: swapping two unique values needs two deletes first', () => {
    const { store, table, byId } = people();
    inTransaction(store, (transaction) => {
      insert(transaction, table, 1, 'Ann', 30);
      insert(transaction, table, 2, 'Bob', 40);
    });
    inTransaction(store, (transaction) => {
      expect(update(transaction, byId, 1, 'Bob', 30)).toBe(uniqueViolation);
      deleteRow(transaction, table, 1, 'Ann', 30);
      deleteRow(transaction, table, 2, 'Bob', 40);
      expect(insert(transaction, table, 1, 'Bob', 30)).toBe(0);
      expect(insert(transaction, table, 2, 'Ann', 40)).toBe(0);
    });
    expect(table.rowCount).toBe(2);
  });

  it('[tables 1] a row deleted before does not come back against a row that took its key', () => {
    const { store, table } = people();
    inTransaction(store, (transaction) => insert(transaction, table, 1, 'Ann', 30));
    inTransaction(store, (transaction) => {
      deleteRow(transaction, table, 1, 'Ann', 30);
      insert(transaction, table, 1, 'Ann', 31);
      expect(insert(transaction, table, 1, 'Ann', 30)).toBe(uniqueViolation);
    });
    expect(readRows(table)).toEqual([[1, 'Ann', 31]]);
  });

  it('[tables 14.13] [ease 3.2] rows without a value share no key of a unique index', () => {
    const store = storeOf({
      t: {
        columns: { id: u32, tag: optionType(u32), name: optionType(string) },
        indexes: [
          { columns: ['tag'], algorithm: 'hash', unique: true },
          { columns: ['name', 'tag'], unique: true },
        ],
      },
    });
    const table = tableOf(store, 't');
    const none = { tag: 1, value: [] };
    const some = (value: Value) => ({ tag: 0, value });
    inTransaction(store, (transaction) => {
      expect(insert(transaction, table, 1, none, none)).toBe(0);
      expect(insert(transaction, table, 2, none, none)).toBe(0);
      expect(insert(transaction, table, 3, none, some('a'))).toBe(0);
      expect(insert(transaction, table, 4, none, some('a'))).toBe(0);
      expect(insert(transaction, table, 5, some(5), some('a'))).toBe(0);
      expect(insert(transaction, table, 6, some(5), none)).toBe(uniqueViolation);
    });
    expect(table.rowCount).toBe(5);
    const byTag = indexOf(table, 0);
    expect(table.find(byTag, Uint8Array.of(1), 1)).toBe(-1);
    expect(table.scanPoint(byTag, Uint8Array.of(1), 1).length).toBe(4);
    expect(table.find(byTag, Uint8Array.of(0, 5, 0, 0, 0), 5)).toBeGreaterThan(0);
  });

  it('[tables R2] [ease 3.2] an equal row without a value is still the same row', () => {
    const store = storeOf({
      t: { columns: { tag: optionType(u32) }, indexes: [{ columns: ['tag'], unique: true }] },
    });
    const table = tableOf(store, 't');
    const none = { tag: 1, value: [] };
    inTransaction(store, (transaction) => {
      expect(insert(transaction, table, none)).toBe(0);
      expect(insert(transaction, table, none)).toBe(0);
    });
    expect(table.rowCount).toBe(1);
    inTransaction(store, (transaction) => deleteRow(transaction, table, none));
    expect(table.rowCount).toBe(0);
  });

  it('[ease 3.2] the primary key needs a value of its own, also as an option', () => {
    const store = storeOf({
      t: {
        columns: { key: optionType(u32), n: u32 },
        indexes: [{ columns: ['key'], unique: true }],
        primaryKey: 'key',
      },
    });
    const table = tableOf(store, 't');
    const none = { tag: 1, value: [] };
    inTransaction(store, (transaction) => {
      expect(insert(transaction, table, none, 1)).toBe(0);
      expect(insert(transaction, table, none, 2)).toBe(uniqueViolation);
    });
  });

  it('[tables 6] each of several constraints is enforced, also over several columns', () => {
    const store = storeOf({
      t: {
        columns: { a: u32, b: string, c: i64 },
        indexes: [
          { columns: ['c', 'a'], unique: true },
          { columns: ['b'], algorithm: 'hash', unique: true },
        ],
      },
    });
    const table = tableOf(store, 't');
    inTransaction(store, (transaction) => {
      insert(transaction, table, 1, 'x', 5n);
      expect(insert(transaction, table, 1, 'y', 5n)).toBe(uniqueViolation);
      expect(insert(transaction, table, 2, 'x', 5n)).toBe(uniqueViolation);
      expect(insert(transaction, table, 2, 'y', 5n)).toBe(0);
    });
  });
});

describe('update through a unique index', () => {
  it('[tables 3.1] an equal row is a success without a change', () => {
    const { store, table, byId } = people();
    inTransaction(store, (transaction) => insert(transaction, table, 1, 'Ann', 30));
    const transaction = store.begin();
    expect(update(transaction, byId, 1, 'Ann', 30)).toBe(0);
    expect(transaction.commit()).toBeUndefined();
  });

  it('[tables 3.1] no such row, not unique, other constraints', () => {
    const { store, table, byId, byName } = people();
    const transaction = store.begin();
    insert(transaction, table, 1, 'Ann', 30);
    insert(transaction, table, 2, 'Bob', 40);
    expect(update(transaction, byId, 3, 'Cid', 1)).toBe(noSuchRow);
    expect(update(transaction, indexOf(table, 2), 1, 'Ann', 30)).toBe(notUnique);
    expect(update(transaction, byId, 2, 'Ann', 40)).toBe(uniqueViolation);
    expect(update(transaction, byName, 7, 'Ann', 30)).toBe(0);
    transaction.commit();
    expect(readRows(table).sort()).toEqual([
      [2, 'Bob', 40],
      [7, 'Ann', 30],
    ]);
  });

  it('[tables 3.1] set back: nothing; of a new row: one insert with the last value', () => {
    const { store, table, byId } = people();
    inTransaction(store, (transaction) => insert(transaction, table, 1, 'Ann', 30));
    const back = store.begin();
    update(back, byId, 1, 'Ann', 31);
    update(back, byId, 1, 'Ann', 30);
    expect(back.commit()).toBeUndefined();
    const fresh = store.begin();
    insert(fresh, table, 2, 'Bob', 1);
    update(fresh, byId, 2, 'Bob', 2);
    const change = fresh.commit()?.tables[0];
    expect(change?.deletes.count).toBe(0);
    expect(decodeRows(table.rowType, change?.inserts.bytes as Uint8Array, 1)).toEqual([
      [2, 'Bob', 2],
    ]);
  });
});

describe('scans', () => {
  it('[tables 14.7] inserting while scanning ends, and the scan sees the old rows', () => {
    const { store, table, byId } = people();
    const transaction = store.begin();
    for (let id = 1; id <= 100; id++) insert(transaction, table, id, `p${id}`, id);
    const refs = table.scan();
    let seen = 0;
    for (const ref of refs) {
      const [id, name] = readRow(table, ref);
      insert(transaction, table, 1000 + Number(id), `${name}x`, 0);
      update(transaction, byId, id as number, `${name}y`, 1);
      transaction.deleteMany(
        table,
        table.scanPoint(byId, encodeKey(table, [0], [id as number]), 4),
      );
      seen++;
    }
    expect(seen).toBe(100);
    expect(table.rowCount).toBe(100);
    expect([...refs].map((ref) => readRow(table, ref)[0])).toEqual(
      Array.from({ length: 100 }, (_, at) => at + 1),
    );
    transaction.rollback();
    expect(table.rowCount).toBe(0);
  });

  it('walks rows one by one without a list', () => {
    const { store, table } = people();
    inTransaction(store, (transaction) => {
      for (let id = 1; id <= 500; id++) insert(transaction, table, id, 'x'.repeat(id), id);
    });
    const walked: number[] = [];
    for (let ref = table.nextRow(noRow); ref !== noRow; ref = table.nextRow(ref)) walked.push(ref);
    expect(walked).toEqual([...table.scan()]);
  });
});

describe('transactions', () => {
  it('[tables 11.4, 14.8] rollback leaves no trace and uses no offset', () => {
    const { store, table, byId, find } = people();
    inTransaction(store, (transaction) => {
      for (let id = 0; id < 200; id++) insert(transaction, table, id, `p${id}`, id % 7);
    });
    const before = readRows(table);
    const transaction = store.begin();
    for (let id = 0; id < 200; id += 2) update(transaction, byId, id, `q${id}`, 1);
    for (let id = 1; id < 200; id += 2) deleteRow(transaction, table, id, `p${id}`, id % 7);
    transaction.clear(table);
    for (let id = 0; id < 50; id++) insert(transaction, table, id, `r${id}`, 9);
    transaction.rollback();
    expect(store.offset).toBe(1);
    expect(readRows(table)).toEqual(before);
    expect(find(12)).toEqual([12, 'p12', 5]);
  });

  it('[tables 14.14] clear, then insert: deletes all but what came back', () => {
    const { store, table } = people();
    inTransaction(store, (transaction) => {
      for (let id = 0; id < 100; id++) insert(transaction, table, id, `p${id}`, 1);
    });
    const transaction = store.begin();
    expect(transaction.clear(table)).toBe(100);
    insert(transaction, table, 5, 'p5', 1);
    insert(transaction, table, 6, 'new', 1);
    const change = transaction.commit()?.tables[0];
    expect(change).toMatchObject({ truncated: false });
    expect(change?.deletes.count).toBe(99);
    expect(change?.inserts.count).toBe(1);
    const emptied = store.begin();
    expect(emptied.clear(table)).toBe(2);
    expect(emptied.commit()?.tables[0]).toMatchObject({ truncated: true, deletes: { count: 2 } });
  });

  it('[tables 11.3] a forced commit uses an offset without a change', () => {
    const { store } = people();
    expect(store.begin().commit(true)).toEqual({
      offset: commitOffset(1),
      tables: [],
      sequences: [],
    });
    expect(store.offset).toBe(1);
  });

  it('refuses bytes that are not a row, or not all of one', () => {
    const { store, table } = people();
    const transaction = store.begin();
    const badText = new Uint8Array([1, 0, 0, 0, 1, 0, 0, 0, 0xff, 2, 0, 0, 0]);
    expect(transaction.insert(table, badText, 13)).toBe(undecodable);
    expect(transaction.insert(table, badText, 12)).toBe(undecodable);
    expect(transaction.insert(table, badText, 0)).toBe(undecodable);
    expect(transaction.insert(table, badText, 50)).toBe(undecodable);
    expect(() => transaction.deleteEqual(table, badText, 0, 13)).toThrow('not a row');
    expect(table.find(indexOf(table, 0), badText, 3)).toBe(-3);
    transaction.rollback();
    expect(() => transaction.clear(table)).toThrow('open');
    expect(() => transaction.commit()).toThrow('once');
  });
});

describe('event tables', () => {
  it('[tables 9, 14.9] visible inside the transaction, in the change set, gone afterwards', () => {
    const store = storeOf({
      ping: {
        columns: { id: u32, text: string },
        indexes: [{ columns: ['id'], unique: true }],
        event: true,
      },
    });
    const ping = tableOf(store, 'ping');
    const transaction = store.begin();
    insert(transaction, ping, 1, 'a');
    insert(transaction, ping, 1, 'a');
    expect(insert(transaction, ping, 1, 'b')).toBe(uniqueViolation);
    insert(transaction, ping, 2, 'b');
    deleteRow(transaction, ping, 2, 'b');
    expect(readRows(ping)).toEqual([[1, 'a']]);
    const change = transaction.commit()?.tables[0];
    expect(change).toMatchObject({
      inserts: { count: 1 },
      deletes: { count: 0 },
      truncated: false,
    });
    expect(ping.rowCount).toBe(0);
    expect(readRows(ping)).toEqual([]);
    const next = store.begin();
    expect(insert(next, ping, 1, 'b')).toBe(0);
    deleteRow(next, ping, 1, 'b');
    expect(next.commit()).toBeUndefined();
    expect(store.offset).toBe(1);
  });

  it('[mcp B19] let go of their rows where a commit would have been', () => {
    const columns = { id: u32 };
    const indexes = [{ columns: ['id'], unique: true }];
    const store = storeOf({ ping: { columns, indexes, event: true }, kept: { columns, indexes } });
    const [ping, kept] = [tableOf(store, 'ping'), tableOf(store, 'kept')];
    const transaction = store.begin();
    for (const table of [ping, kept]) insert(transaction, table, 1);
    transaction.dropEvents();
    expect([ping.rowCount, kept.rowCount]).toEqual([0, 1]);
    expect(insert(transaction, ping, 1)).toBe(0);
    expect(insert(transaction, kept, 1)).toBe(0);
    const counts = transaction.pendingChanges().map(({ inserts }) => inserts.count);
    expect(counts).toEqual([1, 1]);
    transaction.rollback();
    expect([ping.rowCount, kept.rowCount]).toEqual([0, 0]);
  });
});

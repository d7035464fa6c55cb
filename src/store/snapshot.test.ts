import { describe, expect, it } from 'vitest';
import {
  catalogFrom,
  encodeRow,
  indexOf,
  insert,
  inTransaction,
  readRows,
  storeOf,
  string,
  tableOf,
  u32,
  update,
} from '../../test/support/store/tables.ts';
import { type TableId, tableId } from '../schema/ids.ts';
import type { RowList } from './change-set.ts';
import { commitOffset } from './commit-offset.ts';
import { ReplayError } from './replay.ts';
import { noRow } from './row-ref.ts';
import { Store } from './store.ts';
import type { TablePin } from './table-pin.ts';

const sketches = {
  small: { columns: { n: u32 } },
  large: {
    columns: { id: u32, text: string },
    indexes: [
      { columns: ['id'], unique: true, algorithm: 'hash' },
      { columns: ['text'], algorithm: 'btree' },
    ],
  },
  empty: { columns: { n: u32 } },
  ping: { columns: { n: u32 }, event: true },
} as const;
const [smallId, largeId, pingId] = [100, 200, 400].map(tableId) as [TableId, TableId, TableId];

function filled(count: number): Store {
  const store = storeOf(sketches);
  inTransaction(store, (transaction) => {
    insert(transaction, tableOf(store, 'small'), 1);
    for (let id = 0; id < count; id++) insert(transaction, tableOf(store, 'large'), id, 'text');
  });
  return store;
}

/** Replaces all rows of the large table. */
function rewrite(store: Store, text: string): void {
  const table = tableOf(store, 'large');
  const count = table.rowCount;
  inTransaction(store, (transaction) => {
    for (let id = 0; id < count; id++) update(transaction, indexOf(table, 0), id, text);
  });
}

function countOf(pin: TablePin): number {
  let count = 0;
  for (let ref = pin.nextRow(noRow); ref !== noRow; ref = pin.nextRow(ref)) count++;
  return count;
}

function rows(store: Store, table: string, ...values: (readonly (string | number)[])[]): RowList {
  const bytes = values.flatMap((row) => [...encodeRow(tableOf(store, table), row)]);
  return { bytes: Uint8Array.from(bytes), count: values.length };
}

describe('the pins of a snapshot', () => {
  it('[history 2.1] are of all tables with rows, the largest last', () => {
    const store = filled(50);
    const pins = store.pinAll();
    expect(pins.tables.map(({ table }) => table.spec.name)).toEqual(['small', 'large']);
    rewrite(store, 'other');
    inTransaction(store, (transaction) => transaction.clear(tableOf(store, 'small')));
    expect(pins.tables.map(countOf)).toEqual([1, 50]);
    pins.release();
    expect(store.hasLoose).toBe(true);
    while (store.hasLoose) store.freeLoose();
    expect(pins.heldBytes).toBe(0);
  });

  it('[history 2.6] hold what does not count for reads', () => {
    const store = filled(200);
    const pins = store.pinAll(1_000);
    expect(pins.heldBytesMax).toBe(Math.max(1_000, pins.rowBytes / 4));
    rewrite(store, 'once');
    expect(pins.heldBytes).toBeGreaterThanOrEqual(200 * 24);
    expect(pins.heldBytes).toBeGreaterThan(pins.heldBytesMax);
    expect(store.heldBytes).toBe(0);
    const read = tableOf(store, 'large').pin();
    rewrite(store, 'twice');
    expect(store.heldBytes).toBe(read.heldBytes);
    expect(pins.heldBytes).toBeGreaterThanOrEqual(2 * read.heldBytes);
    pins.release();
    expect(pins.heldBytes).toBe(0);
    expect(countOf(read)).toBe(200);
    read.release();
  });

  it('[history 2.6] keep the bound that reads have, and stay when a read is revoked', () => {
    const store = new Store(catalogFrom(sketches), 1_000);
    inTransaction(store, (transaction) => {
      for (let id = 0; id < 100; id++) insert(transaction, tableOf(store, 'large'), id, 'text');
    });
    const pins = store.pinAll();
    const read = tableOf(store, 'large').pin();
    rewrite(store, 'once');
    expect([read.isValid, pins.tables[0]?.isValid]).toEqual([false, true]);
    expect(pins.tables.map(countOf)).toEqual([100]);
    pins.release();
  });

  it('[history 2.7] are revoked together', () => {
    const store = filled(5);
    const pins = store.pinAll();
    store.prepareMigration(store.catalog, new Map()).apply();
    expect(pins.revokedFor).toContain('the schema changed');
    expect(pins.tables.some(({ isValid }) => isValid)).toBe(false);
  });
});

describe('loading a snapshot', () => {
  it('[history 2.20] shows nothing before it is complete', () => {
    const store = filled(3);
    const load = store.beginLoad(store.catalog);
    load.addRows(largeId, rows(store, 'large', [7, 'a']));
    load.addRows(largeId, rows(store, 'large', [8, 'b'], [9, 'a']));
    load.finishTable(largeId, 3);
    expect(tableOf(store, 'large').rowCount).toBe(3);
    expect(store.offset).toBe(1);
    load.commit(commitOffset(41), []);
    const table = tableOf(store, 'large');
    expect(readRows(table).map(([id]) => id)).toEqual([7, 8, 9]);
    expect(tableOf(store, 'small').rowCount).toBe(0);
    inTransaction(store, (transaction) => {
      expect(insert(transaction, table, 7, 'c')).toBeLessThan(0);
      insert(transaction, table, 10, 'd');
    });
    expect(store.offset).toBe(42);
  });

  it.each<readonly [string, (store: Store) => void]>([
    ['rows with the same key', (store) => load(store, [1, 'a'], [1, 'b'])],
    ['another number of rows', (store) => load(store, [1, 'a'], [2, 'b'], [3, 'c'])],
    ['a table that there is not', (store) => begun(store).addRows(tableId(7), noRows)],
    ['rows of an event table', (store) => begun(store).addRows(pingId, rows(store, 'ping', [1]))],
    [
      'rows behind the end of their table',
      (store) => {
        const one = begun(store);
        one.finishTable(smallId, 0);
        one.addRows(smallId, rows(store, 'small', [1]));
      },
    ],
    [
      'rows without an end',
      (store) => {
        const one = begun(store);
        one.addRows(smallId, rows(store, 'small', [1]));
        one.commit(commitOffset(2), []);
      },
    ],
    [
      'equal rows in a table without keys',
      (store) => {
        const one = begun(store);
        one.addRows(smallId, rows(store, 'small', [1], [1]));
        one.finishTable(smallId, 2);
      },
    ],
    [
      'bytes that are no row',
      (store) => begun(store).addRows(largeId, { bytes: new Uint8Array(3), count: 1 }),
    ],
  ])('[history 2.20] refuses %s, and the store stays as it was', (_, work) => {
    const store = filled(3);
    expect(() => work(store)).toThrow(ReplayError);
    expect(tableOf(store, 'large').rowCount).toBe(3);
  });

  it('[history 2.22] finds every row of a table that is larger than one part of an index', () => {
    const source = filled(40_000);
    const pins = source.pinAll();
    const store = storeOf(sketches);
    const one = begun(store);
    for (const pin of pins.tables) {
      const bytes = new Uint8Array(pin.rowCount * 32);
      let end = 0;
      for (let ref = pin.nextRow(noRow); ref !== noRow; ref = pin.nextRow(ref)) {
        end += pin.table.copyRow(ref, bytes, end);
      }
      one.addRows(pin.table.id, { bytes: bytes.subarray(0, end), count: pin.rowCount });
      one.finishTable(pin.table.id, pin.rowCount);
    }
    pins.release();
    one.commit(source.offset, []);
    const table = tableOf(store, 'large');
    const [index] = table.indexes;
    const key = new Uint8Array(4);
    for (let id = 0; id < 40_000; id++) {
      new DataView(key.buffer).setUint32(0, id, true);
      expect(table.find(index as never, key, 4)).toBeGreaterThan(0);
    }
    rewrite(store, 'again');
    expect(table.rowCount).toBe(40_000);
  });
});

const noRows: RowList = { bytes: new Uint8Array(0), count: 0 };

function begun(store: Store) {
  return store.beginLoad(store.catalog);
}

/** Loads rows of the large table, and says that there are two. */
function load(store: Store, ...values: (readonly (string | number)[])[]): void {
  const one = begun(store);
  one.addRows(largeId, rows(store, 'large', ...values));
  one.finishTable(largeId, 2);
}

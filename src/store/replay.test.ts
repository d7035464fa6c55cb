import { describe, expect, it } from 'vitest';
import {
  encodeRow,
  insert,
  inTransaction,
  readRows,
  storeOf,
  string,
  type TableSketch,
  tableOf,
  u32,
} from '../../test/support/store/tables.ts';
import { tableId } from '../schema/ids.ts';
import type { ChangeSet, RowList } from './change-set.ts';
import { commitOffset } from './commit-offset.ts';
import { ReplayError } from './replay.ts';
import type { Store } from './store.ts';

const sketches: Record<string, TableSketch> = {
  t: { columns: { id: u32, name: string }, indexes: [{ columns: ['id'], unique: true }] },
  loose: { columns: { n: u32 } },
  ping: { columns: { n: u32 }, event: true },
};

function rows(store: Store, table: string, ...values: (readonly (string | number)[])[]): RowList {
  const bytes = values.flatMap((row) => [...encodeRow(tableOf(store, table), row)]);
  return { bytes: Uint8Array.from(bytes), count: values.length };
}

const nothing: RowList = { bytes: new Uint8Array(0), count: 0 };

function change(offset: number, id: number, parts: Partial<Change>): ChangeSet {
  const table = {
    tableId: tableId(id),
    inserts: nothing,
    deletes: nothing,
    truncated: false,
    ...parts,
  };
  return { offset: commitOffset(offset), tables: [table], sequences: [] };
}

type Change = ChangeSet['tables'][number];

describe('replay', () => {
  it('applies rows as recorded, deletes before inserts', () => {
    const store = storeOf(sketches);
    store.replay(change(1, 100, { inserts: rows(store, 't', [1, 'a'], [2, 'b']) }));
    const deletes = rows(store, 't', [1, 'a']);
    store.replay(change(2, 100, { deletes, inserts: rows(store, 't', [1, 'c']) }));
    expect(readRows(tableOf(store, 't')).sort()).toEqual([
      [1, 'c'],
      [2, 'b'],
    ]);
    expect(store.offset).toBe(2);
  });

  it('[tables 9, durability 3] passes over the rows of event tables', () => {
    const store = storeOf(sketches);
    store.replay(change(1, 300, { inserts: rows(store, 'ping', [1]) }));
    expect(tableOf(store, 'ping').rowCount).toBe(0);
    expect(store.offset).toBe(1);
  });

  it('[migrations 1.3, 1.4] shares the offset of a schema change when told so', () => {
    const store = storeOf(sketches);
    const offset = store.prepareMigration(store.catalog, new Map()).apply();
    expect(offset).toBe(1);
    const transaction = store.begin();
    insert(transaction, tableOf(store, 't'), 1, 'a');
    const joined = transaction.commitJoined();
    expect(joined?.offset).toBe(1);
    expect(store.offset).toBe(1);
    const again = storeOf(sketches);
    again.prepareMigration(store.catalog, new Map()).apply();
    if (joined !== undefined) again.replayJoined(joined);
    expect(readRows(tableOf(again, 't'))).toEqual([[1, 'a']]);
    const empty = store.begin();
    expect(empty.commitJoined()).toBeUndefined();
  });

  const wrong: Record<string, (store: Store) => ChangeSet> = {
    'a delete of an absent row': (store) =>
      change(2, 100, { deletes: rows(store, 't', [1, 'other']) }),
    'an insert of a present row': (store) =>
      change(2, 100, { inserts: rows(store, 't', [1, 'a']) }),
    'an insert of a taken key': (store) => change(2, 100, { inserts: rows(store, 't', [1, 'z']) }),
    'a duplicate without an index': (store) =>
      change(2, 200, { inserts: rows(store, 'loose', [5], [5]) }),
    'an unknown table': (store) => change(2, 999, { inserts: rows(store, 't', [2, 'a']) }),
    'bytes that are no row': () =>
      change(2, 100, { inserts: { bytes: Uint8Array.of(1, 2), count: 1 } }),
    'a row cut short': () => change(2, 200, { inserts: { bytes: Uint8Array.of(1, 2), count: 1 } }),
    'bytes left over': (store) =>
      change(2, 100, { inserts: { bytes: rows(store, 't', [2, 'b'], [3, 'c']).bytes, count: 1 } }),
    'an emptied table with rows': () => change(2, 100, { truncated: true }),
    'a gap': (store) => change(3, 100, { inserts: rows(store, 't', [2, 'b']) }),
    'a repeated commit': (store) => change(1, 100, { inserts: rows(store, 't', [2, 'b']) }),
  };
  for (const [name, make] of Object.entries(wrong)) {
    it(`refuses ${name}`, () => {
      const store = storeOf(sketches);
      inTransaction(store, (transaction) => insert(transaction, tableOf(store, 't'), 1, 'a'));
      expect(() => store.replay(make(store))).toThrow(ReplayError);
    });
  }
});

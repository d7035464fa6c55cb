import { describe, expect, it } from 'vitest';
import {
  catalogFrom,
  deleteRow,
  indexOf,
  insert,
  inTransaction,
  readRow,
  readRows,
  string,
  tableOf,
  u32,
  update,
} from '../../test/support/store/tables.ts';
import { Store } from './store.ts';
import type { Table } from './table.ts';

const columns = { id: u32, text: string };
const sketch = { columns, indexes: [{ columns: ['id'], unique: true }] };

function open(rowCount: number): { store: Store; table: Table } {
  const store = new Store(catalogFrom({ t: sketch, other: sketch }));
  inTransaction(store, (transaction) => {
    for (let id = 0; id < rowCount; id++) insert(transaction, tableOf(store, 't'), id, 'old');
  });
  return { store, table: tableOf(store, 't') };
}

/** The rows that the open transaction has added or removed, each once. */
function pendingOf(table: Table): string[] {
  const texts = new Set<string>();
  table.changes.visitPending((ref) => texts.add(JSON.stringify(readRow(table, ref))));
  return [...texts].sort();
}

describe('what an open transaction has changed so far', () => {
  it('[tables 11.3] is what it added and removed, net', () => {
    const { store, table } = open(4);
    const transaction = store.begin();
    expect(transaction.changedTables()).toEqual([]);
    insert(transaction, table, 9, 'new');
    insert(transaction, table, 8, 'gone again');
    deleteRow(transaction, table, 8, 'gone again');
    deleteRow(transaction, table, 1, 'old');
    insert(transaction, table, 1, 'old');
    deleteRow(transaction, table, 2, 'old');
    update(transaction, indexOf(table, 0), 3, 'changed');
    expect(pendingOf(table)).toEqual(['[2,"old"]', '[3,"changed"]', '[3,"old"]', '[9,"new"]']);
    expect(transaction.changedTables()).toEqual([table]);
    transaction.rollback();
    expect(pendingOf(table)).toEqual([]);
  });

  it('[tables 11.3] is nothing for a table that is as it was', () => {
    const { store, table } = open(2);
    const transaction = store.begin();
    insert(transaction, tableOf(store, 'other'), 1, 'a');
    deleteRow(transaction, tableOf(store, 'other'), 1, 'a');
    deleteRow(transaction, table, 0, 'old');
    insert(transaction, table, 0, 'old');
    expect(transaction.changedTables()).toEqual([]);
    transaction.rollback();
  });

  it('[tables 11.3] counts the rows of a cleared table, but not those put back', () => {
    const { store, table } = open(200);
    const transaction = store.begin();
    transaction.clear(table);
    insert(transaction, table, 7, 'old');
    insert(transaction, table, 8, 'new');
    const pending = pendingOf(table);
    expect(pending).toHaveLength(200);
    expect(pending).not.toContain('[7,"old"]');
    expect(pending).toContain('[8,"new"]');
    transaction.rollback();
    expect(readRows(table)).toHaveLength(200);
  });
});

describe('a migration that is taken back', () => {
  it('[migrations 2.3] leaves rows, indexes, catalog and offset as they were', () => {
    const { store } = open(3);
    const before = { catalog: store.catalog, offset: store.offset };
    const more = { columns, indexes: [...sketch.indexes, { columns: ['text'] }] };
    const migration = store.prepareMigration(catalogFrom({ t: more, other: sketch }), new Map());
    migration.apply();
    expect(tableOf(store, 't').indexes).toHaveLength(2);
    migration.revert();
    expect({ catalog: store.catalog, offset: store.offset }).toEqual(before);
    const table = tableOf(store, 't');
    expect(table.indexes).toHaveLength(1);
    inTransaction(store, (transaction) => {
      deleteRow(transaction, table, 1, 'old');
      insert(transaction, table, 5, 'new');
    });
    expect(readRows(table)).toEqual([
      [0, 'old'],
      [2, 'old'],
      [5, 'new'],
    ]);
    expect(store.offset).toBe(before.offset + 1);
  });

  it('[migrations 2.3] is not taken back after something was written', () => {
    const { store, table } = open(1);
    const migration = store.prepareMigration(store.catalog, new Map());
    migration.apply();
    inTransaction(store, (transaction) => insert(transaction, tableOf(store, 't'), 6, 'new'));
    expect(() => migration.revert()).toThrow('nothing was written since');
    expect(table.spec.name).toBe('t');
  });
});

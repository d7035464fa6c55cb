import { describe, expect, it } from 'vitest';
import {
  catalogFrom,
  deleteRow,
  encodeKey,
  indexOf,
  insert,
  inTransaction,
  readRow,
  readRows,
  string,
  type TableSketch,
  tableOf,
  u8,
  u32,
  update,
} from '../../test/support/store/tables.ts';
import type { Catalog } from '../schema/catalog.ts';
import { indexId, tableId } from '../schema/ids.ts';
import { encodeValue } from '../values/encode.ts';
import { optionType, sum, unitType } from '../values/special-types.ts';
import type { Value } from '../values/value.ts';
import { MigrationError } from './migrate.ts';
import { Store } from './store.ts';
import { uniqueViolation } from './transaction.ts';

type Sketches = Record<string, TableSketch>;
type Values = readonly Value[];

const columns = { id: u32, name: string };
const byId = { columns: ['id'], unique: true };

/** A store of table `t` with these rows. */
function openWith(sketch: TableSketch, rows: readonly Values[]): Store {
  const store = new Store(catalogFrom({ t: sketch }));
  inTransaction(store, (transaction) => {
    for (const row of rows) insert(transaction, tableOf(store, 't'), ...row);
  });
  return store;
}

function migrate(store: Store, next: Sketches | Catalog, defaults: Uint8Array[] = []): void {
  const catalog = 'tables' in next ? (next as Catalog) : catalogFrom(next as Sketches);
  store.prepareMigration(catalog, new Map([[tableId(100), defaults]])).apply();
}

function failureOf(store: Store, next: Sketches): string {
  const before = { rows: readRows(tableOf(store, 't')), catalog: store.catalog };
  try {
    store.prepareMigration(catalogFrom(next), new Map());
  } catch (error) {
    expect(error).toBeInstanceOf(MigrationError);
    expect({ rows: readRows(tableOf(store, 't')), catalog: store.catalog }).toEqual(before);
    return (error as Error).message;
  }
  throw new Error('the migration did not fail');
}

describe('tables', () => {
  it('adds and drops tables, takes an offset, and keeps the rows of the others', () => {
    const store = openWith({ columns, indexes: [byId] }, [[1, 'a']]);
    const sketch = { columns, indexes: [byId] };
    migrate(store, { t: sketch, more: { columns: { n: u32 } } });
    expect(store.offset).toBe(2);
    inTransaction(store, (transaction) => {
      insert(transaction, tableOf(store, 'more'), 7);
      expect(insert(transaction, tableOf(store, 't'), 1, 'b')).toBe(uniqueViolation);
    });
    expect(readRows(tableOf(store, 't'))).toEqual([[1, 'a']]);
    inTransaction(store, (transaction) => transaction.clear(tableOf(store, 'more')));
    migrate(store, { t: sketch });
    expect(store.tableByName('more')).toBeUndefined();
    expect(store.memory().tables).toHaveLength(1);
  });

  it('[migrations 2.4] does not drop a table with rows', () => {
    const store = openWith({ columns }, [[1, 'a']]);
    expect(failureOf(store, {})).toBe(
      "Cannot remove table `t`: table contains data. Clear the table's rows (e.g. via a reducer) " +
        'before removing it from your schema.\nDeclare it in a migration, which ' +
        "`reducerdb migrate new` writes: m.dropTable('t', { rows: 'discard' })",
    );
  });

  it('does not wait while something is written, and not beside an open transaction', () => {
    const store = openWith({ columns }, [[1, 'a']]);
    const migration = store.prepareMigration(store.catalog, new Map());
    const transaction = store.begin();
    expect(() => migration.apply()).toThrow('transaction');
    insert(transaction, tableOf(store, 't'), 2, 'b');
    transaction.commit();
    expect(() => migration.apply()).toThrow('waits');
  });
});

describe('columns', () => {
  it('[tables 7] adds columns at the end with their defaults and rebuilds the indexes', () => {
    const rows = Array.from({ length: 5000 }, (_, id) => [id, `n${id % 100}`] as const);
    const store = openWith({ columns, indexes: [byId, { columns: ['name'] }] }, rows);
    const wider = { ...columns, age: u8, note: string };
    const defaults = [Uint8Array.of(7), encodeValue(string, 'new')];
    migrate(store, { t: { columns: wider, indexes: [byId, { columns: ['name'] }] } }, defaults);
    const table = tableOf(store, 't');
    expect(table.rowCount).toBe(5000);
    const key = encodeKey(table, [0], [1234]);
    expect(readRow(table, table.find(indexOf(table, 0), key, 4))).toEqual([1234, 'n34', 7, 'new']);
    const name = encodeKey(table, [1], ['n34']);
    expect(table.scanPoint(indexOf(table, 1), name, name.length)).toHaveLength(50);
    inTransaction(store, (transaction) => {
      expect(update(transaction, indexOf(table, 0), 1234, 'x', 8, 'y')).toBe(0);
      expect(deleteRow(transaction, table, 1235, 'n35', 7, 'new')).toBe(true);
    });
    expect(table.rowCount).toBe(4999);
  });

  it('changes any column of an event table', () => {
    const store = new Store(catalogFrom({ t: { columns, event: true } }));
    migrate(store, { t: { columns: { other: u8 }, event: true } });
    const transaction = store.begin();
    insert(transaction, tableOf(store, 't'), 3);
    expect(transaction.commit()?.tables[0]?.inserts).toEqual({ bytes: Uint8Array.of(3), count: 1 });
  });

  it('accepts a type with more variants; old rows and their keys stay', () => {
    const two = sum(['A', unitType], ['B', unitType]);
    const three = sum(['A', unitType], ['B', unitType], ['C', u32]);
    const indexes = [{ columns: ['kind'], unique: true, algorithm: 'direct' as const }];
    const store = new Store(catalogFrom({ t: { columns: { kind: two }, indexes } }));
    const a = { tag: 0, value: [] };
    inTransaction(store, (transaction) => insert(transaction, tableOf(store, 't'), a));
    migrate(store, { t: { columns: { kind: three }, indexes } });
    inTransaction(store, (transaction) => {
      const table = tableOf(store, 't');
      expect(insert(transaction, table, { tag: 2, value: 5 })).toBe(0);
      expect(insert(transaction, table, { tag: 2, value: 6 })).toBe(0);
      expect(deleteRow(transaction, table, a)).toBe(true);
      const key = encodeKey(table, [0], [{ tag: 2, value: 6 }]);
      expect(table.find(indexOf(table, 0), key, key.length)).toBeGreaterThan(0);
    });
  });
});

describe('indexes and constraints', () => {
  const rows: Values[] = [
    [1, 'a'],
    [2, 'b'],
    [3, 'b'],
  ];

  it('builds added indexes and forgets dropped ones', () => {
    const store = openWith({ columns }, rows);
    migrate(store, { t: { columns, indexes: [{ columns: ['name'] }] } });
    const table = tableOf(store, 't');
    const key = encodeKey(table, [1], ['b']);
    expect(table.scanPoint(indexOf(table, 0), key, key.length)).toHaveLength(2);
    inTransaction(store, (transaction) => {
      expect(insert(transaction, table, 3, 'b')).toBe(0);
      insert(transaction, table, 4, 'b');
    });
    expect(table.scanPoint(indexOf(table, 0), key, key.length)).toHaveLength(3);
    migrate(store, { t: { columns } });
    expect(store.index(indexId(110))).toBeUndefined();
    inTransaction(store, (transaction) => {
      expect(insert(transaction, tableOf(store, 't'), 4, 'b')).toBe(0);
    });
    expect(tableOf(store, 't').rowCount).toBe(4);
  });

  it('goes from a row set to a unique index and back', () => {
    const store = openWith({ columns }, rows);
    for (const indexes of [[byId], [], [byId], []]) {
      migrate(store, { t: { columns, indexes } });
      inTransaction(store, (transaction) => {
        const table = tableOf(store, 't');
        expect(insert(transaction, table, 1, 'a')).toBe(0);
        expect(deleteRow(transaction, table, 2, 'b')).toBe(true);
        insert(transaction, table, 2, 'b');
        const code = insert(transaction, table, 1, 'other');
        expect(code).toBe(indexes.length === 0 ? 0 : uniqueViolation);
        deleteRow(transaction, table, 1, 'other');
      });
      expect(tableOf(store, 't').rowCount).toBe(3);
    }
  });

  it('[migrations 2.4] names the first value that a new unique index meets twice', () => {
    const store = openWith({ columns }, rows);
    const one = { t: { columns, indexes: [{ columns: ['name'], unique: true }] } };
    const failure = failureOf(store, one) ?? '';
    expect(failure.split('\n')[0]).toBe(
      "Unique constraint violation 't_name_idx_btree' in table 't': " +
        `column(s): '["name"]' value: "b"`,
    );
    expect(failure).toContain('duplicate group(s) found.\n  - "b" appears 2 times');
    const wide = openWith({ columns: { a: u8, b: u8, c: u8 } }, [
      [1, 2, 3],
      [1, 2, 4],
    ]);
    const two = { columns: ['a', 'b'], unique: true, algorithm: 'hash' as const };
    expect(failureOf(wide, { t: { columns: { a: u8, b: u8, c: u8 }, indexes: [two] } })).toContain(
      `column(s): '["a", "b"]' value: (0 = 1, 1 = 2)`,
    );
  });

  it('[ease 3.2] a new unique constraint ignores rows without a value', () => {
    const optional = { id: u8, name: optionType(string) };
    const none = { tag: 1, value: [] };
    const b = { tag: 0, value: 'b' };
    const constraint = { columns: ['name'], unique: true };
    for (const indexes of [[], [{ columns: ['name'] }]]) {
      const store = openWith({ columns: optional, indexes }, [
        [1, none],
        [2, b],
        [3, none],
      ]);
      migrate(store, { t: { columns: optional, indexes: [constraint] } });
      inTransaction(store, (transaction) => {
        expect(insert(transaction, tableOf(store, 't'), 4, none)).toBe(0);
        expect(insert(transaction, tableOf(store, 't'), 5, b)).toBe(uniqueViolation);
      });
    }
    const twice = openWith({ columns: optional, indexes: [{ columns: ['name'] }] }, [
      ...[1, 2, 3].map((id) => [id, none]),
      ...[4, 5].map((id) => [id, b]),
    ]);
    const text = failureOf(twice, { t: { columns: optional, indexes: [constraint] } });
    expect(text).toContain('1 duplicate group(s) found.');
    expect(text).toContain('appears 2 times');
  });

  it('[migrations 2.4] lists the duplicates when an index that was there becomes unique', () => {
    const store = openWith({ columns, indexes: [{ columns: ['name'] }] }, rows);
    const unique = { t: { columns, indexes: [{ columns: ['name'], unique: true }] } };
    expect(failureOf(store, unique)).toBe(
      'Cannot add unique constraint on table 100 column(s) ["name"] (committed state):\n' +
        '1 duplicate group(s) found.\n' +
        '  - "b" appears 2 times',
    );
    const many = Array.from({ length: 36 }, (_, id) => [id, `n${id % 12}`] as const);
    const full = openWith({ columns, indexes: [{ columns: ['name'] }] }, many);
    const lines = failureOf(full, unique).split('\n');
    expect(lines).toHaveLength(13);
    expect(lines[1]).toBe('12 duplicate group(s) found.');
    expect(lines[2]).toBe('  - "n0" appears 3 times');
    expect(lines[12]).toBe('  ... and more');
    inTransaction(store, (transaction) => deleteRow(transaction, tableOf(store, 't'), 3, 'b'));
    migrate(store, unique);
    inTransaction(store, (transaction) => {
      expect(insert(transaction, tableOf(store, 't'), 9, 'b')).toBe(uniqueViolation);
    });
  });
});

describe('sequences', () => {
  it('[migrations 2.4] refuses a sequence whose range holds values already', () => {
    const store = openWith({ columns }, [[5, 'a']]);
    expect(failureOf(store, { t: { columns, autoInc: ['id'] } })).toBe(
      'Precheck failed: added sequence t_id_seq already has values in range',
    );
    inTransaction(store, (transaction) => {
      transaction.clear(tableOf(store, 't'));
      insert(transaction, tableOf(store, 't'), 0, 'zero');
    });
    migrate(store, { t: { columns, autoInc: ['id'] } });
    inTransaction(store, (transaction) => insert(transaction, tableOf(store, 't'), 0, 'b'));
    expect(readRows(tableOf(store, 't')).sort()).toEqual([
      [0, 'zero'],
      [1, 'b'],
    ]);
  });

  it('[migrations 12.7] goes on through an added column, with the marks not yet taken', () => {
    const store = openWith({ columns, autoInc: ['id'] }, [
      [0, 'a'],
      [0, 'b'],
    ]);
    const lost = store.begin();
    insert(lost, tableOf(store, 't'), 0, 'c');
    lost.rollback();
    migrate(store, { t: { columns: { ...columns, age: u8 }, autoInc: ['id'] } }, [
      Uint8Array.of(0),
    ]);
    expect(store.takeSequenceMarks()).toEqual([{ id: 180, value: 3n }]);
    inTransaction(store, (transaction) => insert(transaction, tableOf(store, 't'), 0, 'd', 1));
    expect(readRows(tableOf(store, 't')).map(([id]) => id)).toEqual([1, 2, 4]);
  });
});

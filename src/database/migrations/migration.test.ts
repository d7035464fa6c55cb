import { describe, expect, it } from 'vitest';
import { migrated } from '../../../test/schema/migration-builder.ts';
import { moduleOf, type TableSketch, text, u32, u64 } from '../../../test/schema/module-builder.ts';
import {
  changeReducer,
  MigratingDatabase,
  type MigrationCode,
  type TestProgram,
} from '../../../test/support/migrating-database.ts';
import { MemoryDisk } from '../../node/memory-disk.ts';
import type { DeclaredStep } from '../../schema/declared-step.ts';
import { appliedMigrations } from './migration-table.ts';

const reducers = [changeReducer];
const user: TableSketch = {
  name: 'user',
  columns: { id: u32, name: text },
  primaryKey: 'id',
  indexes: [{ columns: ['name'] }],
};
const split: TableSketch = {
  name: 'user',
  columns: { id: u32, first: text, last: text },
  primaryKey: 'id',
};
const log: TableSketch = { name: 'log', columns: { at: u64, note: text } };

function program(
  tables: readonly TableSketch[],
  from?: { readonly tables: readonly TableSketch[]; readonly steps: readonly DeclaredStep[] },
  code: MigrationCode = {},
): TestProgram {
  const module = moduleOf(tables, { reducers, caseConversion: 'none' });
  if (from === undefined) return { module };
  const before = moduleOf(from.tables, { reducers, caseConversion: 'none' });
  return { module: migrated(module, { before, steps: from.steps }), code };
}

const splitSteps: readonly DeclaredStep[] = [
  { kind: 'addColumn', table: 'user', column: 'first' },
  { kind: 'addColumn', table: 'user', column: 'last' },
  { kind: 'dropColumn', table: 'user', column: 'name' },
];
const splitNames: MigrationCode = {
  rows: (_, [id = 0, name]) => {
    const [first = '', last = ''] = String(name).split(' ');
    if (last === '') throw new Error('a name has two words');
    return { user: [[id, first, last]] };
  },
};

async function withRows(programs: Record<string, TestProgram>, disk = new MemoryDisk()) {
  const database = await MigratingDatabase.start(programs, { disk });
  await database.change(
    {
      table: 'user',
      insert: [
        [1, 'ann lee'],
        [2, 'bob ray'],
        [3, 'cid may'],
      ],
    },
    {
      table: 'log',
      insert: [
        [1n, 'a'],
        [2n, 'b'],
      ],
    },
  );
  return database;
}

const before = program([user, log]);
const after = program([split, log], { tables: [user, log], steps: splitSteps }, splitNames);

/** Publishes, restarts, and returns what is there; it is the same before and after the restart. */
async function migratedRows(programs: Record<string, TestProgram>, name: string) {
  const disk = new MemoryDisk();
  const database = await withRows(programs, disk);
  const reply = await database.publish(name);
  if (reply.kind !== 'updated') throw new Error(JSON.stringify(reply));
  const rows = database.all();
  await database.database.close();
  const again = await MigratingDatabase.start(programs, { disk, open: true });
  expect(again.all()).toEqual(rows);
  return { rows, again };
}

describe('[living 5.6] a declared migration', () => {
  it('rewrites rows with the swap of the program, in one commit that lasts', async () => {
    const disk = new MemoryDisk();
    const programs = { before, after };
    const database = await withRows(programs, disk);
    const offset = database.core.store.offset;
    expect(await database.publish('after')).toMatchObject({ kind: 'updated' });
    const rows = { log: ['1 a', '2 b'], user: ['1 ann lee', '2 bob ray', '3 cid may'] };
    expect(database.core.store.offset).toBe(offset + 1);
    expect(database.all()).toEqual(rows);
    await database.change({ table: 'user', insert: [[4, 'dee', 'fox']] });
    await database.database.close();
    const again = await MigratingDatabase.start(programs, { disk, open: true });
    expect(again.rows('user')).toEqual([...rows.user, '4 dee fox']);
    expect(appliedMigrations(again.core.store)).toMatchObject([
      { id: '0001-first', offset: offset + 1 },
    ]);
  });

  it('leaves everything as it was when a function throws, and names table and key', async () => {
    const database = await withRows({ before, after });
    await database.change({ table: 'user', insert: [[7, 'cher']] });
    const rows = database.all();
    expect(await database.refusal('after')).toBe(
      'Failed to create or update the database: Migration 0001-first, rows, table user, row with ' +
        'id 7: a name has two words',
    );
    expect(database.all()).toEqual(rows);
    await database.change({ table: 'user', remove: [[7, 'cher']] });
    expect(await database.publish('after')).toMatchObject({ kind: 'updated' });
  });

  it('lists the keys of rows that would be there twice', async () => {
    const twice: MigrationCode = { rows: (_, [id = 0]) => ({ user: [[id, 'x', 'y']] }) };
    const unique = { ...split, unique: [['first']] };
    const steps = { tables: [user, log], steps: splitSteps };
    const database = await withRows({ before, after: program([unique, log], steps, twice) });
    const rows = database.all();
    expect(await database.refusal('after')).toBe(
      'Failed to create or update the database: Migration 0001-first: The migrated rows of table ' +
        'user break its unique constraint on column(s) ["first"]:\n' +
        '1 duplicate group(s) found.\n  - "x" appears 3 times',
    );
    expect(database.all()).toEqual(rows);
  });

  it('drops a table with its rows, and keeps the rows and the id of a renamed one', async () => {
    const person = { ...user, name: 'person' };
    const steps: DeclaredStep[] = [
      { kind: 'dropTable', table: 'log' },
      { kind: 'renameTable', from: 'user', to: 'person' },
    ];
    const programs = { before, after: program([person], { tables: [user, log], steps }) };
    const { rows, again } = await migratedRows(programs, 'after');
    expect(rows).toEqual({ person: ['1 ann lee', '2 bob ray', '3 cid may'] });
    await again.change({ table: 'person', remove: [[1, 'ann lee']] });
    expect(again.rows('person')).toEqual(['2 bob ray', '3 cid may']);
  });

  it('lets a run see the tables before, and write those after', async () => {
    const steps: DeclaredStep[] = [{ kind: 'run' }];
    const code: MigrationCode = {
      run: ({ old, now, insert, remove }) => {
        for (const row of old('user')) insert('log', [BigInt(Number(row[0]) + 10), String(row[1])]);
        remove('log', [1n, 'a']);
        if (old('log').length !== 2 || now('log').length !== 4) throw new Error('not as before');
      },
    };
    const programs = { before, after: program([user, log], { tables: [user, log], steps }, code) };
    const { rows } = await migratedRows(programs, 'after');
    expect(rows).toMatchObject({ log: ['11 ann lee', '12 bob ray', '13 cid may', '2 b'] });
  });

  it('undoes all that a run has written if an assertion does not hold', async () => {
    const steps: DeclaredStep[] = [
      { kind: 'run' },
      { kind: 'assert', text: 'there are few notes', sql: 'SELECT count(*) < 3 FROM log' },
    ];
    const code: MigrationCode = { run: ({ insert }) => insert('log', [9n, 'new']) };
    const database = await withRows({
      before,
      after: program([user, log], { tables: [user, log], steps }, code),
    });
    const rows = database.all();
    expect(await database.refusal('after')).toBe(
      'Failed to create or update the database: Migration 0001-first, assert: it does not hold: ' +
        'there are few notes',
    );
    expect(database.all()).toEqual(rows);
    await database.change({ table: 'log', insert: [[9n, 'new']] });
    expect(database.rows('log')).toEqual(['1 a', '2 b', '9 new']);
  });

  it('refuses for a function that does not hold', async () => {
    const steps: DeclaredStep[] = [{ kind: 'assert', text: 'never', sql: undefined }];
    const code: MigrationCode = { holds: () => false };
    const next = program([user, log], { tables: [user, log], steps }, code);
    const database = await withRows({ before, after: next });
    expect(await database.refusal('after')).toContain('it does not hold: never');
  });

  it('writes rows that are too many for its record before it', async () => {
    const long = 'x'.repeat(500_000);
    const code: MigrationCode = {
      rows: (_, [id = 0]) => ({ user: [[id, long, String(id)]] }),
    };
    const programs = {
      before,
      after: program([split, log], { tables: [user, log], steps: splitSteps }, code),
    };
    const disk = new MemoryDisk();
    const database = await withRows(programs, disk);
    const insert = Array.from({ length: 20 }, (_, at) => [at + 10, `n ${at}`]);
    await database.change({ table: 'user', insert });
    expect(await database.publish('after')).toMatchObject({ kind: 'updated' });
    await database.database.close();
    const again = await MigratingDatabase.start(programs, { disk, open: true });
    expect(again.rows('user')).toEqual(database.rows('user'));
    expect(again.rows('user')).toHaveLength(23);
  });
});

describe('[living 5.4] a new database', () => {
  it('has all migrations of its program', async () => {
    const database = await MigratingDatabase.start({ after });
    expect(appliedMigrations(database.core.store)).toMatchObject([{ id: '0001-first', offset: 1 }]);
    expect(database.all()).toEqual({ log: [], user: [] });
  });
});

describe('[living 5.6] sequences of a rewritten table', () => {
  it('go on, and give values to rows that have none', async () => {
    const item: TableSketch = {
      name: 'item',
      columns: { id: u32, name: text },
      primaryKey: 'id',
      autoInc: ['id'],
    };
    const bare: TableSketch = {
      name: 'item',
      columns: { id: u32 },
      primaryKey: 'id',
      autoInc: ['id'],
    };
    const steps: DeclaredStep[] = [{ kind: 'dropColumn', table: 'item', column: 'name' }];
    const code: MigrationCode = {
      rows: (_, [id = 0, name]) => ({ item: name === 'new' ? [[0]] : [[id]] }),
    };
    const programs = {
      before: program([item]),
      after: program([bare], { tables: [item], steps }, code),
    };
    const disk = new MemoryDisk();
    const database = await MigratingDatabase.start(programs, { disk });
    await database.change({
      table: 'item',
      insert: [
        [0, 'a'],
        [0, 'b'],
        [0, 'new'],
      ],
    });
    await database.change({ table: 'item', remove: [[2, 'b']] });
    expect(await database.publish('after')).toMatchObject({ kind: 'updated' });
    expect(database.rows('item')).toEqual(['1', '4']);
    await database.database.close();
    const again = await MigratingDatabase.start(programs, { disk, open: true });
    await again.change({ table: 'item', insert: [[0]] });
    expect(again.rows('item')).toEqual(['1', '4', '5']);
  });
});

describe('[living 5.10] a trial of a plan without migrations', () => {
  it('names the rows that forbid it, as a report', async () => {
    const plain = { ...user, indexes: [] };
    const unique = program([{ ...plain, unique: [['name']] }, log]);
    const database = await withRows({ before: program([plain, log]), unique });
    await database.change({ table: 'user', insert: [[8, 'ann lee']] });
    const report = await database.trial('unique');
    const groups = [{ value: '"ann lee"', rows: 2 }];
    expect(report.conflicts).toMatchObject([{ table: 'user', columns: ['name'], groups, more: 0 }]);
    expect(report.failure).toContain('"ann lee" appears 2 times');
    expect(await database.refusal('unique')).toContain('"ann lee" appears 2 times');
    const dropped = await withRows({ before: program([user, log]), after: program([log]) });
    expect(await dropped.trial('after')).toMatchObject({
      tables: [{ before: 'user', after: undefined, rowsAfter: undefined }],
      failure: expect.stringContaining("m.dropTable('user', { rows: 'discard' })"),
    });
  });

  it('shows rows that get columns, and tables that come', async () => {
    const columns = { ...user.columns, age: u32 };
    const aged = { ...user, columns, defaults: { age: Uint8Array.of(5, 0, 0, 0) } };
    const extra: TableSketch = { name: 'extra', columns: { at: u64 } };
    const next = program([aged, extra, log]);
    const database = await withRows({ before: program([user, log]), after: next });
    const { tables, failure, memoryBytes } = await database.trial('after');
    expect(failure).toBeUndefined();
    expect(memoryBytes).toBeGreaterThan(0);
    const before = database.rows('user');
    const rows = before.length;
    expect(tables).toMatchObject([
      { before: 'user', after: 'user', rowsBefore: rows, rowsAfter: rows },
      { before: undefined, after: 'extra', rowsBefore: 0, rowsAfter: 0 },
    ]);
    const [sample] = tables[0]?.samples ?? [];
    expect([...(sample?.after[0]?.row.slice(-4) ?? [])]).toEqual([5, 0, 0, 0]);
    expect(sample?.after[0]?.row.slice(0, -4)).toEqual(sample?.before);
    expect(database.rows('user')).toEqual(before);
  });
});

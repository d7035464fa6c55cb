import { describe, expect, it } from 'vitest';
import { type MigrationSketch, migrated } from '../../../test/schema/migration-builder.ts';
import { moduleOf, type TableSketch, text, u32 } from '../../../test/schema/module-builder.ts';
import {
  changeReducer,
  MigratingDatabase,
  type MigrationCode,
  type Row,
  type StartOptions,
  type TestProgram,
} from '../../../test/support/migrating-database.ts';
import type { DeclaredStep } from '../../schema/declared-step.ts';
import { appliedMigrations } from './migration-table.ts';

const reducers = [changeReducer];
const item: TableSketch = {
  ...{ name: 'item', columns: { id: u32, name: text }, primaryKey: 'id' },
  unique: [['name']],
};
const sized: TableSketch = {
  ...{ name: 'item', columns: { id: u32, name: text, size: u32 }, primaryKey: 'id' },
};
const log: TableSketch = { name: 'log', columns: { note: text } };
const before: TestProgram = { module: moduleOf([item, log], { reducers, caseConversion: 'none' }) };
const up = [{ kind: 'addColumn', table: 'item', column: 'size' }] as const;
const down = [{ kind: 'dropColumn', table: 'item', column: 'size' }] as const;

type Back = (row: Row) => Row[];

function laterOf(
  back: Back,
  sketch: Omit<MigrationSketch, 'before' | 'steps'> = { down },
  steps: readonly DeclaredStep[] = up,
  code: MigrationCode = {},
): TestProgram {
  const module = moduleOf([sized, log], { reducers, caseConversion: 'none' });
  const made = migrated(module, { before: before.module, steps, ...sketch });
  const rows: MigrationCode['rows'] = (table, row) => {
    const isBack = table === 'log' || row.length === 3;
    return { [table]: isBack ? back(row) : [[...row, String(row[1]).length]] };
  };
  return { module: made, code: { rows, ...code } };
}

const withoutSize: Back = ([id = 0, name = '']) => [[id, name]];

async function tried(program: TestProgram, rowCount: number, parts: StartOptions = {}) {
  const database = await MigratingDatabase.start({ before, after: program }, parts);
  await database.change({
    table: 'item',
    insert: Array.from({ length: rowCount }, (_, id) => [id, `n${id}`]),
  });
  await database.change({ table: 'log', insert: [['a'], ['b']] });
  const [rows, offset] = [database.all(), database.core.store.offset];
  const report = await database.trial('after');
  expect([database.all(), database.core.store.offset]).toEqual([rows, offset]);
  expect(appliedMigrations(database.core.store)).toEqual([]);
  return { report, back: report.back, database };
}

/** Each slice takes two rows. */
const sliced = {
  migrationSizes: { onlineRowsMin: 3, batchRows: 2, sliceMillis: 0, lastRowsMax: 0 },
};

describe('[living 5.10] a trial of a migration that declares `down`', () => {
  it('carries the way back out as well, and compares the rows that come back', async () => {
    const { report, back, database } = await tried(laterOf(withoutSize), 4);
    expect(report).toMatchObject({ failure: undefined, isOnline: false });
    expect(back).toMatchObject({
      ...{ isTried: true, migrations: ['0001-first'], failure: undefined, changed: [] },
      tables: [{ before: 'item', after: 'item', rowsBefore: 4, rowsAfter: 4 }],
    });
    expect(back?.tables[0]?.samples).toHaveLength(3);
    // What was tried is what happens.
    expect(await database.publish('after')).toMatchObject({ kind: 'updated' });
  });

  it('counts the rows that come back as others, or not at all', async () => {
    const back: Back = ([id = 0, name = '']) => {
      return id === 0 ? [] : [[id, Number(id) > 2 ? `${name}!` : name]];
    };
    const { back: found } = await tried(laterOf(back), 5);
    expect(found).toMatchObject({
      ...{ failure: undefined, changed: [{ table: 'item', rows: 3 }] },
      tables: [{ rowsBefore: 5, rowsAfter: 4 }],
    });
  });

  it('names table and key of the row at which going back fails', async () => {
    const back: Back = ([id = 0, name = '']) => {
      if (id === 2) throw new Error('no way back');
      return [[id, name]];
    };
    const { report, back: found } = await tried(laterOf(back), 4);
    expect(report.failure).toBeUndefined();
    expect(found).toMatchObject({
      isTried: true,
      failure: 'Migration 0001-first, rows, table item, row with id 2: no way back',
      tables: [{ rowsAfter: undefined }],
    });
  });

  it('lists rows that would be equal where the earlier program has a constraint', async () => {
    const { back } = await tried(
      laterOf(([id = 0]) => [[id, 'same']]),
      3,
    );
    expect(back?.failure).toContain('nique');
    expect(back?.conflicts).toMatchObject([
      { table: 'item', columns: ['name'], groups: [{ rows: 3 }] },
    ]);
  });

  it('tries the assertions of the way back', async () => {
    const asserted = [...down, { kind: 'assert', text: 'holds', sql: undefined }] as const;
    const sketch = { down: asserted as readonly DeclaredStep[] };
    const { back } = await tried(laterOf(withoutSize, sketch, up, { holds: () => false }), 2);
    expect(back).toMatchObject({
      assertions: [{ migration: '0001-first', text: 'holds', holds: false }],
      failure: expect.stringContaining('assert: it does not hold: holds'),
    });
  });

  it('says which migration declares none, and tries nothing', async () => {
    const { back } = await tried(laterOf(withoutSize, {}), 2);
    expect(back).toMatchObject({
      ...{ isTried: false, migrations: ['0001-first'], tables: [] },
      failure: 'migration 0001-first cannot be undone: it declares no `down` steps',
    });
  });

  it('says so where memory lacks for the way back alone', async () => {
    let asked = 0;
    const freeBytes = () => (asked++ === 0 ? 1e9 : 10);
    const { report, back } = await tried(laterOf(withoutSize), 20, { freeBytes });
    expect(report.failure).toBeUndefined();
    expect(back).toMatchObject({ isTried: false, failure: expect.stringContaining('10 bytes') });
  });

  it('has no way back where the migration itself fails', async () => {
    const refuted = [...up, { kind: 'assert', text: 'never', sql: undefined }] as const;
    const { report } = await tried(
      laterOf(withoutSize, { down }, refuted as readonly DeclaredStep[], { holds: () => false }),
      2,
    );
    expect([report.failure, report.back]).toEqual([expect.stringContaining('never'), undefined]);
  });
});

describe('[living 5.7] the way back of many rows', () => {
  it('runs beside calls, whose rows in other tables it finds as they are', async () => {
    const calls: Promise<void>[] = [];
    let database: MigratingDatabase | undefined;
    let came = 0;
    const back: Back = (row) => {
      came++;
      if (came % 4 === 0 && database !== undefined) {
        calls.push(database.change({ table: 'log', insert: [[`during ${came}`]] }));
      }
      return withoutSize(row);
    };
    const programs = { before, after: laterOf(back) };
    database = await MigratingDatabase.start(programs, sliced);
    await database.change({
      table: 'item',
      insert: Array.from({ length: 20 }, (_, id) => [id, `n${id}`]),
    });
    const report = await database.trial('after');
    await Promise.all(calls);
    expect(calls.length).toBeGreaterThan(3);
    expect(database.rows('log')).toHaveLength(calls.length);
    expect(report).toMatchObject({ isOnline: true, failure: undefined });
    // Rows of now are others than those that it began with.
    expect(report.back).toMatchObject({
      ...{ failure: undefined, changed: undefined },
      tables: [{ before: 'item', rowsBefore: 20, rowsAfter: 20 }],
    });
    expect(database.rows('item')).toHaveLength(20);
    expect(await database.publish('after')).toMatchObject({ kind: 'updated' });
  });

  it('fails by its row in a slice, and leaves nothing behind', async () => {
    const back: Back = ([id = 0, name = '']) => {
      if (id === 13) throw new Error('no way back');
      return [[id, name]];
    };
    const { report, back: found, database } = await tried(laterOf(back), 20, sliced);
    expect(report.failure).toBeUndefined();
    expect(found?.failure).toContain('row with id 13: no way back');
    expect(await database.publish('after')).toMatchObject({ kind: 'updated' });
  });

  it('is cancelled like the trial', async () => {
    let cancel = () => {};
    let came = 0;
    const back: Back = (row) => {
      came++;
      if (came === 7) cancel();
      return withoutSize(row);
    };
    const programs = { before, after: laterOf(back) };
    const database = await MigratingDatabase.start(programs, sliced);
    await database.change({
      table: 'item',
      insert: Array.from({ length: 20 }, (_, id) => [id, `n${id}`]),
    });
    const permission = { policy: 'compatible', token: undefined } as const;
    const program = { kind: 'js', bytes: new TextEncoder().encode('after') } as const;
    const asked = database.ask({ kind: 'update', program, permission, isTrial: true });
    cancel = () => void database.request({ kind: 'cancel', of: asked.ticket, why: 'gone' });
    expect(await asked.reply).toMatchObject({
      kind: 'refused',
      body: { code: 'migration.cancelled' },
    });
    expect(came).toBeLessThan(20);
    expect(await database.publish('after')).toMatchObject({ kind: 'updated' });
  });

  it('takes rows in one go where they are those that serve', async () => {
    const rewritten = [...down, { kind: 'mapRows', table: 'log', reads: false }] as const;
    const back: Back = (row) => (row.length === 1 ? [row] : withoutSize(row));
    const { report, back: found } = await tried(laterOf(back, { down: rewritten }), 20, sliced);
    expect(report.isOnline).toBe(true);
    expect(found).toMatchObject({ failure: undefined, isTried: true });
    expect(found?.tables.map((table) => [table.before, table.rowsAfter])).toEqual([
      ['item', 20],
      ['log', 2],
    ]);
  });
});

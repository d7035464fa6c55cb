import { describe, expect, it } from 'vitest';
import { type MigrationSketch, migrated } from '../../../test/schema/migration-builder.ts';
import { moduleOf, type TableSketch, text, u32 } from '../../../test/schema/module-builder.ts';
import {
  changeReducer,
  MigratingDatabase,
  type MigrationCode,
  type TestProgram,
} from '../../../test/support/migrating-database.ts';
import type { DeclaredStep } from '../../schema/declared-step.ts';
import { Random } from '../../testing/random.ts';
import { SimulatedDisk } from '../../testing/simulated-disk.ts';
import { LocalSnapshots } from '../snapshots/local-snapshots.ts';
import { sizesOfLimits } from '../snapshots/snapshot-due.ts';
import type { MigrationSizes } from './migration-sizes.ts';
import { appliedMigrations } from './migration-table.ts';

/** Each slice takes two rows. */
const migrationSizes: MigrationSizes = {
  ...{ onlineRowsMin: 3, batchRows: 2, sliceMillis: 0, lastRowsMax: 0 },
};

const reducers = [changeReducer];
const item: TableSketch = { name: 'item', columns: { id: u32, name: text }, primaryKey: 'id' };
const sized: TableSketch = {
  name: 'item',
  columns: { id: u32, name: text, size: u32 },
  primaryKey: 'id',
  unique: [['name']],
};
const before: TestProgram = { module: moduleOf([item], { reducers, caseConversion: 'none' }) };

function after(code: MigrationCode, table = sized): TestProgram {
  const module = moduleOf([table], { reducers, caseConversion: 'none' });
  const steps = [{ kind: 'addColumn', table: 'item', column: 'size' }] as const;
  return { module: migrated(module, { before: before.module, steps }), code };
}

const sizes: MigrationCode = {
  rows: (_, [id = 0, name = '']) => ({ item: [[id, name, String(name).length]] }),
};

const first = Array.from({ length: 20 }, (_, at) => [at, `n${at}`]);

async function begun(code: MigrationCode = sizes, disk = new SimulatedDisk()) {
  const programs = { before, after: after(code), sizes: after(sizes) };
  const database = await MigratingDatabase.start(programs, { disk, migrationSizes });
  await database.change({ table: 'item', insert: first });
  return { database, programs, disk };
}

async function reopened(programs: Record<string, TestProgram>, disk: SimulatedDisk) {
  return MigratingDatabase.start(programs, { disk, open: true, migrationSizes });
}

function expected(rows: readonly (readonly [number, string])[]): string[] {
  return rows.map(([id, name]) => `${id} ${name} ${name.length}`).sort();
}

describe('[living 5.7] a migration of many rows', () => {
  it('runs beside calls, and takes over what they change', async () => {
    const changes: Promise<void>[] = [];
    let database: MigratingDatabase | undefined;
    let calls = 0;
    const code: MigrationCode = {
      rows: (table, row, old) => {
        calls++;
        if (calls === 5) {
          const change = database?.change(
            {
              table: 'item',
              remove: [
                [0, 'n0'],
                [19, 'n19'],
              ],
            },
            {
              table: 'item',
              insert: [
                [0, 'other'],
                [100, 'new'],
              ],
            },
          );
          if (change !== undefined) changes.push(change);
        }
        return sizes.rows?.(table, row, old) ?? {};
      },
    };
    const begin = await begun(code);
    database = begin.database;
    expect(await database.publish('after')).toMatchObject({ kind: 'updated' });
    await Promise.all(changes);
    const rows = [[0, 'other'], [100, 'new'], ...first.slice(1, 19)] as [number, string][];
    expect(database.rows('item')).toEqual(expected(rows));
    expect(calls).toBeGreaterThan(21);
    await database.database.close();
    const again = await reopened(begin.programs, begin.disk);
    expect(again.rows('item')).toEqual(expected(rows));
    await again.change({ table: 'item', insert: [[200, 'last', 4]] });
    expect(again.rows('item')).toHaveLength(21);
  });

  it('[living 5.8] is cancelled before the swap; rows in the log then do not count', async () => {
    let cancel = () => {};
    let calls = 0;
    const code: MigrationCode = {
      rows: (table, row, old) => {
        calls++;
        if (calls === 9) cancel();
        return sizes.rows?.(table, row, old) ?? {};
      },
    };
    const { database, programs, disk } = await begun(code);
    const { ticket, reply } = database.asked('after');
    cancel = () => void database.request({ kind: 'cancel', of: ticket, why: 'gone' });
    expect(await reply).toMatchObject({ kind: 'refused', body: { code: 'migration.cancelled' } });
    expect(calls).toBeLessThan(20);
    expect(database.rows('item')).toHaveLength(20);
    await database.change({ table: 'item', insert: [[50, 'later']] });
    await database.database.close();
    const again = await reopened(programs, disk);
    expect(again.rows('item')).toHaveLength(21);
    expect(await again.publish('sizes')).toMatchObject({ kind: 'updated' });
    expect(again.rows('item')).toContain('50 later 5');
    await again.database.close();
    expect((await reopened(programs, disk)).rows('item')).toContain('50 later 5');
  });

  it('fails with the key of the row, and with keys that rows share', async () => {
    const throws: MigrationCode = {
      rows: (table, row, old) => {
        if (row[0] === 13) throw new Error('unlucky');
        return sizes.rows?.(table, row, old) ?? {};
      },
    };
    const { database } = await begun(throws);
    const rows = database.rows('item');
    expect(await database.refusal('after')).toContain('table item, row with id 13: unlucky');
    expect(database.rows('item')).toEqual(rows);
    const same: MigrationCode = { rows: (_, [id = 0]) => ({ item: [[id, 'same', 1]] }) };
    const other = (await begun(same)).database;
    expect(await other.refusal('after')).toContain('"same" appears 20 times');
    expect(other.rows('item')).toEqual(rows);
  });

  it('takes all rows in one go where functions read tables', async () => {
    const reads: MigrationCode = {
      rows: (_, [id = 0, name = ''], old) => ({ item: [[id, name, old('item').length]] }),
    };
    const { database, programs, disk } = await begun(reads);
    expect(await database.publish('after')).toMatchObject({ kind: 'updated' });
    expect(database.rows('item')).toContain('3 n3 20');
    await database.database.close();
    expect((await reopened(programs, disk)).rows('item')).toEqual(database.rows('item'));
  });

  it('is refused with figures where the machine lacks the memory', async () => {
    const { programs, disk, database } = await begun();
    await database.database.close();
    const options = { disk, open: true, migrationSizes, freeBytes: () => 100 };
    const again = await MigratingDatabase.start(programs, options);
    expect(await again.refusal('after')).toMatch(
      /^The migration needs about .* of memory, because .* and 100 bytes are free\./,
    );
    expect(again.rows('item')).toHaveLength(20);
  });

  it('has no snapshot taken meanwhile, so that a start finds all of its rows', async () => {
    const disk = new SimulatedDisk();
    const snapshots = {
      snapshotDesk: new LocalSnapshots({ disk, salt: () => 7 }),
      snapshotSizes: sizesOfLimits,
    };
    let snapshot: Promise<unknown> | undefined;
    let calls = 0;
    const code: MigrationCode = {
      rows: (table, row, old) => {
        calls++;
        if (calls === 5) snapshot = database.request({ kind: 'snapshot' });
        return sizes.rows?.(table, row, old) ?? {};
      },
    };
    const programs = { before, after: after(code) };
    const options = { disk, migrationSizes, ...snapshots };
    const database = await MigratingDatabase.start(programs, options);
    await database.change({ table: 'item', insert: first });
    expect(await database.publish('after')).toMatchObject({ kind: 'updated' });
    const { offset } = database.core.store;
    expect(await snapshot).toMatchObject({ outcome: { kind: 'taken', offset } });
    await database.change({ table: 'item', insert: [[50, 'later', 5]] });
    await database.database.close();
    const again = await MigratingDatabase.start(programs, { ...options, open: true });
    expect(again.core.snapshot?.offset).toBe(offset);
    expect(again.rows('item')).toHaveLength(21);
  });

  it('is refused if its rows exceed the quota, and changes nothing', async () => {
    const used = (await begun()).database.database.storageUse().rowBytes;
    const long: MigrationCode = {
      rows: (_, [id = 0, name = '']) => ({ item: [[id, `${name} ${'x'.repeat(100)}`, 1]] }),
    };
    const other = (await begun(long)).database;
    other.database.setStorage({ rowBytesMax: used });
    expect(await other.refusal('after')).toContain('Quota exceeded: the rows of this database');
    expect(other.rows('item')).toHaveLength(20);
    expect(await other.trial('after')).toMatchObject({
      failure: expect.stringContaining('Quota exceeded'),
    });
  });

  it('ends as soon as its rows exceed the quota', async () => {
    let taken = 0;
    const many: MigrationCode = {
      rows: (_, [id = 0, name = '']) => {
        taken += 1;
        const copies = Array.from({ length: 100 }, (_, copy) => [
          ...[Number(id) * 100 + copy, `${name} ${copy}`, 1],
        ]);
        return { item: copies };
      },
    };
    const { database } = await begun(many);
    database.database.setStorage({ rowBytesMax: 10_000 });
    expect(await database.refusal('after')).toContain('Quota exceeded: the rows of this database');
    expect(database.rows('item')).toHaveLength(20);
    expect(taken).toBeLessThan(20);
  });

  it('is the only one, and ends with the database', async () => {
    const { database, programs, disk } = await begun();
    const publishing = database.publish('after');
    const second = database.publish('sizes');
    expect(await second).toMatchObject({ kind: 'refused', body: { code: 'migration.running' } });
    const closing = database.database.close();
    expect(await publishing).toMatchObject({ kind: 'refused', body: { code: 'database.stopped' } });
    await closing;
    const again = await reopened(programs, disk);
    expect([again.rows('item').length, appliedMigrations(again.core.store)]).toEqual([20, []]);
  });
});

type Found = { readonly item?: string[]; readonly notes?: string[] };

describe('[living 5.6, 5.7] several migrations at once', () => {
  const tagged: TableSketch = { ...sized, columns: { ...sized.columns, tag: text } };
  const notes: TableSketch = { name: 'notes', columns: { line: text }, unique: [['line']] };
  const twice: TableSketch = { name: 'notes', columns: { line: text } };
  const module = (tables: TableSketch[]) => moduleOf(tables, { reducers, caseConversion: 'none' });
  const size: DeclaredStep = { kind: 'addColumn', table: 'item', column: 'size' };
  const tag: DeclaredStep = { kind: 'addColumn', table: 'item', column: 'tag' };

  async function through(
    sketches: readonly MigrationSketch[],
    last: TestProgram['module'],
    code: MigrationCode,
  ) {
    const disk = new SimulatedDisk();
    const first = { module: module([item, twice]) };
    const programs = { first, last: { module: migrated(last, ...sketches), code } };
    const database = await MigratingDatabase.start(programs, { disk, migrationSizes });
    const lines = [['a'], ['b']];
    await database.change({ table: 'item', insert: first20 }, { table: 'notes', insert: lines });
    const reply = await database.publish('last');
    if (reply.kind !== 'updated') throw new Error(JSON.stringify(reply));
    const rows: Found = database.all();
    await database.database.close();
    const again = await MigratingDatabase.start(programs, { disk, open: true, migrationSizes });
    expect(again.all()).toEqual(rows);
    expect(appliedMigrations(again.core.store)).toHaveLength(sketches.length);
    await again.change({ table: 'item', remove: [parsed(rows.item?.[0] ?? '')] });
    return rows;
  }

  const first20 = first;
  const parsed = (line: string) => {
    const [id, ...rest] = line.split(' ');
    return [Number(id), ...rest.map((part) => (/^\d+$/.test(part) ? Number(part) : part))];
  };

  it('follow each other, with a run on rows that were taken beside the turns', async () => {
    const code: MigrationCode = {
      rows: (_, row) => {
        const [id = 0, name = '', length] = row;
        if (length === undefined) return { item: [[id, name, String(name).length]] };
        return { item: [[id, name, length, 't']] };
      },
      run: ({ now, insert, remove }) => {
        for (const row of now('item')) if (Number(row[0]) < 3) remove('item', row);
        insert('item', [77, 'run', 3]);
        insert('notes', ['of run']);
      },
    };
    const whole = [item, twice];
    const between = [sized, twice];
    const sketches: MigrationSketch[] = [
      { id: '0001-size', before: module(whole), steps: [size] },
      { id: '0002-run', before: module(between), steps: [{ kind: 'run' }] },
    ];
    const rows = await through(sketches, module(between), code);
    expect(rows.item).toHaveLength(18);
    expect(rows.notes).toEqual(['a', 'b', 'of run']);
    const more = [...sketches, { id: '0003-tag', before: module(between), steps: [tag] }];
    const tags = await through(more, module([tagged, notes]), code);
    expect(tags.item?.[0]).toBe('10 n10 3 t');
    expect(tags.item).toHaveLength(18);
  });
});

describe('[living 5.8] progress', () => {
  it('is reported, and stands in the log of the database', async () => {
    const { database } = await begun();
    await database.publish('after');
    // The clock stands still, so one report is enough.
    expect(database.progress).toEqual([{ table: 'item', done: 2, total: 20 }]);
    expect(database.lines).toContain('Migrating: 2 of 20 rows are done, now those of table `item`');
  });
});

describe('[living 5.9] clients', () => {
  it('stay if the migration only looks at rows, and go if it rewrites them', async () => {
    const steps = [{ kind: 'assert', text: 'many', sql: undefined }] as const;
    const module = moduleOf([item], { reducers, caseConversion: 'none' });
    const checked = { module: migrated(module, { before: before.module, steps }) };
    const programs = { before, checked, after: after(sizes) };
    const database = await MigratingDatabase.start(programs, { migrationSizes });
    expect(await database.publish('checked')).toMatchObject({ endsConnections: false });
    const other = (await begun()).database;
    expect(await other.publish('after')).toMatchObject({ endsConnections: true });
  });
});

describe('[living 5.6, 5.7] a power cut at each operation of a migration', () => {
  it('leaves all of it or nothing', async () => {
    const { disk } = await begun();
    const whole = disk.operationCount;
    let last = 0;
    {
      const run = await begun();
      await run.database.publish('after');
      await run.database.database.close();
      last = run.disk.operationCount;
    }
    const seen = new Set<string>();
    for (let cut = whole + 1; cut <= last; cut++) {
      const run = await begun();
      run.disk.stopAt(cut);
      await run.database.publish('after').catch((error: unknown) => {
        expect(run.disk.isOff, String(error)).toBe(true);
      });
      const random = new Random(cut);
      const again = await reopened(run.programs, run.disk.crash(random));
      const rows = again.rows('item');
      const isNew = again.core.store.tableByName('item')?.spec.columns.length === 3;
      const applied = appliedMigrations(again.core.store).length;
      expect([rows.length, applied]).toEqual([20, isNew ? 1 : 0]);
      if (isNew) expect(rows).toEqual(expected(first as [number, string][]));
      seen.add(isNew ? 'new' : 'old');
    }
    expect([...seen].sort()).toEqual(['new', 'old']);
  });
});

describe('[living 5.10] a trial', () => {
  it('says what would become of rows, and changes nothing', async () => {
    const { database } = await begun();
    const rows = database.rows('item');
    const offset = database.core.store.offset;
    const bytes = database.core.log.bytes;
    const report = await database.trial('after');
    expect(report).toMatchObject({
      tables: [{ before: 'item', after: 'item', rowsBefore: 20, rowsAfter: 20 }],
      ...{ conflicts: [], sampledTo: 0, failure: undefined, isOnline: true },
    });
    expect(report.tables[0]?.samples).toHaveLength(3);
    expect(report.tables[0]?.samples[0]?.after).toMatchObject([{ table: 'item' }]);
    expect(database.rows('item')).toEqual(rows);
    expect([database.core.store.offset, database.core.log.bytes]).toEqual([offset, bytes]);
    expect(await database.publish('after')).toMatchObject({ kind: 'updated' });
  });

  it('lists conflicts, and says why a publish would fail', async () => {
    const same: MigrationCode = { rows: (_, [id = 0]) => ({ item: [[id, 'same', 1]] }) };
    const { database } = await begun(same);
    const { conflicts, failure } = await database.trial('after');
    const groups = [{ value: '"same"', rows: 20 }];
    expect(conflicts).toEqual([
      { table: 'item', constraint: expect.any(String), columns: ['name'], groups, more: 0 },
    ]);
    expect(failure).toContain('"same" appears 20 times');
  });
});

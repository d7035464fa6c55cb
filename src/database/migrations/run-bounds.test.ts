import { describe, expect, it } from 'vitest';
import { migrated } from '../../../test/schema/migration-builder.ts';
import { moduleOf, type TableSketch, text, u32 } from '../../../test/schema/module-builder.ts';
import {
  changeReducer,
  MigratingDatabase,
  type MigrationCode,
  type Row,
  type TestProgram,
} from '../../../test/support/migrating-database.ts';
import { TestClock } from '../../testing/test-clock.ts';
import { noProgress } from '../progress.ts';
import { type MigrationBounds, migrationBoundsOfLimits } from './migration-sizes.ts';

const reducers = [changeReducer];
const item: TableSketch = { name: 'item', columns: { id: u32, name: text }, primaryKey: 'id' };
const sized: TableSketch = { name: 'item', columns: { id: u32, name: text, size: u32 } };
const before: TestProgram = { module: moduleOf([item], { reducers, caseConversion: 'none' }) };
const steps = [{ kind: 'addColumn', table: 'item', column: 'size' }] as const;
const down = [{ kind: 'dropColumn', table: 'item', column: 'size' }] as const;

function after(code: MigrationCode, more: Partial<Parameters<typeof migrated>[1]> = {}) {
  const module = moduleOf([sized], { reducers, caseConversion: 'none' });
  return { module: migrated(module, { before: before.module, steps, ...more }), code };
}

type Rows = NonNullable<MigrationCode['rows']>;
const plain: Rows = (_, [id = 0, name = '']) => ({ item: [[id, name, 1]] });
/** Every row of a table gives as many as nobody expects. */
const many: Rows = (_, [id = 0]) => {
  return { item: Array.from({ length: 6_000 }, (__, at): Row => [id, `${id} ${at}`, at]) };
};
/** Because other rows may change what it gives, writers wait. */
const reading = (rows: Rows): Rows => {
  return (table, row, old) => {
    old('item');
    return rows(table, row, old);
  };
};

interface Begun {
  readonly bounds?: Partial<MigrationBounds>;
  readonly more?: Parameters<typeof after>[1];
  readonly parts?: Record<string, unknown>;
}

/** A database of 40 rows, of which slices take two each. */
async function begun(code: MigrationCode, { bounds = {}, more, parts = {} }: Begun = {}) {
  const clock = new TestClock();
  const migrationSizes = {
    ...{ onlineRowsMin: 3, batchRows: 2, sliceMillis: 0, lastRowsMax: 0 },
    bounds: { ...migrationBoundsOfLimits, ...bounds },
  };
  const programs = { before, after: after(code, more), plain: after({ rows: plain }) };
  const database = await MigratingDatabase.start(programs, { clock, migrationSizes, ...parts });
  const insert = Array.from({ length: 40 }, (_, id) => [id, `n${id}`]);
  await database.change({ table: 'item', insert });
  return { database, clock };
}

/** The old rows are there, nothing is held, and another publish works. */
async function expectNothingHappened(database: MigratingDatabase): Promise<void> {
  expect(database.rows('item')).toHaveLength(40);
  expect(database.database.statementBytes).toBe(0);
  await database.change({ table: 'item', insert: [[100, 'later']] });
  expect(await database.publish('plain')).toMatchObject({ kind: 'updated' });
  expect(database.rows('item')).toContain('100 later 1');
}

async function failures(code: MigrationCode, begin: Begun): Promise<[string, string]> {
  const { database } = await begun(code, begin);
  const { failure } = await database.trial('after');
  const refused = await database.refusal('after');
  await expectNothingHappened(database);
  return [failure ?? '', refused];
}

const ways = [
  ['beside the turns', many],
  ['in one go', reading(many)],
] as const;

describe.each(ways)('[living 5.7] what a migration makes %s is bounded', (_, rows) => {
  it('in rows, also of one batch', async () => {
    const made = await failures({ rows }, { bounds: { madeRowsMax: 30_000 } });
    for (const text of made) expect(text).toMatch(/makes more than 30000 rows\. Give fewer rows/);
  });

  it('in bytes, by what it is made from', async () => {
    const bounds = { madeBytesMin: 2 ** 20, madeBytesFactor: 0 };
    const made = await failures({ rows }, { bounds });
    for (const text of made) {
      expect(text).toMatch(/tables that it makes take more than 1.* MiB, and those .* made from/);
    }
  });

  it('in memory of the machine, while it grows', async () => {
    let asked = 0;
    // Each of the two attempts asks before it begins.
    const freeBytes = () => (asked++ % 2 === 0 ? 2 ** 30 : 1_000);
    const bounds = { measuredBytes: 2 ** 20 };
    const made = await failures({ rows }, { bounds, parts: { freeBytes } }).catch((error) => error);
    for (const text of made) expect(text).toMatch(/so far, and only 1.* are free\. Free memory/);
    expect(made).toHaveLength(2);
  });

  it('by the quota of the database, and ends before all rows are made', async () => {
    let calls = 0;
    const counted: Rows = (...given) => {
      calls++;
      return rows(...given);
    };
    const made = await failures({ rows: counted }, { parts: { storage: { rowBytesMax: 50_000 } } });
    for (const text of made) expect(text).toMatch(/rows of this database would take/);
    // Twice a batch of two rows, and the samples of a trial.
    expect(calls).toBeLessThan(20);
  });
});

describe('[living 5.7] a standstill of a migration', () => {
  it('has a bound in time, which a trial and its way back share', async () => {
    let pass = (): void => {};
    const slow = reading((...given) => {
      pass();
      return plain(...given);
    });
    const { database, clock } = await begun(
      { rows: slow },
      { bounds: { standstillMillisMax: 5_000 } },
    );
    pass = () => clock.advance(1_000);
    const refused = await database.refusal('after');
    expect(refused).toMatch(/more than 5 s while no call is answered\. Rows are taken beside/);
    const { failure } = await database.trial('after');
    expect(failure).toContain('more than 5 s while no call is answered');
    pass = () => clock.advance(10);
    expect((await database.trial('after')).failure).toBeUndefined();
    await expectNothingHappened(database);
  });

  it('has no such bound beside the turns', async () => {
    let pass = (): void => {};
    const slow: Rows = (...given) => {
      pass();
      return plain(...given);
    };
    const { database, clock } = await begun(
      { rows: slow },
      { bounds: { standstillMillisMax: 5_000 } },
    );
    pass = () => clock.advance(1_000);
    expect(await database.publish('after')).toMatchObject({ kind: 'updated' });
  });

  it('[living 5.10] bounds the way back, which is reported as not possible', async () => {
    let pass = (): void => {};
    const back: Rows = (table, row, old) => {
      if (row.length === 2) return plain(table, row, old);
      old('item');
      pass();
      return { item: [[row[0] ?? 0, row[1] ?? '']] };
    };
    const begin = { more: { down }, bounds: { standstillMillisMax: 5_000 } };
    const { database, clock } = await begun({ rows: back }, begin);
    pass = () => clock.advance(1_000);
    const report = await database.trial('after');
    expect(report.failure).toBeUndefined();
    expect(report.back?.failure).toContain('more than 5 s while no call is answered');
    await expectNothingHappened(database);
  });
});

describe('[living 5.8] what nobody wants any more ends in the middle of a standstill', () => {
  const places: [string, (stop: () => void) => { code: MigrationCode; more?: Begun['more'] }][] = [
    ['rows', (stop) => ({ code: { rows: stoppingAt(10, stop) } })],
    [
      'a `run`',
      (stop) => ({
        code: { rows: plain, run: stop },
        more: { steps: [...steps, { kind: 'run' }] },
      }),
    ],
    [
      'an assertion',
      (stop) => ({
        code: { rows: plain, holds: () => stop() === undefined },
        more: { steps: [...steps, { kind: 'assert', text: 'it holds' }] },
      }),
    ],
  ];

  it.each(places)('in %s', async (_, placeOf) => {
    let isAbandoned = false;
    const { code, more } = placeOf(() => {
      isAbandoned = true;
    });
    const progress = { ...noProgress, isAbandoned: () => isAbandoned };
    const { database } = await begun(code, { ...(more && { more }), parts: { progress } });
    const cancelled = { kind: 'refused', body: { code: 'migration.cancelled' } };
    expect(await database.publish('after')).toMatchObject(cancelled);
    isAbandoned = false;
    await expect(database.trial('after')).rejects.toThrow('migration.cancelled');
    isAbandoned = false;
    await expectNothingHappened(database);
  });

  it('[living 5.10] in the way back of a trial', async () => {
    let isAbandoned = false;
    const rows: Rows = (table, row, old) => {
      if (row.length === 2) return plain(table, row, old);
      old('item');
      isAbandoned = true;
      return { item: [[row[0] ?? 0, row[1] ?? '']] };
    };
    const progress = { ...noProgress, isAbandoned: () => isAbandoned };
    const { database } = await begun({ rows }, { more: { down }, parts: { progress } });
    await expect(database.trial('after')).rejects.toThrow('migration.cancelled');
    isAbandoned = false;
    await expectNothingHappened(database);
  });
});

function stoppingAt(row: number, stop: () => void): Rows {
  return reading((table, given, old) => {
    if (given[0] === row) stop();
    return plain(table, given, old);
  });
}

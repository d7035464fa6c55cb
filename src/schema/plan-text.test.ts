import { describe, expect, it } from 'vitest';
import {
  cronModule,
  moduleOf,
  named,
  reducer,
  ref,
  type TableSketch,
  text,
  u32,
  u64,
} from '../../test/schema/module-builder.ts';
import { scheduleAtType, sum, unitType } from '../values/special-types.ts';
import { logLineOf } from './migration-log.ts';
import { planMigration } from './migration-plan.ts';
import type { MigrationStep } from './migration-steps.ts';
import { planText } from './plan-text.ts';
import type { RawModule } from './raw-module.ts';
import { validateModule } from './validate.ts';

function stepsBetween(old: RawModule, next: RawModule): readonly MigrationStep[] {
  const plan = planMigration(validateModule(old), validateModule(next));
  if (plan.kind === 'manual') throw new Error(plan.reason);
  expect(plan.text).toBe(planText(plan.steps, 'plain'));
  return plan.steps;
}

const rule = '━'.repeat(60);
const base: TableSketch = { name: 't', columns: { a: u32, theB: text } };

/** The entries of a plan, without its header. */
function entries(old: RawModule, next: RawModule): string[] {
  const lines = planText(stepsBetween(old, next), 'plain').split('\n');
  expect(lines.slice(0, 4)).toEqual([rule, 'Database Migration Plan', rule, '']);
  expect(lines.at(-1)).toBe('');
  return lines.slice(4, -1);
}

describe('the text of a plan', () => {
  it('is its header alone when nothing changes', () => {
    expect(entries(moduleOf([base]), moduleOf([base]))).toEqual([]);
  });

  it('lists the parts of a new table that has them', () => {
    const full: TableSketch = { ...base, primaryKey: 'a', autoInc: ['a'], access: 'private' };
    expect(entries(moduleOf([]), moduleOf([full]))).toEqual([
      '▸ Created user table: t (private)',
      '    Columns:',
      '        • a: U32',
      '        • the_b: String',
      '    Unique constraints:',
      '        • t_a_key on [a]',
      '    Indexes:',
      '        • t_a_idx_btree on [a]',
      '    Auto-increment constraints:',
      '        • t_a_seq on a',
    ]);
    expect(entries(moduleOf([]), moduleOf([base]))).toHaveLength(4);
  });

  it('tells of what is removed and what breaks clients', () => {
    expect(entries(moduleOf([base]), moduleOf([]))).toEqual([
      '▸ Removed table: t',
      '!!! Warning: All clients will be disconnected due to breaking schema changes',
    ]);
  });

  it('tells of indexes, constraints and sequences', () => {
    const before = moduleOf([{ ...base, unique: [['a']], autoInc: ['a'] }]);
    const after = moduleOf([{ ...base, unique: [['theB', 'a']] }]);
    expect(entries(before, after)).toEqual([
      '▸ Removed index t_a_idx_btree on [a] of table t',
      '▸ Removed unique constraint t_a_key on [a] of table t',
      '▸ Removed auto-increment constraint t_a_seq on column a of table t',
      '▸ Created index t_the_b_a_idx_btree on [the_b, a] of table t',
      '▸ Created unique constraint t_the_b_a_key on [the_b, a] of table t',
    ]);
    expect(entries(after, before).at(-1)).toBe(
      '▸ Created auto-increment constraint t_a_seq on column a of table t',
    );
  });

  it('[ease 1.6] tells of columns, with types as describe writes them, and defaults', () => {
    const enumeration = (...variants: string[]) => ({
      typespace: { types: [sum(...variants.map((name) => [name, unitType] as const))] },
      types: [named('E', 1)],
    });
    const before = moduleOf([{ name: 't', columns: { a: ref(1) } }], enumeration('A'));
    const wider = { a: ref(1), b: u32 };
    const defaults = { b: Uint8Array.of(5, 0, 0, 0) };
    const after = moduleOf([{ name: 't', columns: wider, defaults }], enumeration('A', 'B'));
    expect(entries(before, after).slice(0, 4)).toEqual([
      '▸ Changed columns for table t',
      '    ~ Modified: a (a → a | b)',
      '▸ Created column in table t',
      '    + b: U32 (default: 5)',
    ]);
    const two = { ...base.columns, x: u32, y: text };
    const values = { x: Uint8Array.of(1, 0, 0, 0), y: Uint8Array.of(1, 0, 0, 0, 0x78) };
    const added = moduleOf([{ ...base, columns: two, defaults: values }]);
    expect(entries(moduleOf([base]), added).slice(0, 3)).toEqual([
      '▸ Created columns in table t',
      '    + x: U32 (default: 1)',
      '    + y: String (default: "x")',
    ]);
  });

  it('tells of access, keys and accessor names', () => {
    const unique = [['a'], ['theB']];
    const before = moduleOf([{ ...base, unique }]);
    const after = moduleOf([
      {
        name: 'T',
        columns: { a: u32, the_b: text },
        unique: [['the_b']],
        primaryKey: 'a',
        access: 'private',
      },
    ]);
    expect(entries(before, after)).toEqual([
      '▸ Changed index accessor name for t_a_idx_btree of table t',
      '▸ Changed index accessor name for t_the_b_idx_btree of table t',
      '▸ Changed table accessor name for t',
      '▸ Changed column accessor name for t.the_b',
      '▸ Changed access for table t (public → private)',
      '▸ Changed primary key on table t (added on column a)',
    ]);
    expect(entries(after, before).at(-1)).toBe('▸ Changed primary key on table t (removed)');
    const moved = moduleOf([{ ...base, unique: [['a']], primaryKey: 'theB' }]);
    const first = moduleOf([{ ...base, unique: [['theB']], primaryKey: 'a' }]);
    expect(entries(first, moved)).toEqual([
      '▸ Changed primary key on table t (changed to column the_b)',
    ]);
  });

  it('[migrations 5, 7] tells of schedules and crons', () => {
    const jobs: TableSketch = {
      name: 'jobs',
      columns: { id: u64, at: scheduleAtType },
      primaryKey: 'id',
    };
    const reducers = [reducer('runJob', { job: ref(0) })];
    const schedule = {
      sourceName: undefined,
      tableName: 'jobs',
      atColumn: 1,
      functionName: 'runJob',
    };
    const without = moduleOf([jobs], { reducers });
    const scheduled = { ...without, schedules: [schedule] };
    const text = 'schedule for table jobs calling reducer run_job';
    expect(entries(without, scheduled)).toEqual([`▸ Created ${text}`]);
    expect(entries(scheduled, without)).toEqual([`▸ Removed ${text}`]);
    expect(stepsBetween(without, scheduled).map(logLineOf)).toEqual([
      'Adding schedule for table `jobs`',
    ]);
    expect(stepsBetween(scheduled, without).map(logLineOf)).toEqual([
      'Removing schedule for table `jobs`',
    ]);
    const [cron] = cronModule.crons;
    const inUtc = { ...cronModule, crons: cron ? [{ ...cron, timeZone: undefined }] : [] };
    expect(entries(cronModule, inUtc)).toEqual([
      '▸ Removed cron nightly (0 3 * * *, Europe/Berlin)',
      '▸ Created cron nightly (0 3 * * *, UTC)',
    ]);
    expect(stepsBetween(cronModule, inUtc).map(logLineOf)).toEqual([
      'Removing cron `nightly`',
      'Adding cron `nightly`',
    ]);
  });

  it('tells of event tables', () => {
    const before = moduleOf([{ ...base, isEvent: true }]);
    const after = moduleOf([{ name: 't', columns: { a: text }, isEvent: true }]);
    expect(entries(before, after)[0]).toBe('▸ Changed schema of event table t');
    expect(stepsBetween(before, after).map(logLineOf)[0]).toBe(
      'Changing schema of event table `t`',
    );
  });

  it('has colours on demand', () => {
    const warning = '!!! Warning: All clients will be disconnected due to breaking schema changes';
    const colourful = planText(stepsBetween(moduleOf([base]), moduleOf([])), 'ansi');
    expect(colourful.split('\n').slice(3)).toEqual([
      '',
      '▸ \u001b[31mRemoved\u001b[0m table: \u001b[36mt\u001b[0m',
      `\u001b[37;41m${warning}\u001b[0m`,
      '',
    ]);
    expect(colourful.startsWith(`\u001b[34m${rule}\u001b[0m\n`)).toBe(true);
  });
});

describe('log lines', () => {
  const lines = (old: RawModule, next: RawModule) => stepsBetween(old, next).map(logLineOf);

  it('tell of tables and clients', () => {
    const other = moduleOf([{ ...base, name: 'u' }]);
    expect(lines(moduleOf([base]), other)).toEqual([
      'Dropping table `t`',
      'Creating table `u`',
      'Disconnecting all users',
    ]);
  });

  it('tell of parts of tables', () => {
    const before = moduleOf([{ ...base, unique: [['a']], autoInc: ['a'] }]);
    const after = moduleOf([{ ...base, primaryKey: 'theB', access: 'private' }]);
    expect(lines(before, after)).toEqual([
      'Dropping index `t_a_idx_btree` on table `t`',
      'Dropping constraint `t_a_key` on table `t`',
      'Dropping sequence `t_a_seq` from table `t`',
      'Creating index `t_the_b_idx_btree` on table `t`',
      'Adding constraint `t_the_b_key` on table `t`',
      undefined,
      'Changing primary key for table `t`',
    ]);
    expect(lines(after, before)).toContain('Adding sequence `t_a_seq` to table `t`');
  });

  it('tell of columns', () => {
    const columns = { ...base.columns, c: u32 };
    const defaults = { c: Uint8Array.of(5, 0, 0, 0) };
    const after = moduleOf([{ ...base, columns, defaults }]);
    expect(lines(moduleOf([base]), after)[0]).toBe('Changing columns of table `t`');
  });
});

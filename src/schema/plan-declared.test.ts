import { describe, expect, it } from 'vitest';
import { migrated, migration } from '../../test/schema/migration-builder.ts';
import {
  moduleOf,
  type TableSketch,
  text,
  u8,
  u32,
  u64,
} from '../../test/schema/module-builder.ts';
import { limits } from '../limits.ts';
import { catalogOf } from './build-catalog.ts';
import { catalogOfStage } from './catalog-of-stage.ts';
import type { DeclaredPlan } from './declared-plan.ts';
import type { DeclaredStep } from './declared-step.ts';
import { goneMigrationsText, planBack, planDeclared } from './plan-declared.ts';
import type { RawModule } from './raw-module.ts';
import { validateModule } from './validate.ts';

const user: TableSketch = {
  name: 'userRow',
  columns: { id: u64, fullName: text, age: u8 },
  primaryKey: 'id',
  autoInc: ['id'],
  indexes: [{ columns: ['fullName'] }],
};
const log: TableSketch = { name: 'log', columns: { line: text } };
const base = moduleOf([user, log]);

const rename = (from: string, to: string): DeclaredStep => ({ kind: 'renameTable', from, to });
const about = (
  kind: 'dropColumn' | 'addColumn' | 'changeColumn',
  table: string,
  column: string,
) => {
  return { kind, table, column } as const satisfies DeclaredStep;
};

/** The plan of one migration from `old` to `next`. */
function plan(old: RawModule, next: RawModule, steps: readonly DeclaredStep[]) {
  const program = migrated(next, { before: old, steps });
  return planDeclared(validateModule(old), validateModule(program), []);
}

function declared(old: RawModule, next: RawModule, steps: readonly DeclaredStep[]): DeclaredPlan {
  const result = plan(old, next, steps);
  if (result.kind !== 'declared') throw new Error(JSON.stringify(result));
  return result;
}

function refused(old: RawModule, next: RawModule, steps: readonly DeclaredStep[]): string {
  const result = plan(old, next, steps);
  return result.kind === 'manual' ? result.reason : JSON.stringify(result.kind);
}

const entries = ({ text: shown }: { readonly text: string }) => shown.split('\n').slice(4, -1);

describe('[living 5.2] declared steps', () => {
  it('rename tables and columns, whose rows, ids, indexes and sequences stay', () => {
    const person = { ...user, name: 'person', columns: { id: u64, name: text, age: u8 } };
    const next = moduleOf([{ ...person, indexes: [{ columns: ['name'] }] }, log]);
    const steps = [
      rename('userRow', 'person'),
      { kind: 'renameColumn', table: 'person', from: 'fullName', to: 'name' } as const,
    ];
    const result = declared(base, next, steps);
    expect(result.stages).toHaveLength(1);
    const [stage] = result.stages;
    expect(stage?.tables).toEqual([
      { kind: 'keep', before: 'log', after: 'log' },
      { kind: 'keep', before: 'user_row', after: 'person' },
    ]);
    expect(result.breaksClients).toBe(true);
    expect(entries(result)).toEqual([
      '▸ Migration 0001-first',
      '▸ Renamed table userRow to person',
      '▸ Renamed column fullName to name in table person',
      '!!! Warning: All clients will be disconnected due to breaking schema changes',
    ]);
    const before = catalogOf(validateModule(base));
    const after = stage === undefined ? before : catalogOfStage(stage, before);
    const old = before.tables.find(({ name }) => name === 'user_row');
    const renamed = after.tables.find(({ name }) => name === 'person');
    expect(renamed?.id).toBe(old?.id);
    expect(renamed?.sequences.map(({ id }) => id)).toEqual(old?.sequences.map(({ id }) => id));
    expect(renamed?.indexes.map(({ id }) => id).sort()).toEqual(
      old?.indexes.map(({ id }) => id).sort(),
    );
    expect(renamed?.indexes.map(({ name }) => name)).toContain('person_name_idx_btree');
    expect(after.nextId).toBe(before.nextId);
  });

  it('rewrite rows where columns are added, changed, dropped or moved', () => {
    const columns = { age: text, id: u64, nick: text };
    const next = moduleOf([{ ...user, columns, indexes: [] }, log]);
    const result = declared(base, next, [
      about('dropColumn', 'userRow', 'fullName'),
      about('changeColumn', 'userRow', 'age'),
      about('addColumn', 'userRow', 'nick'),
      { kind: 'moveColumns', table: 'userRow', order: ['age', 'id', 'nick'] },
    ]);
    expect(result.stages[0]?.tables).toContainEqual({
      ...{ kind: 'rewrite', before: 'user_row' },
      ...{ after: 'user_row', into: ['user_row'] },
    });
    expect(entries(result)[1]).toBe(
      '▸ Rewrites rows of userRow: ~ age (U8 → String), + nick, - fullName, order age, id, nick',
    );
  });

  it('split, map and drop tables', () => {
    const next = moduleOf([
      { name: 'account', columns: { id: u64 } },
      { name: 'profile', columns: { name: text } },
    ]);
    const into = ['account', 'profile'];
    const result = declared(base, next, [
      { kind: 'splitTable', table: 'userRow', into, reads: false },
      { kind: 'dropTable', table: 'log' },
    ]);
    expect(result.stages[0]?.tables).toEqual([
      { kind: 'discard', before: 'log' },
      { kind: 'rewrite', before: 'user_row', after: undefined, into },
    ]);
    expect(entries(result).slice(1, 3)).toEqual([
      '▸ Removed table log with its rows',
      '▸ Splits rows of userRow into account, profile',
    ]);
    const same = declared(base, base, [{ kind: 'mapRows', table: 'userRow', reads: false }]);
    expect(same.stages[0]?.tables[1]).toMatchObject({ kind: 'rewrite', after: 'user_row' });
  });

  it('put whole steps into stages of their own', () => {
    const next = moduleOf([user, log, { name: 'total', columns: { n: u32 } }]);
    const result = declared(base, next, [
      { kind: 'run' },
      { kind: 'assert', text: 'all counted', sql: 'SELECT 1 = 1' },
    ]);
    expect(result.stages[0]?.whole).toEqual([
      { kind: 'run', step: 0, text: '', sql: undefined },
      { kind: 'assert', step: 1, text: 'all counted', sql: 'SELECT 1 = 1' },
    ]);
  });

  it.each([
    [[rename('usr', 'x')], 'names a table that the schema before it does not have: there is'],
    [[rename('userrow', 'x')], 'did you mean userRow?'],
    [[rename('userRow', 'log')], 'cannot call it log: a table of that name exists'],
    [[rename('userRow', 'person')], 'leads to a table person, which the schema after'],
    [[about('addColumn', 'userRow', 'age')], 'm.changeColumn gives it another type'],
    [[about('dropColumn', 'userRow', 'fulName')], 'did you mean fullName?'],
    [[about('addColumn', 'userRow', 'nick')], 'leads to a column nick, which table userRow'],
    [
      [about('dropColumn', 'userRow', 'age'), about('changeColumn', 'userRow', 'age')],
      'step 2 (m.changeColumn userRow.age) names a column that step 1 (m.dropColumn userRow.age)',
    ],
    [
      [about('changeColumn', 'userRow', 'age'), about('dropColumn', 'userRow', 'age')],
      'drops a column that step 1 (m.changeColumn userRow.age) makes',
    ],
    [
      [about('changeColumn', 'person', 'age'), rename('userRow', 'person')],
      'names table person before step 2 (m.renameTable userRow): swap them',
    ],
    [
      [rename('userRow', 'person'), about('changeColumn', 'userRow', 'age')],
      'names table userRow, which is called person by then',
    ],
    [
      [{ kind: 'run' } as const, about('changeColumn', 'userRow', 'age')],
      'comes after m.run, which sees whole tables: put it before',
    ],
    [
      [
        { kind: 'mapRows', table: 'userRow', reads: false } as const,
        about('changeColumn', 'userRow', 'age'),
      ],
      'which makes whole rows of userRow: leave it out',
    ],
    [
      [{ kind: 'moveColumns', table: 'userRow', order: ['id', 'age'] } as const],
      'leaves out column fullName: list all',
    ],
    [
      [{ kind: 'splitTable', table: 'userRow', into: ['log'], reads: false } as const],
      'cannot split into log, which exists',
    ],
  ] as const)('are refused where they are wrong: %j', (steps, words) => {
    const reason = refused(base, base, steps);
    expect(reason).toContain('migration 0001-first: step ');
    expect(reason).toContain(words);
  });
});

describe('[living 5.5] what steps leave different', () => {
  it('goes through the automatic plan', () => {
    const next = moduleOf([
      { ...user, name: 'person', columns: { ...user.columns, rank: u8 }, defaults: { rank: zero } },
      { name: 'extra', columns: { a: u8 } },
    ]);
    const result = declared(base, next, [rename('userRow', 'person')]);
    expect(result.stages[0]?.tables).toEqual([
      { kind: 'remove', before: 'log' },
      { kind: 'keep', before: 'user_row', after: 'person' },
    ]);
    expect(result.stages[0]?.automatic.map(({ kind }) => kind)).toEqual([
      'removeTable',
      'addColumns',
      'addTable',
      'disconnectClients',
    ]);
  });

  it('is refused with the step that does it', () => {
    const next = moduleOf([{ ...user, columns: { id: u64, fullName: text, age: u32 } }]);
    expect(refused(base, next, [{ kind: 'dropTable', table: 'log' }])).toBe(
      'Changing the type of column age in table user_row from U8 to U32 requires a manual ' +
        'migration\nDeclare it in a migration, which `reducerdb migrate new` writes: ' +
        "m.changeColumn('userRow', 'age', { using: (old) => … })",
    );
  });
});

const zero = new Uint8Array(1);

describe('[living 5.3] the migrations of a program', () => {
  const one = moduleOf([{ name: 'a', columns: { x: u8 } }]);
  const two = moduleOf([{ name: 'b', columns: { x: u8 } }]);
  const three = moduleOf([{ name: 'c', columns: { x: u8 } }]);
  const first = { id: '0001-first', before: one, steps: [rename('a', 'b')] };
  const second = { id: '0002-second', before: two, steps: [rename('b', 'c')] };
  const applied = (...sketches: (typeof first)[]) => sketches.map((sketch) => migration(sketch));
  const planned = (old: RawModule, next: RawModule, done: (typeof first)[]) =>
    planDeclared(validateModule(old), validateModule(next), applied(...done));

  it('are applied in their order, those that are not yet', () => {
    const program = migrated(three, first, second);
    const both = planned(one, program, []);
    expect(both).toMatchObject({ kind: 'declared', added: [{ id: first.id }, { id: second.id }] });
    expect(both).toMatchObject({
      stages: [{ first: 0, last: 1, tables: [{ kind: 'keep', before: 'a', after: 'c' }] }],
    });
    const rest = planned(two, program, [first]);
    expect(rest).toMatchObject({ added: [{ id: second.id }], stages: [{ first: 1, last: 1 }] });
    expect(planned(three, program, [first, second])).toMatchObject({
      kind: 'automatic',
      steps: [],
    });
  });

  it('may lack the oldest ones', () => {
    expect(planned(two, migrated(three, second), [first])).toMatchObject({ kind: 'declared' });
    expect(planned(three, three, [first, second])).toMatchObject({ kind: 'automatic' });
  });

  it('[living 5.3] names applied ones that the program which runs has, and the next lacks', () => {
    const [has, lacks] = [migrated(three, first, second), migrated(three, second)];
    const text = (old: RawModule, next: RawModule, ...done: (typeof first)[]) =>
      goneMigrationsText(validateModule(old), validateModule(next), applied(...done));
    expect(text(has, lacks, first, second)).toMatch(/applied: 0001-first\. Its rows stay/);
    expect(text(has, three, first, second)).toContain('applied: 0001-first, 0002-second. ');
    expect(text(has, has, first, second)).toBeUndefined();
    // The one who deleted the files was told so once.
    expect(text(lacks, lacks, first, second)).toBeUndefined();
  });

  it.each([
    [
      'edited after it was applied',
      two,
      migrated(three, { ...first, steps: [] }, second),
      [first],
      'migration 0001-first was edited after it was applied to this database: put its file back',
    ],
    [
      'without one that was applied',
      three,
      migrated(three, first),
      [first, second],
      'the program lacks it: put migrations/0002-second.ts and its schema file back',
    ],
    [
      'with one before those applied',
      three,
      migrated(three, first, second),
      [second],
      'migration 0001-first comes before 0002-second, which is applied to this database: give it',
    ],
    [
      'from another schema',
      one,
      migrated(three, second),
      [],
      'another schema than the database has: it has no table b; it has a table a. Publish',
    ],
  ])('are refused %s', (_, old, program, done, words) => {
    const result = planned(old, program, done);
    expect(result).toMatchObject({ kind: 'manual', reason: expect.stringContaining(words) });
  });

  it('are checked as they stand', () => {
    const problems = (raw: RawModule) => {
      try {
        validateModule(raw);
        return '';
      } catch (error) {
        return String(error);
      }
    };
    const named = (id: string) => migrated(two, { ...first, id });
    expect(problems(named('first'))).toContain('migration `first` has no valid id: four digits');
    expect(problems(migrated(two, second, first))).toContain('is before it by its name');
    expect(problems(migrated(two, first, first))).toContain('`0001-first` is declared twice');
    const bad = { ...migration(first), before: new Uint8Array(3) };
    expect(problems({ ...two, migrations: [bad] })).toContain(
      'starts from a definition that is not',
    );
    const short = { ...migration(first), hash: new Uint8Array(3) };
    expect(problems({ ...two, migrations: [short] })).toContain('a hash of 3 bytes, not 32');
    const { migrationCountMax, migrationStepsMax, migrationDefinitionBytesMax } = limits;
    const many = Array.from({ length: migrationCountMax + 1 }, () => migration(first));
    expect(problems({ ...two, migrations: many })).toContain('has 1001 migrations, more than 1000');
    const long = {
      ...migration(first),
      steps: new Array(migrationStepsMax + 1).fill({ kind: 'run' }),
    };
    expect(problems({ ...two, migrations: [long] })).toContain('has more than 1000 steps');
    const full = { ...migration(first), steps: long.steps.slice(1), down: long.steps.slice(1) };
    expect(problems({ ...two, migrations: new Array(11).fill(full) })).toContain(
      'the migrations have 22000 steps in all, more than 20000',
    );
    const large = { ...migration(first), before: new Uint8Array(migrationDefinitionBytesMax + 1) };
    expect(problems({ ...two, migrations: [large] })).toContain('a definition larger than 4194304');
    const inner = moduleOf([], { submodules: [{ namespace: 'old', module: one }] });
    expect(problems({ ...inner, migrations: [migration(first)] })).toContain('submodule `old`');
  });

  it('that read or are whole begin a stage', () => {
    const reads = { kind: 'mapRows', table: 'b', reads: true } as const;
    const pure = { kind: 'mapRows', table: 'b', reads: false } as const;
    const run = { kind: 'run' } as const;
    const stagesOf = (...steps: DeclaredStep[]) => {
      const program = migrated(
        two,
        first,
        ...steps.map((step, at) => ({ id: `000${at + 2}-x`, before: two, steps: [step] })),
      );
      const result = planned(one, program, []);
      return result.kind === 'declared'
        ? result.stages.map((one) => [one.first, one.last])
        : result;
    };
    expect(stagesOf(pure, pure)).toEqual([[0, 2]]);
    expect(stagesOf(reads, pure)).toEqual([
      [0, 0],
      [1, 2],
    ]);
    expect(stagesOf(pure, run, pure)).toEqual([
      [0, 1],
      [2, 2],
      [3, 3],
    ]);
  });

  it('lead back by their `down` steps', () => {
    const down = [rename('c', 'b')];
    const program = validateModule(migrated(three, first, { ...second, down }));
    const back = planBack(program, validateModule(migrated(two, first)), applied(first, second));
    expect(back).toMatchObject({
      kind: 'declared',
      removed: [second.id],
      stages: [
        { direction: 'down', first: 1, tables: [{ kind: 'keep', before: 'c', after: 'b' }] },
      ],
    });
    const none = validateModule(migrated(three, first, second));
    expect(planBack(none, validateModule(migrated(two, first)), applied(first, second))).toEqual({
      kind: 'manual',
      reason: 'migration 0002-second cannot be undone: it declares no `down` steps',
    });
  });

  it('[living 5.11] lead back past files that both programs have deleted', () => {
    const down = [rename('c', 'b')];
    const program = validateModule(migrated(three, { ...second, down }));
    const all = applied(first, second);
    expect(planBack(program, validateModule(two), all)).toMatchObject({
      kind: 'declared',
      removed: [second.id],
    });
    // Code alone is another, and neither has any file.
    expect(planBack(validateModule(three), validateModule(three), all)).toMatchObject({
      kind: 'automatic',
    });
    // A program from before what was deleted is none that the steps lead to.
    expect(planBack(program, validateModule(one), all)).toMatchObject({
      kind: 'manual',
      reason: expect.stringContaining('cannot be undone'),
    });
  });
});

import { describe, expect, it } from 'vitest';
import {
  moduleOf,
  named,
  problemsOf,
  reducer,
  ref,
  type TableSketch,
  text,
  u8,
  u32,
  u64,
} from '../../test/schema/module-builder.ts';
import { limits } from '../limits.ts';
import { product, scheduleAtType, sum, unitType } from '../values/special-types.ts';
import type { AlgebraicType } from '../values/type.ts';
import type { RawModule, RawTable } from './raw-module.ts';
import { validateModule } from './validate.ts';

const plain: TableSketch = { name: 't', columns: { a: u32, b: text } };

/** A module with the table `plain`, some parts of which are replaced. */
function withTable(parts: Partial<RawTable>, sketch = plain): RawModule {
  const raw = moduleOf([sketch]);
  return { ...raw, tables: raw.tables.map((table) => ({ ...table, ...parts })) };
}

const constraintOn = (...columns: number[]) => ({ sourceName: undefined, columns });

describe('tables', () => {
  it('point at a product of the typespace', () => {
    const raw = withTable({ rowTypeRef: 7 });
    expect(problemsOf(raw)).toEqual(['Table t has invalid product_type_ref 7']);
    const enumType = moduleOf([], { typespace: { types: [sum(['A', unitType])] } });
    const tables = raw.tables.map((table) => ({ ...table, rowTypeRef: 0 }));
    expect(problemsOf({ ...enumType, tables })).toEqual(['Table t has invalid product_type_ref 0']);
  });

  it('name every column', () => {
    const row: AlgebraicType = {
      kind: 'product',
      elements: [
        { name: 'a', type: u32 },
        { name: undefined, type: u32 },
      ],
    };
    expect(problemsOf({ ...withTable({}), typespace: { types: [row] } })).toContain(
      'table `t` has unnamed column `1`, which is forbidden.',
    );
  });

  it('have a bounded number of columns', () => {
    const columns = (count: number) => {
      return Object.fromEntries(Array.from({ length: count }, (_, index) => [`c${index}`, u8]));
    };
    const max = limits.columnCountMax;
    expect(problemsOf(moduleOf([{ name: 't', columns: columns(max) }]))).toEqual([]);
    expect(problemsOf(moduleOf([{ name: 't', columns: columns(max + 1) }]))).toEqual([
      `table \`t\` has ${max + 1} columns, more than ${max}`,
    ]);
  });

  it.each([
    ['st_mine', 'user', 1],
    ['stMine', 'user', 1],
    ['st_mine', 'system', 0],
    ['st_client', 'system', 1],
    ['strange', 'user', 0],
  ] as const)('named %s of type %s have %i problems', (name, tableType, count) => {
    const raw = withTable({ tableType, sourceName: name });
    expect(problemsOf(raw)).toHaveLength(count);
  });

  it('are sorted by canonical name', () => {
    const raw = moduleOf([
      { name: 'zebra', columns: { a: u32 } },
      { name: 'antHill', columns: { a: u32 } },
    ]);
    expect(validateModule(raw).tables.map(({ name }) => name)).toEqual(['ant_hill', 'zebra']);
  });
});

describe('indexes, constraints and sequences', () => {
  it('point at columns that exist', () => {
    const indexes = [
      { sourceName: 'i', accessorName: undefined, algorithm: 'btree' as const, columns: [5] },
    ];
    const raw = withTable({ indexes, constraints: [constraintOn(5)] });
    expect(problemsOf(raw)).toEqual([
      'column `5` referenced by def t_col_5_idx_btree not found in table `t`',
      'column `5` referenced by def t_col_5_key not found in table `t`',
    ]);
    const defaults = withTable({ defaultValues: [{ column: 9, value: new Uint8Array() }] });
    expect(problemsOf(defaults)).toEqual([
      'column `9` referenced by def default value not found in table `t`',
    ]);
  });

  it('name no column twice, and at least one', () => {
    const index = { ...plain, indexes: [{ columns: ['a', 'a'] }] };
    expect(problemsOf(moduleOf([index]))).toEqual([
      'def `t_a_a_idx_btree` has duplicate columns: [a, a]',
    ]);
    expect(problemsOf(moduleOf([{ ...plain, unique: [[]] }]))).toEqual([
      'def `t_idx_btree` has no columns',
      'def `t_key` has no columns',
    ]);
  });

  it('need a source name when they are indexes of version 10', () => {
    const unnamed = {
      sourceName: undefined,
      accessorName: undefined,
      algorithm: 'hash' as const,
      columns: [0],
    };
    const raw = withTable({ indexes: [unnamed] });
    expect(problemsOf(raw)).toEqual(['index `t_a_idx_hash` of table `t` has no source name']);
    expect(validateModule({ ...raw, version: 9 }).tables[0]?.indexes[0]?.name).toBe('t_a_idx_hash');
  });

  it('have names made from canonical ones, in version 10', () => {
    const raw = moduleOf([
      {
        name: 'myTable',
        columns: { theKey: u64, other: text },
        primaryKey: 'theKey',
        autoInc: ['theKey'],
        unique: [['other', 'theKey']],
      },
    ]);
    const named = raw.tables.map((table) => ({
      ...table,
      constraints: table.constraints.map((constraint) => ({ ...constraint, sourceName: 'mine' })),
    }));
    const [table] = validateModule({ ...raw, tables: named }).tables;
    expect(table?.indexes.map(({ name, sourceName }) => [name, sourceName])).toEqual([
      ['my_table_other_the_key_idx_btree', 'myTable_other_theKey_idx_btree'],
      ['my_table_the_key_idx_btree', 'myTable_theKey_idx_btree'],
    ]);
    expect(table?.constraints.map(({ name }) => name)).toEqual([
      'my_table_other_the_key_key',
      'my_table_the_key_key',
    ]);
    expect(table?.sequences.map(({ name }) => name)).toEqual(['my_table_the_key_seq']);
  });

  it('[module-def 4] keep given names: all of version 9, some of version 10', () => {
    const raw = withTable(
      {
        constraints: [{ sourceName: 'my_constraint', columns: [0] }],
        sequences: [
          {
            sourceName: 'my_sequence',
            column: 0,
            start: undefined,
            minValue: undefined,
            maxValue: undefined,
            increment: 1n,
          },
        ],
        indexes: [{ sourceName: 'my_index', accessorName: 'a', algorithm: 'btree', columns: [0] }],
      },
      plain,
    );
    const namesOf = (module: RawModule) => {
      const [table] = validateModule(module).tables;
      return [table?.constraints[0]?.name, table?.sequences[0]?.name, table?.indexes[0]?.name];
    };
    const explicitNames = [
      { kind: 'index', sourceName: 'my_index', canonicalName: 'Best' },
    ] as const;
    expect(namesOf({ ...raw, version: 9 })).toEqual(['my_constraint', 'my_sequence', 'my_index']);
    expect(namesOf({ ...raw, explicitNames })).toEqual(['t_a_key', 'my_sequence', 'Best']);
  });

  it('make an index unique when a constraint covers the same set of columns', () => {
    const raw = moduleOf([
      {
        ...plain,
        unique: [['a', 'b']],
        indexes: [{ columns: ['b', 'a'] }, { columns: ['a'] }],
      },
    ]);
    const [table] = validateModule(raw).tables;
    expect(table?.indexes.map(({ name, isUnique }) => [name, isUnique])).toEqual([
      ['t_a_b_idx_btree', true],
      ['t_a_idx_btree', false],
      ['t_b_a_idx_btree', true],
    ]);
  });
});

describe('primary keys', () => {
  it('have one column', () => {
    const raw = withTable({ primaryKey: [0, 1] }, { ...plain, unique: [['a'], ['b']] });
    expect(problemsOf(raw)).toEqual(['table `t` has multiple primary key annotations']);
  });

  it('have a unique constraint on that column alone', () => {
    const raw = withTable({ primaryKey: [0] }, { ...plain, unique: [['a', 'b']] });
    expect(problemsOf(raw)).toEqual([
      'table `t` column `a` is primary key but has no unique constraint',
    ]);
  });

  it('exist', () => {
    expect(problemsOf(withTable({ primaryKey: [9] }))).toEqual([
      'column `9` referenced by def primary key not found in table `t`',
    ]);
  });
});

describe('unique constraints', () => {
  it('need an index over the same set of columns', () => {
    const raw = withTable({ constraints: [constraintOn(1, 0)] });
    expect(problemsOf(raw)).toEqual([
      'No index found to support unique constraint `t_b_a_key` for columns `{b, a}`',
    ]);
    const indexed = { ...plain, indexes: [{ columns: ['a', 'b'], algorithm: 'hash' as const }] };
    expect(problemsOf(withTable({ constraints: [constraintOn(1, 0)] }, indexed))).toEqual([]);
  });
});

describe('direct indexes', () => {
  const payloadFree = sum(['A', unitType], ['B', unitType]);

  it.each([
    ['u8', u8, 0],
    ['u16', { kind: 'u16' }, 0],
    ['u32', u32, 0],
    ['u64', u64, 0],
    ['a payload-free enum', ref(1), 0],
    ['i32', { kind: 'i32' }, 1],
    ['u128', { kind: 'u128' }, 1],
    ['string', text, 1],
    ['an enum with payloads', ref(2), 1],
  ] as [string, AlgebraicType, number][])('on %s have %#', (_, type, count) => {
    const sketch: TableSketch = {
      name: 't',
      columns: { a: type },
      indexes: [{ columns: ['a'], algorithm: 'direct' }],
    };
    const raw = moduleOf([sketch], {
      typespace: { types: [payloadFree, sum(['A', u32])] },
      types: [named('Free', 1), named('Full', 2)],
    });
    expect(problemsOf(raw)).toHaveLength(count);
  });

  it('on another type are refused in these words', () => {
    const index = { columns: ['b'], algorithm: 'direct' as const };
    expect(problemsOf(moduleOf([{ ...plain, indexes: [index] }]))).toEqual([
      'Direct index does not support type `String` in column `b` in index `t_b_idx_direct`',
    ]);
  });
});

describe('sequences', () => {
  const integers = ['i8', 'u8', 'i16', 'u16', 'i32', 'u32', 'i64', 'u64'] as const;
  const wide = ['i128', 'u128', 'i256', 'u256'] as const;

  it.each([...integers, ...wide])('count in columns of %s', (kind) => {
    const raw = moduleOf([{ name: 't', columns: { a: { kind } }, autoInc: ['a'] }]);
    expect(problemsOf(raw)).toEqual([]);
  });

  it('do not count in others', () => {
    expect(problemsOf(moduleOf([{ ...plain, autoInc: ['b'] }]))).toEqual([
      'invalid sequence column type: table `t` column `b` with type `String` in sequence `t_b_seq`',
    ]);
  });

  it('are one to a column', () => {
    const raw = moduleOf([{ ...plain, autoInc: ['a', 'a'] }]);
    expect(problemsOf(raw)).toContain(
      'Attempt to define table `t` column `a` with more than 1 auto_inc sequence',
    );
  });

  it.each([
    [1n, undefined, undefined, 0],
    [1n, 1n, 1n, 0],
    [undefined, 5n, 4n, 1],
    [0n, 1n, undefined, 1],
    [9n, undefined, 8n, 1],
    [5n, undefined, undefined, 0],
  ])('with start %s, min %s and max %s have %i problems', (start, minValue, maxValue, count) => {
    const sequence = { sourceName: undefined, column: 0, start, minValue, maxValue, increment: 1n };
    const problems = problemsOf(withTable({ sequences: [sequence] }));
    const text =
      'invalid sequence range information: expected MIN <= START <= MAX in sequence `t_a_seq`';
    expect(problems).toEqual(count === 0 ? [] : [text]);
  });
});

describe('default values', () => {
  const value = (...bytes: number[]) => Uint8Array.from(bytes);

  it('decode at the type of their column', () => {
    const good = moduleOf([{ ...plain, defaults: { a: value(1, 0, 0, 0) } }]);
    expect(validateModule(good).tables[0]?.columns[0]?.defaultBytes).toEqual(value(1, 0, 0, 0));
    const short = moduleOf([{ ...plain, defaults: { a: value(1) } }]);
    expect(problemsOf(short)).toEqual([
      'Failed to deserialize default value for table t column a: ' +
        'data too short for u32: Expected 4, given 1',
    ]);
    const long = moduleOf([{ ...plain, defaults: { a: value(1, 0, 0, 0, 9) } }]);
    expect(problemsOf(long)[0]).toContain('1 bytes left over');
  });

  it('[module-def 3, 4] override each other in version 10, exclude each other in version 9', () => {
    const defaultValues = [
      { column: 0, value: value(1, 0, 0, 0) },
      { column: 0, value: value(2, 0, 0, 0) },
    ];
    const raw = withTable({ defaultValues });
    const [table] = validateModule(raw).tables;
    expect(table?.columns[0]?.defaultBytes).toEqual(value(2, 0, 0, 0));
    expect(problemsOf({ ...raw, version: 9 })).toEqual([
      'Multiple default values for table t column a',
    ]);
  });
});

describe('schedules', () => {
  const jobs: TableSketch = {
    name: 'jobs',
    columns: { theId: u64, theTime: scheduleAtType, note: text },
    primaryKey: 'theId',
    autoInc: ['theId'],
  };
  const schedule = {
    sourceName: 'ignored',
    tableName: 'jobs',
    atColumn: 1,
    functionName: 'runJob',
  };
  const parts = { reducers: [reducer('runJob', { job: ref(0) })], schedules: [schedule] };

  it('bind a table to a reducer, which becomes private', () => {
    const definition = validateModule(moduleOf([jobs], parts));
    expect(definition.tables[0]?.schedule).toEqual({
      name: 'jobs_sched',
      atColumn: 1,
      functionName: 'run_job',
      target: 'reducer',
      delivery: undefined,
      policy: { catchUp: 'skip', retry: undefined },
    });
    expect(definition.reducers[0]?.visibility).toBe('private');
  });

  it('[abi 13.1] bind to a procedure when there is no such reducer', () => {
    const { sourceName, params } = reducer('runJob', { job: ref(0) });
    const visibility = 'clientCallable' as const;
    const procedures = [{ sourceName, params, visibility, returnType: unitType }];
    const definition = validateModule(moduleOf([jobs], { schedules: [schedule], procedures }));
    expect(definition.procedures[0]?.visibility).toBe('private');
    expect(definition.tables[0]?.schedule?.target).toBe('procedure');
  });

  it('keep their name and leave functions callable in version 9', () => {
    const raw = { ...moduleOf([jobs], parts), version: 9, caseConversion: 'none' } as const;
    const definition = validateModule(raw);
    expect(definition.tables[0]?.schedule?.name).toBe('ignored');
    expect(definition.reducers[0]?.visibility).toBe('clientCallable');
  });

  const shape =
    'A scheduled table must have columns `scheduled_id: u64` and `scheduled_at: ScheduledAt`, ' +
    'but table `jobs` has columns [';

  it.each([
    [
      'a table that does not exist',
      { schedules: [{ ...schedule, tableName: 'x' }] },
      'Table x not found',
    ],
    [
      'a function that does not exist',
      { reducers: [] },
      'Schedule jobs_sched refers to a scheduled reducer or procedure runJob that does not exist',
    ],
    [
      'a function without the row',
      { reducers: [reducer('runJob', { job: u32 })] },
      'Scheduled reducer runJob expected to have type (0: &0), but has type (job: U32)',
    ],
    [
      'a function with more than the row',
      { reducers: [reducer('runJob', { job: ref(0), x: u8 })] },
      'Scheduled reducer runJob expected to have type (0: &0), but has type (job: &0, x: U8)',
    ],
    [
      'two schedules',
      { schedules: [schedule, schedule] },
      'table jobs is assigned in multiple schedules',
    ],
    ['a column of another type', { schedules: [{ ...schedule, atColumn: 2 }] }, shape],
    ['a column that does not exist', { schedules: [{ ...schedule, atColumn: 9 }] }, shape],
  ])('refuse %s', (_, changes, message) => {
    const problems = problemsOf(moduleOf([jobs], { ...parts, ...changes }));
    expect(problems).toHaveLength(1);
    expect(problems[0]?.startsWith(message)).toBe(true);
  });

  it.each([
    ['no primary key', { name: 'jobs', columns: jobs.columns }],
    ['a primary key of another type', { ...jobs, columns: { ...jobs.columns, theId: u32 } }],
  ])('refuse a table with %s', (_, sketch) => {
    const problems = problemsOf(moduleOf([sketch], parts));
    expect(problems).toHaveLength(1);
    expect(problems[0]?.startsWith(shape)).toBe(true);
  });
});

describe('row types that have no name', () => {
  it('are checked column by column', () => {
    const raw = { ...moduleOf([{ name: 't', columns: { a: product(['x', u8]) } }]), types: [] };
    expect(problemsOf(raw)).toEqual([
      'error at table `t` column `a`: internal codegen error: ' +
        'non-special product or sum type (x: U8) cannot be used to generate a client type use',
    ]);
  });
});

import { describe, expect, it } from 'vitest';
import {
  cronModule,
  moduleOf,
  named,
  personModule,
  reducer,
  ref,
  type TableSketch,
  text,
  u8,
  u32,
  u64,
} from '../../test/schema/module-builder.ts';
import { optionType, product, scheduleAtType, sum, unitType } from '../values/special-types.ts';
import type { AlgebraicType } from '../values/type.ts';
import { catalogOf } from './build-catalog.ts';
import {
  addedDefaults,
  declareWords,
  type MigrationPlan,
  planMigration,
} from './migration-plan.ts';
import type { RawCron, RawModule } from './raw-module.ts';
import { validateModule } from './validate.ts';

function plan(old: RawModule, next: RawModule): MigrationPlan {
  return planMigration(validateModule(old), validateModule(next));
}

/** Kinds of the steps of a plan that must be automatic, and whether it breaks clients. */
function steps(old: RawModule, next: RawModule) {
  const result = plan(old, next);
  if (result.kind === 'manual') throw new Error(result.reason);
  return { kinds: result.steps.map(({ kind }) => kind), breaksClients: result.breaksClients };
}

/** Lines of the reason of a plan that must be manual. */
function reasons(old: RawModule, next: RawModule): string[] {
  const result = plan(old, next);
  if (result.kind !== 'manual') return [];
  return result.reason.split('\n').filter((line) => !line.startsWith(declareWords));
}

/** The steps of a migration that a refusal names. */
function calls(old: RawModule, next: RawModule): string {
  const result = plan(old, next);
  const line = result.kind === 'manual' ? result.reason.split('\n').at(-1) : undefined;
  return line?.startsWith(declareWords) === true ? line.slice(declareWords.length + 1) : '';
}

const base: TableSketch = { name: 't', columns: { a: u32, b: text } };
const silent = (...kinds: string[]) => ({ kinds, breaksClients: false });
const breaking = (...kinds: string[]) => ({
  kinds: [...kinds, 'disconnectClients'],
  breaksClients: true,
});

function table(changes: Partial<TableSketch>): RawModule {
  return moduleOf([{ ...base, ...changes }]);
}

describe('changes that clients do not notice', () => {
  it('nothing changed: no step', () => {
    expect(steps(personModule, personModule)).toEqual(silent());
  });

  it('reducers, procedures, handlers and pure types are not compared', () => {
    const next = moduleOf([base], {
      reducers: [reducer('r')],
      httpHandlers: ['h'],
      typespace: { types: [unitType] },
      types: [named('T', 1)],
    });
    expect(steps(table({}), next)).toEqual(silent());
  });

  it('defaults of existing columns are not compared', () => {
    const defaults = { a: Uint8Array.of(1, 0, 0, 0) };
    expect(steps(table({}), table({ defaults }))).toEqual(silent());
  });

  it('the place of a row type in the typespace does not matter', () => {
    const point = product(['x', u32]);
    const before = moduleOf([{ name: 't', columns: { at: ref(1) } }], {
      typespace: { types: [point] },
      types: [named('Point', 1)],
    });
    const after = moduleOf([{ name: 't', columns: { at: ref(2) } }], {
      typespace: { types: [unitType, point] },
      types: [named('Point', 2)],
    });
    expect(steps(before, after)).toEqual(silent());
  });

  it.each([
    [
      'a table',
      moduleOf([base]),
      moduleOf([base, { name: 'u', columns: { a: u8 } }]),
      ['addTable'],
    ],
    ['an index', table({}), table({ indexes: [{ columns: ['a'] }] }), ['addIndex']],
    [
      'a unique constraint',
      table({ indexes: [{ columns: ['a'] }] }),
      table({ unique: [['a']] }),
      ['addConstraint'],
    ],
    ['a unique column', table({}), table({ unique: [['a']] }), ['addIndex', 'addConstraint']],
    ['a sequence', table({}), table({ autoInc: ['a'] }), ['addSequence']],
  ])('add %s', (_, old, next, kinds) => {
    expect(steps(old, next)).toEqual(silent(...kinds));
  });

  it.each([
    ['an index', table({ indexes: [{ columns: ['a'] }] }), ['removeIndex']],
    ['a unique column', table({ unique: [['a']] }), ['removeIndex', 'removeConstraint']],
    ['a sequence', table({ autoInc: ['a'] }), ['removeSequence']],
  ])('remove %s', (_, old, kinds) => {
    expect(steps(old, table({}))).toEqual(silent(...kinds));
  });

  it('a changed index or sequence is removed and added', () => {
    const named = [{ kind: 'index', sourceName: 'i', canonicalName: 'same' }] as const;
    const withIndex = (columns: string[], algorithm: 'btree' | 'hash') => {
      const indexes = [{ columns, algorithm, sourceName: 'i' }];
      return moduleOf([{ ...base, indexes }], { explicitNames: named });
    };
    const before = withIndex(['a'], 'btree');
    const swap = silent('removeIndex', 'addIndex');
    expect(steps(before, withIndex(['a'], 'hash'))).toEqual(swap);
    expect(steps(before, withIndex(['b'], 'btree'))).toEqual(swap);
    const raw = table({ autoInc: ['a'] });
    const tables = raw.tables.map((item) => ({
      ...item,
      sequences: item.sequences.map((sequence) => ({ ...sequence, increment: 2n })),
    }));
    expect(steps(raw, { ...raw, tables })).toEqual(silent('removeSequence', 'addSequence'));
  });

  it('primary keys come, go and move', () => {
    const unique = [['a'], ['b']];
    const none = table({ unique });
    const onA = table({ unique: [['b']], primaryKey: 'a' });
    const onB = table({ unique: [['a']], primaryKey: 'b' });
    for (const [old, next] of [
      [none, onA],
      [onA, none],
      [onA, onB],
    ] as const) {
      expect(steps(old, next)).toEqual(silent('changePrimaryKey'));
    }
  });

  it('access', () => {
    expect(steps(table({}), table({ access: 'private' }))).toEqual(silent('changeAccess'));
  });

  it('source names of tables, columns and indexes', () => {
    const before = moduleOf([{ name: 'myTable', columns: { theId: u32 }, unique: [['theId']] }]);
    const after = moduleOf([{ name: 'my_table', columns: { the_id: u32 }, unique: [['the_id']] }]);
    expect(steps(before, after)).toEqual(
      silent('changeIndexSourceName', 'changeTableSourceName', 'changeColumnSourceName'),
    );
  });

  it('the accessor of an index, while it has one', () => {
    const before = table({ indexes: [{ columns: ['a'], accessor: 'x' }] });
    const after = table({ indexes: [{ columns: ['a'], accessor: 'y' }] });
    expect(steps(before, after)).toEqual(silent());
  });
});

describe('changes that disconnect clients', () => {
  it('removing a table', () => {
    expect(steps(moduleOf([base]), moduleOf([]))).toEqual(breaking('removeTable'));
  });

  it('renaming a table removes one and adds one', () => {
    const renamed = moduleOf([{ ...base, name: 'u' }]);
    expect(steps(moduleOf([base]), renamed)).toEqual(breaking('removeTable', 'addTable'));
  });

  it('adding columns at the end with defaults, which are at hand by table id', () => {
    const next = table({
      columns: { ...base.columns, c: u8, d: u32 },
      defaults: { c: Uint8Array.of(7), d: Uint8Array.of(1, 2, 3, 4) },
    });
    expect(steps(table({}), next)).toEqual(breaking('addColumns'));
    const result = plan(table({}), next);
    const catalog = catalogOf(validateModule(next), catalogOf(validateModule(table({}))));
    const defaults = result.kind === 'automatic' ? addedDefaults(result.steps, catalog) : undefined;
    expect([...(defaults ?? [])]).toEqual([[4096, [Uint8Array.of(7), Uint8Array.of(1, 2, 3, 4)]]]);
  });
});

describe('the order of steps', () => {
  it('is removals, columns, names, additions, attributes, clients', () => {
    const before = moduleOf([
      { name: 'gone', columns: { a: u32 } },
      {
        ...base,
        unique: [['a']],
        autoInc: ['a'],
        columns: { a: u32, b: text, theC: u32 },
      },
    ]);
    const after = moduleOf([
      { name: 'born', columns: { a: u32 } },
      {
        ...base,
        primaryKey: 'the_c',
        autoInc: ['the_c'],
        columns: { a: u32, b: text, the_c: u32, d: u8 },
        defaults: { d: Uint8Array.of(0) },
        access: 'private',
      },
    ]);
    expect(steps(before, after).kinds).toEqual([
      'removeIndex',
      'removeConstraint',
      'removeSequence',
      'removeTable',
      'addColumns',
      'changeColumnSourceName',
      'addTable',
      'addIndex',
      'addConstraint',
      'addSequence',
      'changeAccess',
      'changePrimaryKey',
      'disconnectClients',
    ]);
  });
});

describe('columns', () => {
  const columns = (names: Record<string, AlgebraicType>, defaults = {}) => {
    return table({ columns: names, defaults });
  };
  const zero = Uint8Array.of(0, 0, 0, 0);

  it('[migrations T1] are not added without a default', () => {
    expect(reasons(columns({ a: u32 }), columns({ a: u32, b: u32 }))).toEqual([
      'Adding a column b to table t requires a default value annotation',
    ]);
  });

  it('[migrations T2] are not removed', () => {
    expect(reasons(columns({ a: u32, b: u32 }), columns({ b: u32 }))).toEqual([
      'Removing a column a from table t requires a manual migration',
    ]);
  });

  it('[migrations T2, T1] are not renamed', () => {
    expect(reasons(columns({ a: u32, x: u8 }), columns({ b: u32, x: u8 }))).toEqual([
      'Removing a column a from table t requires a manual migration',
      'Adding a column b to table t requires a default value annotation',
    ]);
  });

  it('[migrations T3] are not reordered, nor added elsewhere than at the end', () => {
    const text = 'Reordering table t requires a manual migration';
    expect(reasons(columns({ a: u32, b: u32 }), columns({ b: u32, a: u32 }))).toEqual([text]);
    const between = columns({ a: u32, x: u32, b: u32 }, { x: zero });
    expect(reasons(columns({ a: u32, b: u32 }), between)).toEqual([text]);
  });

  it('[migrations T4] do not change their type', () => {
    expect(reasons(columns({ a: u32 }), columns({ a: u64 }))).toEqual([
      'Changing the type of column a in table t from U32 to U64 requires a manual migration',
    ]);
  });

  it('[living 5.5] can be changed by steps of a migration, which refusals name', () => {
    const old = columns({ a: u32, b: u32, c: text });
    const next = columns({ c: text, b: u64, d: u32 });
    expect(calls(old, next)).toBe(
      "m.renameColumn('t', 'a', 'd') (or m.dropColumn('t', 'a')), " +
        "m.addColumn('t', 'd', { fill: (old) => … }), " +
        "m.moveColumns('t', ['c', 'b', 'd']), m.changeColumn('t', 'b', { using: (old) => … })",
    );
    expect(reasons(old, next)).toHaveLength(4);
  });

  it("[T4'] do not change a type within", () => {
    expect(reasons(columns({ a: optionType(u32) }), columns({ a: optionType(text) }))).toEqual([
      'Changing a type within column a in table t from U32 to String requires a manual migration',
    ]);
    const list = (element: AlgebraicType) => columns({ a: { kind: 'array', element } });
    expect(reasons(list(u32), list(u8))).toEqual([
      'Changing a type within column a in table t from U32 to U8 requires a manual migration',
    ]);
  });

  const typed = (type: AlgebraicType) => {
    const parts = { typespace: { types: [type] }, types: [named('T', 1)] };
    return moduleOf([{ name: 't', columns: { a: ref(1) } }], parts);
  };
  const two = sum(['A', u32], ['B', unitType]);

  it('[migrations T5] do not lose variants', () => {
    expect(reasons(typed(two), typed(sum(['A', u32])))).toEqual([
      'Changing the type of column a in table t from (a: U32 | b: ()) to (a: U32), ' +
        'with fewer variants, requires a manual migration',
    ]);
  });

  it.each([
    ['renamed', sum(['A', u32], ['C', unitType]), '(a: U32 | c: ())'],
    ['reordered', sum(['B', unitType], ['A', u32]), '(b: () | a: U32)'],
    ['inserted', sum(['A', u32], ['X', u8], ['B', unitType]), '(a: U32 | x: U8 | b: ())'],
  ])('[migrations T6] have no variants %s', (_, type, shown) => {
    expect(reasons(typed(two), typed(type))).toEqual([
      `Changing the type of column a in table t from (a: U32 | b: ()) to ${shown}, ` +
        'with a renamed variant, requires a manual migration',
    ]);
  });

  it.each([
    ['small', unitType],
    ['larger than all others', product(['x', u64])],
  ])('get new variants at the end, even %s ones', (_, payload) => {
    const parts = (last: AlgebraicType[]) => ({
      typespace: {
        types: [
          sum(['A', u32], ...last.map((type): [string, AlgebraicType] => ['Last', type])),
          product(['x', u64]),
        ],
      },
      types: [named('T', 1), named('Payload', 2)],
    });
    const columns = { a: ref(1), inside: optionType(ref(1)) };
    const last = payload === unitType ? unitType : ref(2);
    const before = moduleOf([{ name: 't', columns }], parts([]));
    const after = moduleOf([{ name: 't', columns }], parts([last]));
    expect(steps(before, after)).toEqual(silent('changeColumns'));
  });

  it('[migrations T9] do not lose nested fields', () => {
    const before = typed(product(['x', u32], ['y', u32]));
    expect(reasons(before, typed(product(['x', u32])))).toEqual([
      'Changing the type of column a in table t from (x: U32, y: U32) to (x: U32), ' +
        'with fewer fields, requires a manual migration',
    ]);
  });

  it('[migrations T10] do not rename nested fields', () => {
    expect(reasons(typed(product(['x', u32])), typed(product(['y', u32])))).toEqual([
      'Changing the type of column a in table t from (x: U32) to (y: U32), ' +
        'with a renamed field, requires a manual migration',
    ]);
  });

  it('[migrations T4] do not get nested fields', () => {
    const after = typed(product(['x', u32], ['y', u32]));
    expect(reasons(typed(product(['x', u32])), after)).toEqual([
      'Changing the type of column a in table t from (x: U32) to (x: U32, y: U32) ' +
        'requires a manual migration',
    ]);
  });

  it('of recursive types are compared to the end', () => {
    const tree = (leaf: AlgebraicType) => {
      return typed(sum(['Leaf', leaf], ['Fork', { kind: 'array', element: ref(1) }]));
    };
    expect(steps(tree(u32), tree(u32))).toEqual(silent());
    expect(reasons(tree(u32), tree(u8))).toEqual([
      'Changing a type within column a in table t from U32 to U8 requires a manual migration',
    ]);
  });

  it('of event tables change in any way, since there are no rows to convert', () => {
    const event = (names: Record<string, AlgebraicType>, defaults = {}) => {
      return table({ columns: names, defaults, isEvent: true });
    };
    const before = event({ a: u32, b: text });
    expect(steps(before, before)).toEqual(silent());
    const keyed = (...names: ['a' | 'b', 'a' | 'b']) => {
      const columns = Object.fromEntries(names.map((name) => [name, u32]));
      return table({ columns, primaryKey: 'a', isEvent: true });
    };
    expect(steps(keyed('a', 'b'), keyed('b', 'a'))).toEqual(
      breaking('removeIndex', 'replaceEventTable', 'addIndex'),
    );
    for (const next of [
      event({ a: u64, b: text }),
      event({ a: u32 }),
      event({ b: text, a: u32 }),
      event({ a: u32, b: text, c: u32 }),
      event({ a: u32, b: text, c: u32 }, { c: zero }),
    ]) {
      expect(steps(before, next)).toEqual(breaking('replaceEventTable'));
    }
  });
});

describe('tables', () => {
  it('[migrations T11] keep the columns of a constraint of the same name', () => {
    const nine = (column: number): RawModule => {
      const raw = table({ indexes: [{ columns: ['a'] }, { columns: ['b'] }] });
      const constraints = [{ sourceName: 'k', columns: [column] }];
      return {
        ...raw,
        version: 9,
        tables: raw.tables.map((item) => ({ ...item, constraints })),
      };
    };
    expect(reasons(nine(0), nine(1))).toEqual([
      'Changing a unique constraint k requires a manual migration',
    ]);
  });

  it('[migrations T12] stay user or system tables', () => {
    const raw = table({});
    const tables = raw.tables.map((item) => ({ ...item, tableType: 'system' as const }));
    expect(reasons(raw, { ...raw, tables })).toEqual([
      'Changing the table type of table t from User to System requires a manual migration',
    ]);
  });

  it('[migrations T13] keep their event flag', () => {
    expect(reasons(table({}), table({ isEvent: true }))).toEqual([
      'Changing the event flag of table t requires a manual migration',
    ]);
  });

  it('[migrations T14] keep whether an index has an accessor', () => {
    const withAccessor = (accessorName: string | undefined): RawModule => {
      const raw = table({ indexes: [{ columns: ['a'] }] });
      return {
        ...raw,
        tables: raw.tables.map((item) => ({
          ...item,
          indexes: item.indexes.map((index) => ({ ...index, accessorName })),
        })),
      };
    };
    expect(reasons(withAccessor(undefined), withAccessor('a'))).toEqual([
      'Changing the accessor name on index t_a_idx_btree from None to Some("a") ' +
        'requires a manual migration',
    ]);
    expect(reasons(withAccessor('a'), withAccessor(undefined))).toHaveLength(1);
  });

  it('[migrations 2.2] get, lose and change schedules', () => {
    const jobs: TableSketch = {
      name: 'jobs',
      columns: { id: u64, at: scheduleAtType },
      primaryKey: 'id',
    };
    const schedule = {
      sourceName: undefined,
      tableName: 'jobs',
      atColumn: 1,
      functionName: 'run',
    };
    const reducers = [reducer('run', { job: ref(0) }), reducer('walk', { job: ref(0) })];
    const without = moduleOf([jobs], { reducers });
    const scheduled = moduleOf([jobs], { reducers, schedules: [schedule] });
    const walking = { ...scheduled, schedules: [{ ...schedule, functionName: 'walk' }] };
    expect(steps(without, scheduled)).toEqual(silent('addSchedule'));
    expect(steps(scheduled, without)).toEqual(silent('removeSchedule'));
    expect(steps(scheduled, walking)).toEqual(silent('removeSchedule', 'addSchedule'));
    expect(steps(scheduled, scheduled)).toEqual(silent());
    expect(steps(moduleOf([]), scheduled)).toEqual(silent('addTable'));
    const policy = { catchUp: 'all' as const, retry: undefined };
    const patient = { ...scheduled, schedulePolicies: [{ functionName: 'run', policy }] };
    expect(steps(scheduled, patient)).toEqual(silent());
  });

  it('[living 1.11, migrations 2.2] come with crons, which are new when their times change', () => {
    const cronsWith = (change: Partial<RawCron>) => {
      return { ...cronModule, crons: cronModule.crons.map((cron) => ({ ...cron, ...change })) };
    };
    const other = { catchUp: 'all' as const, retry: undefined };
    expect(steps(personModule, cronModule)).toEqual(silent('addCron'));
    expect(steps(cronModule, personModule)).toEqual(silent('removeCron'));
    expect(steps(cronModule, cronsWith({ policy: other }))).toEqual(silent());
    for (const change of [{ expression: '@daily' }, { timeZone: undefined }]) {
      expect(steps(cronModule, cronsWith(change))).toEqual(silent('removeCron', 'addCron'));
    }
  });

  it('collect all that is refused, one to a line', () => {
    const before = moduleOf([base, { name: 'u', columns: { a: u32 } }]);
    const after = moduleOf([
      { name: 't', columns: { a: u64 }, isEvent: false },
      { name: 'u', columns: { a: u32 }, isEvent: true },
    ]);
    expect(reasons(before, after)).toEqual([
      'Removing a column b from table t requires a manual migration',
      'Changing the type of column a in table t from U32 to U64 requires a manual migration',
      'Changing the event flag of table u requires a manual migration',
    ]);
  });
});

describe('submodules', () => {
  it('have their tables matched by full name', () => {
    const within = (namespace: string) => {
      return moduleOf([base], { submodules: [{ namespace, module: moduleOf([base]) }] });
    };
    expect(steps(within('n'), within('n'))).toEqual(silent());
    const result = plan(within('n'), within('m'));
    expect(result.kind === 'automatic' ? result.steps.slice(0, 2) : []).toMatchObject([
      { kind: 'removeTable', table: 'n.t' },
      { kind: 'addTable', table: { name: 'm.t' } },
    ]);
  });
});

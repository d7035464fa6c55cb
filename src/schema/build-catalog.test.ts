import { describe, expect, it } from 'vitest';
import {
  moduleOf,
  named,
  personModule,
  ref,
  type TableSketch,
  text,
  u32,
  u64,
} from '../../test/schema/module-builder.ts';
import { encodeValue } from '../values/encode.ts';
import { optionType, product, sum, unitType } from '../values/special-types.ts';
import { catalogOf, emptyCatalog } from './build-catalog.ts';
import type { Catalog, TableSpec } from './catalog.ts';
import type { RawModule } from './raw-module.ts';
import { systemTableIds, systemTables } from './system-tables.ts';
import { validateModule } from './validate.ts';

function catalog(raw: RawModule, previous?: Catalog): Catalog {
  return catalogOf(validateModule(raw), previous);
}

function userTables({ tables }: Catalog): TableSpec[] {
  return tables.filter(({ kind }) => kind === 'user');
}

describe('system tables', () => {
  it('are in every catalog, with fixed ids', () => {
    expect(systemTables.map(({ id, name, access }) => [id, name, access])).toEqual([
      [7, 'st_client', 'public'],
      [8, 'st_var', 'public'],
      [11, 'st_connection_credentials', 'private'],
      [24, 'st_migration', 'private'],
      [26, 'st_idempotency', 'private'],
      [28, 'st_schedule_due', 'private'],
      [29, 'st_schedule_attempt', 'private'],
      [30, 'st_schedule_control', 'private'],
      [31, 'st_import_range', 'private'],
    ]);
    expect(systemTables.every(({ id, name }) => systemTableIds.get(name) === id)).toBe(true);
    expect(emptyCatalog.tables).toEqual(systemTables);
  });

  it('have a unique index on what identifies a row', () => {
    const [client, variable, credentials] = systemTables;
    expect(client?.indexes).toMatchObject([{ columns: [0, 1], isUnique: true }]);
    expect(client?.primaryKey).toBeUndefined();
    expect(variable?.indexes).toMatchObject([{ columns: [0], isUnique: true }]);
    expect(variable?.primaryKey).toBe(0);
    expect(credentials?.primaryKey).toBe(0);
  });

  it('keep host variables with U64 as tag 8', () => {
    const value = systemTables[1]?.columns[1]?.type;
    expect(value === undefined ? value : encodeValue(value, { tag: 8, value: 1n })).toEqual(
      Uint8Array.of(8, 1, 0, 0, 0, 0, 0, 0, 0),
    );
  });
});

describe('ids', () => {
  const two: TableSketch[] = [
    { name: 'b', columns: { id: u32, x: u32 }, primaryKey: 'id', autoInc: ['id'] },
    { name: 'a', columns: { id: u32 } },
  ];

  it('start at 4096, tables first, in ascending order of names', () => {
    const built = catalog(moduleOf(two));
    expect(userTables(built).map(({ id, name }) => [id, name])).toEqual([
      [4096, 'a'],
      [4097, 'b'],
    ]);
    const [, b] = userTables(built);
    expect(b?.indexes[0]?.id).toBe(4098);
    expect(b?.constraints[0]?.id).toBe(4099);
    expect(b?.sequences[0]?.id).toBe(4100);
    expect(built.nextId).toBe(4101);
  });

  it('[abi 8.1] stay with names over a change of the definition', () => {
    const before = catalog(moduleOf(two));
    expect(catalog(moduleOf(two), before)).toEqual(before);
    const after = catalog(
      moduleOf([{ name: 'aa', columns: { id: u32 } }, ...two.slice(0, 1)]),
      before,
    );
    expect(userTables(after).map(({ id, name }) => [id, name])).toEqual([
      [4101, 'aa'],
      [4097, 'b'],
    ]);
    expect(userTables(after)[1]).toEqual(userTables(before)[1]);
  });

  it('are never given twice: a table that comes back is a new one', () => {
    const before = catalog(moduleOf(two));
    const without = catalog(moduleOf(two.slice(0, 1)), before);
    const again = catalog(moduleOf(two), without);
    expect(userTables(again).map(({ id }) => id)).toEqual([4101, 4097]);
  });

  it('of indexes and sequences are new when their shape changes', () => {
    const base: TableSketch = { name: 't', columns: { id: u32, x: u64 } };
    const index = { columns: ['x'], algorithm: 'btree' as const };
    const before = catalog(moduleOf([{ ...base, indexes: [index], autoInc: ['x'] }]));
    const idsAfter = (next: RawModule) => {
      const [table] = userTables(catalog(next, before));
      return [table?.id, table?.indexes[0]?.id, table?.sequences[0]?.id];
    };
    expect(idsAfter(moduleOf([{ ...base, indexes: [index], autoInc: ['x'] }]))).toEqual([
      4096, 4097, 4098,
    ]);
    const respelled = { ...index, sourceName: 'other' };
    expect(idsAfter(moduleOf([{ ...base, indexes: [respelled], autoInc: ['x'] }]))[1]).toBe(4097);
    const unique = catalog(moduleOf([{ ...base, unique: [['x']], autoInc: ['x'] }]), before);
    expect(userTables(unique)[0]?.indexes[0]).toMatchObject({ id: 4097, isUnique: true });
    const moved = moduleOf([{ ...base, indexes: [index], autoInc: ['id'] }]);
    expect(idsAfter(moved)).toEqual([4096, 4097, 4099]);
  });

  it('[module-def 9] are full names in submodules', () => {
    const raw = moduleOf(two, {
      submodules: [
        {
          namespace: 'n',
          module: { ...personModule, submodules: [{ namespace: 'm', module: personModule }] },
        },
      ],
    });
    const tables = userTables(catalog(raw));
    expect(tables.map(({ name, sourceName }) => [name, sourceName])).toEqual([
      ['a', 'a'],
      ['b', 'b'],
      ['n.m.person', 'n.m.person'],
      ['n.person', 'n.person'],
    ]);
    expect(tables[2]).toMatchObject({
      indexes: [{ name: 'n.m.person_id_idx_btree' }],
      constraints: [{ name: 'n.m.person_id_key' }],
      sequences: [{ name: 'n.m.person_id_seq' }],
      columns: [{ name: 'id' }, { name: 'name' }],
    });
  });
});

describe('sequences', () => {
  it.each([
    [{}, 1n, 1n, 2n ** 127n - 1n],
    [{ start: 5n }, 5n, 1n, 2n ** 127n - 1n],
    [{ minValue: 10n }, 10n, 10n, 2n ** 127n - 1n],
    [{ minValue: -10n }, 1n, -10n, 2n ** 127n - 1n],
    [{ start: -5n }, -5n, -5n, 2n ** 127n - 1n],
    [{ maxValue: -5n }, -5n, -5n, -5n],
  ])('given %o start at %s within %s to %s', (given, start, minValue, maxValue) => {
    const raw = moduleOf([{ name: 't', columns: { a: u64 }, autoInc: ['a'] }]);
    const tables = raw.tables.map((table) => ({
      ...table,
      sequences: table.sequences.map((sequence) => ({ ...sequence, ...given })),
    }));
    const [table] = userTables(catalog({ ...raw, tables }));
    expect(table?.sequences).toMatchObject([{ start, minValue, maxValue, increment: 1n }]);
  });
});

describe('column types', () => {
  const point = product(['x', u32], ['y', u32]);
  const tree = (inner: number) => {
    return sum(['leaf', u32], ['fork', { kind: 'array', element: ref(inner) }]);
  };

  it('hold no refs', () => {
    const raw = moduleOf([{ name: 't', columns: { at: ref(1), maybe: optionType(ref(1)) } }], {
      typespace: { types: [point] },
      types: [named('Point', 1)],
    });
    const built = catalog(raw);
    const [table] = userTables(built);
    expect(table?.columns.map(({ type }) => type)).toEqual([point, optionType(point)]);
    expect(built.types).toEqual([]);
  });

  it('keep refs of recursive types, which move into the catalog', () => {
    const raw = moduleOf([{ name: 't', columns: { root: ref(1), at: ref(2) } }], {
      typespace: { types: [tree(1), product(['tree', ref(1)])] },
      types: [named('Tree', 1), named('Holder', 2)],
    });
    const built = catalog(raw);
    expect(userTables(built)[0]?.columns.map(({ type }) => type)).toEqual([
      ref(0),
      product(['tree', ref(0)]),
    ]);
    expect(built.types).toEqual([tree(0)]);
  });

  it('keep their numbers when the typespace shifts, and share equal types of submodules', () => {
    const before = catalog(treeModule([]));
    const submodules = [{ namespace: 'n', module: treeModule([]) }];
    const shifted = { ...treeModule([unitType, text]), submodules };
    const after = catalog(shifted, before);
    expect(after.types).toEqual(before.types);
    expect(userTables(after).map(({ columns }) => columns[0]?.type)).toEqual([ref(0), ref(0)]);
  });

  it('join the list when they differ', () => {
    const before = catalog(treeModule([]));
    const grown = sum(['leaf', u32], ['fork', { kind: 'array', element: ref(1) }], ['x', unitType]);
    const raw = moduleOf([{ name: 't', columns: { root: ref(1) } }], {
      typespace: { types: [grown] },
      types: [named('Tree', 1)],
    });
    const after = catalog(raw, before);
    expect(after.types).toHaveLength(2);
    expect(after.types[0]).toEqual(before.types[0]);
    expect(userTables(after)[0]?.columns[0]?.type).toEqual(ref(1));
  });

  it('of types that call each other move together', () => {
    const even = sum(['end', unitType], ['odd', ref(2)]);
    const odd = product(['even', { kind: 'array', element: ref(1) }]);
    const raw = moduleOf([{ name: 't', columns: { a: ref(2), b: ref(1) } }], {
      typespace: { types: [even, odd] },
      types: [named('Even', 1), named('Odd', 2)],
    });
    const built = catalog(raw);
    expect(userTables(built)[0]?.columns.map(({ type }) => type)).toEqual([ref(0), ref(1)]);
    expect(built.types).toEqual([
      product(['even', { kind: 'array', element: ref(1) }]),
      sum(['end', unitType], ['odd', ref(0)]),
    ]);
  });

  it('of many types that call each other all move', () => {
    const list = (position: number) => ({ kind: 'array', element: ref(position) }) as const;
    const types = [
      product(['b', list(2)], ['c', list(3)]),
      product(['a', list(1)]),
      product(['d', list(4)], ['a', list(1)]),
      product(['a', list(1)], ['b', list(2)]),
    ];
    const raw = moduleOf([{ name: 't', columns: { a: ref(1) } }], {
      typespace: { types },
      types: types.map((_, index) => named(`T${index}`, index + 1)),
    });
    const before = catalog(raw);
    expect(before.types).toHaveLength(4);
    expect(catalog(raw, before)).toEqual(before);
  });

  function treeModule(before: readonly (typeof text)[]): RawModule {
    const position = before.length + 1;
    return moduleOf([{ name: 't', columns: { root: ref(position) } }], {
      typespace: { types: [...before, tree(position)] },
      types: [named('Tree', position)],
    });
  }
});

import type {
  Catalog,
  ColumnSpec,
  IndexSpec,
  SequenceSpec,
  TableSpec,
} from '../../src/schema/catalog.ts';
import type { IndexAlgorithm } from '../../src/schema/definition.ts';
import { indexId, tableId } from '../../src/schema/ids.ts';
import { systemTables } from '../../src/schema/system-tables.ts';
import { encodeValue } from '../../src/values/encode.ts';
import {
  bytesType,
  connectionIdType,
  identityType,
  optionType,
  product,
  scheduleAtType,
  sum,
  timeDurationType,
  timestampType,
  unitType,
  uuidType,
} from '../../src/values/special-types.ts';
import type { AlgebraicType } from '../../src/values/type.ts';
import type { Value } from '../../src/values/value.ts';

/** A table as tests write it down; ids of its parts follow from its own. */
export interface SampleTable {
  readonly name: string;
  readonly sourceName?: string;
  readonly columns: Readonly<Record<string, AlgebraicType>>;
  /** Canonical column name → the module's spelling, where they differ. */
  readonly sourceNames?: Readonly<Record<string, string>>;
  readonly isPrivate?: boolean;
  readonly isEvent?: boolean;
  /** `unique:btree:id`, `hash:a,b`, `inverted:labels`, `text:body:english`, `vector:at:l2:8`. */
  readonly indexes?: readonly string[];
  readonly autoIncrement?: string;
  readonly primaryKey?: string;
  /** Values that columns get without one. */
  readonly defaults?: Readonly<Record<string, Value>>;
}

export function sampleCatalog(...tables: readonly SampleTable[]): Catalog {
  const specs = tables.map((table, at) => tableSpecOf(table, 4096 + at * 100));
  return {
    tables: [...systemTables, ...specs],
    views: [],
    types: [],
    nextId: 4096 + tables.length * 100,
  };
}

/** One table with a column of every comparable type, named after the type. */
export const everyType: SampleTable = {
  name: 'every_type',
  columns: {
    bool: { kind: 'bool' },
    i8: { kind: 'i8' },
    u8: { kind: 'u8' },
    i16: { kind: 'i16' },
    u16: { kind: 'u16' },
    i32: { kind: 'i32' },
    u32: { kind: 'u32' },
    i64: { kind: 'i64' },
    u64: { kind: 'u64' },
    i128: { kind: 'i128' },
    u128: { kind: 'u128' },
    i256: { kind: 'i256' },
    u256: { kind: 'u256' },
    f32: { kind: 'f32' },
    f64: { kind: 'f64' },
    string: { kind: 'string' },
    bytes: bytesType,
    identity: identityType,
    connection: connectionIdType,
    ts: timestampType,
    uuid: uuidType,
  },
};

/** Columns that can be read but neither compared nor written. */
export const opaque: SampleTable = {
  name: 'opaque',
  columns: {
    id: { kind: 'u32' },
    opt: optionType({ kind: 'u32' }),
    color: sum(['red', unitType], ['green', unitType]),
    point: product(['x', { kind: 'i32' }], ['y', { kind: 'i32' }]),
    list: { kind: 'array', element: { kind: 'u32' } },
    duration: timeDurationType,
    schedule: scheduleAtType,
  },
  indexes: ['unique:btree:id'],
};

/** The tables that most examples are about. */
export const sampleTables: readonly SampleTable[] = [
  {
    name: 't',
    columns: {
      id: { kind: 'u32' },
      a: { kind: 'u32' },
      x: { kind: 'i32' },
      name: { kind: 'string' },
      flag: { kind: 'bool' },
      u8: { kind: 'u8' },
      f32: { kind: 'f32' },
    },
    indexes: ['unique:btree:id'],
  },
  { name: 's', columns: { id: { kind: 'u32' }, x: { kind: 'i32' } }, indexes: ['unique:btree:id'] },
  { name: 'users', columns: { id: { kind: 'u32' }, name: { kind: 'string' } } },
  {
    name: 'user_profile',
    sourceName: 'UserProfile',
    columns: { user_id: { kind: 'u32' }, full_name: { kind: 'string' } },
    sourceNames: { user_id: 'userId', full_name: 'fullName' },
  },
  {
    name: 'secret',
    isPrivate: true,
    columns: { id: { kind: 'u32' }, text: { kind: 'string' } },
  },
  { name: 'stamped', columns: { ts: timestampType } },
  { name: 'one', columns: { a: { kind: 'u32' } } },
  {
    name: 'numbered',
    columns: { id: { kind: 'u64' }, text: { kind: 'string' } },
    indexes: ['unique:btree:id'],
    autoIncrement: 'id',
    primaryKey: 'id',
  },
  { name: 'lib.t', columns: { id: { kind: 'u32' } } },
  { name: 'owned', columns: { owner: identityType, key: bytesType } },
  everyType,
  opaque,
];

function tableSpecOf(table: SampleTable, id: number): TableSpec {
  const texts = table.indexes ?? [];
  const columns: ColumnSpec[] = Object.entries(table.columns).map(([name, type]) => {
    const column = { name, sourceName: table.sourceNames?.[name] ?? name, type };
    const vector = texts.find((text) => text.startsWith(`vector:${name}:`));
    return vector === undefined
      ? column
      : { ...column, vectorLength: Number(vector.split(':').at(-1)) };
  });
  const position = (name: string): number => columns.findIndex((column) => column.name === name);
  const indexes = texts
    .filter(isOrdinary)
    .map((text, at) => indexSpecOf(table.name, text, id + 1 + at, position));
  const unique = indexes.filter((index) => index.isUnique);
  const { autoIncrement, primaryKey } = table;
  return {
    id: tableId(id),
    name: table.name,
    sourceName: table.sourceName ?? table.name,
    kind: 'user',
    access: table.isPrivate === true ? 'private' : 'public',
    isEvent: table.isEvent === true,
    columns,
    primaryKey: primaryKey === undefined ? undefined : position(primaryKey),
    indexes,
    constraints: unique.map((index, at) => {
      const name = index.name.replace(/_idx_.*$/, '_key');
      return { id: id + 40 + at, name, columns: index.columns };
    }),
    derivedIndexes: texts
      .filter((text) => !isOrdinary(text))
      .map((text, at) => {
        const [kind, column = '', first, length = ''] = text.split(':');
        const name = `${table.name}_${column}_idx_${kind}`;
        const place = { id: indexId(id + 20 + at), name, column: position(column) };
        if (kind === 'inverted') return { ...place, kind, options: [] };
        if (kind === 'text') return { ...place, kind, options: optionsOf({ language: first }) };
        return { ...place, kind: 'vector', options: optionsOf({ length, metric: first }) };
      }),
    sequences:
      autoIncrement === undefined
        ? []
        : [sequenceSpecOf(table.name, autoIncrement, id + 80, position(autoIncrement))],
  };
}

function optionsOf(options: Readonly<Record<string, string | undefined>>) {
  return Object.entries(options).flatMap(([name, value]) => {
    return value === undefined ? [] : [{ name, value }];
  });
}

function isOrdinary(text: string): boolean {
  return !/^(?:inverted|text|vector):/.test(text);
}

function indexSpecOf(
  table: string,
  text: string,
  id: number,
  position: (name: string) => number,
): IndexSpec {
  const parts = text.split(':');
  const isUnique = parts[0] === 'unique';
  const [algorithm = '', names = ''] = isUnique ? parts.slice(1) : parts;
  const columns = names.split(',');
  const name = `${table}_${columns.join('_')}_idx_${algorithm}`;
  return {
    id: indexId(id),
    name,
    sourceName: name,
    algorithm: algorithm as IndexAlgorithm,
    columns: columns.map(position),
    isUnique,
  };
}

function sequenceSpecOf(table: string, name: string, id: number, column: number): SequenceSpec {
  return {
    id,
    name: `${table}_${name}_seq`,
    column,
    start: 1n,
    minValue: 1n,
    maxValue: 2n ** 63n - 1n,
    increment: 1n,
  };
}

/** The encoded defaults of a table, by the position of their column. */
export function defaultsOf({
  columns,
  defaults = {},
}: SampleTable): ReadonlyMap<number, Uint8Array> {
  return new Map(
    Object.entries(columns).flatMap(([name, type], at) => {
      const value = defaults[name];
      return value === undefined ? [] : [[at, encodeValue(type, value)] as const];
    }),
  );
}

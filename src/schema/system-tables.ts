import { sum } from '../values/special-types.ts';
import type { AlgebraicType } from '../values/type.ts';
import type { ColumnSpec, TableSpec } from './catalog.ts';

/**
 * Tables that every database has. Those below hold rows of their own and are part of each catalog.
 * The other system tables describe the catalog and the module: they are computed when read, and
 * only their names are reserved here. Identities in them are plain integers.
 */
export const systemTables: readonly TableSpec[] = [
  systemTable({
    id: 7,
    name: 'st_client',
    columns: [
      ['identity', { kind: 'u256' }],
      ['connection_id', { kind: 'u128' }],
    ],
    unique: [0, 1],
  }),
  systemTable({
    id: 8,
    name: 'st_var',
    columns: [
      ['name', { kind: 'string' }],
      ['value', variableType()],
    ],
    unique: [0],
    primaryKey: 0,
  }),
  systemTable({
    id: 11,
    name: 'st_connection_credentials',
    columns: [
      ['connection_id', { kind: 'u128' }],
      ['jwt_payload', { kind: 'string' }],
    ],
    unique: [0],
    primaryKey: 0,
    access: 'private',
  }),
];

/** Ids by name of all system tables, stored or computed. Ids below `firstUserId` are theirs. */
export const systemTableIds: ReadonlyMap<string, number> = new Map([
  ['st_table', 1],
  ['st_column', 2],
  ['st_sequence', 3],
  ['st_index', 4],
  ['st_constraint', 5],
  ['st_module', 6],
  ['st_client', 7],
  ['st_var', 8],
  ['st_scheduled', 9],
  ['st_row_level_security', 10],
  ['st_connection_credentials', 11],
  ['st_view', 12],
  ['st_view_param', 13],
  ['st_view_column', 14],
  ['st_view_sub', 15],
  ['st_view_arg', 16],
  ['st_event_table', 17],
  ['st_table_accessor', 18],
  ['st_index_accessor', 19],
  ['st_column_accessor', 20],
]);

/** The first id of a module's own tables, indexes, constraints and sequences. */
export const firstUserId = 4096;

interface SystemTable {
  readonly id: number;
  readonly name: string;
  readonly columns: readonly (readonly [string, AlgebraicType])[];
  /** Columns that are unique together. */
  readonly unique: readonly number[];
  readonly primaryKey?: number;
  readonly access?: 'private';
}

/** Parts of table `n` have ids from `100 * n` on. */
function systemTable({ id, name, columns, unique, primaryKey, access }: SystemTable): TableSpec {
  const columnSpecs: ColumnSpec[] = columns.map(([column, type]) => {
    return { name: column, sourceName: column, type };
  });
  const keyed = [name, ...unique.map((position) => columns[position]?.[0])].join('_');
  const indexName = `${keyed}_idx_btree`;
  return {
    id,
    name,
    sourceName: name,
    kind: 'system',
    access: access ?? 'public',
    isEvent: false,
    columns: columnSpecs,
    primaryKey,
    indexes: [
      {
        id: id * 100,
        name: indexName,
        sourceName: indexName,
        algorithm: 'btree',
        columns: unique,
        isUnique: true,
      },
    ],
    constraints: [{ id: id * 100 + 1, name: `${keyed}_key`, columns: unique }],
    sequences: [],
  };
}

/** What a host variable may hold. */
function variableType(): AlgebraicType {
  return sum(
    ['Bool', { kind: 'bool' }],
    ['I8', { kind: 'i8' }],
    ['U8', { kind: 'u8' }],
    ['I16', { kind: 'i16' }],
    ['U16', { kind: 'u16' }],
    ['I32', { kind: 'i32' }],
    ['U32', { kind: 'u32' }],
    ['I64', { kind: 'i64' }],
    ['U64', { kind: 'u64' }],
    ['I128', { kind: 'i128' }],
    ['U128', { kind: 'u128' }],
    ['F32', { kind: 'f32' }],
    ['F64', { kind: 'f64' }],
    ['String', { kind: 'string' }],
  );
}

import {
  optionType,
  product,
  sum,
  timeDurationType,
  timestampType,
} from '../values/special-types.ts';
import type { AlgebraicType } from '../values/type.ts';
import type { SequenceSpec, TableSpec } from './catalog.ts';
import type { IndexAlgorithm } from './definition.ts';
import { indexId, type TableId, tableId } from './ids.ts';

/** The first id of a module's own tables, views, indexes, constraints and sequences. */
export const firstUserId = 4096;

const u16: AlgebraicType = { kind: 'u16' };
const u32: AlgebraicType = { kind: 'u32' };
const u64: AlgebraicType = { kind: 'u64' };
const u128: AlgebraicType = { kind: 'u128' };
const u256: AlgebraicType = { kind: 'u256' };
const i128: AlgebraicType = { kind: 'i128' };
const i64: AlgebraicType = { kind: 'i64' };
const bool: AlgebraicType = { kind: 'bool' };
const string: AlgebraicType = { kind: 'string' };
const bytes: AlgebraicType = { kind: 'array', element: { kind: 'u8' } };
const positions: AlgebraicType = { kind: 'array', element: u16 };

/**
 * Tables that every database has and that hold rows of their own: they are part of each catalog.
 * Identities in system tables are plain integers.
 */
export const systemTables: readonly TableSpec[] = [
  systemTable({
    id: 7,
    name: 'st_client',
    columns: [
      ['identity', { kind: 'u256' }],
      ['connection_id', { kind: 'u128' }],
    ],
    unique: [[0, 1]],
  }),
  systemTable({
    id: 8,
    name: 'st_var',
    columns: [
      ['name', { kind: 'string' }],
      ['value', variableType()],
    ],
    unique: [[0]],
    primaryKey: 0,
  }),
  systemTable({
    id: 11,
    name: 'st_connection_credentials',
    columns: [
      ['connection_id', { kind: 'u128' }],
      ['jwt_payload', { kind: 'string' }],
    ],
    unique: [[0]],
    primaryKey: 0,
    access: 'private',
  }),
  // Migrations that were applied, in the order of their ids. `hash` is that of the source text.
  systemTable({
    id: 24,
    name: 'st_migration',
    columns: [
      ['id', string],
      ['hash', bytes],
      ['offset', u64],
      ['time', timestampType],
    ],
    unique: [[0]],
    primaryKey: 0,
    access: 'private',
  }),
  // Outcomes of calls with an idempotency key. `body` and `returns` are digests.
  systemTable({
    id: 26,
    name: 'st_idempotency',
    columns: [
      ['identity', u256],
      ['function_name', string],
      ['key', string],
      ['at', timestampType],
      ['offset', u64],
      ['body', u256],
      ['returns', u256],
      ['value', optionType(bytes)],
    ],
    unique: [[0, 1, 2]],
    algorithm: 'hash',
    access: 'private',
  }),
  // The next due time of each row that runs at an interval. A row takes 24 bytes of a page.
  systemTable({
    id: 28,
    name: 'st_schedule_due',
    columns: [
      ['schedule_id', u32],
      ['row_key', u64],
      ['due', i64],
    ],
    unique: [[0, 1]],
    algorithm: 'hash',
    access: 'private',
  }),
  // Rows whose run has failed and is repeated at another time.
  systemTable({
    id: 29,
    name: 'st_schedule_attempt',
    columns: [
      ['schedule_id', u32],
      ['row_key', u64],
      ['due', i64],
      ['at', i64],
      ['attempt', u32],
      ['state', { kind: 'u8' }],
      ['error', string],
    ],
    unique: [[0, 1]],
    algorithm: 'hash',
    access: 'private',
  }),
  // Schedules that were paused by name, and those without a table.
  systemTable({
    id: 30,
    name: 'st_schedule_control',
    columns: [
      ['name', string],
      ['is_paused', bool],
      ['paused', i64],
      ['expression', string],
      ['time_zone', string],
      ['due', i64],
      ['at', i64],
      ['attempt', u32],
      ['last_due', i64],
      ['last_start', i64],
      ['last_error', string],
    ],
    unique: [[0]],
    primaryKey: 0,
    access: 'private',
  }),
  // Batches of imports that are there, as ranges of their numbers.
  systemTable({
    id: 31,
    name: 'st_import_range',
    columns: [
      ['import_id', string],
      ['table_id', u32],
      ['first_batch', u32],
      ['last_batch', u32],
      ['at', i64],
    ],
    unique: [[0, 1, 2]],
    algorithm: 'hash',
    access: 'private',
  }),
];

/**
 * Stored tables that only the host itself reads and writes: no statement, client or module can name
 * them, and they are listed nowhere.
 */
export const hiddenTableIds: ReadonlySet<TableId> = new Set([28, 29, 30, 31].map(tableId));

/**
 * Tables that describe the catalog and the module. They are in no catalog and no log: their rows
 * are computed for the current schema when they are read.
 */
export const computedTables: readonly TableSpec[] = [
  systemTable({
    id: 1,
    name: 'st_table',
    columns: [
      ['table_id', u32],
      ['table_name', string],
      ['table_type', string],
      ['table_access', string],
      ['table_primary_key', optionType(positions)],
    ],
    unique: [[0], [1]],
    primaryKey: 0,
    sequence: { column: 0, start: BigInt(firstUserId), maxValue: 0xffff_ffffn },
  }),
  systemTable({
    id: 2,
    name: 'st_column',
    columns: [
      ['table_id', u32],
      ['col_pos', u16],
      ['col_name', string],
      ['col_type', bytes],
    ],
    unique: [[0, 1]],
  }),
  systemTable({
    id: 3,
    name: 'st_sequence',
    columns: [
      ['sequence_id', u32],
      ['sequence_name', string],
      ['table_id', u32],
      ['col_pos', u16],
      ['increment', i128],
      ['start', i128],
      ['min_value', i128],
      ['max_value', i128],
      ['allocated', i128],
    ],
    unique: [[0]],
    primaryKey: 0,
  }),
  systemTable({
    id: 4,
    name: 'st_index',
    columns: [
      ['index_id', u32],
      ['table_id', u32],
      ['index_name', string],
      [
        'index_algorithm',
        sum(
          ['Unused', u128],
          ['BTree', product(['columns', positions])],
          ['Direct', product(['column', u16])],
          ['Hash', product(['columns', positions])],
        ),
      ],
    ],
    unique: [[0]],
    primaryKey: 0,
  }),
  systemTable({
    id: 5,
    name: 'st_constraint',
    columns: [
      ['constraint_id', u32],
      ['constraint_name', string],
      ['table_id', u32],
      ['constraint_data', sum(['Unused', u128], ['Unique', product(['columns', positions])])],
    ],
    unique: [[0]],
    primaryKey: 0,
  }),
  systemTable({
    id: 6,
    name: 'st_module',
    columns: [
      ['database_identity', u256],
      ['owner_identity', u256],
      ['program_kind', { kind: 'u8' }],
      ['program_hash', u256],
      ['program_bytes', bytes],
      ['module_version', string],
    ],
    unique: [],
  }),
  systemTable({
    id: 9,
    name: 'st_scheduled',
    columns: [
      ['schedule_id', u32],
      ['table_id', u32],
      ['reducer_name', string],
      ['schedule_name', string],
      ['at_column', u16],
    ],
    unique: [[0], [1]],
    primaryKey: 0,
  }),
  systemTable({
    id: 10,
    name: 'st_row_level_security',
    columns: [
      ['table_id', u32],
      ['sql', string],
    ],
    unique: [[1]],
    primaryKey: 1,
  }),
  systemTable({
    id: 12,
    name: 'st_view',
    columns: [
      ['view_id', u32],
      ['view_name', string],
      ['table_id', optionType(u32)],
      ['is_public', bool],
      ['is_anonymous', bool],
    ],
    unique: [[0], [1]],
    primaryKey: 0,
  }),
  systemTable({
    id: 13,
    name: 'st_view_param',
    columns: [
      ['view_id', u32],
      ['param_pos', u16],
      ['param_name', string],
      ['param_type', bytes],
    ],
    unique: [[0, 1]],
  }),
  systemTable({
    id: 14,
    name: 'st_view_column',
    columns: [
      ['view_id', u32],
      ['col_pos', u16],
      ['col_name', string],
      ['col_type', bytes],
    ],
    unique: [[0, 1]],
  }),
  systemTable({
    id: 15,
    name: 'st_view_sub',
    columns: [
      ['view_id', u32],
      ['arg_id', u64],
      ['identity', u256],
      ['num_subscribers', u64],
      ['has_subscribers', bool],
      ['last_called', { kind: 'i64' }],
    ],
    unique: [],
  }),
  systemTable({
    id: 16,
    name: 'st_view_arg',
    columns: [
      ['id', u64],
      ['bytes', bytes],
    ],
    unique: [[0], [1]],
    primaryKey: 0,
  }),
  systemTable({
    id: 17,
    name: 'st_event_table',
    columns: [['table_id', u32]],
    unique: [[0]],
    primaryKey: 0,
  }),
  systemTable({
    id: 18,
    name: 'st_table_accessor',
    columns: [
      ['table_name', string],
      ['accessor_name', string],
    ],
    unique: [[0], [1]],
  }),
  systemTable({
    id: 19,
    name: 'st_index_accessor',
    columns: [
      ['index_name', string],
      ['accessor_name', string],
    ],
    unique: [[0], [1]],
  }),
  systemTable({
    id: 20,
    name: 'st_column_accessor',
    columns: [
      ['table_name', string],
      ['col_name', string],
      ['accessor_name', string],
    ],
    unique: [
      [0, 1],
      [0, 2],
    ],
  }),
  systemTable({
    id: 23,
    name: 'st_schedule',
    columns: [
      ['name', string],
      ['table_name', optionType(string)],
      ['function_name', string],
      ['kind', string],
      ['target', string],
      ['expression', optionType(string)],
      ['time_zone', optionType(string)],
      ['catch_up', string],
      ['state', string],
      ['row_key', optionType(u64)],
      ['armed_rows', u64],
      ['next_due', optionType(timestampType)],
      ['last_due', optionType(timestampType)],
      ['last_run', optionType(timestampType)],
      ['last_outcome', optionType(string)],
      ['runs', u64],
      ['failures', u64],
      ['lateness_p50', optionType(timeDurationType)],
      ['lateness_p99', optionType(timeDurationType)],
      ['last_error', optionType(string)],
    ],
    unique: [],
    access: 'private',
  }),
  systemTable({
    id: 25,
    name: 'st_deploy',
    columns: [
      ['deploy', u64],
      ['kind', string],
      ['time', optionType(timestampType)],
      ['by', optionType(u256)],
      ['program', u256],
      ['offset', u64],
      ['generation', u64],
      ['message', string],
      ['plan', string],
      ['migrations', { kind: 'array', element: string }],
      ['static', bool],
      ['of', optionType(u64)],
      ['running', bool],
      ['canary', optionType(string)],
      ['canary_reason', optionType(string)],
    ],
    unique: [[0]],
    access: 'private',
  }),
  // Hosts of the cluster, and where its databases are; it has rows for operators alone.
  systemTable({
    id: 32,
    name: 'st_cluster',
    columns: [
      ['kind', string],
      ['name', string],
      ['id', string],
      ['state', string],
      ['address', optionType(string)],
      ['client_address', optionType(string)],
      ['zone', optionType(string)],
      ['version', optionType(string)],
      ['seen_seconds', optionType({ kind: 'f64' })],
      ['leads', optionType(u64)],
      ['leader', optionType(string)],
      ['term', optionType(u64)],
      ['copies', optionType(u64)],
      ['wishes', { kind: 'array', element: string }],
    ],
    unique: [],
    access: 'private',
  }),
];

export const scheduleTableId = tableId(23);
export const deployTableId = tableId(25);
export const clusterTableId = tableId(32);

/** Those whose rows change without a commit. */
export const unwatchedTableIds: ReadonlySet<TableId> = new Set([
  scheduleTableId,
  deployTableId,
  clusterTableId,
]);

/** Ids by name of all system tables, stored or computed. Ids below `firstUserId` are reserved. */
export const systemTableIds: ReadonlyMap<string, TableId> = new Map(
  [...systemTables, ...computedTables].map(({ name, id }) => [name, id]),
);

interface SystemTable {
  readonly id: number;
  readonly name: string;
  readonly columns: readonly (readonly [string, AlgebraicType])[];
  /** Lists of columns that are unique together. */
  readonly unique: readonly (readonly number[])[];
  /** Of the indexes. */
  readonly algorithm?: IndexAlgorithm;
  readonly primaryKey?: number;
  readonly access?: 'private';
  readonly sequence?: Pick<SequenceSpec, 'column' | 'start' | 'maxValue'>;
}

/** Ids of the parts of table `n` start at `100 * n`: index, constraint, index, …, sequence. */
function systemTable(table: SystemTable): TableSpec {
  const { id, name, columns, unique, algorithm = 'btree', primaryKey, access, sequence } = table;
  const nameOf = (position: number) => columns[position]?.[0];
  const keys = unique.map((positions, at) => {
    const keyed = [name, ...positions.map(nameOf)].join('_');
    return { keyed, positions, firstId: id * 100 + at * 2 };
  });
  return {
    id: tableId(id),
    name,
    sourceName: name,
    kind: 'system',
    access: access ?? 'public',
    isEvent: false,
    columns: columns.map(([column, type]) => ({ name: column, sourceName: column, type })),
    primaryKey,
    indexes: keys.map(({ keyed, positions, firstId }) => {
      const indexName = `${keyed}_idx_${algorithm}`;
      const spec = {
        id: indexId(firstId),
        name: indexName,
        sourceName: indexName,
        columns: positions,
      };
      return { ...spec, algorithm, isUnique: true };
    }),
    constraints: keys.map(({ keyed, positions, firstId }) => {
      return { id: firstId + 1, name: `${keyed}_key`, columns: positions };
    }),
    sequences: sequence === undefined ? [] : [sequenceOf(table, sequence)],
    derivedIndexes: [],
  };
}

function sequenceOf(
  { id, name, columns, unique }: SystemTable,
  sequence: Pick<SequenceSpec, 'column' | 'start' | 'maxValue'>,
): SequenceSpec {
  const column = columns[sequence.column]?.[0];
  return {
    ...sequence,
    id: id * 100 + unique.length * 2,
    name: `${name}_${column}_seq`,
    minValue: 1n,
    increment: 1n,
  };
}

/** The type of host variables. */
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

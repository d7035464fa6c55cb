import { present } from '../assert.ts';
import type { IndexSpec, SequenceSpec, TableSpec } from '../schema/catalog.ts';
import type { ModuleDefinition } from '../schema/definition.ts';
import { fullTablesOf } from '../schema/flatten.ts';
import { firstUserId } from '../schema/system-tables.ts';
import type { SqlSchema } from '../sql/schema.ts';
import type { SequenceMark } from '../store/change-set.ts';
import { BinaryWriter } from '../values/binary-writer.ts';
import type { DatabaseIdentity, OwnerIdentity } from '../values/identity-roles.ts';
import type { AlgebraicType } from '../values/type.ts';
import { encodeType } from '../values/type-codec.ts';
import type { SumValue, Value } from '../values/value.ts';
import type { ProgramSource } from './program-source.ts';

/** The facts that the computed system tables describe. */
export interface SystemFacts {
  readonly databaseIdentity: DatabaseIdentity;
  readonly ownerIdentity: OwnerIdentity;
  readonly program: ProgramSource;
  /** Keccak-256 of the program, as 64 hex digits in natural order. */
  readonly programHash: string;
  /** Offset of the commit that brought the program. */
  readonly schemaVersion: number;
  readonly definition: ModuleDefinition;
  readonly schema: SqlSchema;
  /** The id that the next new table, view or part of one will get. */
  readonly nextId: number;
  /** The last value of every sequence that has ever handed one out. */
  readonly sequenceMarks: () => readonly SequenceMark[];
  /** Names of the functions that exist for the caller; absent: all. */
  readonly callable?: ReadonlySet<string>;
}

export type SystemRow = readonly Value[];

/**
 * The rows of one computed system table, with the columns of `computedTables`. They describe all
 * tables, including the computed ones, and views in the shape of tables.
 */
export function systemRowsOf(name: string, facts: SystemFacts): readonly SystemRow[] {
  return present(makers.get(name), 'maker of the rows of a system table')(facts);
}

type RowMaker = (facts: SystemFacts) => readonly SystemRow[];

const makers: ReadonlyMap<string, RowMaker> = new Map<string, RowMaker>([
  ['st_table', tableRows],
  ['st_column', columnRows],
  ['st_sequence', sequenceRows],
  ['st_index', indexRows],
  ['st_constraint', constraintRows],
  ['st_module', moduleRows],
  ['st_scheduled', scheduleRows],
  ['st_row_level_security', filterRows],
  ['st_view', viewRows],
  // Views take no parameters.
  ['st_view_param', noRows],
  ['st_view_column', viewColumnRows],
  // Subscriptions to views are not kept in tables.
  ['st_view_sub', noRows],
  ['st_view_arg', noRows],
  ['st_event_table', eventTableRows],
  ['st_table_accessor', tableAccessorRows],
  ['st_index_accessor', indexAccessorRows],
  ['st_column_accessor', columnAccessorRows],
]);

function noRows(): readonly SystemRow[] {
  return [];
}

function tableRows({ schema }: SystemFacts): readonly SystemRow[] {
  return schema.tables.map(({ id, name, kind, access, primaryKey }) => {
    const key = primaryKey === undefined ? none : some([primaryKey]);
    return [id, name, kind === 'system' ? 'system' : 'user', access, key];
  });
}

function columnRows({ schema }: SystemFacts): readonly SystemRow[] {
  return schema.tables.flatMap(rowsOfColumns);
}

function rowsOfColumns({ id, columns }: TableSpec): SystemRow[] {
  return columns.map(({ name, type }, position) => [id, position, name, typeBytes(type)]);
}

function sequenceRows({ schema, sequenceMarks, nextId }: SystemFacts): readonly SystemRow[] {
  const marks = new Map(sequenceMarks().map(({ id, value }) => [id, value]));
  return schema.tables.flatMap((table) => {
    return table.sequences.map((sequence) => {
      const { id, name, column, increment, start, minValue, maxValue } = sequence;
      // The only sequence of the system tables hands out the ids of new tables.
      const last = table.id < firstUserId ? BigInt(nextId - 1) : marks.get(id);
      const allocated = last ?? beforeFirst(sequence);
      return [id, name, table.id, column, increment, start, minValue, maxValue, allocated];
    });
  });
}

/** The value that means "none yet". */
function beforeFirst({ start, increment }: SequenceSpec): bigint {
  const before = start - increment;
  return BigInt.asIntN(128, before) === before ? before : start;
}

function indexRows({ schema }: SystemFacts): readonly SystemRow[] {
  return schema.tables.flatMap((table) => {
    return table.indexes.map((index) => [index.id, table.id, index.name, algorithmOf(index)]);
  });
}

function algorithmOf({ algorithm, columns }: IndexSpec): SumValue {
  switch (algorithm) {
    case 'btree':
      return { tag: 1, value: [columns] };
    case 'direct':
      return { tag: 2, value: [columns[0] ?? 0] };
    case 'hash':
      return { tag: 3, value: [columns] };
  }
}

function constraintRows({ schema }: SystemFacts): readonly SystemRow[] {
  return schema.tables.flatMap((table) => {
    return table.constraints.map(({ id, name, columns }) => {
      return [id, name, table.id, { tag: 1, value: [columns] }];
    });
  });
}

function moduleRows(facts: SystemFacts): readonly SystemRow[] {
  const { databaseIdentity, ownerIdentity, program, programHash, schemaVersion } = facts;
  const kind = program.kind === 'wasm' ? 0 : 1;
  const version = String(schemaVersion);
  const hash = hashNumber(programHash);
  return [[databaseIdentity, ownerIdentity, kind, hash, program.bytes, version]];
}

/** A digest as a number: the first byte is the least significant, as wherever hashes are shown. */
function hashNumber(hex: string): bigint {
  const bytes = hex.match(/../g) ?? [];
  return BigInt(`0x${bytes.reverse().join('')}`);
}

/** A table has at most one schedule, identified by the id of the table. */
function scheduleRows({ definition, schema, callable }: SystemFacts): readonly SystemRow[] {
  const ids = new Map(schema.tables.map(({ name, id }) => [name, id]));
  return fullTablesOf(definition).flatMap(({ table: { name, schedule } }) => {
    const id = ids.get(name);
    if (schedule === undefined || id === undefined) return [];
    if (callable?.has(schedule.functionName) === false) return [];
    return [[id, id, schedule.functionName, schedule.name, schedule.atColumn]];
  });
}

function filterRows({ schema }: SystemFacts): readonly SystemRow[] {
  return [...schema.filters].flatMap(([tableId, texts]) => texts.map((sql) => [tableId, sql]));
}

function viewRows({ schema }: SystemFacts): readonly SystemRow[] {
  return viewTables(schema).map(({ table, isAnonymous }) => {
    return [table.id, table.name, some(table.id), table.access === 'public', isAnonymous];
  });
}

function viewColumnRows({ schema }: SystemFacts): readonly SystemRow[] {
  return viewTables(schema).flatMap(({ table }) => rowsOfColumns(table));
}

function viewTables({ tables, views }: SqlSchema) {
  return tables.flatMap((table) => {
    const view = views.get(table.id);
    return view === undefined ? [] : [{ table, isAnonymous: view.isAnonymous }];
  });
}

function eventTableRows({ schema }: SystemFacts): readonly SystemRow[] {
  return schema.tables.filter(({ isEvent }) => isEvent).map(({ id }) => [id]);
}

function tableAccessorRows({ schema }: SystemFacts): readonly SystemRow[] {
  return namedByModule(schema).map(({ name, sourceName }) => [name, sourceName]);
}

/** Rows for the indexes that the module declares; that of a view's key is not one. */
function indexAccessorRows({ schema }: SystemFacts): readonly SystemRow[] {
  return namedByModule(schema)
    .filter(({ kind }) => kind !== 'view')
    .flatMap(({ indexes }) => indexes.map(({ name, sourceName }) => [name, sourceName]));
}

function columnAccessorRows({ schema }: SystemFacts): readonly SystemRow[] {
  return namedByModule(schema).flatMap(({ name, columns }) => {
    return columns.map((column) => [name, column.name, column.sourceName]);
  });
}

function namedByModule({ tables }: SqlSchema): readonly TableSpec[] {
  return tables.filter(({ id }) => id >= firstUserId);
}

function typeBytes(type: AlgebraicType): Uint8Array {
  const writer = new BinaryWriter();
  encodeType(writer, type);
  return writer.finish();
}

const none: SumValue = { tag: 1, value: [] };

function some(value: Value): SumValue {
  return { tag: 0, value };
}

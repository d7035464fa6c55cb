import { unreachable } from '../assert.ts';
import type { BinaryReader } from '../values/binary-reader.ts';
import { unitType } from '../values/special-types.ts';
import { decodeType } from '../values/type-codec.ts';
import {
  readAccess,
  readColumns,
  readConstraint,
  readIndex,
  readLifecycle,
  readList,
  readOption,
  readProduct,
  readSequence,
  readString,
  readTableType,
  readTag,
  readTypeDefinition,
  readView,
} from './decode-raw-parts.ts';
import {
  emptyRawModule,
  type RawDefaultValue,
  type RawLifecycleReducer,
  type RawModule,
  type RawProcedure,
  type RawReducer,
  type RawSchedule,
  type RawTable,
  type RawView,
} from './raw-module.ts';

/**
 * Reads a description of version 9, after its envelope tag, into the shape of version 10: schedules
 * leave their tables, lifecycle events leave their reducers, column defaults join their tables.
 */
export function decodeRawModuleV9(r: BinaryReader): RawModule {
  const typespace = { types: readList(r, decodeType) };
  const tables = readList(r, readTable);
  const reducers = readList(r, readReducer);
  const types = readList(r, readTypeDefinition);
  const exports = readList(r, readMiscExport);
  const rowLevelSecurity = readList(r, readString);
  const defaults = exports.filter((item) => item.kind === 'default');
  const tableNames = new Set(tables.map(({ table }) => table.sourceName));
  return {
    ...emptyRawModule,
    version: 9,
    caseConversion: 'none',
    typespace,
    types,
    tables: tables.map(({ table }) => ({
      ...table,
      defaultValues: defaults
        .filter((item) => item.tableName === table.sourceName)
        .map(({ column, value }) => ({ column, value })),
    })),
    reducers: reducers.map(({ reducer }) => reducer),
    procedures: exports.filter((item) => item.kind === 'procedure').map((item) => item.procedure),
    views: exports.filter((item) => item.kind === 'view').map((item) => item.view),
    schedules: tables.flatMap(({ schedule }) => (schedule === undefined ? [] : [schedule])),
    lifecycleReducers: reducers.flatMap(({ lifecycle }) => lifecycle),
    rowLevelSecurity,
    strayDefaultTables: defaults
      .map((item) => item.tableName)
      .filter((name) => !tableNames.has(name)),
  };
}

function readTable(r: BinaryReader): { table: RawTable; schedule: RawSchedule | undefined } {
  const sourceName = r.string();
  const rowTypeRef = r.u32();
  const primaryKey = readColumns(r);
  const indexes = readList(r, readIndex);
  const constraints = readList(r, readConstraint);
  const sequences = readList(r, readSequence);
  const schedule = readOption(r, (reader) => readSchedule(reader, sourceName));
  const table: RawTable = {
    sourceName,
    rowTypeRef,
    primaryKey,
    indexes,
    constraints,
    sequences,
    tableType: readTableType(r),
    access: readAccess(r),
    defaultValues: [],
    isEvent: false,
  };
  return { table, schedule };
}

function readSchedule(r: BinaryReader, tableName: string): RawSchedule {
  const sourceName = readOption(r, readString);
  const functionName = r.string();
  return { sourceName, tableName, functionName, atColumn: r.u16() };
}

function readReducer(r: BinaryReader): { reducer: RawReducer; lifecycle: RawLifecycleReducer[] } {
  const sourceName = r.string();
  const params = readProduct(r);
  const event = readOption(r, readLifecycle);
  return {
    reducer: {
      sourceName,
      params,
      visibility: 'clientCallable',
      okReturnType: unitType,
      errReturnType: { kind: 'string' },
    },
    lifecycle: event === undefined ? [] : [{ event, functionName: sourceName }],
  };
}

type MiscExport =
  | ({ readonly kind: 'default'; readonly tableName: string } & RawDefaultValue)
  | { readonly kind: 'procedure'; readonly procedure: RawProcedure }
  | { readonly kind: 'view'; readonly view: RawView };

function readMiscExport(r: BinaryReader): MiscExport {
  const kind = readTag(r, ['default', 'procedure', 'view'] as const, 'RawMiscModuleExportV9');
  switch (kind) {
    case 'default':
      return { kind, tableName: r.string(), column: r.u16(), value: r.bytes() };
    case 'procedure':
      return { kind, procedure: readProcedure(r) };
    case 'view':
      return { kind, view: readView(r) };
    default:
      return unreachable(kind);
  }
}

function readProcedure(r: BinaryReader): RawProcedure {
  return {
    sourceName: r.string(),
    params: readProduct(r),
    returnType: decodeType(r),
    visibility: 'clientCallable',
  };
}

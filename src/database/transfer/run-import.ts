import type { Rights } from '../../sql/rights.ts';
import { isVisible } from '../../sql/rights.ts';
import { uniqueViolationText } from '../../store/duplicates.ts';
import type { Table } from '../../store/table.ts';
import type { Index } from '../../store/table-index.ts';
import {
  delayTooLong,
  noSuchRow,
  sequenceOverflow,
  type Transaction,
  undecodable,
  uniqueViolation,
} from '../../store/transaction.ts';
import { vectorFaultText } from '../../store/vector-column.ts';
import { noConnection } from '../../values/connection-number.ts';
import { skipperOf } from '../../values/layout.ts';
import { type DatabaseCore, requireSpace } from '../core.ts';
import type { Program } from '../program.ts';
import { noBytes } from '../run-reducer.ts';
import { commitAs } from '../run-write.ts';
import { rollbackFrom } from '../tentative.ts';
import { failureText } from '../views/view-failure.ts';
import { ImportRanges } from './import-ranges.ts';
import type { ImportError, ImportFault, ImportOutcome, ImportRequest } from './import-request.ts';

/** The name under which the log has imports; no function of a module can be called so. */
const importName = '#import';

/**
 * Takes one batch in a transaction of its own, or nothing of it. No reducer runs; constraints,
 * views, schedules, live queries and the quota apply as to any commit.
 */
export function runImport(
  core: DatabaseCore,
  request: ImportRequest,
  timestampMicros: bigint,
): ImportOutcome {
  const table = importTable(core, request);
  if ('code' in table) return { kind: 'failed', error: table };
  requireSpace(core);
  const ranges = new ImportRanges(core.store);
  const batch = { importId: request.importId, table: table.id, batch: request.batch };
  if (ranges.has(batch)) return { kind: 'there', offset: core.store.offset };
  const fault = startFault(ranges, table, request);
  if (fault !== undefined) return { kind: 'failed', error: fault };
  const takeBack = rollbackFrom(core);
  const transaction = core.store.begin();
  let isDone = false;
  try {
    if (request.mode === 'replace') transaction.clear(table);
    const faults = putRows(transaction, table, request);
    if ('kind' in faults) return faults;
    ranges.add(transaction, batch, timestampMicros);
    const error = commitError(core, transaction, timestampMicros);
    if (error !== undefined) return { kind: 'failed', error };
    isDone = true;
    commitAs(core, transaction, inputsOf(request, timestampMicros));
    return { kind: 'imported', offset: core.store.offset, faults };
  } finally {
    if (!isDone) takeBack(transaction);
  }
}

function inputsOf(request: ImportRequest, timestampMicros: bigint) {
  const { caller, importId, batch, table, mode, count } = request;
  const args = { import_id: importId, batch, table, mode, rows: count };
  return {
    reducer: importName,
    caller: caller.identity,
    connectionId: noConnection,
    timestampMicros,
    seed: noBytes,
    args: new TextEncoder().encode(JSON.stringify(args)),
  };
}

function importTable(core: DatabaseCore, request: ImportRequest): Table | ImportError {
  const { store, program } = core;
  const { caller, table: name, schemaVersion } = request;
  const { rights } = caller;
  const table = [...store.tables].find(({ spec }) => spec.name === name && spec.kind === 'user');
  if (table === undefined || !isVisible(table.spec, rights)) return noTable(program, rights, name);
  if (table.spec.isEvent) return notImportable(name, 'an event table');
  if (!rights.writes || rights.isReadOnly || rights.writesByPreview === true) {
    return { code: 'import.readOnly', message: `You may not import rows into \`${name}\`` };
  }
  if (schemaVersion !== program.schemaVersion) {
    const message = 'The program was updated while rows were imported; import them again';
    return { code: 'schema.changed', message };
  }
  return table;
}

function noTable({ sql }: Program, rights: Rights, name: string): ImportError {
  const view = sql.tables.find((table) => table.name === name && sql.views.has(table.id));
  if (view !== undefined && isVisible(view, rights)) return notImportable(name, 'a view');
  const message = `no such table: \`${name}\`. If the table exists, it may be marked private.`;
  return { code: 'import.noTable', message };
}

function notImportable(name: string, what: string): ImportError {
  const message = `\`${name}\` is ${what}, and rows cannot be imported into it`;
  return { code: 'import.notImportable', message };
}

/** Why the batch cannot be taken, whatever its rows are. */
function startFault(
  ranges: ImportRanges,
  table: Table,
  { importId, mode }: ImportRequest,
): ImportError | undefined {
  const { name } = table.spec;
  if (!ranges.exists) {
    const message =
      'The schema of this database is from before there were imports: publish its program with a ' +
      'change, and import then';
    return { code: 'import.tooOld', message };
  }
  if (mode === 'upsert' && keyIndex(table) === undefined) {
    const message = `The table \`${name}\` has no primary key, so upsert cannot find rows in it`;
    return { code: 'import.noKey', message };
  }
  const isFirst = mode === 'empty' && !ranges.hasBegun(importId, table.id);
  if (!isFirst || table.rowCount === 0) return undefined;
  const rows = table.rowCount === 1 ? '1 row' : `${table.rowCount} rows`;
  const message =
    `The table \`${name}\` has ${rows}, and the mode \`empty\` is for tables without ` +
    'rows; choose insert, upsert or replace';
  return { code: 'import.notEmpty', message };
}

/** The unique index of the primary key. */
function keyIndex({ spec, indexes }: Table): Index | undefined {
  return indexes.find(
    ({ isUnique, spec: { columns } }) =>
      isUnique && columns.length === 1 && columns[0] === spec.primaryKey,
  );
}

/** Puts the rows into the table. Returns those that were left out, or why nothing is taken. */
function putRows(
  transaction: Transaction,
  table: Table,
  { rows, count, mode, skippedMax }: ImportRequest,
): readonly ImportFault[] | Extract<ImportOutcome, { kind: 'stopped' }> {
  const skip = skipperOf(table.rowType, table.types);
  const key = mode === 'upsert' ? keyIndex(table) : undefined;
  const faults: ImportFault[] = [];
  let buffer = new Uint8Array(4_096);
  let at = 0;
  for (let row = 0; row < count; row += 1) {
    const end = skip(rows, at);
    const length = end - at;
    if (length > buffer.length) buffer = new Uint8Array(2 * length);
    // Generated values are written to the beginning of the buffer.
    buffer.set(rows.subarray(at, end));
    const code = putRow(transaction, table, key, buffer, length);
    if (code !== undefined) {
      const fault = { row, ...faultOf(transaction, table, code) };
      if (faults.length >= skippedMax) return { kind: 'stopped', fault };
      faults.push(fault);
    }
    at = end;
  }
  return faults;
}

/** Returns why the row was refused. */
function putRow(
  transaction: Transaction,
  table: Table,
  key: Index | undefined,
  row: Uint8Array,
  length: number,
): number | undefined {
  // Generated values are written over the row.
  const original = table.sequences.length === 0 ? row : row.slice(0, length);
  const code = upserted(transaction, table, key, row, length);
  if (code < 0) return code;
  transaction.raiseSequences(table, original);
  return undefined;
}

function upserted(
  transaction: Transaction,
  table: Table,
  key: Index | undefined,
  row: Uint8Array,
  length: number,
): number {
  if (key !== undefined) {
    const code = transaction.update(table, key, row, length);
    if (code !== noSuchRow) return code;
  }
  const before = table.rowCount;
  const code = transaction.insert(table, row, length);
  // A table without keys is a set: such a row is simply there.
  const isThere = code >= 0 && table.rowCount === before && table.wholeRows === undefined;
  return isThere ? alreadyThere : code;
}

/** Not one of the codes of a transaction. */
const alreadyThere = -100;

function faultOf(
  { violation, vectorFault }: Transaction,
  { spec, indexes, sequences }: Table,
  code: number,
): Omit<ImportFault, 'row'> {
  const keyColumn =
    spec.primaryKey === undefined ? null : (spec.columns[spec.primaryKey]?.name ?? null);
  switch (code) {
    case uniqueViolation: {
      const index = indexes.find((one) => one.spec.name === violation?.index);
      if (violation === undefined || index === undefined) break;
      const [column = null, ...others] = violation.columns;
      const message = uniqueViolationText(index.table, index, violation.key);
      return { column: others.length === 0 ? column : null, message };
    }
    case alreadyThere:
      return { column: keyColumn, message: `The row is in the table \`${spec.name}\` already` };
    case sequenceOverflow: {
      const column = spec.columns[sequences[0]?.column ?? -1]?.name ?? null;
      return { column, message: 'The sequence of the column has no value left' };
    }
    case delayTooLong:
      return { column: null, message: 'The row would run too far ahead' };
    case undecodable:
      if (vectorFault !== undefined) {
        return { column: vectorFault.column, message: vectorFaultText(vectorFault) };
      }
      return { column: null, message: 'The row does not fit the columns of the table' };
    default:
  }
  return { column: null, message: `There is no room for the row in the table \`${spec.name}\`` };
}

/** Checks what the batch does as a whole: the quota, and the views that read the table. */
function commitError(
  core: DatabaseCore,
  transaction: Transaction,
  timestampMicros: bigint,
): ImportError | undefined {
  const quota = core.quota.faultOf(core, transaction, true);
  if (quota !== undefined) return { code: 'quota.exceeded', message: quota };
  const failure = core.views.refresh(transaction, timestampMicros, false);
  if (failure === undefined) return undefined;
  return { code: 'import.refused', message: failureText(failure) };
}

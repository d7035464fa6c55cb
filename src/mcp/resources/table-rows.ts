import type { Rights, SqlError, SqlOutcome } from '../../database/outcome.ts';
import { runStatement } from '../../doors/run-statement.ts';
import { usableDefinition } from '../../doors/shown-definition.ts';
import { inSlices } from '../../doors/slices.ts';
import { limits } from '../../limits.ts';
import { invalidParams, RpcError, rpcCode } from '../../mcp-protocol/rpc-error.ts';
import { firstRow, sqlRowsSteps } from '../../protocol/sql-result.ts';
import type { ModuleDefinition } from '../../schema/definition.ts';
import { flatDefinition } from '../../schema/flat-definition.ts';
import { quotedName } from '../../schema/quoted-name.ts';
import type { AlgebraicType } from '../../values/type.ts';
import { resolveType } from '../../values/typespace.ts';
import type { OpenDatabase } from '../open-database.ts';
import type { TableAddress } from './address.ts';
import { sqlLiteral } from './sql-literal.ts';

/** The visible part of a table or view. */
export interface ReadableTable {
  readonly name: string;
  readonly kind: 'table' | 'view';
  readonly isPublic: boolean;
  readonly columns: readonly ReadableColumn[];
  /** Primary key column. */
  readonly key: string | undefined;
}

export interface ReadableColumn {
  readonly name: string;
  /** Never a ref. */
  readonly type: AlgebraicType;
}

/** Returns the tables and views that these rights can read. Event tables keep no rows to show. */
export function readableTables(definition: ModuleDefinition, rights: Rights): ReadableTable[] {
  const { tables, views, typespace } = usableDefinition(flatDefinition(definition), rights);
  const resolved = (columns: readonly ReadableColumn[]) =>
    columns.map(({ name, type }) => ({ name, type: resolveType(type, typespace) }));
  return [
    ...tables
      .filter(({ isEvent }) => !isEvent)
      .map(({ name, access, columns, primaryKey }): ReadableTable => {
        const key = primaryKey === undefined ? undefined : columns[primaryKey]?.name;
        const isPublic = access === 'public';
        return { name, kind: 'table', isPublic, columns: resolved(columns), key };
      }),
    ...views.map(({ name, isPublic, columns, primaryKey: key }): ReadableTable => {
      return { name, kind: 'view', isPublic, columns: resolved(columns), key };
    }),
  ];
}

/**
 * Returns the query for reading and watching a resource: the first rows by the primary key, or by
 * all columns if there is none, plus one row that shows whether there are more. Returns `undefined`
 * for an unknown table or column, or for a value that the column cannot have.
 */
export function rowsQuery(
  tables: readonly ReadableTable[],
  { table: name, where }: TableAddress,
  { rowsMax }: Rights,
): string | undefined {
  const table = tables.find((one) => one.name === name);
  const condition = table && where && conditionOf(table, where);
  if (table === undefined || (where !== undefined && condition === undefined)) return undefined;
  const { columns, key } = table;
  const order = key === undefined ? columns.map((column) => column.name) : [key];
  return [
    `SELECT * FROM ${quotedName(name)}`,
    ...(condition === undefined ? [] : [`WHERE ${condition}`]),
    `ORDER BY ${order.map(quotedName).join(', ')}`,
    `LIMIT ${Math.min(rowsMax ?? Number.POSITIVE_INFINITY, limits.resourceRowsMax + 1)}`,
  ].join(' ');
}

function conditionOf({ columns }: ReadableTable, where: NonNullable<TableAddress['where']>) {
  const column = columns.find(({ name }) => name === where.column);
  const literal = column && sqlLiteral(column.type, where.value);
  return literal === undefined ? undefined : `${quotedName(where.column)} = ${literal}`;
}

/** Reads rows as JSON, one per line; returns `undefined` if the caller has no such table. */
export async function readRows(
  { handle, caller, stay }: OpenDatabase,
  address: TableAddress,
  signal: AbortSignal,
): Promise<string | undefined> {
  const { definition } = await handle.describe();
  const { rights } = caller;
  const sql = rowsQuery(readableTables(definition, rights), address, rights);
  if (sql === undefined) return undefined;
  const request = { caller, sql, confirmed: true };
  const outcome = await runStatement(handle, request, { abandoned: signal, stay });
  if (outcome.kind === 'result') return rowsJson(address, rights, outcome);
  if (outcome.error.code === 'sql.noTable') return undefined;
  throw unreadable(outcome.error);
}

function unreadable({ code, message }: SqlError): RpcError {
  // Only the value comes from the address, so it must be invalid: the rest of the statement is
  // ours.
  if (code === 'sql.invalid') return invalidParams(message);
  return new RpcError(rpcCode.internal, message);
}

/** Writes rows in the plain form, one per line, so that these texts can be compared. */
async function rowsJson(
  { table }: TableAddress,
  { rowsMax }: Rights,
  result: Extract<SqlOutcome, { kind: 'result' }>,
): Promise<string> {
  let characters = 0;
  const fits = (row: string, count: number) => {
    characters += row.length;
    return count < limits.resourceRowsMax && characters <= limits.resourceCharactersMax;
  };
  const { rows } = await inSlices(sqlRowsSteps(result, firstRow, fits, 'plain'));
  const { rowCount, offset } = result;
  // With a row limit, the caller cannot know whether more rows exist.
  const isTruncated = rows.length < rowCount || rowCount === rowsMax;
  const head = `{"table":${JSON.stringify(table)},"offset":${offset},"truncated":${isTruncated}`;
  return `${head},"rows":[\n${rows.join(',\n')}\n]}`;
}

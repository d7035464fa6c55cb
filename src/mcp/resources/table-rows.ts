import type { Rights, SqlError, SqlOutcome } from '../../database/outcome.ts';
import { usableDefinition } from '../../host/shown-definition.ts';
import { temporaryConnection } from '../../host/temporary-connection.ts';
import { limits } from '../../limits.ts';
import { RpcError, rpcCode } from '../../mcp-protocol/rpc-error.ts';
import { firstRow, sqlRows } from '../../protocol/sql-result.ts';
import type { ModuleDefinition } from '../../schema/definition.ts';
import type { OpenDatabase } from '../open-database.ts';
import { quoteWideIntegers } from '../structured.ts';

/** A table, or a view, as far as its rows are shown. */
export interface ReadableTable {
  readonly name: string;
  readonly kind: 'table' | 'view';
  readonly isPublic: boolean;
  readonly columns: readonly string[];
  /** Column of the primary key. */
  readonly key: string | undefined;
}

/** Those that these rights may read. Event tables keep no rows, so there is nothing to show. */
export function readableTables(definition: ModuleDefinition, rights: Rights): ReadableTable[] {
  const { tables, views } = usableDefinition(definition, rights);
  const ofTables = tables.filter(({ isEvent }) => !isEvent);
  return [
    ...ofTables.map(({ name, access, columns, primaryKey }): ReadableTable => {
      const names = columns.map((column) => column.name);
      const key = primaryKey === undefined ? undefined : names[primaryKey];
      return { name, kind: 'table', isPublic: access === 'public', columns: names, key };
    }),
    ...views.map(({ name, isPublic, columns, primaryKey }): ReadableTable => {
      const names = columns.map((column) => column.name);
      return { name, kind: 'view', isPublic, columns: names, key: primaryKey };
    }),
  ];
}

/**
 * What a resource of the table shows, and what is watched for it: its first rows by the primary
 * key, or by all columns where there is none, and one more, which tells whether there are more.
 */
export function rowsQuery({ name, columns, key }: ReadableTable, { rowsMax }: Rights): string {
  const order = (key === undefined ? columns : [key]).map(quoted).join(', ');
  const limit = Math.min(rowsMax ?? Number.POSITIVE_INFINITY, limits.resourceRowsMax + 1);
  return `SELECT * FROM ${quoted(name)} ORDER BY ${order} LIMIT ${limit}`;
}

/** JSON, a row a line. `undefined`: there is no such table for the caller. */
export async function readRows(
  { handle, caller }: OpenDatabase,
  tableName: string,
): Promise<string | undefined> {
  const { definition } = await handle.describe();
  const { rights } = caller;
  const table = readableTables(definition, rights).find(({ name }) => name === tableName);
  if (table === undefined) return undefined;
  const outcome = await handle.query({
    caller,
    connection: temporaryConnection(),
    sql: rowsQuery(table, rights),
    confirmed: true,
  });
  if (outcome.kind === 'result') return rowsJson(table, rights, outcome);
  if (outcome.error.code === 'sql.noTable') return undefined;
  throw unreadable(outcome.error);
}

function unreadable({ message }: SqlError): RpcError {
  return new RpcError(rpcCode.internal, message);
}

/** Like structured results, a row a line, so that two of these texts can be compared. */
function rowsJson(
  { name }: ReadableTable,
  { rowsMax }: Rights,
  result: Extract<SqlOutcome, { kind: 'result' }>,
): string {
  let characters = 0;
  const fits = (row: string, count: number) => {
    characters += row.length;
    return count < limits.resourceRowsMax && characters <= limits.resourceCharactersMax;
  };
  const { rows } = sqlRows(result, firstRow, fits, 'named');
  const { rowCount, offset } = result;
  // Who may see no more rows than these cannot know whether there are any.
  const isTruncated = rows.length < rowCount || rowCount === rowsMax;
  const head = `{"table":${JSON.stringify(name)},"offset":${offset},"truncated":${isTruncated}`;
  return `${head},"rows":[\n${rows.map(quoteWideIntegers).join(',\n')}\n]}`;
}

function quoted(name: string): string {
  return `"${name.replaceAll('"', '""')}"`;
}

import { draftTables } from '../../codegen/migration-changes.ts';
import { limits } from '../../limits.ts';
import type { ModuleDefinition } from '../../schema/definition.ts';
import { type JsonValue, parseJson } from '../../values/json.ts';
import { type Api, databasePath } from '../api.ts';
import { CliError } from '../io.ts';
import { readResult } from '../sql-table.ts';

/** Rows by table; the tables whose rows nobody could count are absent. */
export type RowCounts = ReadonlyMap<string, number>;

/** Counts the rows of the tables of a database that runs this definition. */
export async function countRows(
  api: Api,
  database: string,
  definition: ModuleDefinition,
): Promise<RowCounts> {
  const kept = [...draftTables(definition).values()].filter(({ table }) => !table.isEvent);
  const names = kept.map(({ table }) => table.name).slice(0, limits.devCountedTablesMax);
  const counts = new Map<string, number>();
  for (const name of names) {
    const body = `SELECT COUNT(*) AS n FROM "${name}"`;
    const answer = await api.send('POST', databasePath(database, '/sql'), { body });
    const count = answer.ok ? onlyNumber(parseJson(await answer.text())) : undefined;
    if (count !== undefined) counts.set(name, count);
  }
  return counts;
}

/** The definition that a database runs, as the document of its schema. */
export async function runningSchema(api: Api, database: string): Promise<string> {
  const answer = await api.send('GET', databasePath(database, '/schema?version=10'));
  const text = await answer.text();
  if (!answer.ok) throw new CliError(api.failureText(answer.status, text));
  return text;
}

export function rowsText(count: number): string {
  return count === 1 ? '1 row' : `${count} rows`;
}

/** `items 3 rows, users 1 row`; tables without rows are left out. */
export function countsText(counts: RowCounts): string {
  const parts = [...counts].filter(([, count]) => count > 0);
  return parts.map(([table, count]) => `${table} ${rowsText(count)}`).join(', ');
}

export function totalOf(counts: RowCounts): number {
  return [...counts.values()].reduce((sum, count) => sum + count, 0);
}

/** The one number in the answer of a statement. */
function onlyNumber(json: JsonValue): number | undefined {
  const [result] = Array.isArray(json) ? json : [];
  const cell = result === undefined ? undefined : readResult(result).rows[0]?.[0];
  return cell === undefined ? undefined : Number(cell);
}

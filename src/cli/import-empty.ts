import { quotedName } from '../schema/quoted-name.ts';
import { JsonNumber, member, parseJson } from '../values/json.ts';
import { type Api, databasePath } from './api.ts';
import type { ImportedTable } from './import-target.ts';
import { CliError } from './io.ts';
import { elementsOf } from './json-parts.ts';

/**
 * Throws `CliError` if one of several tables has rows: an import in the mode `empty` would end at
 * it, with the tables before it imported. The service checks each table again.
 */
export async function requireEmpty(
  api: Api,
  database: string,
  tables: readonly ImportedTable[],
): Promise<void> {
  const filled: string[] = [];
  for (const { table } of tables) {
    const count = await rowCount(api, database, table);
    if (count > 0) filled.push(`\`${table}\` (${count === 1 ? '1 row' : `${count} rows`})`);
  }
  if (filled.length === 0) return;
  throw new CliError(
    `The mode \`empty\` is for tables without rows, and these have some: ${filled.join(', ')}. ` +
      'No row was imported. Choose --mode insert, upsert or replace for all tables, or import ' +
      'each file by itself.',
  );
}

/** Zero for a table that cannot be read: what is wrong with it, its import says. */
async function rowCount(api: Api, database: string, table: string): Promise<number> {
  const body = `SELECT count(*) AS n FROM ${quotedName(table)}`;
  const answer = await api.send('POST', databasePath(database, '/sql'), { body });
  const text = await answer.text();
  if (!answer.ok) return 0;
  const [result = null] = elementsOf(parseJson(text));
  const [row = null] = elementsOf(member(result, 'rows'));
  const [count] = elementsOf(row);
  return count instanceof JsonNumber ? Number(count.text) : 0;
}

import { databasePath, ServiceError, send } from './http.ts';
import { type Json, listOf, numberOf, objectOf, parseJson } from './json.ts';
import { type Field, fieldsOfProduct } from './types.ts';

/** The answer to a statement; values are in the positional form of the reference. */
export interface SqlResult {
  readonly columns: readonly Field[];
  readonly rows: readonly (readonly Json[])[];
  readonly micros: number;
  readonly inserted: number;
  readonly updated: number;
  readonly deleted: number;
}

export interface SqlOptions {
  /** A list for `$1`, `$2`, …, an object for `:name`. */
  readonly parameters?: readonly Json[] | { readonly [name: string]: Json };
  readonly signal?: AbortSignal;
  /** False: the answer need not wait until what it shows is on disk. */
  readonly isConfirmed?: boolean;
  /** As nobody, to see what others see. */
  readonly isAnonymous?: boolean;
}

/** `POST /v1/database/:db/sql`: one statement. */
export async function runSql(
  database: string,
  sql: string,
  options: SqlOptions = {},
): Promise<SqlResult> {
  const { parameters, signal, isConfirmed = true, isAnonymous = false } = options;
  const query = isConfirmed ? '' : '?confirmed=false';
  const answer = await send(`${databasePath(database, 'sql')}${query}`, {
    method: 'POST',
    isAnonymous,
    headers: { 'content-type': 'application/vnd.reducerdb.sql+json' },
    text: JSON.stringify({ sql, ...(parameters === undefined ? {} : { params: parameters }) }),
    ...(signal === undefined ? {} : { signal }),
  });
  return resultOf(parseJson(await answer.text()));
}

const explain = 'EXPLAIN ';

/**
 * Where in a statement the service finds an error, in characters from its start. It plans the
 * statement for that, and does not run it.
 */
export async function errorOffset(
  database: string,
  sql: string,
  parameters: SqlOptions['parameters'],
): Promise<number | undefined> {
  if (/^\s*explain\b/i.test(sql)) return undefined;
  const params = parameters === undefined ? {} : { params: parameters };
  try {
    await send(databasePath(database, 'sql'), {
      method: 'POST',
      headers: {
        accept: 'application/json; values=plain',
        'content-type': 'application/vnd.reducerdb.sql+json',
      },
      text: JSON.stringify({ sql: explain + sql, ...params }),
    });
    return undefined;
  } catch (error) {
    if (!(error instanceof ServiceError) || error.position === undefined) return undefined;
    return error.position.offset - explain.length;
  }
}

export function resultOf(json: Json): SqlResult {
  const body = objectOf(listOf(json)[0]);
  const stats = objectOf(body.stats);
  return {
    columns: fieldsOfProduct(body.schema, []),
    rows: listOf(body.rows).map(listOf),
    micros: numberOf(body.total_duration_micros) ?? 0,
    inserted: numberOf(stats.rows_inserted) ?? 0,
    updated: numberOf(stats.rows_updated) ?? 0,
    deleted: numberOf(stats.rows_deleted) ?? 0,
  };
}

/** A name as SQL reads it back, whatever it has in it. */
export function quoteName(name: string): string {
  return /^[a-z_][a-z0-9_]*$/.test(name) && !reserved.has(name)
    ? name
    : `"${name.replaceAll('"', '""')}"`;
}

export function quoteText(text: string): string {
  return `'${text.replaceAll("'", "''")}'`;
}

/** Names that are quoted to be on the safe side. */
const words = [
  'all and any array as asc between by case cast cross current desc describe distinct delete else',
  'end except exists explain false filter following for from full group having in inner insert',
  'intersect interval into is join left like limit not null nulls offset on or order outer over',
  'partition preceding right row rows select set show table then true union update using user',
  'values when where window with',
];
const reserved = new Set(words.flatMap((line) => line.split(' ')));

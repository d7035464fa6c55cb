import { databasePath, ServiceError, send } from './http.ts';
import { type Json, listOf, numberOf, objectOf, parseJson, textOf } from './json.ts';
import { type Field, fieldsOfProduct } from './types.ts';

/** The answer to a statement; values are in the positional form of the reference. */
export interface SqlResult {
  readonly columns: readonly Field[];
  readonly rows: readonly (readonly Json[])[];
  readonly micros: number;
  readonly inserted: number;
  readonly updated: number;
  readonly deleted: number;
  /** What EXPLAIN answers, which has no rows. */
  readonly plan: PlanStep | null;
}

/** A step of a plan; what it reads is below it. */
export interface PlanStep {
  /** Its place in the whole plan. */
  readonly id: string;
  readonly text: string;
  /** About how many rows the planner expects. */
  readonly estimated: number | null;
  /** With ANALYZE: how many there were, in how many loops, and how long all of it took. */
  readonly rows: number | null;
  readonly loops: number | null;
  readonly millis: number | null;
  readonly children: readonly PlanStep[];
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
  const answer = await post(database, sql, options);
  return resultOf(parseJson(await answer.text()));
}

/** A statement that begins with EXPLAIN, whose plan comes as a tree. */
export async function explainSql(
  database: string,
  sql: string,
  options: SqlOptions = {},
): Promise<SqlResult> {
  const answer = await post(database, sql, options, { explain: 'json' });
  const { plan } = objectOf(parseJson(await answer.text()));
  const micros = Number(answer.headers.get('spacetime-execution-duration-micros') ?? 0);
  return { ...nothing, micros, plan: plan === undefined ? null : planOf(plan, '1') };
}

function post(
  database: string,
  sql: string,
  { parameters, signal, isConfirmed = true, isAnonymous = false }: SqlOptions,
  more: Readonly<Record<string, string>> = {},
): Promise<Response> {
  const query = new URLSearchParams({ ...more, ...(!isConfirmed && { confirmed: 'false' }) });
  return send(`${databasePath(database, 'sql')}?${query}`, {
    method: 'POST',
    isAnonymous,
    headers: { 'content-type': 'application/vnd.reducerdb.sql+json' },
    text: JSON.stringify({ sql, ...(parameters === undefined ? {} : { params: parameters }) }),
    ...(signal === undefined ? {} : { signal }),
  });
}

const nothing = { columns: [], rows: [], micros: 0, inserted: 0, updated: 0, deleted: 0 };

function planOf(json: Json, id: string): PlanStep {
  const step = objectOf(json);
  const number = (name: string) => numberOf(step[name]) ?? null;
  return {
    id,
    text: `${textOf(step.operator)} ${textOf(step.detail)}`.trim(),
    estimated: number('estimated_rows'),
    rows: number('rows'),
    loops: number('loops'),
    millis: number('millis'),
    children: listOf(step.children).map((child, at) => planOf(child, `${id}.${at + 1}`)),
  };
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
    plan: null,
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

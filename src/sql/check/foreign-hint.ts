/** What to write in place of words of other databases. */
import { aggregateNames } from '../functions/aggregate-names.ts';
import { functionNames } from '../functions/library.ts';
import { nameHint } from './visibility.ts';

/** A hint for a function that does not exist. */
export function functionHint(name: string): string | undefined {
  const written = name.toLowerCase();
  return (
    foreignFunctions.get(written) ?? nameHint(written, [...aggregateNames, ...functionNames()])
  );
}

const jsonHint = "Write text ->> 'key', or text -> 'key' ->> 'other'";
const nowHint = "Write now(), or date_trunc('day', now()) for the day";
const partHint = "Write date_part('year', time), or to_char(time, 'YYYY-MM-DD')";

const foreignFunctions: ReadonlyMap<string, string> = new Map([
  ['json_extract', jsonHint],
  ['json_extract_path_text', jsonHint],
  ['json_query', jsonHint],
  ['json_value', jsonHint],
  ['jsonb_extract_path_text', jsonHint],
  ['curdate', nowHint],
  ['current_date', nowHint],
  ['current_time', nowHint],
  ['getdate', nowHint],
  ['sysdate', nowHint],
  ['date', "Write date_trunc('day', time)"],
  ['date_format', partHint],
  ['day', partHint],
  ['hour', partHint],
  ['month', partHint],
  ['strftime', partHint],
  ['year', partHint],
  ['date_add', "Write time + INTERVAL '1 day'"],
  ['date_sub', "Write time - INTERVAL '1 day'"],
  ['datediff', 'Write one time minus the other: the difference is a duration'],
  ['charindex', 'Write strpos(text, part)'],
  ['locate', 'Write strpos(text, part)'],
  ['group_concat', "Write string_agg(text, ', ')"],
  ['if', 'Write CASE WHEN condition THEN a ELSE b END'],
  ['iif', 'Write CASE WHEN condition THEN a ELSE b END'],
  ['isnull', 'Write value IS NULL, or coalesce(value, other)'],
  ['len', 'Write length(text)'],
  ['nvl', 'Write coalesce(value, other)'],
  ['regexp_matches', 'Write text LIKE pattern, or search(text, words)'],
]);

/** A hint for a word that SQL reads as a function without arguments, and which is not one. */
export function wordHint(word: string): string {
  const written = word.toLowerCase();
  if (written.endsWith('user')) {
    return `:sender is the identity of the caller. A column of this name needs quotes: "${word}"`;
  }
  const hint =
    written === 'current_catalog'
      ? ''
      : "now() is the time, and date_trunc('day', now()) the day. ";
  return `${hint}A column of this name needs quotes: "${word}"`;
}

/** A hint for a statement or a query that is not supported; `text` is what was written. */
export function statementHint(text: string): string | undefined {
  const [first = '', second = '', third = ''] = text.toUpperCase().split(/\s+/);
  if (first === 'SELECT') return selectHint(text, second, third);
  return statementHints.get(first);
}

const transactionHint =
  'Each statement is a transaction of its own; several changes together are a reducer';
const schemaHint = 'Tables are declared in the module: change it and publish it again';

const statementHints: ReadonlyMap<string, string> = new Map([
  ...['BEGIN', 'START', 'COMMIT', 'END', 'ROLLBACK', 'SAVEPOINT', 'RELEASE'].map(
    (word) => [word, transactionHint] as const,
  ),
  ...['CREATE', 'ALTER', 'DROP', 'COMMENT'].map((word) => [word, schemaHint] as const),
  ['TRUNCATE', 'Write DELETE FROM table: without WHERE it deletes all rows'],
  ['CALL', 'Reducers are called by `reducerdb call`, over HTTP or through MCP'],
  ['COPY', 'Files are read and written by `reducerdb import` and `reducerdb export`'],
  ['MERGE', 'Write INSERT … ON CONFLICT (key) DO UPDATE SET …'],
  ['REPLACE', 'Write INSERT … ON CONFLICT (key) DO UPDATE SET …'],
  ['USE', 'A statement is for the database that it is sent to'],
]);

function selectHint(text: string, second: string, third: string): string | undefined {
  if (second.startsWith('TOP')) {
    const count = /^select top ?\(?(\d+)/i.exec(text)?.[1] ?? 'n';
    return `Write LIMIT ${count} at the end of the query`;
  }
  const [, skipped, count] = /\bLIMIT (\d+), ?(\d+)$/i.exec(text) ?? [];
  if (skipped !== undefined) return `Write LIMIT ${count} OFFSET ${skipped}`;
  const fetched = /\bFETCH (?:FIRST|NEXT) (\d+)/i.exec(text)?.[1];
  if (fetched !== undefined) return `Write LIMIT ${fetched}`;
  if (second === 'DISTINCT' && third.startsWith('ON')) {
    return 'Number the rows by row_number() OVER (PARTITION BY …), and take those with 1';
  }
  return undefined;
}

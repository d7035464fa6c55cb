import { bytesText } from '../values/bytes-text.ts';
import {
  anything,
  boolean,
  list,
  nullable,
  number,
  object,
  type Shaped,
  string,
} from '../values/json-shape.ts';

/** What a publish would do to the rows of a database: see the HTTP reference, `trial`. */
export const trialShape = object({
  tables: list(
    object({
      before: nullable(string),
      after: nullable(string),
      rows_before: number,
      rows_after: nullable(number),
      samples: list(
        object({
          before: nullable(anything),
          after: list(object({ table: string, row: nullable(anything) })),
        }),
      ),
    }),
  ),
  conflicts: list(
    object({
      table: string,
      constraint: string,
      columns: list(string),
      groups: list(object({ value: string, rows: number })),
      more: number,
    }),
  ),
  assertions: list(object({ migration: string, text: string, holds: boolean })),
  failure: nullable(string),
  clients_disconnected: number,
  memory_bytes: number,
  seconds: number,
  online: boolean,
});

export type Trial = Shaped<typeof trialShape>;

/** Shows what a trial run has found. */
export function trialText(trial: Trial): string {
  const { conflicts, assertions, failure } = trial;
  const lines = ['Tried on the rows of this moment, and thrown away:'];
  lines.push(...trial.tables.flatMap((table) => tableLines(table, failure !== null)));
  if (trial.tables.length === 0) lines.push('  no rows are touched');
  if (conflicts.length > 0) lines.push('', 'Rows that are equal where none may be:');
  for (const { table, constraint, columns, groups, more } of conflicts) {
    lines.push(`  ${constraint}, [${columns.join(', ')}] of table ${table}`);
    lines.push(...groups.map(({ value, rows }) => `    ${value} appears ${rows} times`));
    if (more > 0) lines.push(`    and ${more} more`);
  }
  if (assertions.length > 0) lines.push('', 'Assertions:');
  for (const { migration, text, holds } of assertions) {
    lines.push(`  ${holds ? '✓' : '✗'} ${migration}: ${text}`);
  }
  lines.push('', needsText(trial));
  if (failure !== null) lines.push('', `It would fail: ${failure}`);
  return lines.join('\n');
}

function tableLines(
  { before, after, samples, ...counts }: Trial['tables'][number],
  hasFailed: boolean,
): string[] {
  const rows = (count: number | null) => (count === 1 ? '1 row' : `${count ?? 0} rows`);
  const { rows_before: were, rows_after: are } = counts;
  // Where it failed, nobody knows how many rows there would be.
  if (before === null) return [`  ${after}: new${hasFailed ? '' : `, ${rows(are)}`}`];
  const isOpen = hasFailed && after !== null;
  const fate = isOpen ? '' : after === null ? ', dropped' : `, ${rows(are)} afterwards`;
  const named = after === null || after === before ? before : `${before} → ${after}`;
  const shown = samples.flatMap((sample) => [
    `    ${rowText(sample.before)}`,
    ...(sample.after.length === 0 ? ['      → no row'] : []),
    ...sample.after.map(({ table, row }) => {
      return `      → ${table === after ? '' : `${table} `}${rowText(row)}`;
    }),
  ]);
  return [`  ${named}: ${rows(were)}${fate}`, ...shown];
}

function rowText(row: unknown): string {
  return row === null ? '(a long row)' : JSON.stringify(row);
}

function needsText(trial: Trial): string {
  const { clients_disconnected: clients, memory_bytes: bytes, seconds, online } = trial;
  const who = clients === 1 ? '1 client is disconnected' : `${clients} clients are disconnected`;
  const wait = online ? 'calls go on meanwhile' : 'calls wait meanwhile';
  return `${who}. It takes about ${bytesText(bytes)} of memory and ${seconds} s; ${wait}.`;
}

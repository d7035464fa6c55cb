import { bytesText } from '../values/bytes-text.ts';
import {
  anything,
  boolean,
  list,
  nullable,
  number,
  object,
  optional,
  type Shaped,
  string,
} from '../values/json-shape.ts';

const tables = list(
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
);
const conflicts = list(
  object({
    table: string,
    constraint: string,
    columns: list(string),
    groups: list(object({ value: string, rows: number })),
    more: number,
  }),
);
const assertions = list(object({ migration: string, text: string, holds: boolean }));

const triedBack = object({
  possible: boolean,
  reason: nullable(string),
  tried: boolean,
  migrations: list(string),
  ...{ tables, conflicts, assertions },
  lost: list(object({ table: string, column: nullable(string), rows: number })),
  changed: nullable(list(object({ table: string, rows: number }))),
  seconds: number,
});

/** What a publish would do to the rows of a database: see the HTTP reference, `trial`. */
export const trialShape = object({
  ...{ tables, conflicts, assertions },
  failure: nullable(string),
  clients_disconnected: number,
  memory_bytes: number,
  seconds: number,
  online: boolean,
  back: optional(nullable(triedBack)),
});

export type Trial = Shaped<typeof trialShape>;

/** Shows what a trial run has found. */
export function trialText(trial: Trial): string {
  const { failure, back = null } = trial;
  const lines = ['Tried on the rows of this moment, and thrown away:'];
  lines.push(...wayLines(trial, failure !== null), '', needsText(trial));
  if (failure !== null) lines.push('', `It would fail: ${failure}`);
  if (back !== null) lines.push('', ...backLines(trial, back));
  return lines.join('\n');
}

function wayLines(way: Pick<Trial, 'tables' | 'conflicts' | 'assertions'>, hasFailed: boolean) {
  const { tables, conflicts, assertions } = way;
  const lines = tables.flatMap((table) => tableLines(table, hasFailed));
  if (tables.length === 0) lines.push('  no rows are touched');
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
  return lines;
}

type TriedBack = Shaped<typeof triedBack>;

/** What a roll back right afterwards would do. */
function backLines({ tables }: Pick<Trial, 'tables'>, back: TriedBack): string[] {
  const { possible, reason, tried, migrations, lost } = back;
  const names = migrations.join(', ');
  const lines: string[] = [];
  if (tried) {
    lines.push(`Then the \`down\` steps of ${names} were tried on that, and thrown away:`);
    lines.push(...wayLines(back, reason !== null), '');
  }
  if (possible)
    lines.push(...(tried ? comingBack(tables, back) : ['Going back would lose nothing.']));
  else if (reason !== null) lines.push(`Going back would fail: ${reason}`);
  if (lost.length > 0) {
    lines.push('Going back would lose:');
    for (const { table, column, rows } of lost) {
      const what = column === null ? '' : `column ${column} of `;
      lines.push(`  ${what}table ${table}: ${rowCountText(rows)}`);
    }
  }
  return lines;
}

/** Whether the rows that come back are those of now. */
function comingBack(tables: Trial['tables'], back: TriedBack): string[] {
  const { changed } = back;
  if (changed === null) {
    const unequal = tables.flatMap(({ before, rows_before: now }) => {
      const found = back.tables.find(({ after }) => after !== null && after === before);
      const then = found?.rows_after ?? now;
      return then === now
        ? []
        : [`  ${before}: ${rowCountText(now)} now, ${rowCountText(then)} then`];
    });
    if (unequal.length > 0) return ['Going back works, but not with the rows of now:', ...unequal];
    return ['Going back works. There are too many rows to compare those that come back.'];
  }
  if (changed.length === 0) return ['Going back works. All rows come back as they are.'];
  const rows = changed.map(({ table, rows }) => `  ${table}: ${rowCountText(rows)}`);
  return ['Going back works, but these rows do not come back as they are:', ...rows];
}

function rowCountText(count: number | null): string {
  return count === 1 ? '1 row' : `${count ?? 0} rows`;
}

function tableLines(
  { before, after, samples, ...counts }: Trial['tables'][number],
  hasFailed: boolean,
): string[] {
  const { rows_before: were, rows_after: are } = counts;
  // Where it failed, nobody knows how many rows there would be.
  if (before === null) return [`  ${after}: new${hasFailed ? '' : `, ${rowCountText(are)}`}`];
  const isOpen = hasFailed && after !== null;
  const fate = isOpen ? '' : after === null ? ', dropped' : `, ${rowCountText(are)} afterwards`;
  const named = after === null || after === before ? before : `${before} → ${after}`;
  const shown = samples.flatMap((sample) => [
    `    ${rowText(sample.before)}`,
    ...(sample.after.length === 0 ? ['      → no row'] : []),
    ...sample.after.map(({ table, row }) => {
      return `      → ${table === after ? '' : `${table} `}${rowText(row)}`;
    }),
  ]);
  return [`  ${named}: ${rowCountText(were)}${fate}`, ...shown];
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

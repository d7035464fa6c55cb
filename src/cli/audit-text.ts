import { anything, parseAs, record } from '../values/json-shape.ts';
import { drawTable } from './sql-table.ts';

/** Formats lines of the audit log, which are JSON, as a table; identities are cut to 16 digits. */
export function auditText(lines: readonly string[]): string {
  if (lines.length === 0) return 'The audit log is empty.';
  return drawTable({ header: ['TIME', 'BY', 'FROM', 'DID', 'DATABASE', ''], rows: lines.map(row) });
}

function row(line: string): string[] {
  const { time, action, outcome, by, from, database, for: maker, ...detail } = fieldsOf(line);
  const isPlain = outcome === undefined || outcome === 'done';
  const did = isPlain ? word(action) : `${word(action)} (${word(outcome)})`;
  const agent = maker === undefined ? '' : ` for ${short(maker)}`;
  const more = Object.entries(detail).map(([key, value]) => `${key}=${word(value)}`);
  return [word(time), short(by) + agent, word(from), did, short(database), more.join(' ')];
}

/** A line may be incomplete: cut when a process ended, or still being written. */
function fieldsOf(line: string): Record<string, unknown> {
  try {
    return parseAs(line, record(anything));
  } catch {
    return { line };
  }
}

function word(value: unknown): string {
  if (value === undefined) return '';
  return typeof value === 'string' ? value : JSON.stringify(value);
}

function short(identity: unknown): string {
  return word(identity).slice(0, 16);
}

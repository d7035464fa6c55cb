import { type LogRecord, logRecord } from '../protocol/log-record.ts';
import { JsonError } from '../values/json-error.ts';
import { parseAs } from '../values/json-shape.ts';
import { safeText } from './safe-text.ts';

/** Levels from least to most severe, as flags name them. */
export const logLevels = ['trace', 'debug', 'info', 'warn', 'error', 'panic'] as const;

export type LogLevelName = (typeof logLevels)[number];

/** A log line to be shown; a line that is not a record has no time. */
type ShownRecord = Omit<LogRecord, 'ts'> & Partial<Pick<LogRecord, 'ts'>>;

/** Parses a line; one that is not a record is shown as it is. */
export function parseRecord(line: string): ShownRecord {
  try {
    return parseAs(line, logRecord);
  } catch (error) {
    if (!(error instanceof JsonError)) throw error;
    return { level: 'Info', message: line };
  }
}

export function isShown(record: ShownRecord, level: LogLevelName, isExact: boolean): boolean {
  const rank = rankOf(record);
  const wanted = logLevels.indexOf(level);
  return isExact ? rank === wanted : rank >= wanted;
}

/** Marks lines written by the host itself; not shown. */
const hostMark = '__spacetimedb__';

const colours: Readonly<Record<LogLevelName, string>> = {
  trace: '\u001b[2m',
  debug: '\u001b[2;1m',
  info: '\u001b[34m',
  warn: '\u001b[33m',
  error: '\u001b[31m',
  panic: '\u001b[91m',
};

/** Safe to show: `2025-02-17T10:30:45.123456Z  INFO: sendMessage src/index.ts:12: hello`. */
export function logText(record: ShownRecord, hasColours: boolean): string {
  const name = logLevels[rankOf(record)] ?? 'info';
  const padded = safeText(record.level).toUpperCase().padStart(5);
  const level = hasColours ? `${colours[name]}${padded}\u001b[0m` : padded;
  const time = record.ts === undefined ? '' : `${timeText(record.ts)} `;
  const trace = (record.trace ?? []).map(
    (frame) => `\n    in ${frame.module_name ?? '?'} :: ${frame.func_name ?? '?'}`,
  );
  const text = safeText(`${whereText(record)}${record.message}${trace.join('')}`);
  return `${time}${level}: ${text}`;
}

function whereText(record: ShownRecord): string {
  const file = visible(record.filename);
  const line = record.line_number === undefined ? '' : `:${record.line_number}`;
  const parts = [visible(record.function), file === undefined ? undefined : `${file}${line}`];
  const shown = parts.filter((part) => part !== undefined);
  return shown.length === 0 ? '' : `${shown.join(' ')}: `;
}

function visible(name: string | undefined): string | undefined {
  return name === hostMark ? undefined : name;
}

/** The farthest moment of a `Date`. */
const microsMax = 8.64e18;

/** RFC 3339 in UTC, with microseconds when there are any. */
function timeText(micros: number): string {
  if (!(Math.abs(micros) <= microsMax)) return '?';
  const seconds = new Date(Math.floor(micros / 1000)).toISOString().slice(0, 19);
  const fraction = ((micros % 1_000_000) + 1_000_000) % 1_000_000;
  return fraction === 0 ? `${seconds}Z` : `${seconds}.${String(fraction).padStart(6, '0')}Z`;
}

function rankOf({ level }: ShownRecord): number {
  const names: readonly string[] = logLevels;
  const rank = names.indexOf(level.toLowerCase());
  return rank < 0 ? names.indexOf('info') : rank;
}

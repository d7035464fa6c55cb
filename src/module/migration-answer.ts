import { limits } from '../limits.ts';
import { BinaryReader, DecodeError } from '../values/binary-reader.ts';
import type { TraceFrame } from './log-line.ts';
import type { MigratedRows, MigrationCall, MigrationOutcome } from './migration-call.ts';

/**
 * Reads what a program answered: for rows a count of tables, then of each its name, a count of rows
 * and their bytes; else one byte, 1 or 0. The code that stores the rows checks them.
 */
export function readMigrationAnswer(
  call: MigrationCall,
  answer: Uint8Array,
  hasRead: boolean,
): MigrationOutcome {
  const { migratedBytesMax } = limits;
  if (call.kind !== 'rows') {
    return { kind: call.kind === 'run' || answer[0] === 1 ? 'done' : 'refuted' };
  }
  if (answer.length > migratedBytesMax) {
    const size = `${answer.length} bytes, more than ${migratedBytesMax}`;
    return failed(`the rows made of ${call.count} rows of ${call.table} have ${size}`);
  }
  try {
    return { kind: 'rows', tables: readTables(new BinaryReader(answer.slice())), hasRead };
  } catch (error) {
    if (error instanceof DecodeError) return failed('the answer of the program is damaged');
    throw error;
  }
}

function readTables(reader: BinaryReader): ReadonlyMap<string, MigratedRows> {
  const tables = new Map<string, MigratedRows>();
  const count = reader.u32();
  for (let at = 0; at < count; at += 1) {
    const name = reader.string();
    const rowCount = reader.u32();
    tables.set(name, { count: rowCount, rows: reader.bytes() });
  }
  return tables;
}

/** `place`: in the program's own words, as `GuestApi.migrationPlace` says; it can be anything. */
export function failedAt(
  place: string,
  message: string,
  trace: readonly TraceFrame[],
): MigrationOutcome {
  const [, digits = '', step = ''] = /^(-?\d{1,9})\n([^\n]{0,300})/.exec(place) ?? [];
  const row = digits === '' || digits.startsWith('-') ? undefined : Number(digits);
  return { kind: 'failed', message, step, row, trace };
}

function failed(message: string): MigrationOutcome {
  return { kind: 'failed', message, step: '', row: undefined, trace: [] };
}

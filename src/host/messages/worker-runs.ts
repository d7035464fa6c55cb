import { assert } from '../../assert.ts';
import type { EndedRuns } from '../../database/schedules/ended-runs.ts';
import type { BinaryReader } from '../../values/binary-reader.ts';
import type { BinaryWriter } from '../../values/binary-writer.ts';

/** Writes runs of schedules; see `encodeTurn`. */
export function encodeRuns(writer: BinaryWriter, all: readonly EndedRuns[]): void {
  writer.u32(all.length);
  for (const { functionName, hasFailed, startMicros, count, rows, offset } of all) {
    writer.string(functionName);
    writer.bool(hasFailed);
    writer.f64(startMicros);
    writer.f64(count);
    writer.bool(rows !== undefined);
    if (rows === undefined) continue;
    writer.f64(rows);
    writer.f64(offset ?? 0);
  }
}

/** A process that a module may have taken over can say anything. */
export function decodeRuns(reader: BinaryReader): readonly EndedRuns[] {
  return Array.from({ length: reader.u32() }, () => {
    const functionName = reader.string();
    const hasFailed = reader.bool();
    const startMicros = wholeIn(reader);
    const count = countIn(reader);
    const isKnown = reader.bool();
    const [rows, offset] = isKnown ? [countIn(reader), countIn(reader)] : [];
    return { functionName, hasFailed, startMicros, count, rows, offset };
  });
}

function countIn(reader: BinaryReader): number {
  const count = wholeIn(reader);
  assert(count >= 0, 'runs of a schedule have counts');
  return count;
}

function wholeIn(reader: BinaryReader): number {
  const number = reader.f64();
  assert(Number.isSafeInteger(number), 'runs of a schedule have whole numbers');
  return number;
}

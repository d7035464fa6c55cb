import { decodeRecord } from '../log/decode-record.ts';
import type { Disk } from '../log/disk.ts';
import { LogDamageError } from '../log/log-error.ts';
import type { Lineage } from '../log/origin.ts';
import type { LogRecord } from '../log/record.ts';
import { readSegmentHeader, segmentHeaderBytes, segmentSequence } from '../log/segment.ts';
import { type SegmentReader, segmentNames, withReader } from '../log/segment-reader.ts';

/** Where reading begins: a segment, and a log position in it. */
export interface RecordStart {
  readonly segment: number;
  readonly position: number;
}

/**
 * Receives a record, `undefined` for one that only recovery uses; the log position behind it; and
 * the name of its segment. Returns false to stop.
 */
type TakeRecord = (record: LogRecord | undefined, endPosition: number, file: string) => boolean;

/**
 * Passes on the records of a log from a place on, in order, with the log position behind each;
 * packed segments too, and of a segment of another log only what belongs to this one. For a log
 * that was verified: it ends at the first place that has no record. Throws `LogDamageError` if a
 * header is not valid.
 */
export function readRecords(
  disk: Disk,
  lineage: Lineage,
  start: RecordStart,
  take: TakeRecord,
): void {
  for (const name of segmentNames(disk)) {
    const sequence = segmentSequence(name) ?? 0;
    if (sequence < start.segment) continue;
    const { end } = lineage.stageOf(sequence);
    const last = end?.sequence === sequence ? end.position : Number.POSITIVE_INFINITY;
    const goesOn = withReader(disk, name, (reader) => {
      return readSegment(reader, start.position, last, take);
    });
    if (!goesOn) return;
  }
}

function readSegment(reader: SegmentReader, from: number, last: number, take: TakeRecord): boolean {
  const reading = readSegmentHeader(reader.header());
  if (reading.kind !== 'valid') {
    const place = { file: reader.name, position: 0, offset: 0 };
    throw new LogDamageError('the header of a segment is not valid', place);
  }
  const { header } = reading;
  const base = header.position - segmentHeaderBytes;
  let position = Math.max(from - base, segmentHeaderBytes);
  while (position < reader.size && base + position < last) {
    if (reader.read(position, header.salt) !== 'record') return true;
    const { kind, offset, bytes, payloadStart, payloadEnd, length } = reader;
    const record = decodeRecord(kind, offset, bytes, payloadStart, payloadEnd);
    position += length;
    if (!take(record, base + position, reader.name)) return false;
  }
  return true;
}

import type { Disk } from './disk.ts';
import { EvidenceSearch } from './evidence-search.ts';
import { forkedError, type LogDamageError, type LogPlace } from './log-error.ts';
import type { Lineage } from './origin.ts';
import {
  isPacked,
  readSegmentHeader,
  type SegmentHeader,
  segmentHeaderBytes,
  segmentSequence,
} from './segment.ts';
import { type SegmentReader, withReader } from './segment-reader.ts';

/**
 * Looks for signs that two services have written to the segments of a log that are not read, which
 * are all of `names` but the last: two with one number, or records behind the place at which the
 * next one begins.
 */
export function checkUnread(disk: Disk, names: readonly string[], lineage: Lineage): void {
  names.slice(0, -1).forEach((name, index) => {
    const next = names[index + 1] as string;
    if (segmentSequence(name) === segmentSequence(next)) {
      const reason = `two segments have the number ${segmentSequence(next)}`;
      throw forked(reason, { file: next, position: 0, offset: 1 }, lineage);
    }
    // Sealed and checked when it was packed; a start unpacks nothing.
    if (isPacked(name)) return;
    const start = readHeader(disk, name);
    const header = readHeader(disk, next);
    const isNext = start !== undefined && header?.sequence === start.sequence + 1;
    // Behind the place of an origin there may be records, which belong to the other log.
    if (!isNext || lineage.isLastOfStage(start.sequence)) return;
    withReader(disk, name, (reader) => checkEnd(reader, start, header, lineage));
  });
}

function checkEnd(
  reader: SegmentReader,
  start: SegmentHeader,
  next: SegmentHeader,
  lineage: Lineage,
): void {
  const base = start.position - segmentHeaderBytes;
  const end = next.position - base;
  if (end >= reader.size || reader.isBlankFrom(end)) return;
  const point = { ...next, offset: next.firstOffset - 1 };
  const place = { file: reader.name, position: end, offset: next.firstOffset };
  const search = new EvidenceSearch(start.salt, point, place);
  search.look(reader, end, base);
  if (search.recordCount === 0) return;
  throw forked('a segment does not continue the one before it', place, lineage);
}

function forked(reason: string, place: LogPlace, { own }: Lineage): LogDamageError {
  return forkedError(reason, place, own);
}

/** `undefined`: it cannot be read. */
function readHeader(disk: Disk, name: string): SegmentHeader | undefined {
  const reading = withReader(disk, name, (reader) => readSegmentHeader(reader.header()));
  return reading.kind === 'valid' ? reading.header : undefined;
}

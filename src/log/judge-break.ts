import type { DatabaseIdentity } from '../values/identity-roles.ts';
import type { Disk } from './disk.ts';
import { EvidenceSearch } from './evidence-search.ts';
import type { HistoryPoint } from './history-point.ts';
import { forkedError, LogDamageError, type LogPlace, repairCommand } from './log-error.ts';
import { type SegmentHeader, segmentHeaderBytes } from './segment.ts';
import { type SegmentReader, withReader } from './segment-reader.ts';

/** The records of the log end at `position` of segment `name`; `later` are the files after it. */
export interface Break {
  readonly reason: string;
  readonly name: string;
  readonly position: number;
  readonly later: readonly string[];
}

/** What the records before a break lead to. */
export interface Reached {
  readonly salt: number;
  readonly end: HistoryPoint;
  /** Highest log position that one of them says was durable. */
  readonly durablePosition: number;
  readonly databaseIdentity: DatabaseIdentity;
  /** The header of a segment, `undefined` if it is not valid; throws if it is damage. */
  readonly headerOf: (reader: SegmentReader) => SegmentHeader | undefined;
}

/** `damage`: the data after the break proves that the data at it had been durable. */
export interface Verdict {
  readonly tail: TornTail;
  readonly damage: LogDamageError | undefined;
}

/** The data after the last record that counts; it was never durable, or its loss is accepted. */
export interface TornTail {
  readonly reason: string;
  readonly place: LogPlace;
  /** Files after the break, which are removed whole. */
  readonly files: readonly string[];
  /** Whole records found after the break, and the highest offset of one, or 0. */
  readonly survivorCount: number;
  readonly survivorOffset: number;
}

/** Torn tail or damage? Throws when what follows belongs to another history. */
export function judgeBreak(disk: Disk, found: Break, reached: Reached): Verdict {
  const { end, databaseIdentity } = reached;
  const place = { file: found.name, position: found.position, offset: end.offset + 1 };
  const search = new EvidenceSearch(reached.salt, end, place);
  const isInFile = found.position >= segmentHeaderBytes;
  const foundBase = isInFile ? end.position - found.position : Number.NaN;
  withReader(disk, found.name, (reader) => {
    search.look(reader, found.position + 8, foundBase);
  });
  for (const name of found.later) {
    withReader(disk, name, (reader) => {
      const header = reached.headerOf(reader);
      if (header !== undefined) search.noteHeader(header);
      const base = header === undefined ? Number.NaN : header.position - segmentHeaderBytes;
      search.look(reader, segmentHeaderBytes, base);
    });
  }
  if (search.fork !== undefined) {
    const reason = `${search.fork}; ${found.reason}`;
    throw forkedError(reason, place, databaseIdentity);
  }
  const durablePosition = Math.max(search.durablePosition, reached.durablePosition);
  const dropsWhole = found.position < segmentHeaderBytes;
  const tail = {
    reason: found.reason,
    place,
    files: dropsWhole ? [found.name, ...found.later] : found.later,
    survivorCount: search.recordCount,
    survivorOffset: search.offset,
  };
  if (durablePosition <= end.position) return { tail, damage: undefined };
  const command = repairCommand(databaseIdentity);
  const advice = `With the service stopped, ${command} shows what is left of it`;
  const reason = `${found.reason}, and what was here had been durable`;
  return { tail, damage: new LogDamageError(reason, place, { advice }) };
}

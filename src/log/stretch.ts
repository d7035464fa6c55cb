import { limits } from '../limits.ts';
import { acceptedMicrosOf, decodeRecord } from './decode-record.ts';
import { searchBytesMax } from './evidence-search.ts';
import { type HistoryPoint, isSameChain } from './history-point.ts';
import { LogDamageError } from './log-error.ts';
import {
  type CommitRecord,
  isCommitKind,
  isCommitRecord,
  type LogRecord,
  recordHeaderBytes,
} from './record.ts';
import { type SegmentHeader, segmentHeaderBytes } from './segment.ts';
import type { SegmentReader } from './segment-reader.ts';

/** Statistics about some records. */
export interface Figures {
  commits: number;
  rowsInserted: number;
  rowsDeleted: number;
  /** 0 if no commit is among them. */
  firstOffset: number;
  lastOffset: number;
  /** When the first and the last of the commits were requested, since the Unix epoch. */
  firstMicros: number;
  lastMicros: number;
}

/** Consecutive records of one segment without a gap; perhaps none. */
export interface Stretch {
  readonly file: string;
  /** Sequence number of the segment. */
  readonly sequence: number;
  /** Position in the file of the first record, and after the last one. */
  readonly from: number;
  readonly to: number;
  readonly start: HistoryPoint;
  readonly end: HistoryPoint;
  readonly figures: Readonly<Figures>;
  /** True if it begins right after the segment's header, which gives its place in the history. */
  readonly isFirst: boolean;
}

export interface ScanRules {
  readonly salt: number;
  /**
   * Whether a stretch in segment `sequence` ends at a place although the next record, up to `next`,
   * follows it.
   */
  readonly endsAt: (place: HistoryPoint, next: HistoryPoint, sequence: number) => boolean;
}

type OpenStretch = { -readonly [Key in keyof Stretch]: Stretch[Key] } & { figures: Figures };

export function noFigures(): Figures {
  return {
    commits: 0,
    rowsInserted: 0,
    rowsDeleted: 0,
    firstOffset: 0,
    lastOffset: 0,
    firstMicros: 0,
    lastMicros: 0,
  };
}

/** The totals of stretches, given in the order of their history. */
export function sumOf(stretches: readonly Pick<Stretch, 'figures'>[]): Figures {
  const sum = noFigures();
  for (const { figures } of stretches) {
    if (figures.commits > 0) {
      if (sum.commits === 0) sum.firstMicros = figures.firstMicros;
      if (sum.commits === 0) sum.firstOffset = figures.firstOffset;
      sum.lastMicros = figures.lastMicros;
      sum.lastOffset = figures.lastOffset;
    }
    sum.commits += figures.commits;
    sum.rowsInserted += figures.rowsInserted;
    sum.rowsDeleted += figures.rowsDeleted;
  }
  return sum;
}

/** Finds all records of segments, including those behind data that is not a record. */
export class StretchScan {
  readonly stretches: Stretch[] = [];
  /** The totals of stretches beyond the number that can be kept individually. */
  readonly rest: Figures = noFigures();
  readonly #rules: ScanRules;
  #foundCount = 0;
  #searchedBytes = 0;
  #open: OpenStretch | undefined;

  constructor(rules: ScanRules) {
    this.#rules = rules;
  }

  /** `header` is that of the segment, if it is valid and in its place. */
  scan(reader: SegmentReader, sequence: number, header: SegmentHeader | undefined): void {
    const base = header === undefined ? Number.NaN : header.position - segmentHeaderBytes;
    this.#open = undefined;
    if (header !== undefined) {
      const start = { ...header, offset: header.firstOffset - 1 };
      this.#begin(reader.name, sequence, segmentHeaderBytes, start, 'first');
    }
    let contentEnd: number | undefined;
    for (let at = segmentHeaderBytes; at + recordHeaderBytes <= reader.size; ) {
      const isSearching = contentEnd !== undefined && this.#open === undefined;
      if (this.#isRecord(reader, at, isSearching) && this.#take(reader, sequence, at, base)) {
        at += reader.length;
        continue;
      }
      contentEnd ??= reader.endOfContent(segmentHeaderBytes);
      if (at >= contentEnd) break;
      this.#open = undefined;
      at += 8;
    }
  }

  #isRecord(reader: SegmentReader, at: number, isSearching: boolean): boolean {
    if (isSearching && !reader.mayBeRecord(at)) return false;
    const isRecord = reader.read(at, this.#rules.salt) === 'record';
    if (isSearching) this.#searchedBytes += reader.hashedBytes;
    if (this.#searchedBytes > searchBytesMax) {
      const place = { file: reader.name, position: at, offset: 0 };
      throw new LogDamageError('what follows the damage is too large to search', place);
    }
    return isRecord;
  }

  /** Returns false if the record's content makes no sense. */
  #take(reader: SegmentReader, sequence: number, at: number, base: number): boolean {
    const { kind, offset, hash, bytes, payloadStart, payloadEnd } = reader;
    let record: LogRecord | undefined;
    try {
      record = decodeRecord(kind, offset, bytes, payloadStart, payloadEnd);
    } catch {
      return false;
    }
    const isCommit = isCommitKind(kind);
    const start = {
      position: base + at,
      offset: isCommit ? offset - 1 : offset,
      chainLow: reader.previousLow,
      chainHigh: reader.previousHigh,
    };
    const { chainLow, chainHigh } = hash;
    const end = { position: start.position + reader.length, offset, chainLow, chainHigh };
    const open = this.#following(reader.name, sequence, at, start, end);
    open.to = at + reader.length;
    open.end = end;
    if (record !== undefined && isCommitRecord(record)) note(open.figures, offset, record);
    return true;
  }

  /** The stretch that a record from `start` to `end` belongs to. */
  #following(
    file: string,
    sequence: number,
    at: number,
    start: HistoryPoint,
    end: HistoryPoint,
  ): OpenStretch {
    const open = this.#open;
    const follows =
      open !== undefined && isSameChain(open.end, start) && open.end.offset === start.offset;
    if (!follows) return this.#begin(file, sequence, at, start, 'found');
    const isEnd = this.#rules.endsAt(open.end, end, sequence);
    return isEnd ? this.#begin(file, sequence, at, start, 'cut') : open;
  }

  #begin(
    file: string,
    sequence: number,
    from: number,
    { position, offset, chainLow, chainHigh }: HistoryPoint,
    cause: 'first' | 'cut' | 'found',
  ): OpenStretch {
    const start = { position, offset, chainLow, chainHigh };
    if (cause === 'found') this.#foundCount++;
    const isKept = this.#foundCount <= limits.repairPiecesMax || cause !== 'found';
    const figures = isKept ? noFigures() : this.rest;
    const isFirst = cause === 'first';
    const open = { file, sequence, from, to: from, start, end: start, figures, isFirst };
    if (isKept) this.stretches.push(open);
    this.#open = open;
    return open;
  }
}

function note(figures: Figures, offset: number, record: CommitRecord): void {
  const micros = acceptedMicrosOf(record.inputs);
  if (figures.commits === 0) {
    figures.firstOffset = offset;
    figures.firstMicros = micros;
  }
  figures.commits++;
  figures.lastOffset = offset;
  figures.lastMicros = micros;
  for (const { inserts, deletes } of record.changes?.tables ?? []) {
    figures.rowsInserted += inserts.count;
    figures.rowsDeleted += deletes.count;
  }
}

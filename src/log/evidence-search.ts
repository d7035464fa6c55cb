import { limits } from '../limits.ts';
import { type HistoryPoint, isOfOther } from './history-point.ts';
import { LogDamageError, type LogPlace } from './log-error.ts';
import { isCommitKind } from './record.ts';
import { type SegmentHeader, segmentHeaderBytes } from './segment.ts';
import type { SegmentReader } from './segment-reader.ts';

/**
 * Bytes that may be checksummed when searching for records behind a break. Rows can hold bytes that
 * look like the header of a long record at every eighth position; without a limit the cost would be
 * quadratic.
 */
export const searchBytesMax = 64 * limits.segmentBytes;

/**
 * Searches behind a break for records, for the highest position that one says was durable, and for
 * signs that they belong to another history than the records before the break.
 */
export class EvidenceSearch {
  durablePosition = 0;
  recordCount = 0;
  /** The highest offset found. */
  offset = 0;
  /** Why there are two histories. */
  fork: string | undefined;
  readonly #salt: number;
  readonly #place: LogPlace;
  /** Where the last record found ends; initially, the last one before the break. */
  #end: HistoryPoint;
  #searchedBytes = 0;

  /** `end`: where the records before the break end. */
  constructor(salt: number, end: HistoryPoint, place: LogPlace) {
    this.#salt = salt;
    this.#end = end;
    this.#place = place;
  }

  noteHeader(header: SegmentHeader): void {
    this.#noteDurable(header.durablePosition);
    const start = { ...header, offset: header.firstOffset - 1 };
    if (header.salt !== this.#salt || !isOfOther(start, this.#end)) return;
    this.fork ??= `segment ${header.sequence} does not continue the one before it`;
  }

  /** `base`: the log position of the start of the file, if it held only records. */
  look(reader: SegmentReader, from: number, base: number): void {
    let position = Math.max(from, segmentHeaderBytes);
    while (position + 32 <= reader.size) {
      if (!reader.mayBeRecord(position)) {
        position += 8;
        continue;
      }
      const isRecord = reader.read(position, this.#salt) === 'record';
      this.#searchedBytes += reader.hashedBytes;
      if (this.#searchedBytes > searchBytesMax) {
        throw new LogDamageError('what follows is too large to search', this.#place);
      }
      if (isRecord) this.#noteRecord(reader, base + position);
      position += isRecord ? reader.length : 8;
    }
  }

  #noteRecord(reader: SegmentReader, position: number): void {
    const { kind, offset, durablePosition, previousLow, previousHigh, hash, length } = reader;
    this.recordCount++;
    this.#noteDurable(durablePosition);
    const isCommit = isCommitKind(kind);
    const before = isCommit ? offset - 1 : offset;
    const start = { position, offset: before, chainLow: previousLow, chainHigh: previousHigh };
    if (isOfOther(start, this.#end)) {
      const isTwice = isCommit && offset <= this.#end.offset;
      const text = isTwice ? 'was given to two commits' : 'follows other commits than those there';
      this.fork ??= `offset ${offset} ${text}`;
    }
    const { chainLow, chainHigh } = hash;
    this.#end = { position: position + length, offset, chainLow, chainHigh };
    this.offset = Math.max(this.offset, offset);
  }

  #noteDurable(durablePosition: number): void {
    this.durablePosition = Math.max(this.durablePosition, durablePosition);
  }
}

import { limits } from '../limits.ts';
import type { RowFormat } from './row-table.ts';

/** One row as it was written, without the end of its line. */
export interface RawRecord {
  readonly bytes: Uint8Array;
  /** The line on which it begins, counted from 1. */
  readonly line: number;
}

/** The text before the next end of a line is longer than a row may be. */
export class LongRecordError extends Error {
  override readonly name = 'LongRecordError';
  readonly line: number;

  constructor(line: number) {
    super(`the row has more than ${limits.rowTextBytesMax} bytes`);
    this.line = line;
  }
}

/**
 * Splits a text that comes in pieces into its records: lines, but that a line feed between quotes
 * is part of a field of CSV. Ends of lines are LF or CR LF; a byte order mark is dropped. Holds one
 * unfinished record at most, and keeps the pieces that it consists of.
 */
export class RecordSplitter {
  readonly #isCsv: boolean;
  readonly #bytesMax: number;
  /** The beginning of the unfinished record. */
  #parts: Uint8Array[] = [];
  #heldBytes = 0;
  #line = 1;
  /** Line feeds in the unfinished record. */
  #feeds = 0;
  #state: FieldState = 'start';
  #isAtStart = true;

  constructor(format: RowFormat, bytesMax: number = limits.rowTextBytesMax) {
    this.#isCsv = format === 'csv';
    this.#bytesMax = bytesMax;
  }

  /** The line on which the unfinished record begins. */
  get line(): number {
    return this.#line;
  }

  /** Bytes of the unfinished record. */
  get heldBytes(): number {
    return this.#heldBytes;
  }

  /** The records that end in this piece, which must not change later. */
  *push(piece: Uint8Array): Generator<RawRecord, void, void> {
    let from = 0;
    for (;;) {
      const end = this.#isCsv ? this.#endOfCsv(piece, from) : piece.indexOf(lineFeed, from);
      if (end < 0) break;
      yield this.#take(piece.subarray(from, end), 1);
      from = end + 1;
    }
    if (from < piece.length) this.#hold(piece.subarray(from));
  }

  /** The last record, if no line feed ends it. */
  *end(): Generator<RawRecord, void, void> {
    if (this.#heldBytes > 0) yield this.#take(empty, 0);
  }

  #hold(part: Uint8Array): void {
    if (this.#heldBytes + part.length > this.#bytesMax) throw new LongRecordError(this.#line);
    this.#parts.push(part);
    this.#heldBytes += part.length;
  }

  #take(last: Uint8Array, feeds: number): RawRecord {
    if (this.#heldBytes + last.length > this.#bytesMax) throw new LongRecordError(this.#line);
    let bytes = this.#parts.length === 0 ? last : joined(this.#parts, last, this.#heldBytes);
    if (this.#isAtStart && hasMark(bytes)) bytes = bytes.subarray(3);
    if (bytes[bytes.length - 1] === carriageReturn) bytes = bytes.subarray(0, -1);
    const record = { bytes, line: this.#line };
    this.#line += this.#feeds + feeds;
    this.#feeds = 0;
    this.#parts = [];
    this.#heldBytes = 0;
    this.#state = 'start';
    this.#isAtStart = false;
    return record;
  }

  /** Position of the line feed that ends the record; -1: it goes on behind the piece. */
  #endOfCsv(piece: Uint8Array, from: number): number {
    let state = this.#state;
    let at = from;
    if (this.#isAtStart && this.#heldBytes === 0 && hasMark(piece)) at = 3;
    for (; at < piece.length; at += 1) {
      const byte = piece[at];
      if (byte === quote) {
        if (state === 'start' || state === 'closed') state = 'quoted';
        else if (state === 'quoted') state = 'closed';
        continue;
      }
      if (state === 'quoted') {
        if (byte === lineFeed) this.#feeds += 1;
        continue;
      }
      if (byte === lineFeed) {
        this.#state = 'start';
        return at;
      }
      state = byte === comma ? 'start' : 'plain';
    }
    this.#state = state;
    return -1;
  }
}

/**
 * `start`: at the beginning of a field. `closed`: behind a quote in a quoted field, which ends it,
 * or is one of two that stand for one. `plain`: a field without quotes, or something behind quotes,
 * which is a fault that the parser of fields reports.
 */
type FieldState = 'start' | 'plain' | 'quoted' | 'closed';

const lineFeed = 0x0a;
const carriageReturn = 0x0d;
const quote = 0x22;
const comma = 0x2c;
const empty = new Uint8Array(0);

function hasMark(bytes: Uint8Array): boolean {
  return bytes[0] === 0xef && bytes[1] === 0xbb && bytes[2] === 0xbf;
}

function joined(parts: readonly Uint8Array[], last: Uint8Array, heldBytes: number): Uint8Array {
  const bytes = new Uint8Array(heldBytes + last.length);
  let at = 0;
  for (const part of [...parts, last]) {
    bytes.set(part, at);
    at += part.length;
  }
  return bytes;
}

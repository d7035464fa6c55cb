import { limits } from '../limits.ts';
import { QueryBudget } from '../sql/budget.ts';
import { overBudget } from '../sql/failure.ts';
import type { ResultCollector } from '../sql/run/results.ts';
import { announced, emptyRowSet, type RowSet } from './row-set.ts';

const firstBytes = 256;
/** Small enough to allocate, and to copy, within a fraction of a slice. */
const pieceBytesMax = 1_024 * 1_024;

/**
 * Collects encoded rows for a row set that may be very large, without a slow step: rows are copied
 * into pieces, and `join` puts the pieces together one by one.
 */
export class RowSetPieces implements ResultCollector {
  /** Full pieces that are not joined yet. */
  #pieces: Uint8Array[] = [];
  #piece = new Uint8Array(firstBytes);
  #length = 0;
  /** Bytes before the current piece. */
  #bytesBefore = 0;
  #rowCount = 0;
  #rowStart = 0;
  /** Bytes of each row so far. */
  #rowBytes = 0;
  /** Where rows start, once their sizes differ. */
  #starts: Uint32Array | undefined;
  #joined: Uint8Array | undefined;
  #joinedBytes = 0;
  readonly #budget: QueryBudget;

  /** `budget` counts its memory. */
  constructor(budget = new QueryBudget()) {
    this.#budget = budget;
    budget.takeResult(firstBytes);
  }

  get rowCount(): number {
    return this.#rowCount;
  }

  get byteCount(): number {
    return this.#bytesBefore + this.#length;
  }

  append(bytes: Uint8Array, from: number, to: number): void {
    const length = to - from;
    if (this.#length + length > this.#piece.length) this.#makeRoom(length);
    const into = this.#piece;
    let at = this.#length;
    if (length < 64) {
      for (let index = from; index < to; index++) into[at++] = bytes[index] as number;
    } else into.set(bytes.subarray(from, to), at);
    this.#length += length;
  }

  endRow(): void {
    const row = this.#rowCount;
    const start = this.#rowStart;
    const end = this.#bytesBefore + this.#length;
    if (row === 0) this.#rowBytes = end;
    else if (this.#starts === undefined && end - start !== this.#rowBytes) this.#beginStarts();
    if (this.#starts !== undefined) this.#addStart(start);
    this.#rowStart = end;
    this.#rowCount = row + 1;
    const { sqlResultRowsMax, sqlResultBytesMax } = limits;
    if (row === sqlResultRowsMax) throw tooLarge(`${sqlResultRowsMax} rows`);
    if (end > sqlResultBytesMax) throw tooLarge(`${sqlResultBytesMax} bytes`);
  }

  /** Joins one more piece; true when that was the last. */
  join(): boolean {
    this.#joined ??= this.#newBytes(this.byteCount);
    const full = this.#pieces.shift();
    const piece = full ?? this.#piece.subarray(0, this.#length);
    this.#joined.set(piece, this.#joinedBytes);
    this.#joinedBytes += piece.length;
    this.#budget.giveBackResult(piece.length);
    return full === undefined;
  }

  finish(): Uint8Array {
    while (this.#joined === undefined || this.#joinedBytes < this.byteCount) this.join();
    return this.#joined;
  }

  rowSet(): RowSet {
    if (this.#rowCount === 0) return emptyRowSet;
    const data = this.finish();
    const rowBytes = this.#starts === undefined ? announced(this.#rowBytes) : undefined;
    if (rowBytes !== undefined) return { kind: 'fixedSize', rowBytes, data };
    const starts = this.#starts ?? this.#beginStarts();
    return { kind: 'offsets', starts: starts.subarray(0, this.#rowCount), data };
  }

  /** Starts a new piece; the part of the current row that is written stays in the old one. */
  #makeRoom(length: number): void {
    const { byteLength } = this.#piece;
    if (byteLength < pieceBytesMax) {
      const grown = this.#newBytes(Math.max(2 * byteLength, this.#length + length));
      grown.set(this.#piece.subarray(0, this.#length));
      this.#budget.giveBackResult(byteLength);
      this.#piece = grown;
      return;
    }
    this.#pieces.push(this.#piece.subarray(0, this.#length));
    this.#bytesBefore += this.#length;
    this.#piece = this.#newBytes(Math.max(pieceBytesMax, length));
    this.#length = 0;
  }

  #newBytes(length: number): Uint8Array<ArrayBuffer> {
    this.#budget.takeResult(length);
    return new Uint8Array(length);
  }

  #newStarts(length: number): Uint32Array<ArrayBuffer> {
    this.#budget.takeResult(4 * length);
    return new Uint32Array(length);
  }

  /** Until now all rows had one size. */
  #beginStarts(): Uint32Array {
    const starts = this.#newStarts(Math.max(64, 2 * this.#rowCount));
    for (let row = 0; row < this.#rowCount; row++) starts[row] = row * this.#rowBytes;
    this.#starts = starts;
    return starts;
  }

  #addStart(start: number): void {
    let starts = this.#starts;
    if (starts === undefined) return;
    if (this.#rowCount === starts.length) {
      const before = starts;
      starts = this.#newStarts(2 * before.length);
      starts.set(before);
      this.#budget.giveBackResult(4 * before.length);
      this.#starts = starts;
    }
    starts[this.#rowCount] = start;
  }
}

/** The error for results larger than all queries of a request may have together. */
export function tooLarge(bound: string): Error {
  return overBudget(
    `The queries have more than ${bound} together; ` +
      'narrow their WHERE clauses or split them over several requests',
  );
}

import { limits } from '../../limits.ts';
import { overBudget } from '../failure.ts';

/** Receives output rows, piece by piece. */
export interface RowSink {
  /** Appends `bytes[from, to)`; the caller can reuse the bytes when it returns. */
  append(bytes: Uint8Array, from: number, to: number): void;
}

/** Holds one encoded row at a time, in a buffer that is reused for the next. */
export class ByteSink implements RowSink {
  bytes: Uint8Array = new Uint8Array(128);
  length = 0;

  /** Starts over. The previous row is overwritten. */
  reset(): void {
    this.length = 0;
  }

  append(bytes: Uint8Array, from: number, to: number): void {
    const length = to - from;
    const at = this.length;
    if (at + length > this.bytes.length) this.#grow(at + length);
    const into = this.bytes;
    if (length < 64) {
      for (let index = 0; index < length; index++) into[at + index] = bytes[from + index] as number;
    } else into.set(bytes.subarray(from, to), at);
    this.length = at + length;
  }

  #grow(needed: number): void {
    requireRowBytes(needed);
    const grown = new Uint8Array(Math.max(needed, this.bytes.length * 2));
    grown.set(this.bytes.subarray(0, this.length));
    this.bytes = grown;
  }
}

/**
 * Throws `SqlFailure` for a row that is longer than a row of a table may be: a statement can make
 * millions of bytes of each of its columns, and all of them would be in memory at once.
 */
export function requireRowBytes(length: number): void {
  if (length <= limits.rowBytesMax) return;
  throw overBudget(
    `A row of the statement has more than ${limits.rowBytesMax} bytes; ` +
      'name fewer columns or shorten their values',
  );
}

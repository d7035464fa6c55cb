import { limits } from '../../limits.ts';
import { overBudget } from '../failure.ts';
import type { RowSink } from './compile-output.ts';

/** Collects encoded result rows, one after another, up to the limits of one result. */
export class ResultRows implements RowSink {
  #bytes = new Uint8Array(256);
  #length = 0;
  #rowCount = 0;

  get rowCount(): number {
    return this.#rowCount;
  }

  /** Appends `bytes[from, to)` to the row that is being built. */
  append(bytes: Uint8Array, from: number, to: number): void {
    const length = to - from;
    if (this.#length + length > this.#bytes.length) this.#grow(length);
    if (length < 64) {
      const into = this.#bytes;
      let at = this.#length;
      for (let index = from; index < to; index++) into[at++] = bytes[index] as number;
    } else this.#bytes.set(bytes.subarray(from, to), this.#length);
    this.#length += length;
  }

  /** What was appended since the last call is one row. */
  endRow(): void {
    this.#rowCount++;
    if (this.#rowCount > limits.sqlResultRowsMax) {
      throw overBudget(
        `The result has more than ${limits.sqlResultRowsMax} rows; ` +
          'add a LIMIT or narrow the WHERE clause',
      );
    }
  }

  /** All rows, in a buffer of exactly their size: it may be handed to another thread. */
  finish(): Uint8Array {
    return this.#bytes.slice(0, this.#length);
  }

  #grow(room: number): void {
    const needed = this.#length + room;
    if (needed > limits.sqlResultBytesMax) {
      throw overBudget(
        `The result has more than ${limits.sqlResultBytesMax} bytes; ` +
          'add a LIMIT, name fewer columns or narrow the WHERE clause',
      );
    }
    const wanted = Math.min(this.#bytes.length * 2, limits.sqlResultBytesMax);
    const grown = new Uint8Array(Math.max(needed, wanted));
    grown.set(this.#bytes.subarray(0, this.#length));
    this.#bytes = grown;
  }
}

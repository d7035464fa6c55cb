import { limits } from '../../limits.ts';
import { QueryBudget } from '../budget.ts';
import { requireRowBytes } from '../expressions/row-sink.ts';
import { resultTooLarge } from '../failure.ts';
import type { ResultCollector } from './results.ts';

/**
 * The buffer of a result that was handed over: allocating one costs as much as finding a row by its
 * key. One collector has it at a time; a second collector meanwhile allocates its own.
 */
let spare: Uint8Array | undefined;
const firstBytes = 256;
const spareBytesMax = 64 * 1_024;

/**
 * Collects encoded result rows, one after another, up to the limits of one result; `rowsMax` is the
 * limit of its reader.
 */
export class ResultRows implements ResultCollector {
  #bytes: Uint8Array;
  #length = 0;
  /** Where the current row begins. */
  #rowStart = 0;
  #rowCount = 0;
  #finished: Uint8Array | undefined;
  readonly #rowsMax: number;
  readonly #budget: QueryBudget;

  constructor(rowsMax = Number.POSITIVE_INFINITY, budget = new QueryBudget()) {
    this.#budget = budget;
    this.#rowsMax = Math.min(rowsMax, limits.sqlResultRowsMax);
    this.#bytes = spare ?? new Uint8Array(firstBytes);
    spare = undefined;
    budget.takeResult(this.#bytes.length);
  }

  get rowCount(): number {
    return this.#rowCount;
  }

  /** Appends `bytes[from, to)` to the current row. */
  append(bytes: Uint8Array, from: number, to: number): void {
    const length = to - from;
    if (length >= 64) requireRowBytes(this.#length - this.#rowStart + length);
    if (this.#length + length > this.#bytes.length) this.#grow(length);
    if (length < 64) {
      const into = this.#bytes;
      let at = this.#length;
      for (let index = from; index < to; index++) into[at++] = bytes[index] as number;
    } else this.#bytes.set(bytes.subarray(from, to), this.#length);
    this.#length += length;
  }

  endRow(): void {
    this.#rowStart = this.#length;
    this.#rowCount++;
    if (this.#rowCount > this.#rowsMax) {
      throw resultTooLarge(`${this.#rowsMax} rows`, 'add a LIMIT or narrow the WHERE clause');
    }
  }

  /** The buffer can be handed to another thread. */
  finish(): Uint8Array {
    if (this.#finished === undefined) {
      this.#budget.takeResult(this.#length);
      this.#finished = this.#bytes.slice(0, this.#length);
      this.#budget.giveBackResult(this.#bytes.length);
      if (this.#bytes.length <= spareBytesMax) spare = this.#bytes;
      this.#bytes = this.#finished;
    }
    return this.#finished;
  }

  #grow(room: number): void {
    const needed = this.#length + room;
    if (needed > limits.sqlResultBytesMax) {
      throw resultTooLarge(
        `${limits.sqlResultBytesMax} bytes`,
        'add a LIMIT, name fewer columns or narrow the WHERE clause',
      );
    }
    const wanted = Math.min(this.#bytes.length * 2, limits.sqlResultBytesMax);
    const size = Math.max(needed, wanted);
    this.#budget.takeResult(size);
    const grown = new Uint8Array(size);
    grown.set(this.#bytes.subarray(0, this.#length));
    this.#budget.giveBackResult(this.#bytes.length);
    this.#bytes = grown;
  }
}

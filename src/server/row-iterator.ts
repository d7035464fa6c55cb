/// <reference lib="esnext.iterator" preserve="true" />

import { EngineIterator, Helpers } from './iterator-helpers.ts';

/** The result of `iter` and `filter`: an iterator with `map`, `filter`, `take`, `toArray` … */
export type RowIterator<Row> = IteratorObject<Row, undefined, unknown>;

/** Yields rows in batches: the next ones, or nothing when there are no more. */
export interface RowSource<Row> {
  /** Fills an empty array; leaves it empty at the end. */
  fill(rows: Row[]): void;
  /** Drops the remaining rows. Not called after the end. */
  close(): void;
}

/** The engine's own iterator where it has helpers, else ours (Node 20). */
const Base: new <_Row>() => object = EngineIterator ?? Helpers;

/** An iterator over `source`. Rows are decoded a batch at a time, ahead of the reader. */
class Rows<Row> extends Base<Row> {
  readonly #source: RowSource<Row>;
  readonly #batch: Row[] = [];
  #position = 0;
  #isDone = false;

  constructor(source: RowSource<Row>) {
    super();
    this.#source = source;
  }

  next(): IteratorResult<Row, undefined> {
    if (this.#position === this.#batch.length && !this.#isDone) {
      this.#batch.length = 0;
      this.#position = 0;
      this.#source.fill(this.#batch);
      this.#isDone = this.#batch.length === 0;
    }
    if (this.#isDone) return { done: true, value: undefined };
    const value = this.#batch[this.#position] as Row;
    this.#position += 1;
    return { done: false, value };
  }

  return(): IteratorResult<Row, undefined> {
    if (!this.#isDone) this.#source.close();
    this.#isDone = true;
    return { done: true, value: undefined };
  }
}

export function iterateRows<Row>(source: RowSource<Row>): RowIterator<Row> {
  return new Rows(source) as unknown as RowIterator<Row>;
}

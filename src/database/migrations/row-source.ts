import { limits } from '../../limits.ts';
import { noRow, type RowRef, rowRef } from '../../store/row-ref.ts';
import type { RowWatcher } from '../../store/row-watcher.ts';
import type { Table } from '../../store/table.ts';

/** Rows of one table, as they go to the program together. */
export interface RowBatch {
  readonly table: Table;
  /** What they made is taken back: they are gone. */
  readonly isGone: boolean;
  readonly bytes: Uint8Array;
  /** Where each begins. */
  readonly starts: readonly number[];
}

/**
 * The rows of a table that is migrated, in batches, while commits may change it in between:
 *
 * ```
 *  rows   ────────────────────── cursor ───────────────────────▶ by their refs
 *          taken: what commits       not taken: read as it is
 *          do is taken up later      when the cursor comes
 * ```
 *
 * Nothing is pinned: a row that goes before the cursor has passed was never taken.
 */
export class RowSource implements RowWatcher {
  readonly table: Table;
  readonly #end = rowRef(Number.MAX_SAFE_INTEGER);
  #cursor: RowRef = noRow;
  /** Rows that came where the cursor has passed. */
  readonly #came = new Set<RowRef>();
  /** Copies of rows that were taken and are gone. */
  #went: Uint8Array[] = [];

  constructor(table: Table) {
    this.table = table;
  }

  /** Rows that wait to be taken up because commits changed them. */
  get backlog(): number {
    return this.#came.size + this.#went.length;
  }

  /** True if all rows were taken once. */
  get isRead(): boolean {
    return this.#cursor === this.#end;
  }

  came(ref: RowRef): void {
    if (ref <= this.#cursor) this.#came.add(ref);
  }

  went(ref: RowRef): void {
    if (ref > this.#cursor || this.#came.delete(ref)) return;
    const { table } = this;
    const start = table.offsetOf(ref);
    this.#went.push(table.pageOf(ref).slice(start, start + table.lengthOf(ref)));
  }

  /** The next batch; `undefined`: nothing is left for now. Called between transactions. */
  take(rowsMax: number): RowBatch | undefined {
    if (this.#went.length > 0) return this.#takeWent(rowsMax);
    if (this.#came.size > 0) return this.#takeCame(rowsMax);
    return this.isRead ? undefined : this.#takeNext(rowsMax);
  }

  #takeWent(rowsMax: number): RowBatch {
    const batch = new BatchBytes(this.table, true);
    let count = 0;
    for (const row of this.#went) {
      if (!batch.add(row, 0, row.length, rowsMax)) break;
      count++;
    }
    this.#went = count === this.#went.length ? [] : this.#went.slice(count);
    return batch.end();
  }

  #takeCame(rowsMax: number): RowBatch {
    const batch = new BatchBytes(this.table, false);
    for (const ref of this.#came) {
      if (!this.#addTo(batch, ref, rowsMax)) break;
      this.#came.delete(ref);
    }
    return batch.end();
  }

  #takeNext(rowsMax: number): RowBatch | undefined {
    const batch = new BatchBytes(this.table, false);
    const { heap } = this.table;
    for (;;) {
      const ref = heap.nextVisible(this.#cursor);
      if (ref === noRow) {
        this.#cursor = this.#end;
        break;
      }
      if (!this.#addTo(batch, ref, rowsMax)) break;
      this.#cursor = ref;
    }
    return batch.isEmpty ? undefined : batch.end();
  }

  #addTo(batch: BatchBytes, ref: RowRef, rowsMax: number): boolean {
    const { table } = this;
    return batch.add(table.pageOf(ref), table.offsetOf(ref), table.lengthOf(ref), rowsMax);
  }
}

class BatchBytes {
  readonly #table: Table;
  readonly #isGone: boolean;
  readonly #starts: number[] = [];
  #bytes = new Uint8Array(64 * 1024);
  #end = 0;

  constructor(table: Table, isGone: boolean) {
    this.#table = table;
    this.#isGone = isGone;
  }

  get isEmpty(): boolean {
    return this.#starts.length === 0;
  }

  /** False if it is full; the first row always fits. */
  add(from: Uint8Array, at: number, length: number, rowsMax: number): boolean {
    const end = this.#end + length;
    const isFull = this.#starts.length >= rowsMax || end > limits.migrationBatchBytes;
    if (isFull && !this.isEmpty) return false;
    if (end > this.#bytes.length) {
      const grown = new Uint8Array(Math.max(end, this.#bytes.length * 2));
      grown.set(this.#bytes.subarray(0, this.#end));
      this.#bytes = grown;
    }
    this.#bytes.set(from.subarray(at, at + length), this.#end);
    this.#starts.push(this.#end);
    this.#end = end;
    return true;
  }

  end(): RowBatch {
    const bytes = this.#bytes.subarray(0, this.#end);
    return { table: this.#table, isGone: this.#isGone, bytes, starts: this.#starts };
  }
}

import { assert } from '../assert.ts';
import type { TableId } from '../schema/ids.ts';
import type { ReadExecution } from './run/execution.ts';
import type { ReadResult } from './run/results.ts';

/** The number of a table's rows that its reader sees: counted, because filters hide some. */
export interface VisibleCount {
  readonly tableId: TableId;
  /** A read that returns one row of one U64. */
  readonly execution: ReadExecution;
}

/**
 * A read that the row limit binds, of tables with hidden rows. Their sizes would reveal how many
 * rows are hidden, so the rows that the caller sees are counted first; counting can pause too.
 */
export class LimitedRead {
  readonly #counts: readonly VisibleCount[];
  readonly #start: (sizes: ReadonlyMap<TableId, number>) => ReadExecution;
  readonly #sizes = new Map<TableId, number>();
  #read: ReadExecution | undefined;

  /** `start` throws `SqlFailure` when the read would look at more rows than it may. */
  constructor(
    counts: readonly VisibleCount[],
    start: (sizes: ReadonlyMap<TableId, number>) => ReadExecution,
  ) {
    this.#counts = counts;
    this.#start = start;
  }

  run(): 'done' | 'paused' {
    for (const { tableId, execution } of this.#counts) {
      if (this.#sizes.has(tableId)) continue;
      if (execution.run() === 'paused') return 'paused';
      this.#sizes.set(tableId, countIn(execution.result()));
    }
    this.#read ??= this.#start(this.#sizes);
    return this.#read.run();
  }

  result(): ReadResult {
    assert(this.#read !== undefined, 'a result is asked for when all rows are there');
    return this.#read.result();
  }

  dispose(): void {
    for (const { execution } of this.#counts) execution.dispose();
    this.#read?.dispose();
  }
}

function countIn({ rows }: ReadResult): number {
  return Number(new DataView(rows.buffer, rows.byteOffset, 8).getBigUint64(0, true));
}

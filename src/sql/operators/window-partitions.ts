import type { ExecutionState } from './execution-state.ts';
import { paused } from './operator.ts';

export interface Boundaries {
  /** Whether the second row begins a partition; both are neighbours in the order. */
  readonly isPartitionStart: (before: number, row: number) => boolean;
  readonly isGroupStart: (before: number, row: number) => boolean;
}

/** Rows in the order of a window, with their partitions and, inside, groups of equal rows. */
export class Partitions {
  /** The row at each place. */
  readonly rows: Int32Array;
  readonly #boundaries: Boundaries;
  /** The present partition: places from `start` to `end`. */
  start = 0;
  end = 0;
  /** Places at which its groups begin, and its end. */
  #groupStarts: number[] = [];

  constructor(rows: Int32Array, boundaries: Boundaries) {
    this.rows = rows;
    this.#boundaries = boundaries;
  }

  rewind(): void {
    this.start = 0;
    this.end = 0;
  }

  /** Moves on to the next partition, and yields when it must pause; false after the last. */
  *next(state: ExecutionState): Generator<typeof paused, boolean> {
    const { rows } = this;
    this.start = this.end;
    if (this.start >= rows.length) return false;
    const { isPartitionStart, isGroupStart } = this.#boundaries;
    this.#groupStarts = [this.start];
    let at = this.start + 1;
    for (; at < rows.length; at++) {
      if (--state.ticks <= 0 && state.mustPause()) yield paused;
      const before = rows[at - 1] as number;
      const row = rows[at] as number;
      if (isPartitionStart(before, row)) break;
      if (isGroupStart(before, row)) this.#groupStarts.push(at);
    }
    this.end = at;
    this.#groupStarts.push(at);
    return true;
  }

  /** Groups are numbered from 0 in each partition. */
  groupStart(group: number): number {
    if (group < 0) return this.start;
    return this.#groupStarts[group] ?? this.end;
  }
}

import { type FrameEdge, valueAtDistance, type WindowFrame } from '../functions/windows.ts';
import type { OrderedBy } from './frame-run.ts';
import type { Partitions } from './window-partitions.ts';

/** Places from `from` until before `to`. */
export interface Run {
  readonly from: number;
  readonly to: number;
}

/**
 * The frame of one row after another: places from `start` to `end`, without those that EXCLUDE
 * leaves out. Neither end ever moves backwards within a partition.
 */
export class Frames {
  readonly partitions: Partitions;
  readonly #frame: WindowFrame;
  readonly #key: OrderedBy | undefined;
  /** Of the current row. */
  group = 0;
  start = 0;
  end = 0;
  #at = 0;

  constructor(partitions: Partitions, frame: WindowFrame, key: OrderedBy | undefined) {
    this.partitions = partitions;
    this.#frame = frame;
    this.#key = key;
  }

  get isExcluding(): boolean {
    return this.#frame.exclusion !== undefined;
  }

  begin(): void {
    this.group = 0;
  }

  moveTo(at: number): void {
    const { partitions, group } = this;
    if (at >= partitions.groupStart(group + 1)) this.group++;
    this.#at = at;
    const { start, end } = this.#frame;
    this.start = this.#place(start, at, 0);
    this.end = Math.max(this.start, this.#place(end, at, 1));
  }

  /** What EXCLUDE leaves out of the present frame: at most two runs, in order. */
  excluded(): readonly Run[] {
    const { partitions, group } = this;
    const at = this.#at;
    const first = partitions.groupStart(group);
    const last = partitions.groupStart(group + 1);
    switch (this.#frame.exclusion) {
      case 'current row':
        return this.#inFrame([{ from: at, to: at + 1 }]);
      case 'group':
        return this.#inFrame([{ from: first, to: last }]);
      case 'ties':
        return this.#inFrame([
          { from: first, to: at },
          { from: at + 1, to: last },
        ]);
      default:
        return [];
    }
  }

  /** What is left of the present frame. */
  included(): readonly Run[] {
    const runs: Run[] = [];
    let from = this.start;
    for (const run of this.excluded()) {
      if (run.from > from) runs.push({ from, to: run.from });
      from = run.to;
    }
    if (this.end > from) runs.push({ from, to: this.end });
    return runs;
  }

  /** The place of the row with this number in the frame, counted from 1. */
  placeOf(number: number): number | undefined {
    if (!this.isExcluding) {
      return this.start + number <= this.end ? this.start + number - 1 : undefined;
    }
    let left = number;
    for (const { from, to } of this.included()) {
      if (left <= to - from) return from + left - 1;
      left -= to - from;
    }
    return undefined;
  }

  lastPlace(): number | undefined {
    if (!this.isExcluding) return this.start < this.end ? this.end - 1 : undefined;
    const last = this.included().at(-1);
    return last && last.to - 1;
  }

  #inFrame(runs: readonly Run[]): readonly Run[] {
    const { start, end } = this;
    return runs
      .map(({ from, to }) => ({ from: Math.max(from, start), to: Math.min(to, end) }))
      .filter(({ from, to }) => from < to);
  }

  /** `behind` is 1 for the end: the place after the last row. */
  #place(edge: FrameEdge, at: number, behind: 0 | 1): number {
    const { partitions, group } = this;
    if (typeof edge !== 'number') return this.#placeAtDistance(edge.distance, at, behind);
    if (edge === Number.NEGATIVE_INFINITY) return partitions.start;
    if (edge === Number.POSITIVE_INFINITY) return partitions.end;
    const { unit } = this.#frame;
    if (unit !== 'rows') return partitions.groupStart(group + edge + behind);
    return Math.min(Math.max(at + edge + behind, partitions.start), partitions.end);
  }

  /** Nulls are at no distance from other values, and equal to each other. */
  #placeAtDistance(distance: number | bigint, at: number, behind: 0 | 1): number {
    const { partitions, group } = this;
    const key = this.#key;
    const value = key?.valueOf(partitions.rows[at] as number) ?? null;
    if (key === undefined || (typeof value !== 'number' && typeof value !== 'bigint')) {
      return partitions.groupStart(group + behind);
    }
    const bound = valueAtDistance(value, key.isDescending ? -distance : distance);
    let low = partitions.start;
    let high = partitions.end;
    while (low < high) {
      const middle = (low + high) >> 1;
      const order = key.compare(key.valueOf(partitions.rows[middle] as number), bound);
      if (order < behind) low = middle + 1;
      else high = middle;
    }
    return low;
  }
}

import { limits } from '../../limits.ts';

/** What is measured at each step. Counts are those of the step. */
export const seriesNames = [
  'calls',
  'calls_failed',
  'latency_p50_ms',
  'latency_p99_ms',
  'commits',
  'fsync_p99_ms',
  'fanout_lag_ms',
  'memory_bytes',
  'log_bytes',
  'snapshot_bytes',
  'event_loop_delay_ms',
  'connections',
] as const;

export type SeriesName = (typeof seriesNames)[number];

/** What was measured at one step; `undefined`: nothing was. */
export type Sample = Partial<Record<SeriesName, number | undefined>>;

export type Series = Readonly<Record<SeriesName, readonly (number | null)[]>>;

/**
 * The last hour of one thing that is measured, in one block of memory. Steps are numbered by the
 * clock, so that several rings fit together; a step at which nothing was measured has no values.
 */
export class MetricRing {
  readonly #values = new Float64Array(seriesNames.length * limits.metricStepsMax).fill(Number.NaN);
  #lastStep: number | undefined;

  get lastStep(): number | undefined {
    return this.#lastStep;
  }

  add(step: number, sample: Sample): void {
    for (let missed = this.#firstMissed(step); missed < step; missed += 1) this.#put(missed, {});
    this.#put(step, sample);
    this.#lastStep = step;
  }

  /** The steps from `first` to `last`. */
  series(first: number, last: number): Series {
    const count = Math.max(0, Math.min(last - first + 1, limits.metricStepsMax));
    const from = last - count + 1;
    const entries = seriesNames.map((name, row) => {
      return [name, Array.from({ length: count }, (_, at) => this.#value(row, from + at))] as const;
    });
    return Object.fromEntries(entries) as Record<SeriesName, (number | null)[]>;
  }

  #firstMissed(step: number): number {
    const next = (this.#lastStep ?? step - 1) + 1;
    return Math.max(next, step - limits.metricStepsMax + 1);
  }

  #put(step: number, sample: Sample): void {
    for (const [row, name] of seriesNames.entries()) {
      this.#values[placeOf(row, step)] = sample[name] ?? Number.NaN;
    }
  }

  #value(row: number, step: number): number | null {
    const last = this.#lastStep;
    if (last === undefined || step > last || step <= last - limits.metricStepsMax) return null;
    const value = this.#values[placeOf(row, step)] ?? Number.NaN;
    return Number.isFinite(value) ? value : null;
  }
}

function placeOf(row: number, step: number): number {
  return row * limits.metricStepsMax + (step % limits.metricStepsMax);
}

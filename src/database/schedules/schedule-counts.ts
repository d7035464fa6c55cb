import { TimeCounts } from '../time-counts.ts';
import type { ScheduleFigures } from './schedule-figures.ts';

/** How a run of a schedule ended. */
export interface ScheduleRunEnd {
  readonly dueMicros: number;
  readonly startMicros: number;
  /** Why it failed; `undefined`: it committed. */
  readonly error: string | undefined;
  /** What it committed, where that is one commit. */
  readonly committed?: { readonly rows: number; readonly offset: number };
}

/** Counts the runs of one schedule, or of all of them, since the database was opened. */
export class ScheduleCounts {
  committed = 0;
  failed = 0;
  skipped = 0;
  last: ScheduleRunEnd | undefined;
  readonly #times = new TimeCounts();
  /** By length: eight buckets for each doubling, from a microsecond on. */
  readonly #lateness = new Uint32Array(bucketsMax);

  add(end: ScheduleRunEnd): void {
    const { dueMicros, startMicros, error } = end;
    if (error === undefined) this.committed += 1;
    else this.failed += 1;
    this.last = end;
    const late = Math.max(0, startMicros - dueMicros);
    this.#times.add(late / 1_000);
    const bucket = bucketOf(late);
    this.#lateness[bucket] = (this.#lateness[bucket] ?? 0) + 1;
  }

  get runs(): number {
    return this.committed + this.failed;
  }

  /**
   * The lateness, in microseconds, that this share of the runs did not exceed, at most an eighth
   * too high; `undefined` without runs.
   */
  lateness(share: number): number | undefined {
    if (this.runs === 0) return undefined;
    let left = Math.ceil(this.runs * share);
    const bucket = this.#lateness.findIndex((count) => {
      left -= count;
      return left <= 0;
    });
    return endOf(bucket);
  }

  figures(): Pick<ScheduleFigures, 'committed' | 'failed' | 'skipped' | 'lateness'> {
    const { committed, failed, skipped } = this;
    return { committed, failed, skipped, lateness: this.#times.figures() };
  }
}

/** Up to eight microseconds each has a bucket of its own. */
function bucketOf(micros: number): number {
  if (micros < parts) return Math.floor(micros);
  const doublings = Math.floor(Math.log2(micros));
  const part = Math.floor(micros / 2 ** (doublings - 3)) - parts;
  return Math.min((doublings - 2) * parts + part, bucketsMax - 1);
}

/** The longest lateness of a bucket. */
function endOf(bucket: number): number {
  if (bucket < parts) return bucket;
  const doublings = Math.floor(bucket / parts) + 2;
  return Math.floor(((bucket % parts) + parts + 1) * 2 ** (doublings - 3)) - 1;
}

const parts = 8;
/** Enough for the longest time there is. */
const bucketsMax = 52 * parts;

import { limits } from '../../limits.ts';

/** Calls of reducers that were answered in a span of time. */
export interface CallFigures {
  readonly calls: number;
  /** Those that the program failed: crashes and budgets, not what it has refused. */
  readonly failed: number;
  /** By how long they took: see `CallTimes`. */
  readonly times: Uint32Array;
}

/**
 * Counts how long calls took, in buckets that are a quarter of a power of two apart: what is read
 * from them is right to a quarter. A call costs no allocation, and no logarithm.
 */
export class CallTimes {
  readonly counts = new Uint32Array(bucketCount);

  add(millis: number): void {
    const at = bucketOf(millis);
    this.counts[at] = (this.counts[at] ?? 0) + 1;
  }
}

/** Microseconds below 4 have buckets of their own; the last bucket takes all that is longer. */
const bucketCount = 4 * 31;

function bucketOf(millis: number): number {
  const micros = Math.min(Math.max(0, millis * 1_000), 2 ** 31 - 1) | 0;
  if (micros < 4) return micros;
  const power = 31 - Math.clz32(micros);
  return (power - 1) * 4 + ((micros >> (power - 2)) & 3);
}

/** Milliseconds that a share of the calls took at most, to the end of a bucket; 0: no calls. */
export function percentileMillis(counts: Uint32Array, share: number): number {
  const total = counts.reduce((sum, count) => sum + count, 0);
  if (total === 0) return 0;
  let seen = 0;
  for (const [at, count] of counts.entries()) {
    seen += count;
    if (seen >= share * total) return endOf(at) / 1_000;
  }
  return endOf(bucketCount - 1) / 1_000;
}

/** Microseconds at which a bucket ends. */
function endOf(bucket: number): number {
  if (bucket < 4) return bucket + 1;
  const power = Math.floor(bucket / 4) + 1;
  return 2 ** (power - 2) * (5 + (bucket % 4));
}

/** What came after `before`. */
export function figuresSince(now: CallFigures, before: CallFigures): CallFigures {
  return {
    calls: now.calls - before.calls,
    failed: now.failed - before.failed,
    times: now.times.map((count, at) => count - (before.times[at] ?? 0)),
  };
}

interface Mark extends CallFigures {
  readonly at: number;
}

/**
 * The calls of one database since the service started, and how many there were a moment ago. The
 * counts are marked by the calls themselves, every few seconds, so a database without calls costs
 * nothing.
 */
export class RecentCalls {
  #calls = 0;
  #failed = 0;
  #times: CallTimes | undefined;
  /** Oldest first. */
  readonly #marks: Mark[] = [];
  #nextMarkAt = 0;

  /** Counts an answer. */
  answered(hasFailed: boolean): void {
    this.#calls += 1;
    if (hasFailed) this.#failed += 1;
  }

  /** Counts how long a call took, once its answer is sent. */
  took(millis: number, now: number): void {
    if (now >= this.#nextMarkAt) this.#mark(now);
    this.#times ??= new CallTimes();
    this.#times.add(millis);
  }

  /** All of them. */
  figures(): CallFigures {
    const times = this.#times?.counts.slice() ?? new Uint32Array(bucketCount);
    return { calls: this.#calls, failed: this.#failed, times };
  }

  /** Those of the last minute, or of a little less. */
  lastMinute(now: number): CallFigures {
    const since = now - limits.canaryBeforeMillis;
    const before = this.#marks.find(({ at }) => at >= since);
    return figuresSince(this.figures(), before ?? this.figures());
  }

  #mark(now: number): void {
    const { canaryBeforeMillis, canaryBeforeParts } = limits;
    this.#marks.push({ ...this.figures(), at: now });
    if (this.#marks.length > canaryBeforeParts + 1) this.#marks.shift();
    this.#nextMarkAt = now + canaryBeforeMillis / canaryBeforeParts;
  }
}

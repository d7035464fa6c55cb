import type { Clock } from '../database/clock.ts';
import { TimeDuration } from '../values/time-duration.ts';
import { Timestamp } from '../values/timestamp.ts';

/** A clock that stands still until `advance` moves it. */
export class TestClock implements Clock {
  #micros: bigint;

  constructor(start = Timestamp.fromDate(new Date('2025-01-01T00:00:00Z'))) {
    this.#micros = start.microsSinceUnixEpoch;
  }

  /** The `ctx.timestamp` of the next call. */
  get now(): Timestamp {
    return new Timestamp(this.#micros);
  }

  /** Moves time forward by a duration, or by milliseconds. */
  advance(by: TimeDuration | number): void {
    const duration = typeof by === 'number' ? TimeDuration.fromMillis(by) : by;
    this.#micros += duration.micros;
  }

  nowMicros(): bigint {
    return this.#micros;
  }

  monotonicMillis(): number {
    return Number(this.#micros / 1000n);
  }
}

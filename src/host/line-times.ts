import type { Clock } from '../database/clock.ts';
import type { StampedLine } from './seat.ts';

/**
 * Holds the times of a module's log lines between that of the line before and now. An actor stamps
 * them when they are logged, but a process of a hostile module says what it likes, and the times
 * decide how many lines it may write, and into the file of which day.
 */
export class LineTimes {
  readonly #clock: Clock;
  #lastMicros: bigint;

  constructor(clock: Clock) {
    this.#clock = clock;
    this.#lastMicros = clock.nowMicros();
  }

  within(lines: readonly StampedLine[]): readonly StampedLine[] {
    const now = this.#clock.nowMicros();
    // A clock that was set back is right.
    let last = this.#lastMicros < now ? this.#lastMicros : now;
    const held = lines.map((stamped) => {
      const { micros } = stamped;
      if (micros > now) last = now;
      else if (micros > last) last = micros;
      return micros === last ? stamped : { ...stamped, micros: last };
    });
    this.#lastMicros = last;
    return held;
  }
}

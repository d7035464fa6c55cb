import type { Clock } from '../../database/clock.ts';
import type { StampedLine } from '../seats/seat.ts';

/**
 * Keeps the times of a module's log lines between that of the previous line and now. An actor
 * stamps lines when they are logged, but a process of a hostile module can send anything, and the
 * times decide how many lines it can write, and into the file of which day.
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
    // If the clock was set back, the clock is right.
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

import { limits } from '../../limits.ts';
import type { Clock } from '../clock.ts';
import { microsOf, timeText } from './due-time.ts';

/** Those who have to know that time was skipped, and an operator. */
export interface TimeWatchers {
  /** Time up to this one went by without anything running. */
  readonly skipped: (nowMicros: number) => void;
  readonly warn: (message: string) => void;
}

/**
 * The time of schedules: that of the wall clock, except that it never goes back.
 *
 * ```
 *  wall clock back by less than a second     time stands still until the clock has caught up
 *  back by more                              time goes on with the monotonic clock until then
 *  forward by a minute or more at once       time is skipped, as in an outage
 * ```
 *
 * So whatever is done with the clock, nothing is repeated and nothing stands still.
 */
export class ScheduleTime {
  readonly #clock: Clock;
  readonly #watchers: TimeWatchers;
  /** The latest time that was read, and the monotonic clock at that moment. */
  #last: number;
  #lastMillis: number;
  /** True while the wall clock is behind and is not followed. */
  #isAhead = false;

  constructor(clock: Clock, watchers: TimeWatchers) {
    this.#clock = clock;
    this.#watchers = watchers;
    this.#last = microsOf(clock.nowMicros());
    this.#lastMillis = clock.monotonicMillis();
  }

  /** Microseconds since the Unix epoch. */
  now(): number {
    const wall = microsOf(this.#clock.nowMicros());
    const millis = this.#clock.monotonicMillis();
    const passed = Math.max(0, Math.floor((millis - this.#lastMillis) * 1_000));
    const last = this.#last;
    if (wall >= last) {
      this.#follow(wall, millis, wall - last - passed);
    } else if (this.#isAhead || last - wall >= limits.scheduleBackMillis * 1_000) {
      if (!this.#isAhead) this.#fallBehind(wall, last);
      // Fractions of a microsecond must not get lost, however often this is called.
      this.#last = last + passed;
      this.#lastMillis += passed / 1_000;
    }
    return this.#last;
  }

  /** How far this time is ahead of a wall clock that is not followed. */
  aheadMicros(): number {
    const now = this.now();
    return this.#isAhead ? Math.max(0, now - microsOf(this.#clock.nowMicros())) : 0;
  }

  /** Says at opening that the clock was set back since the last commit. */
  warnIfBefore(lastMicros: number): void {
    const behind = lastMicros - this.#last;
    if (behind < limits.scheduleBackMillis * 1_000) return;
    const seconds = Math.round(behind / 1_000_000);
    this.#watchers.warn(
      `The clock is ${seconds} s behind the last commit. What is due repeatedly may wait until ` +
        `${timeText(lastMicros)}.`,
    );
  }

  /**
   * Goes on from the time of another machine, whose clock may have been ahead of this one. `warns`:
   * there are schedules, so an operator has to know.
   */
  goOnFrom(lastMicros: number, warns: boolean): void {
    const wall = this.now();
    if (lastMicros <= wall) return;
    this.#last = lastMicros;
    if (lastMicros - wall < limits.scheduleBackMillis * 1_000) return;
    this.#isAhead = true;
    if (!warns) return;
    const seconds = Math.round((lastMicros - wall) / 1_000_000);
    this.#watchers.warn(
      `The clock is ${seconds} s behind the last commit of another host. Schedules go on from ` +
        `${timeText(lastMicros)} until the clock has caught up.`,
    );
  }

  #follow(wall: number, millis: number, ahead: number): void {
    const before = this.#last;
    this.#last = wall;
    this.#lastMillis = millis;
    this.#isAhead = false;
    if (ahead < limits.scheduleJumpMillis * 1_000) return;
    const seconds = Math.round(ahead / 1_000_000);
    this.#watchers.warn(
      `The clock went forward by ${seconds} s at once, from ${timeText(before)} to ` +
        `${timeText(wall)}. Schedules treat this as time in which the database was down.`,
    );
    this.#watchers.skipped(wall);
  }

  #fallBehind(wall: number, last: number): void {
    this.#isAhead = true;
    const seconds = Math.round((last - wall) / 1_000_000);
    this.#watchers.warn(
      `The clock was set back by ${seconds} s, to ${timeText(wall)}. Schedules go on from ` +
        `${timeText(last)} until the clock has caught up.`,
    );
  }
}

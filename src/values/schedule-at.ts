import { TimeDuration } from './time-duration.ts';
import { Timestamp } from './timestamp.ts';

/**
 * When something runs: repeatedly at an interval, or once at a given time.
 *
 * @example
 * ```ts
 * const when: ScheduleAt = { tag: 'Interval', value: TimeDuration.fromMillis(250) };
 * when.value.micros; // 250_000n
 * ```
 */
export type ScheduleAt =
  | { readonly tag: 'Interval'; readonly value: TimeDuration }
  | { readonly tag: 'Time'; readonly value: Timestamp };

/**
 * Builders of `ScheduleAt`, from microseconds.
 *
 * @example
 * ```ts
 * // Every five seconds.
 * ScheduleAt.interval(5_000_000n).tag; // 'Interval'
 * // In a minute.
 * ScheduleAt.time(Timestamp.now().microsSinceUnixEpoch + 60_000_000n).tag; // 'Time'
 * ```
 */
export const ScheduleAt = {
  interval(micros: bigint): ScheduleAt {
    return Interval(micros);
  },
  time(micros: bigint): ScheduleAt {
    return Time(micros);
  },
} as const;

/**
 * A schedule that repeats after a number of microseconds.
 *
 * @example
 * ```ts
 * Interval(1_000_000n).value; // new TimeDuration(1_000_000n)
 * ```
 */
export function Interval(micros: bigint): Extract<ScheduleAt, { tag: 'Interval' }> {
  return { tag: 'Interval', value: new TimeDuration(micros) };
}

/**
 * A schedule that runs once, at a number of microseconds since 1970.
 *
 * @example
 * ```ts
 * Time(0n).value.toISOString(); // '1970-01-01T00:00:00.000000Z'
 * ```
 */
export function Time(micros: bigint): Extract<ScheduleAt, { tag: 'Time' }> {
  return { tag: 'Time', value: new Timestamp(micros) };
}

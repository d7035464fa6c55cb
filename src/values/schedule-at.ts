import { TimeDuration } from './time-duration.ts';
import { Timestamp } from './timestamp.ts';

/** When something runs: again and again after an interval, or once at a time. */
export type ScheduleAt =
  | { readonly tag: 'Interval'; readonly value: TimeDuration }
  | { readonly tag: 'Time'; readonly value: Timestamp };

/**
 * Builders of `ScheduleAt`, from microseconds.
 *
 * @example
 * ```ts
 * ScheduleAt.interval(5_000_000n); // every five seconds
 * ScheduleAt.time(Timestamp.now().microsSinceUnixEpoch + 60_000_000n); // in a minute
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
 * Every so many microseconds.
 *
 * @example
 * ```ts
 * Interval(1_000_000n).value.millis; // 1000
 * ```
 */
export function Interval(micros: bigint): Extract<ScheduleAt, { tag: 'Interval' }> {
  return { tag: 'Interval', value: new TimeDuration(micros) };
}

/**
 * Once, at a number of microseconds since 1970.
 *
 * @example
 * ```ts
 * Time(0n).value.toISOString(); // '1970-01-01T00:00:00.000000Z'
 * ```
 */
export function Time(micros: bigint): Extract<ScheduleAt, { tag: 'Time' }> {
  return { tag: 'Time', value: new Timestamp(micros) };
}

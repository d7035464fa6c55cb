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
export type ScheduleAt = Interval | Time;

/**
 * The `ScheduleAt` of what repeats.
 *
 * @example
 * ```ts
 * const every: Interval = Interval(5_000_000n);
 * ```
 */
export type Interval = { readonly tag: 'Interval'; readonly value: TimeDuration };

/**
 * The `ScheduleAt` of what runs once.
 *
 * @example
 * ```ts
 * const at: Time = Time(Timestamp.now());
 * ```
 */
export type Time = { readonly tag: 'Time'; readonly value: Timestamp };

/**
 * Builders of `ScheduleAt`, from microseconds, or from a `TimeDuration` or a `Timestamp`.
 *
 * @example
 * ```ts
 * // Every five seconds.
 * ScheduleAt.interval(5_000_000n).tag; // 'Interval'
 * ScheduleAt.interval(TimeDuration.fromMillis(5_000)).tag; // 'Interval'
 * // In a minute.
 * ScheduleAt.time(Timestamp.now().microsSinceUnixEpoch + 60_000_000n).tag; // 'Time'
 * // On a day.
 * ScheduleAt.time(Timestamp.fromDate(new Date('2027-01-01'))).tag; // 'Time'
 * ```
 */
export const ScheduleAt = {
  interval(every: bigint | TimeDuration): ScheduleAt {
    return Interval(every);
  },
  time(at: bigint | Timestamp): ScheduleAt {
    return Time(at);
  },
} as const;

/**
 * A schedule that repeats after a duration, or a number of microseconds.
 *
 * @example
 * ```ts
 * Interval(1_000_000n).value; // new TimeDuration(1_000_000n)
 * ```
 */
export function Interval(every: bigint | TimeDuration): Interval {
  return {
    tag: 'Interval',
    value: every instanceof TimeDuration ? every : new TimeDuration(every),
  };
}

/**
 * A schedule that runs once, at a timestamp, or a number of microseconds since 1970.
 *
 * @example
 * ```ts
 * Time(0n).value.toISOString(); // '1970-01-01T00:00:00.000000Z'
 * ```
 */
export function Time(at: bigint | Timestamp): Time {
  return { tag: 'Time', value: at instanceof Timestamp ? at : new Timestamp(at) };
}

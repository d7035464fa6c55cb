import { TimeDuration } from '../values/time-duration.ts';

/** The microseconds of a duration, which may be given in milliseconds. */
export function sleepMicros(duration: TimeDuration | number): bigint {
  if (duration instanceof TimeDuration) return duration.micros;
  if (Number.isFinite(duration)) return BigInt(Math.round(duration * 1_000));
  throw new TypeError(`\`ctx.sleep\` takes a TimeDuration or milliseconds, not ${duration}`);
}

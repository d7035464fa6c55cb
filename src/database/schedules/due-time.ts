import { readI32, readU32 } from '../../values/read-bytes.ts';

/**
 * Times and durations of schedules are microseconds as whole numbers, which are exact up to 2^53:
 * until the year 2255. What lies beyond counts as that year.
 */
export const farMicros: number = 2 ** 53 - 1;

export function microsOf(value: bigint): number {
  return bounded(Number(value));
}

/** An encoded i64. */
export function readMicros(bytes: Uint8Array, at: number): number {
  return bounded(readI32(bytes, at + 4) * 2 ** 32 + readU32(bytes, at));
}

function bounded(micros: number): number {
  return Math.max(-farMicros, Math.min(micros, farMicros));
}

/** The times of an interval are its first one and every multiple of the interval from there. */
export interface Ticks {
  readonly due: number;
  /** Not negative; 0: as often as possible. */
  readonly every: number;
}

/** The first tick after `after`, which is not before `due`. */
export function nextTick({ due, every }: Ticks, after: number): number {
  if (every === 0) return Math.max(due, after) + 1;
  if (after < due) return due + every;
  return Math.min(after - ((after - due) % every) + every, farMicros);
}

/** The last tick that is not after `until`; `until` is not before `due`. */
export function lastTick({ due, every }: Ticks, until: number): number {
  return every === 0 ? until : until - ((until - due) % every);
}

/** Ticks from `due` to `until`, both included. */
export function ticksUntil({ due, every }: Ticks, until: number): number {
  if (until < due) return 0;
  return every === 0 ? 1 : Math.floor((until - due) / every) + 1;
}

/** `2026-11-23T21:40:00.000Z`, or the number where it is no date. */
export function timeText(micros: number): string {
  const millis = Math.floor(micros / 1_000);
  return Math.abs(millis) <= dateMillisMax ? new Date(millis).toISOString() : `${micros} us`;
}

const dateMillisMax = 8.64e15;

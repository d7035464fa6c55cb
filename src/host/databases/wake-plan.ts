import { limits } from '../../limits.ts';

/** A database that sleeps until its next scheduled run is due. */
export interface Sleeping {
  readonly dueMicros: bigint;
  /** How long it took to open the last time; 0: that is not known. */
  readonly openMillis: number;
}

/** For how long a database is expected to open, so that little is late where it takes longer. */
export function wakeMillis({ openMillis }: Pick<Sleeping, 'openMillis'>): number {
  return Math.max(limits.wakeMillisMin, openMillis * 2);
}

/**
 * Whether the next database must be woken now so that all of these, in the order of their due
 * times, serve in time: `limits.scheduledWakesMax` open at once, and each has some time to spare.
 * Nothing is woken long before it is due, however many are due at the same time.
 */
export function isTimeToWake(sleeping: Iterable<Sleeping>, nowMicros: bigint): boolean {
  const { wakeSpareMillis, wakeAheadMillisMax, scheduledWakesMax } = limits;
  /** What those before this one take. */
  let before = 0;
  for (const one of sleeping) {
    const millis = Number(one.dueMicros - nowMicros) / 1_000;
    if (millis > wakeAheadMillisMax) return false;
    const takes = wakeMillis(one);
    if (millis <= wakeSpareMillis + takes + before / scheduledWakesMax) return true;
    before += takes;
  }
  return false;
}

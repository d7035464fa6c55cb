import { limits } from '../../limits.ts';
import { lastTick, nextTick, ticksUntil } from './due-time.ts';
import type { DueCron, DueRow } from './due-work.ts';

/** What happens to something that is due. */
export interface DuePlan {
  /** The time that it runs for; `undefined`: it was missed and does not run. */
  readonly due: number | undefined;
  /** When it is due next; `undefined`: never again. */
  readonly next: number | undefined;
  /** Due times that are passed over. */
  readonly skipped: number;
  /** True if more times were missed than are made up for. */
  readonly isCut?: boolean;
}

/**
 * What runs now, and when the next run is due. What was due while nothing could run was *missed*,
 * and the schedule says what happens to that:
 *
 * | `catchUp` | missed times | late times, while the database serves |
 * |---|---|---|
 * | `skip` | none runs | the first runs, those that have passed since are skipped |
 * | `once` | the last one runs | likewise |
 * | `all` | each one runs, up to a bound | each one runs |
 *
 * What runs once is never missed.
 */
export function planOf(work: DueRow | DueCron, startMicros: number): DuePlan {
  const { armed, due } = work;
  if ('row' in work && !work.isInterval) return { due, next: undefined, skipped: 0 };
  const { catchUp } = armed.policy;
  const times = timesOf(work);
  const { downUntil } = armed.state;
  const isSettled = 'row' in work ? work.isSettled : work.attempt > 0;
  const isMissed = due < downUntil && !isSettled;
  if (isMissed && catchUp === 'skip') {
    const next = times.after(startMicros);
    return { due: undefined, next, skipped: times.count(startMicros) };
  }
  if (isMissed && catchUp === 'once') {
    const last = times.last(downUntil);
    return { due: last, next: times.after(startMicros), skipped: times.count(last) - 1 };
  }
  if (!runsEach(work)) {
    const skipped = Math.max(0, times.count(startMicros) - 1);
    return { due, next: times.after(startMicros), skipped };
  }
  if (isMissed && isExhausted(work, times)) {
    const next = times.after(startMicros);
    return { due: undefined, next, skipped: times.count(startMicros), isCut: true };
  }
  return { due, next: times.after(due), skipped: 0 };
}

/** When it is due after a run for its present time that begins at `startMicros`. */
export function nextOf(work: DueRow | DueCron, startMicros: number): number | undefined {
  if ('row' in work && !work.isInterval) return undefined;
  const { due } = work;
  return timesOf(work).after(runsEach(work) ? due : Math.max(startMicros, due));
}

/** An interval of 0 has no times that could be counted. */
function runsEach(work: DueRow | DueCron): boolean {
  return work.armed.policy.catchUp === 'all' && !('row' in work && work.at === 0);
}

/** The times of an interval or a cron, from the one that is due on. */
interface Times {
  /** The first one after this time, and after the one that is due. */
  readonly after: (micros: number) => number | undefined;
  /** The last one that is not after this time, but not before the one that is due. */
  readonly last: (micros: number) => number;
  /** How many there are up to this time; those of a cron count as one. */
  readonly count: (micros: number) => number;
}

function timesOf(work: DueRow | DueCron): Times {
  const { due } = work;
  if ('row' in work) {
    const ticks = { due, every: work.at };
    return {
      after: (micros) => nextTick(ticks, micros),
      last: (micros) => lastTick(ticks, Math.max(micros, due)),
      count: (micros) => ticksUntil(ticks, micros),
    };
  }
  const { armed } = work;
  return {
    after: (micros) => armed.nextAfter(Math.max(micros, due)),
    last: (micros) => Math.max(armed.lastUntil(micros) ?? due, due),
    // Stepping through a calendar costs time.
    count: (micros) => (due <= micros ? 1 : 0),
  };
}

/**
 * True if as many missed times were made up for as there may be. They are counted from the first
 * one that is taken; those of a row only if there are too many, because there can be many rows.
 */
function isExhausted(work: DueRow | DueCron, times: Times): boolean {
  const { downUntil, madeUp } = work.armed.state;
  const key = 'row' in work ? `${work.row.high} ${work.row.low}` : 'cron';
  const before = madeUp.get(key);
  const left = times.count(downUntil);
  const isFew = 'row' in work && left <= limits.scheduleCatchUpRunsMax;
  if (before === undefined && isFew) return false;
  const count = before?.downUntil === downUntil ? before.count : 0;
  const isOver = count >= limits.scheduleCatchUpRunsMax;
  if (isOver || ('row' in work && left <= 1)) madeUp.delete(key);
  else madeUp.set(key, { downUntil, count: count + 1 });
  return isOver;
}

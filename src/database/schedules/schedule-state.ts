import { ScheduleCounts } from './schedule-counts.ts';

/** What is known of a schedule beside its rows; kept when the program is updated. */
export class ScheduleState {
  readonly counts = new ScheduleCounts();
  /** What was due before did not run in time, because nothing could run. */
  downUntil: number = Number.NEGATIVE_INFINITY;
  /** True: it was paused by name. */
  isPaused = false;
  /** When its lateness was last reported, by the monotonic clock. */
  reportedMillis: number = Number.NEGATIVE_INFINITY;
  /** Missed times that were skipped and not reported yet. */
  unreported = 0;
  /** True if there were too many of them to make up for each. */
  isCut = false;
  /** Rows that do not run: their procedure runs, or has failed too often. */
  atRest = 0;
  /** Missed times that were made up for, by the key of the row, where there are too many. */
  readonly madeUp = new Map<string, MadeUp>();
}

export interface MadeUp {
  /** The end of the outage that they were missed in. */
  readonly downUntil: number;
  readonly count: number;
}

import { TimeCounts, type TimeFigures } from '../time-counts.ts';

/** The schedules of a database, for metrics; counters begin when it is opened. */
export interface ScheduleFigures {
  /** Rows of scheduled tables that have a run to come. */
  readonly armedRows: number;
  /** Schedules that are paused. */
  readonly paused: number;
  /** Procedures that run for a row, or wait for a lane. */
  readonly running: number;
  /** Runs that committed. */
  readonly committed: number;
  /** Runs that failed, including those that are repeated. */
  readonly failed: number;
  /** Due times that were passed over. */
  readonly skipped: number;
  /** From the time a run was due until it began. */
  readonly lateness: TimeFigures;
}

export const noScheduleFigures: ScheduleFigures = {
  ...{ armedRows: 0, paused: 0, running: 0, committed: 0, failed: 0, skipped: 0 },
  lateness: new TimeCounts().figures(),
};

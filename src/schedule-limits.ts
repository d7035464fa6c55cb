/** The bounds of what runs at times of its own: rows, crons, procedures. Part of `limits.ts`. */
export const scheduleLimits = {
  /** Crons of one module, and the characters of an expression and of the name of a time zone. */
  cronsMax: 256,
  cronExpressionCharactersMax: 128,
  timeZoneCharactersMax: 64,
  /** Runs of one due time that fails each time, and the longest delay before the next of them. */
  scheduleAttemptsMax: 100,
  scheduleRetryMillisMax: 300_000,
  /**
   * The first delay, at least, after a run that ended its database; it doubles, too. All calls fail
   * while the database reopens, so that repeating such runs must leave most of the time to them.
   */
  scheduleEndingRetryMillisMin: 30_000,
  /** What repeats a scheduled procedure that is delivered at least once and says no more. */
  scheduleDeliveryAttempts: 5,
  scheduleDeliveryBackoffMillis: 1_000,
  /** Scheduled reducers run in one turn, before its requests; none begins after this time. */
  scheduledRunsPerTurnMax: 128,
  scheduleSliceMillisMax: 2,
  /** Due times that no longer hold, beyond one for each row, before all of them are dropped. */
  scheduleStaleMax: 1_024,
  /** How far ahead of now a row may be due: the peer's bound, a little over two years. */
  scheduleDelayMillisMax: 2 ** 36 - 1,
  /** Missed due times of one row that are made up for, and rows moved on in one transaction. */
  scheduleCatchUpRunsMax: 1_000,
  scheduleSkippedRowsMax: 1_024,
  /** A wall clock that goes forward by this much at once has skipped time, as an outage would. */
  scheduleJumpMillis: 60_000,
  /** A wall clock that goes back by this much at once is not followed until it has caught up. */
  scheduleBackMillis: 1_000,
  /** Rows of one schedule whose failed runs are repeated, as lists show them. */
  scheduleListedRowsMax: 1_000,
  /** Lateness from which a schedule is reported in the module's log, and how often at most. */
  scheduleLateMillis: 30,
  scheduleLateLineMillis: 60_000,
  /** Scheduled procedures under way in one database: one lane less than it has. */
  scheduledProceduresMax: 3,
} as const;

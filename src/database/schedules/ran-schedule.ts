/** One run of a schedule that has ended, for those who follow them in the same process. */
export interface RanSchedule {
  /** Canonical name of the table; of a cron, that of its reducer. */
  readonly name: string;
  readonly functionName: string;
  readonly target: 'reducer' | 'procedure';
  /** The encoded row that was due; `undefined`: a cron. */
  readonly row: Uint8Array | undefined;
  /** The time it was due, in microseconds since the Unix epoch. */
  readonly dueMicros: bigint;
  /** Why it failed; `undefined`: it committed, or its procedure has returned. */
  readonly error: string | undefined;
}

/**
 * Follows the runs of schedules in the same process, and holds back what is due, so that the same
 * calls give the same runs.
 */
export interface ScheduleFollower {
  /** A procedure is about to run; `ran` follows when it has ended. */
  began(): void;
  /** True: nothing that is due begins. */
  isHeld(): boolean;
  /** Called after each run, between transactions. */
  ran(run: RanSchedule): void;
}

/** One run of a schedule that has ended, for those who follow them in the same process. */
export interface RanSchedule {
  /** Canonical name of the table; of a cron, that of its reducer. */
  readonly name: string;
  readonly functionName: string;
  /** The encoded row that was due; `undefined`: a cron. */
  readonly row: Uint8Array | undefined;
  /** The time it was due, in microseconds since the Unix epoch. */
  readonly dueMicros: bigint;
  /** Why it failed; `undefined`: it committed. */
  readonly error: string | undefined;
}

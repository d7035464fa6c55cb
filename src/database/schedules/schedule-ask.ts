/** A question or an order about the schedules of a database. Without a name: about each of them. */
export type ScheduleAsk =
  | { readonly kind: 'list' }
  /** The next run happens now, or never; its due time is used up. A procedure runs soon after. */
  | { readonly kind: 'run' | 'skip'; readonly name?: string; readonly rowKey?: bigint }
  | { readonly kind: 'pause' | 'resume'; readonly name?: string };

export type ScheduleOutcome =
  | { readonly kind: 'listed'; readonly schedules: readonly ListedSchedule[] }
  /** It was done, to the schedules with these names. */
  | { readonly kind: 'applied'; readonly names: readonly string[] }
  /** There is no schedule with this name, or no row with this key that has a run to come. */
  | { readonly kind: 'unknown' }
  /** A paused schedule runs nothing. */
  | { readonly kind: 'paused' };

/** One schedule, or one row of it that runs, or whose run is repeated or has failed. */
export interface ListedSchedule {
  /** Canonical name of the table; of a cron, that of its reducer. */
  readonly name: string;
  /** `undefined`: a cron. */
  readonly tableName: string | undefined;
  readonly functionName: string;
  readonly target: 'reducer' | 'procedure';
  readonly catchUp: 'skip' | 'once' | 'all';
  /** Those of a cron. */
  readonly expression: string | undefined;
  readonly timeZone: string | undefined;
  /** `disabled`: the expression of the cron cannot be read. `running`: only of a row. */
  readonly state: 'armed' | 'paused' | 'disabled' | 'running' | 'retrying' | 'failed';
  /** Key of the row that this is about; `undefined`: the schedule as a whole. */
  readonly rowKey: bigint | undefined;
  readonly armedRows: number;
  /** Times in microseconds since the Unix epoch. */
  readonly nextDueMicros: bigint | undefined;
  readonly lastDueMicros: bigint | undefined;
  readonly lastRunMicros: bigint | undefined;
  readonly lastOutcome: 'committed' | 'failed' | undefined;
  readonly lastError: string | undefined;
  readonly runs: number;
  readonly failures: number;
  /** From the time that a run was due until it began. */
  readonly latenessP50Micros: bigint | undefined;
  readonly latenessP99Micros: bigint | undefined;
}

import type { TableId } from '../../schema/ids.ts';

/** Names one run of a schedule, for those who watch the actor: few numbers, and no text. */
export interface ScheduledMark {
  /** Id of the scheduled table; 0: a cron. */
  readonly tableId: TableId;
  /** Primary key of the row; of a cron, its position in the definition. */
  readonly key: bigint;
  /** The time it was due, in microseconds since the Unix epoch. */
  readonly dueMicros: bigint;
}

/** A run that ended its actor: the next actor counts it as failed instead of repeating it. */
export interface FailedSchedule {
  readonly mark: ScheduledMark;
  /** Why the actor ended. */
  readonly message: string;
}

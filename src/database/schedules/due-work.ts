import type { ArmedCron } from './armed-cron.ts';
import type { ArmedTable } from './armed-table.ts';
import type { Control, RowKey } from './schedule-tables.ts';

/** Something that is due: a row, or a cron. */
export type DueWork = DueRow | DueCron;

/** A row that is due. Its bytes are the arguments of its function. */
export interface DueRow {
  readonly armed: ArmedTable;
  readonly row: RowKey;
  readonly bytes: Uint8Array;
  readonly isInterval: boolean;
  /** The `ScheduleAt` as a number: the time, or the length of the interval. */
  readonly at: number;
  /** The time that it is due. */
  readonly due: number;
  /** Runs for this time that have failed. */
  readonly attempt: number;
  /** True: it runs for its time in any case, because it is repeated, or somebody said so. */
  readonly isSettled: boolean;
}

/** A cron that is due. */
export interface DueCron {
  readonly armed: ArmedCron;
  readonly control: Control;
  readonly due: number;
  readonly attempt: number;
}

import type { FailedSchedule, ScheduledMark } from '../../database/schedules/scheduled-mark.ts';
import { limits } from '../../limits.ts';
import type { SeatEnd, SeatMode } from '../seats/seat.ts';

/** Causes that are the fault of the run that was under way: it would end the next actor, too. */
const failingCauses: ReadonlySet<SeatEnd['cause']> = new Set(['budget', 'died', 'bug']);

/**
 * What scheduled runs did to the actors of one database. Nobody waits for such a run, and it is due
 * again when the next actor opens: one that ends its actor has failed, and the next actor records
 * that before it serves. One whose process somebody killed is repeated, a few times.
 */
export class ScheduledEnds {
  #failed: FailedSchedule | undefined;
  /** The run during which processes were killed, and how often that happened in a row. */
  #killed: { readonly mark: ScheduledMark; readonly times: number } | undefined;

  /** The run that the next actor is to record as failed. */
  get failed(): FailedSchedule | undefined {
    return this.#failed;
  }

  /** Notes that an actor ended before its time. */
  ended({ cause, message, scheduled: mark }: SeatEnd): void {
    if (mark === undefined) return;
    if (cause === 'killed') {
      const isSame = this.#killed !== undefined && isSameRun(this.#killed.mark, mark);
      const times = isSame ? (this.#killed?.times ?? 0) + 1 : 1;
      this.#killed = { mark, times };
      if (times < limits.scheduledKillsMax) return;
    } else if (!failingCauses.has(cause)) {
      return;
    }
    this.#killed = undefined;
    this.#failed = { mark, message };
  }

  /** Notes that an actor serves, which has recorded what its mode named unless it only reads. */
  opened(mode: SeatMode): void {
    if (mode.kind === 'open' && mode.full === undefined) this.#failed = undefined;
  }
}

function isSameRun(one: ScheduledMark, other: ScheduledMark): boolean {
  const { tableId, key, dueMicros } = one;
  return tableId === other.tableId && key === other.key && dueMicros === other.dueMicros;
}

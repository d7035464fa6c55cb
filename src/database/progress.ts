import type { ScheduledMark } from './schedules/scheduled-mark.ts';
import type { Ticket } from './ticket.ts';

/**
 * Where the actor announces its next step, for an owner that watches from another thread and may
 * have to end it. Called around every request: an implementation must cost next to nothing.
 */
export interface Progress {
  /** User code may run now, on behalf of the request with this ticket. */
  calling(ticket: Ticket): void;
  /** Like `calling`, for a run that no request asked for. */
  scheduled(mark: ScheduledMark): void;
  /** A view is now evaluated within the last announced step. It has no time limit of its own. */
  viewing(): void;
  /** The view is done; the step announced before it continues. */
  viewed(): void;
  /** A lane works on the rows, within a limit of its own. Absent: it counts as `resting`. */
  lending?(): void;
  /** A program is evaluated now. */
  loading(): void;
  /**
   * The records of all requests up to this ticket are now handed to the operating system. If the
   * actor ends before it hands their outcomes over, it is unknown whether they happened.
   */
  writing(ticket: Ticket): void;
  /** True if the owner has sent something that was not taken yet. Absent: nobody knows. */
  isAwaited?(): boolean;
  /** True if the owner wants no result of this update any more. Absent: nobody knows. */
  isAbandoned?(ticket: Ticket): boolean;
  /** None of the other steps is under way. */
  resting(): void;
}

/** For an owner on the same thread, which could not end anything anyway. */
export const noProgress: Progress = {
  calling() {},
  scheduled() {},
  viewing() {},
  viewed() {},
  loading() {},
  writing() {},
  resting() {},
};

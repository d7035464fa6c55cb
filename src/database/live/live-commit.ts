import type { LiveFailure, LiveUpdate } from '../../live/live-update.ts';
import type { CommitOffset } from '../../store/commit-offset.ts';
import type { Ticket } from '../ticket.ts';

/** The changes of one commit to live queries. */
export interface LiveCommit {
  readonly kind: 'committed';
  readonly offset: CommitOffset;
  /** When its request was accepted. */
  readonly timestampMicros: bigint;
  /**
   * Ticket of the call whose reducer this was: its connection gets the changes with the outcome of
   * the call. `undefined`: SQL, lifecycle reducers, updates of the program.
   */
  readonly caller: Ticket | undefined;
  /** One for each query that changed, by ascending number. */
  readonly updates: readonly LiveUpdate[];
  /** Queries that failed: every query set that holds one of them ends with this commit. */
  readonly failures: readonly LiveFailure[];
  /** How many of the turn's `results` precede it. */
  readonly resultsBefore: number;
}

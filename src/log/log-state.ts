import { AssertionError, unreachable } from '../assert.ts';
import type { LogBrokenError } from './log-error.ts';

/**
 * Whether a log takes appends, writes and syncs, and the functions of `commit-log.ts` that change
 * it:
 *
 * ```
 *  open ──▶ open            append…, write, sync
 *  open ──▶ broken          any of them, when the disk refuses: #break
 *  broken ──▶ broken        a sync that was running fails as well: #noteFailedSync
 *  open, broken ──▶ closed  close, abandon, takeBack
 *  readOnly ──▶ closed      close, abandon; no other call is allowed
 * ```
 */
export type LogState =
  | { readonly kind: 'open' }
  /** Nothing is written: see `LogOptions.isReadOnly`. */
  | { readonly kind: 'readOnly' }
  /** Every call but `close`, `abandon` and `takeBack` throws `failure`. */
  | {
      readonly kind: 'broken';
      readonly failure: LogBrokenError;
      /** The error of the first sync that failed, if one did. */
      syncFailure: unknown;
    }
  /** `failure`: why it was broken before. */
  | { readonly kind: 'closed'; readonly failure: LogBrokenError | undefined };

/**
 * Syncs run one at a time; calls made while one runs share the next:
 *
 * ```
 *  idle ──sync: #startSync──▶ running ──done: #syncEnded──▶ idle
 *  running ──sync, when more was written──▶ followed ──done: #syncEnded──▶ due
 *  due ──on the next microtask: #startDueSync──▶ running
 * ```
 *
 * A failed sync breaks the log: what was due then rejects, and the state stays as it is.
 */
export type SyncState =
  | { readonly kind: 'idle' }
  /** `position`: the log position that `done` makes durable. */
  | { readonly kind: 'running'; readonly done: Promise<void>; readonly position: number }
  /** `next` begins when `done` has ended. */
  | { readonly kind: 'followed'; readonly done: Promise<void>; readonly next: Promise<void> }
  | { readonly kind: 'due'; readonly next: Promise<void> };

export const idleSync: SyncState = { kind: 'idle' };

/** The state after a log is closed: a broken one goes on to throw its failure. */
export function closedState(before: LogState): LogState {
  return { kind: 'closed', failure: 'failure' in before ? before.failure : undefined };
}

/** The error of a call that only an open log allows. */
export function notOpenError(state: Exclude<LogState, { readonly kind: 'open' }>): Error {
  switch (state.kind) {
    case 'broken':
      return state.failure;
    case 'closed':
      return state.failure ?? new AssertionError('the log is closed');
    case 'readOnly':
      return new AssertionError('nothing is written to a log that is only read');
    default:
      return unreachable(state);
  }
}

/** The end of the sync that runs, if one does. */
export function runningSync(syncing: SyncState): Promise<void> | undefined {
  return 'done' in syncing ? syncing.done : undefined;
}

/** The ends of the syncs that run, or will. */
export function syncsOf(syncing: SyncState): readonly Promise<void>[] {
  switch (syncing.kind) {
    case 'idle':
      return [];
    case 'running':
      return [syncing.done];
    case 'followed':
      return [syncing.done, syncing.next];
    case 'due':
      return [syncing.next];
    default:
      return unreachable(syncing);
  }
}

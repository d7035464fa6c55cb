import { limits } from '../../limits.ts';
import type { Transaction } from '../../store/transaction.ts';
import type { DatabaseCore } from '../core.ts';
import { hostLine } from '../host-line.ts';
import { runReducer } from '../run-reducer.ts';
import { nextOf } from './catch-up.ts';
import { farMicros } from './due-time.ts';
import type { DueRow, DueWork } from './due-work.ts';
import { hostRun, keptError, moveOn, placeOf } from './move-on.ts';

export interface Failed {
  readonly start: number;
  readonly error: string;
  /** Default: false. */
  readonly hasEndedActor?: boolean;
}

/**
 * The commit after a failed run; the host's own work, which no quota and no view prevents. The run
 * is repeated, or its due time is used up, or the row is kept as failed.
 */
export function endFailed(core: DatabaseCore, work: DueWork, failed: Failed): void {
  const { start, error, hasEndedActor = false } = failed;
  const { policy } = work.armed;
  const attempt = work.attempt + 1;
  const next = nextOf(work, start);
  runReducer(core, {
    ...hostRun(core, start),
    after: (transaction) => {
      const { retry } = policy;
      if (retry !== undefined && attempt < retry.attempts) {
        const backoff = Number(retry.backoffMicros);
        const delay = delayOf(hasEndedActor ? Math.max(backoff, endingBackoff) : backoff, attempt);
        const at = Math.min(start + delay, farMicros);
        repeatAt(core, transaction, work, { start, error, attempt, at });
      } else if ('row' in work && work.armed.definition.delivery === 'atLeastOnce') {
        giveUp(core, transaction, work, { error, attempt, next });
      } else {
        moveOn(core, transaction, work, { next, start, error });
      }
    },
  });
}

const endingBackoff = limits.scheduleEndingRetryMillisMin * 1_000;

/** The delay after this many failed runs doubles with each, up to a bound. */
function delayOf(backoff: number, attempt: number): number {
  return Math.min(backoff * 2 ** (attempt - 1), limits.scheduleRetryMillisMax * 1_000);
}

interface Again extends Failed {
  readonly attempt: number;
  readonly at: number;
}

function repeatAt(core: DatabaseCore, transaction: Transaction, work: DueWork, again: Again): void {
  const { controls, hidden } = core.schedules;
  const { at, attempt, start } = again;
  const { due } = work;
  const error = keptError(again.error);
  if ('row' in work) {
    hidden.attempts.put(transaction, work.row, { state: 'waits', due, at, attempt, error });
    return;
  }
  const last = { lastDue: due, lastStart: start, lastError: error };
  controls.put(transaction, { ...work.control, due, at, attempt, ...last });
}

interface GivenUp {
  readonly error: string;
  readonly attempt: number;
  readonly next: number | undefined;
}

/** A row that runs once stays, and waits for somebody; one with an interval goes on. */
function giveUp(
  core: DatabaseCore,
  transaction: Transaction,
  work: DueRow,
  { error, attempt, next = farMicros }: GivenUp,
): void {
  const { attempts, dues } = core.schedules.hidden;
  const { row, due, isInterval } = work;
  const at = isInterval ? next : 0;
  attempts.put(transaction, row, { state: 'failed', due, at, attempt, error: keptError(error) });
  if (isInterval) dues.put(transaction, row, next);
  const what = isInterval ? 'its next time is still to come' : 'it stays until it is changed';
  const line = `A row is kept as failed after ${attempt} runs; ${what} (${placeOf(work)})`;
  core.report(hostLine('error', line));
}

import { assert } from '../../assert.ts';
import { limits } from '../../limits.ts';
import { laneCodes } from '../../module/lane.ts';
import type { Transaction } from '../../store/transaction.ts';
import { appendChanges, type DatabaseCore, rowsOf } from '../core.ts';
import { commitRun, noBytes, rollBack } from '../run-reducer.ts';
import { failureText } from '../views/view-failure.ts';
import { LaneData } from './data-server.ts';
import type { LaneRequest } from './lane-desk.ts';
import { noteCommitted, outdatedText, type RunningCall } from './running-call.ts';

export type WriteRequest = Extract<LaneRequest, { readonly serve: unknown }>;

/** Tells a lane something, once what this turn commits is written. */
export type Answer = () => void;

/**
 * One transaction of a procedure, from begin to end: nothing else runs while the lane has it open.
 * Returns what to tell the lane; nothing when the lane is gone, or was ended for being late.
 */
export function runTransaction(
  core: DatabaseCore,
  call: RunningCall,
  request: WriteRequest,
): Answer | undefined {
  const refusal = writeRefusalOf(core, call);
  if (refusal !== undefined) return () => request.begun(beginRefused, refusal);
  const timestampMicros = nowOf(core);
  const transaction = core.store.begin();
  request.begun(timestampMicros);
  const end = serve(core, request, transaction);
  announce(core, call);
  switch (end) {
    case 'commit': {
      const failure = commit(core, call, timestampMicros, transaction);
      const code = failure === undefined ? 0 : laneCodes.failed;
      return () => request.answer(code, failure ?? '');
    }
    case 'abort':
      rollBack(core, transaction);
      return () => request.answer(0, '');
    case 'late':
      call.late = lateText(call);
      rollBack(core, transaction);
      return undefined;
    case 'gone':
      rollBack(core, transaction);
      return undefined;
  }
}

/** Tells those who watch the actor on whose behalf it goes on. */
export function announce({ progress }: DatabaseCore, { ticket, job }: RunningCall): void {
  if (job.kind === 'schedule') progress.scheduled(job.mark);
  else if (ticket !== undefined) progress.calling(ticket);
}

/** The negated code with which a transaction is refused before it begins. */
export const beginRefused = BigInt(laneCodes.failed);

/** Why a procedure gets nothing of the rows any more. */
export function refusalOf({ program }: DatabaseCore, call: RunningCall): string | undefined {
  return program === call.program ? undefined : outdatedText;
}

/** As above, or why it cannot write: its caller is to learn that the disk is full. */
export function writeRefusalOf(core: DatabaseCore, call: RunningCall): string | undefined {
  const refusal = refusalOf(core, call);
  if (refusal === undefined) call.full = core.full;
  return refusal ?? core.full;
}

/** The time of a transaction that begins now: never before that of an earlier commit. */
export function nowOf({ clock, live, lastMicros }: DatabaseCore): bigint {
  const now = clock.nowMicros();
  const last = live.lastMicros > lastMicros ? live.lastMicros : lastMicros;
  return now > last ? now : last;
}

function serve(core: DatabaseCore, request: WriteRequest, transaction: Transaction) {
  const { clock, progress, store } = core;
  const { calls, serve: data } = new LaneData(store);
  calls.begin(transaction);
  announceLending(progress);
  const end = request.serve(data, clock.monotonicMillis() + limits.procedureTransactionMillis);
  calls.end();
  assert(!calls.isUnfinished, 'a write to the store did not end');
  return end;
}

export function announceLending(progress: DatabaseCore['progress']): void {
  if (progress.lending === undefined) progress.resting();
  else progress.lending();
}

function lateText({ name }: RunningCall): string {
  const limit = limits.procedureTransactionMillis;
  const what = `The transaction of \`${name}\``;
  return `${what} was open for longer than ${limit} ms and was aborted`;
}

/** Returns why it was rolled back instead. */
function commit(
  core: DatabaseCore,
  call: RunningCall,
  timestampMicros: bigint,
  transaction: Transaction,
): string | undefined {
  const { name, caller, connectionId } = call;
  const failure = core.quota.faultOf(core, transaction, true) ?? viewFailure();
  if (failure !== undefined) {
    rollBack(core, transaction);
    return failure;
  }
  const changes = commitRun(core, { timestampMicros }, transaction);
  if (changes !== undefined) noteCommitted(call, changes.offset, rowsOf(changes));
  appendChanges(core, changes, {
    reducer: name,
    caller: caller.identity,
    connectionId,
    timestampMicros,
    seed: noBytes,
    args: noBytes,
  });
  return undefined;

  function viewFailure(): string | undefined {
    const failed = core.views.refresh(transaction, timestampMicros, false);
    return failed === undefined ? undefined : failureText(failed);
  }
}

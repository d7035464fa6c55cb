import type { CommitInputs } from '../log/record.ts';
import type { RunOutcome } from '../module/runner.ts';
import type { ChangeSet } from '../store/change-set.ts';
import type { Transaction } from '../store/transaction.ts';
import { checkedOutcome } from './call-result.ts';
import { appendChanges, type DatabaseCore } from './core.ts';
import type { ProgramReducer } from './program.ts';
import { failureText } from './views/view-failure.ts';

/** One transaction around at most one reducer. */
export interface ReducerRun {
  /** `undefined`: the transaction consists of `before` and `after` alone. */
  readonly reducer: ProgramReducer | undefined;
  readonly sender: bigint;
  /** 0n = no connection. */
  readonly connectionId: bigint;
  readonly timestampMicros: bigint;
  readonly args: Uint8Array;
  readonly jwtPayload: string;
  /** Work of the host in the same transaction; neither runs when the reducer fails. */
  readonly before?: (transaction: Transaction) => void;
  readonly after?: (transaction: Transaction) => void;
  /** True: it takes an offset and a record even when no row changed. */
  readonly isAlwaysLogged?: boolean;
  /**
   * True: its changes belong to the change of schema that was applied last, and have its offset.
   */
  readonly isJoined?: boolean;
  /** True: it is what a call asked for, so the caller is told what it changed by the outcome. */
  readonly isOfCall?: boolean;
}

/**
 * Begins a transaction, runs the reducer, commits and appends, or rolls back. Synchronous from
 * begin to end. What the reducer threw is in the module's log already. Throws only for bugs of the
 * engine.
 */
export function runReducer(core: DatabaseCore, run: ReducerRun): RunOutcome {
  const { outcome, changes, seed } = runUnlogged(core, run);
  appendChanges(core, changes, inputsOf(run, seed));
  return outcome;
}

/** The same without the record, for the caller who puts the changes into a record of its own. */
export function runUnlogged(
  core: DatabaseCore,
  run: ReducerRun,
): { outcome: RunOutcome; changes: ChangeSet | undefined; seed: Uint8Array } {
  const transaction = core.store.begin();
  run.before?.(transaction);
  const seed = run.reducer === undefined ? noBytes : freshSeed(core);
  const outcome = callReducer(core, run, seed, transaction);
  if (outcome.kind !== 'returned') {
    transaction.rollback();
    return { outcome, changes: undefined, seed };
  }
  run.after?.(transaction);
  const failure = refreshViews(core, run, transaction);
  if (failure !== undefined) return { outcome: failure, changes: undefined, seed };
  const isForced = run.isAlwaysLogged ?? false;
  const changes = run.isJoined ? transaction.commitJoined() : transaction.commit(isForced);
  const views = core.views.commit();
  const { timestampMicros, isOfCall = false } = run;
  core.live.committed(core, { changes, views, timestampMicros, isOfCall });
  return { outcome, changes, seed };
}

/**
 * Brings the live views up to date with what the transaction has changed. When one fails, both are
 * rolled back, and that is how the call went.
 */
function refreshViews(
  { views }: DatabaseCore,
  { reducer, timestampMicros }: ReducerRun,
  transaction: Transaction,
): RunOutcome | undefined {
  // What the host itself does, such as saying goodbye to a client, no view can prevent.
  const failure = views.refresh(transaction, timestampMicros, reducer === undefined);
  if (failure === undefined) return undefined;
  views.rollback();
  transaction.rollback();
  return { kind: 'crashed', message: failureText(failure), trace: [] };
}

export function inputsOf(run: ReducerRun, seed: Uint8Array): CommitInputs {
  return {
    reducer: run.reducer?.name ?? '',
    caller: run.sender,
    connectionId: run.connectionId,
    timestampMicros: run.timestampMicros,
    seed,
    args: run.args,
  };
}

function callReducer(
  core: DatabaseCore,
  { reducer, sender, connectionId, timestampMicros, args, jwtPayload }: ReducerRun,
  seed: Uint8Array,
  transaction: Transaction,
): RunOutcome {
  if (reducer === undefined) return { kind: 'returned' };
  const { id: reducerId, name: reducerName } = reducer;
  const outcome = core.program.runner.callReducer(
    { reducerId, reducerName, sender, connectionId, timestampMicros, args, seed, jwtPayload },
    transaction,
  );
  const checked = checkedOutcome(reducer, outcome);
  reportFailure(core, reducerName, checked);
  return checked;
}

/** A failing reducer is told to the module's author, whatever its caller gets to know. */
function reportFailure(core: DatabaseCore, functionName: string, outcome: RunOutcome): void {
  switch (outcome.kind) {
    case 'returned':
      return;
    case 'refused':
      core.report({ level: 'error', message: outcome.message, functionName });
      return;
    case 'crashed':
      core.report({ level: 'panic', message: outcome.message, functionName, trace: outcome.trace });
      return;
  }
}

function freshSeed(core: DatabaseCore): Uint8Array {
  const seed = new Uint8Array(seedBytes);
  core.entropy.fill(seed);
  return seed;
}

const seedBytes = 32;
export const noBytes: Uint8Array = new Uint8Array(0);

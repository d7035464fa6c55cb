import { unreachable } from '../assert.ts';
import type { CommitInputs } from '../log/record.ts';
import type { RunOutcome } from '../module/runner.ts';
import type { ChangeSet } from '../store/change-set.ts';
import type { Transaction } from '../store/transaction.ts';
import type { ConnectionNumber } from '../values/connection-number.ts';
import type { CallerIdentity } from '../values/identity-roles.ts';
import type { ProgramReducer } from './call-result.ts';
import { checkedOutcome } from './call-result.ts';
import { appendChanges, type DatabaseCore, rowsOf } from './core.ts';
import { failureText } from './views/view-failure.ts';

/** One transaction around at most one reducer. */
export interface ReducerRun {
  /** `undefined`: the transaction consists of `before` and `after` alone. */
  readonly reducer: ProgramReducer | undefined;
  readonly sender: CallerIdentity;
  /** 0n if there is none. */
  readonly connectionId: ConnectionNumber;
  readonly timestampMicros: bigint;
  readonly args: Uint8Array;
  readonly jwtPayload: string;
  /** Host work in the same transaction; neither runs when the reducer fails. */
  readonly before?: (transaction: Transaction) => void;
  readonly after?: (transaction: Transaction) => void;
  /** Keeps the outcome in the same transaction; returns why that cannot be, which fails the run. */
  readonly keep?: (transaction: Transaction, value: Uint8Array | undefined) => string | undefined;
  /** True if it takes an offset and a record even when no row changed. */
  readonly isAlwaysLogged?: boolean;
  /** True if its changes belong to the schema change applied last, and share its offset. */
  readonly isJoined?: boolean;
  /** Used instead of fresh randomness: 32 bytes. */
  readonly seed?: Uint8Array | undefined;
  /** True if a call requested it, so that the caller receives its changes with the outcome. */
  readonly isOfCall?: boolean;
  /** True if a procedure requested it: the quota applies as to a call. */
  readonly isOfProcedure?: boolean;
  /** For lines of the log: which run this is, if no call requested it. */
  readonly place?: () => string;
}

/**
 * How a transaction ended: as its reducer did, or refused for exceeding the quota, or because its
 * outcome cannot be kept.
 */
export type TransactionOutcome =
  | RunOutcome
  | { readonly kind: 'overQuota'; readonly message: string }
  | { readonly kind: 'notKept'; readonly message: string };

type Returned = Extract<TransactionOutcome, { readonly kind: 'returned' }>;

/** How a transaction ended that has committed if its reducer returned. */
export type CommittedOutcome =
  | Exclude<TransactionOutcome, Returned>
  /** `rows`: how many were added and removed. */
  | (Returned & { readonly rows: number });

/**
 * Begins a transaction, runs the reducer, then commits and appends, or rolls back. Synchronous from
 * begin to end. An exception of the reducer is already in the module's log. Throws only for bugs of
 * the engine.
 */
export function runReducer(core: DatabaseCore, run: ReducerRun): CommittedOutcome {
  const { outcome, changes, seed } = runUnlogged(core, run);
  appendChanges(core, changes, inputsOf(run, seed));
  return outcome.kind === 'returned' ? { ...outcome, rows: rowsOf(changes) } : outcome;
}

/** Like `runReducer`, but appends no record: the caller puts the changes into its own. */
export function runUnlogged(
  core: DatabaseCore,
  run: ReducerRun,
): { outcome: TransactionOutcome; changes: ChangeSet | undefined; seed: Uint8Array } {
  const transaction = core.store.begin();
  const seed = seedOf(core, run);
  const outcome = runWithin(core, run, seed, transaction);
  if (outcome.kind === 'returned') {
    return { outcome, changes: commitRun(core, run, transaction), seed };
  }
  rollBack(core, transaction);
  return { outcome, changes: undefined, seed };
}

/** Does all of a run except begin and end the transaction, which is rolled back on a failure. */
export function runWithin(
  core: DatabaseCore,
  run: ReducerRun,
  seed: Uint8Array,
  transaction: Transaction,
): TransactionOutcome {
  run.before?.(transaction);
  const outcome = callReducer(core, run, seed, transaction);
  if (outcome.kind !== 'returned') return outcome;
  run.after?.(transaction);
  const unkept = run.keep?.(transaction, outcome.value);
  if (unkept !== undefined) return { kind: 'notKept', message: unkept };
  const fault = quotaFault(core, run, transaction);
  if (fault !== undefined) {
    reportRefusal(core, run, fault);
    return { kind: 'overQuota', message: fault };
  }
  // No view can prevent the host's own work, such as disconnecting a client.
  const mustSucceed = run.reducer === undefined;
  const failure = core.views.refresh(transaction, run.timestampMicros, mustSucceed);
  if (failure === undefined) return outcome;
  const message = failureText(failure);
  reportRefusal(core, run, message);
  return { kind: 'crashed', message, trace: [] };
}

/** The host's own work, such as recording a client, is not subject to a quota. */
function quotaFault(
  core: DatabaseCore,
  { reducer, isOfCall = false, isOfProcedure = false }: ReducerRun,
  transaction: Transaction,
): string | undefined {
  return reducer === undefined
    ? undefined
    : core.quota.faultOf(core, transaction, isOfCall || isOfProcedure);
}

/** What its commit has to know of a run. */
export type CommittedRun = Pick<
  ReducerRun,
  'timestampMicros' | 'isOfCall' | 'isAlwaysLogged' | 'isJoined'
>;

/** Commits what `runWithin` has done. The changes are not appended yet. */
export function commitRun(
  core: DatabaseCore,
  run: CommittedRun,
  transaction: Transaction,
): ChangeSet | undefined {
  const { timestampMicros, isOfCall = false } = run;
  core.schedules.beforeCommit(transaction, timestampMicros);
  const isForced = run.isAlwaysLogged ?? false;
  const changes = run.isJoined ? transaction.commitJoined() : transaction.commit(isForced);
  core.schedules.committed(changes);
  const views = core.views.commit();
  core.live.committed(core, { changes, views, timestampMicros, isOfCall });
  return changes;
}

/** Rolls back a transaction, and the view changes made for it. */
export function rollBack({ views }: DatabaseCore, transaction: Transaction): void {
  views.rollback();
  transaction.rollback();
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
  { reducer, sender, connectionId, timestampMicros, args, jwtPayload, place }: ReducerRun,
  seed: Uint8Array,
  transaction: Transaction,
): RunOutcome {
  if (reducer === undefined) return { kind: 'returned' };
  const { id: reducerId, name: reducerName } = reducer;
  const outcome = core.program.runner.callReducer(
    { reducerId, reducerName, sender, connectionId, timestampMicros, args, seed, jwtPayload },
    transaction,
  );
  const checked = namedViolation(checkedOutcome(reducer, outcome), transaction);
  reportFailure(core, reducerName, checked, place);
  return checked;
}

/** A crash because of a unique constraint names its table and columns, for the module's author. */
function namedViolation(outcome: RunOutcome, { violation }: Transaction): RunOutcome {
  if (outcome.kind !== 'crashed' || violation === undefined) return outcome;
  if (!outcome.message.startsWith('Uncaught UniqueAlreadyExists:')) return outcome;
  const { table, columns } = violation;
  const word = columns.length === 1 ? 'column' : 'columns';
  const names = columns.map((column) => `\`${column}\``).join(', ');
  return { ...outcome, message: `${outcome.message} (table \`${table}\`, ${word} ${names})` };
}

/** A failing reducer is reported to the module's author, whatever its caller learns. */
function reportFailure(
  core: DatabaseCore,
  functionName: string,
  outcome: RunOutcome,
  place: ReducerRun['place'],
): void {
  if (outcome.kind === 'returned') return;
  const message = place === undefined ? outcome.message : `${outcome.message} (${place()})`;
  switch (outcome.kind) {
    // What a module refuses on purpose is no fault of it.
    case 'refused':
      core.report({ level: 'info', message, functionName });
      return;
    case 'crashed':
      core.report({ level: 'panic', message, functionName, trace: outcome.trace });
      return;
    default:
      unreachable(outcome);
  }
}

/** What a caller would be answered, where there is no caller. */
function reportRefusal(core: DatabaseCore, { reducer, place }: ReducerRun, message: string): void {
  if (reducer === undefined || place === undefined) return;
  core.report({ level: 'error', message: `${message} (${place()})`, functionName: reducer.name });
}

/** The randomness of a run. Valid until the next run: callers that keep it must copy it. */
export function seedOf(core: DatabaseCore, { reducer, seed }: ReducerRun): Uint8Array {
  if (reducer === undefined) return noBytes;
  if (seed !== undefined) return seed;
  core.entropy.fill(callSeed);
  return callSeed;
}

/** Shared by all calls, since only one runs at a time. */
const callSeed = new Uint8Array(32);
export const noBytes: Uint8Array = new Uint8Array(0);

import type { Transaction } from '../store/transaction.ts';
import { askedStatement } from './asked-statement.ts';
import { appendChanges, type DatabaseCore } from './core.ts';
import type { CallRequest, SqlRequest } from './outcome.ts';
import type { PreviewedWork, PreviewKey, PreviewResult } from './preview-outcome.ts';
import { errorOf, reducerRunOf } from './run-call.ts';
import { commitRun, inputsOf, runWithin } from './run-reducer.ts';
import { commitWrite, writeWithin } from './run-write.ts';
import { readErrorOf, sqlErrorOf } from './statement-error.ts';

/** The inputs of a run beside its arguments and the rows. */
export type Moment = Omit<PreviewKey, 'digest'>;

/** Work that ran in a transaction that is still open. */
export interface Ran {
  readonly result: PreviewResult;
  /** Commits and appends it; absent when it failed and is to be rolled back. */
  readonly commit?: () => void;
}

/** The result when none of the work ran because its connection was refused. */
export function refusedResult({ kind }: PreviewedWork, message: string): PreviewResult {
  const error = { code: 'connection.refused', message } as const;
  return kind === 'call' ? { kind: 'callFailed', error } : { kind: 'queryFailed', error };
}

/** Runs the work as its request would have, except for beginning and ending the transaction. */
export function runWork(
  core: DatabaseCore,
  work: PreviewedWork,
  moment: Moment,
  transaction: Transaction,
): Ran {
  if (work.kind === 'call') return runCalled(core, work.call, moment, transaction);
  return runQueried(core, work.query, moment, transaction);
}

function runCalled(
  core: DatabaseCore,
  call: CallRequest,
  moment: Moment,
  transaction: Transaction,
): Ran {
  const run = reducerRunOf(core, call, moment.timestampMicros);
  if ('code' in run) return { result: { kind: 'callFailed', error: run } };
  const seed = seedsOf(moment).work;
  const outcome = runWithin(core, run, seed, transaction);
  if (outcome.kind !== 'returned') {
    return { result: { kind: 'callFailed', error: errorOf(run.reducer, outcome) } };
  }
  const commit = () => appendChanges(core, commitRun(core, run, transaction), inputsOf(run, seed));
  return { result: outcome, commit };
}

function runQueried(
  core: DatabaseCore,
  query: SqlRequest,
  { timestampMicros }: Moment,
  transaction: Transaction,
): Ran {
  let asked: ReturnType<typeof askedStatement>;
  try {
    asked = askedStatement(core, query, timestampMicros);
  } catch (error) {
    return { result: { kind: 'queryFailed', error: readErrorOf(core, error) } };
  }
  try {
    const rows = writeWithin(core, asked, transaction);
    const commit = () => commitWrite(core, query, timestampMicros, transaction);
    return { result: { kind: 'wrote', ...rows }, commit };
  } catch (error) {
    return { result: { kind: 'queryFailed', error: sqlErrorOf(error) } };
  }
}

/** `client_connected` and the reducer draw from separate sources, as they always do. */
export function seedsOf({ entropy }: Moment): { connect: Uint8Array; work: Uint8Array } {
  return { work: entropy.subarray(0, seedBytes), connect: entropy.subarray(seedBytes) };
}

const seedBytes = 32;
export const entropyBytes: number = 2 * seedBytes;

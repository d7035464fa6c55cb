import { present } from '../assert.ts';
import { limits } from '../limits.ts';
import type { TextPosition } from '../sql/failure.ts';
import { splitStatements, type WrittenStatement } from '../sql/split-statements.ts';
import type { Transaction } from '../store/transaction.ts';
import { type AskedStatement, askedStatement } from './asked-statement.ts';
import { appendChanges, type DatabaseCore } from './core.ts';
import type { CallRequest, SqlError, SqlRequest, SqlRows } from './outcome.ts';
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
  return runQueried(core, work, moment, transaction);
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

type QueriedWork = Extract<PreviewedWork, { kind: 'query' }>;

function runQueried(
  core: DatabaseCore,
  work: QueriedWork,
  { timestampMicros }: Moment,
  transaction: Transaction,
): Ran {
  const { query } = work;
  const written = statementsOf(work);
  if ('code' in written) return { result: { kind: 'queryFailed', error: written } };
  const whole = { core, query, timestampMicros, transaction };
  const rows = written.length === 1 ? runOne(whole) : runAll(whole, written);
  if ('code' in rows) return { result: { kind: 'queryFailed', error: rows } };
  const commit = () => commitWrite(core, query, timestampMicros, transaction);
  return { result: { kind: 'wrote', ...rows }, commit };
}

/** What is to be written, and where. */
interface Writing {
  readonly core: DatabaseCore;
  readonly query: SqlRequest;
  readonly timestampMicros: bigint;
  readonly transaction: Transaction;
}

function runOne({ core, query, timestampMicros, transaction }: Writing): SqlRows | SqlError {
  const asked = ask(core, query, timestampMicros);
  return 'code' in asked ? asked : write(core, asked, transaction);
}

/**
 * All are planned before the first one writes: views that they read have to be evaluated outside of
 * what changes them. The time limit is that of all together.
 */
function runAll(
  { core, query, timestampMicros, transaction }: Writing,
  written: readonly WrittenStatement[],
): SqlRows | SqlError {
  const { clock, statementMillisMax } = core;
  const endsAt = clock.monotonicMillis() + statementMillisMax;
  const planned: AskedStatement[] = [];
  for (const [at, { text, place }] of written.entries()) {
    const asked = ask(core, { ...query, sql: text }, timestampMicros);
    if ('code' in asked) return errorWithin(asked, at, place);
    planned.push(asked);
  }
  let sum: SqlRows | undefined;
  for (const [at, asked] of planned.entries()) {
    const millisMax = Math.max(1, endsAt - clock.monotonicMillis());
    const timed = { ...asked, times: { ...asked.times, millisMax } };
    const rows = write(core, timed, transaction);
    if ('code' in rows) return errorWithin(rows, at, present(written[at], 'its text').place);
    sum = sum === undefined ? rows : addedTo(sum, rows);
  }
  return present(sum, 'at least one statement');
}

/** The statements of the text, each with its place; a text that is not split is one. */
function statementsOf({ query, isScript }: QueriedWork): readonly WrittenStatement[] | SqlError {
  const whole = [{ text: query.sql, place: { line: 1, column: 1 } }];
  if (isScript !== true) return whole;
  try {
    const written = splitStatements(query.sql, limits.previewStatementsMax);
    return written.length === 0 ? whole : written;
  } catch (error) {
    return sqlErrorOf(error);
  }
}

function ask(
  core: DatabaseCore,
  query: SqlRequest,
  timestampMicros: bigint,
): AskedStatement | SqlError {
  try {
    return askedStatement(core, query, timestampMicros);
  } catch (error) {
    return readErrorOf(core, error);
  }
}

function write(
  core: DatabaseCore,
  asked: AskedStatement,
  transaction: Transaction,
): SqlRows | SqlError {
  try {
    return writeWithin(core, asked, transaction);
  } catch (error) {
    return sqlErrorOf(error);
  }
}

/** The rows are those of the last statement. */
function addedTo(sum: SqlRows, { inserted, deleted, updated, ...rows }: SqlRows): SqlRows {
  return {
    ...rows,
    inserted: sum.inserted + inserted,
    deleted: sum.deleted + deleted,
    updated: sum.updated + updated,
  };
}

/** The error of one statement among others: it says which, and its place is that in the text. */
function errorWithin(error: SqlError, at: number, start: TextPosition): SqlError {
  const message = `statement ${at + 1}: ${error.message}`;
  if (!('place' in error) || error.place === undefined) return { ...error, message };
  const { line, column } = error.place;
  const place = {
    line: start.line + line - 1,
    column: line === 1 ? start.column + column - 1 : column,
  };
  return { ...error, message, place };
}

/** `client_connected` and the reducer draw from separate sources, as they always do. */
export function seedsOf({ entropy }: Moment): { connect: Uint8Array; work: Uint8Array } {
  return { work: entropy.subarray(0, seedBytes), connect: entropy.subarray(seedBytes) };
}

const seedBytes = 32;
export const entropyBytes: number = 2 * seedBytes;

import { limits } from '../limits.ts';
import { invalid, notAuthorized, SqlFailure } from '../sql/failure.ts';
import { executeWrite, isWrite, type PreparedStatement } from '../sql/statement.ts';
import type { Transaction } from '../store/transaction.ts';
import { identityToHex } from '../values/identity.ts';
import { emptyTypespace } from '../values/type.ts';
import { appendChanges, type DatabaseCore, requireSpace } from './core.ts';
import type { SqlOutcome, SqlParameters, SqlRequest, SqlRows } from './outcome.ts';
import { PausedQuery } from './paused-query.ts';
import {
  budgetOf,
  type ReadExecution,
  type ReadRequest,
  type ReadTimes,
} from './read-execution.ts';
import { enter, leave } from './run-call.ts';
import { noBytes, rollBack } from './run-reducer.ts';
import { readErrorOf, sqlErrorOf } from './statement-error.ts';
import { CallerTables } from './views/caller-tables.ts';
import { statementFailureText } from './views/view-failure.ts';

type Ended =
  | Omit<Extract<SqlOutcome, { kind: 'result' }>, 'micros'>
  | Omit<Extract<SqlOutcome, { kind: 'failed' }>, 'micros'>;

/**
 * Runs one statement against the rows of the last commit: to its outcome, or, a read, until its
 * first slice is over. Like a call it is done within a connection; a write is a transaction of its
 * own. Synchronous.
 */
export function runQuery(
  core: DatabaseCore,
  query: SqlRequest,
  acceptedMicros: bigint,
): SqlOutcome | PausedQuery {
  const { clock } = core;
  const refusal = enter(core, query, acceptedMicros);
  if (refusal !== undefined) {
    return { kind: 'failed', error: { code: 'connection.refused', message: refusal }, micros: 0 };
  }
  const startedAt = clock.monotonicMillis();
  const millis = () => clock.monotonicMillis() - startedAt;
  const outcome = begin(core, query, acceptedMicros);
  if ('run' in outcome) {
    const read = new PausedQuery(core, { query, acceptedMicros }, outcome, millis());
    return read.resume() ?? read;
  }
  const ended = { ...outcome, micros: Math.round(millis() * 1000) };
  leave(core, query, acceptedMicros);
  return ended;
}

/** Starts a read, or runs a write. */
function begin(
  core: DatabaseCore,
  query: SqlRequest,
  timestampMicros: bigint,
): ReadExecution | Ended {
  const { store } = core;
  const { identity, rights } = query.caller;
  let asked: AskedStatement;
  try {
    asked = askedStatement(core, query, timestampMicros);
    const { statement, times, request } = asked;
    if (!isWrite(statement)) return core.startRead(statement, store, times, request);
    if (rights.isReadOnly) throw notAuthorized(identityToHex(identity));
  } catch (error) {
    return { kind: 'failed', error: readErrorOf(core, error) };
  }
  requireSpace(core);
  try {
    return { kind: 'result', ...runWrite(core, query, asked), offset: store.offset };
  } catch (error) {
    return { kind: 'failed', error: sqlErrorOf(error) };
  }
}

/** A statement ready to run, and what it is given. */
export interface AskedStatement {
  readonly statement: PreparedStatement;
  readonly request: ReadRequest;
  readonly times: ReadTimes;
}

/** Checks and plans what was asked for; the views that it reads are evaluated. May throw. */
export function askedStatement(
  { store, clock, views, program, statementMillisMax, statementMemory }: DatabaseCore,
  query: SqlRequest,
  timestampMicros: bigint,
): AskedStatement {
  const { caller, parameters = noParameters } = query;
  const millisMax = Math.min(statementMillisMax, query.millisMax ?? statementMillisMax);
  const { systemTables } = program;
  const now = () => clock.monotonicMillis();
  const tables = new CallerTables({ store, systemTables, views }, caller, timestampMicros);
  return {
    statement: program.statements.get(query, tables),
    request: {
      ...{ tables, caller, parameters, nowMicros: timestampMicros },
      memory: statementMemory.shareOf(caller),
    },
    times: { now, millisMax, sliceMillis: limits.readSliceMillisMax },
  };
}

const noParameters: SqlParameters = new Map();

function runWrite(core: DatabaseCore, query: SqlRequest, asked: AskedStatement): SqlRows {
  const transaction = core.store.begin();
  let isDone = false;
  try {
    const rows = writeWithin(core, asked, transaction);
    isDone = true;
    commitWrite(core, query, asked.request.nowMicros, transaction);
    return rows;
  } finally {
    if (!isDone) rollBack(core, transaction);
  }
}

/** Does all of a write but begin and end the transaction. When it throws, that is rolled back. */
export function writeWithin(
  core: DatabaseCore,
  { statement, request, times: { now, millisMax } }: AskedStatement,
  transaction: Transaction,
): SqlRows {
  if (!isWrite(statement)) throw invalid('A statement that only reads changes nothing');
  const given = { ...request, budget: budgetOf({ now, millisMax }) };
  const { returned, ...counts } = executeWrite(statement, given, transaction);
  const fault = core.quota.faultOf(core, transaction, true);
  if (fault !== undefined) throw new SqlFailure({ code: 'sql.overQuota', message: fault });
  const failure = core.views.refresh(transaction, request.nowMicros, false);
  if (failure !== undefined) throw invalid(statementFailureText(failure));
  return { ...counts, ...(returned ?? noRows) };
}

/** Ends what `writeWithin` has done. */
export function commitWrite(
  core: DatabaseCore,
  { caller, connection, sql }: SqlRequest,
  timestampMicros: bigint,
  transaction: Transaction,
): void {
  const changes = transaction.commit();
  appendChanges(core, changes, {
    reducer: '',
    caller: caller.identity,
    connectionId: connection.id,
    timestampMicros,
    seed: noBytes,
    args: new TextEncoder().encode(sql),
  });
  const views = core.views.commit();
  core.live.committed(core, { changes, views, timestampMicros, isOfCall: false });
}

const noRows = { columns: [], types: emptyTypespace, rows: noBytes, rowCount: 0 };

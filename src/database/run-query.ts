import { limits } from '../limits.ts';
import { timeBudget } from '../sql/budget.ts';
import { invalid } from '../sql/failure.ts';
import { executeWrite, type PreparedWrite, prepare } from '../sql/statement.ts';
import { emptyTypespace } from '../values/type.ts';
import { appendChanges, type DatabaseCore } from './core.ts';
import type { SqlOutcome, SqlRequest } from './outcome.ts';
import { PausedQuery, sqlErrorOf } from './paused-query.ts';
import type { ReadExecution } from './read-execution.ts';
import { enter, leave } from './run-call.ts';
import { noBytes } from './run-reducer.ts';
import { statementFailureText } from './views/view-failure.ts';

type Ended =
  | Omit<Extract<SqlOutcome, { kind: 'result' }>, 'micros'>
  | Omit<Extract<SqlOutcome, { kind: 'failed' }>, 'micros'>;
type SqlRows = Omit<Extract<SqlOutcome, { kind: 'result' }>, 'kind' | 'offset' | 'micros'>;

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
  const refusal = enter(core, query.caller, query.connection, acceptedMicros);
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
  leave(core, query.caller, query.connection, acceptedMicros);
  return ended;
}

/** Starts a read, or runs a write. */
function begin(
  core: DatabaseCore,
  query: SqlRequest,
  timestampMicros: bigint,
): ReadExecution | Ended {
  const { store, clock, statementMillisMax: millisMax } = core;
  const now = () => clock.monotonicMillis();
  try {
    const statement = prepare(query.sql, { store, caller: query.caller });
    if (statement.kind === 'read') {
      return core.startRead(statement, store, {
        now,
        millisMax,
        sliceMillis: limits.readSliceMillisMax,
      });
    }
    const budget = timeBudget(now, millisMax);
    const rows = runWrite(core, statement, query, timestampMicros, budget);
    return { kind: 'result', ...rows, offset: store.offset };
  } catch (error) {
    return { kind: 'failed', error: sqlErrorOf(error) };
  }
}

function runWrite(
  core: DatabaseCore,
  statement: PreparedWrite,
  { caller, connection, sql }: SqlRequest,
  timestampMicros: bigint,
  budget: ReturnType<typeof timeBudget>,
): SqlRows {
  const transaction = core.store.begin();
  let isDone = false;
  try {
    const counts = executeWrite(statement, transaction, budget);
    const failure = core.views.refresh(transaction, timestampMicros, false);
    if (failure !== undefined) throw invalid(statementFailureText(failure));
    isDone = true;
    appendChanges(core, transaction.commit(), {
      reducer: '',
      caller: caller.identity,
      connectionId: connection.id,
      timestampMicros,
      seed: noBytes,
      args: new TextEncoder().encode(sql),
    });
    core.views.commit();
    return { ...counts, columns: [], types: emptyTypespace, rows: noBytes, rowCount: 0 };
  } finally {
    if (!isDone) {
      core.views.rollback();
      transaction.rollback();
    }
  }
}

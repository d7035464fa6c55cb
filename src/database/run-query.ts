import { timeBudget } from '../sql/budget.ts';
import { invalid, SqlFailure } from '../sql/failure.ts';
import { executeRead, executeWrite, type PreparedWrite, prepare } from '../sql/statement.ts';
import { emptyTypespace } from '../values/type.ts';
import { appendChanges, type DatabaseCore } from './core.ts';
import type { SqlOutcome, SqlRequest } from './outcome.ts';
import { enter, leave } from './run-call.ts';
import { noBytes } from './run-reducer.ts';
import { statementFailureText } from './views/view-failure.ts';

type SqlRows = Omit<Extract<SqlOutcome, { kind: 'result' }>, 'kind' | 'offset' | 'micros'>;

/**
 * Runs one statement to its outcome, against the rows of the last commit. Like a call it is done
 * within a connection; a write is a transaction of its own. Synchronous.
 */
export function runQuery(
  core: DatabaseCore,
  query: SqlRequest,
  acceptedMicros: bigint,
): SqlOutcome {
  const refusal = enter(core, query.caller, query.connection, acceptedMicros);
  if (refusal !== undefined) {
    return { kind: 'failed', error: { code: 'connection.refused', message: refusal }, micros: 0 };
  }
  const startedAt = core.clock.monotonicMillis();
  const micros = () => Math.round((core.clock.monotonicMillis() - startedAt) * 1000);
  try {
    const rows = runStatement(core, query, acceptedMicros);
    return { kind: 'result', ...rows, offset: core.store.offset, micros: micros() };
  } catch (error) {
    if (!(error instanceof SqlFailure)) throw error;
    return { kind: 'failed', error: error.error, micros: micros() };
  } finally {
    leave(core, query.caller, query.connection, acceptedMicros);
  }
}

function runStatement(core: DatabaseCore, query: SqlRequest, timestampMicros: bigint): SqlRows {
  const { store, clock, statementMillisMax } = core;
  const statement = prepare(query.sql, { store, caller: query.caller });
  const budget = timeBudget(() => clock.monotonicMillis(), statementMillisMax);
  if (statement.kind === 'write') {
    return runWrite(core, statement, query, timestampMicros, budget);
  }
  return { ...executeRead(statement, store, budget), inserted: 0, deleted: 0, updated: 0 };
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

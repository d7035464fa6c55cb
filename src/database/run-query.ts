import { limits } from '../limits.ts';
import { invalid } from '../sql/failure.ts';
import {
  executeWrite,
  isWrite,
  type PreparedExplainedWrite,
  type PreparedWrite,
  type StatementRequest,
} from '../sql/statement.ts';
import { emptyTypespace } from '../values/type.ts';
import { appendChanges, type DatabaseCore } from './core.ts';
import type { SqlOutcome, SqlParameters, SqlRequest } from './outcome.ts';
import { PausedQuery } from './paused-query.ts';
import { budgetOf, type ReadExecution } from './read-execution.ts';
import { enter, leave } from './run-call.ts';
import { noBytes } from './run-reducer.ts';
import { readErrorOf, sqlErrorOf } from './statement-error.ts';
import { CallerTables } from './views/caller-tables.ts';
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
  const { store, clock, views, program } = core;
  const { caller, parameters = noParameters } = query;
  const millisMax = Math.min(core.statementMillisMax, query.millisMax ?? core.statementMillisMax);
  const { systemTables } = program;
  const now = () => clock.monotonicMillis();
  const tables = new CallerTables({ store, systemTables, views }, caller.identity, timestampMicros);
  const request = { tables, caller, parameters, nowMicros: timestampMicros };
  let write: Write;
  try {
    const statement = program.statements.get(query, tables);
    if (!isWrite(statement)) {
      const times = { now, millisMax, sliceMillis: limits.readSliceMillisMax };
      return core.startRead(statement, store, times, request);
    }
    write = { statement, request: { ...request, budget: budgetOf({ now, millisMax }) } };
  } catch (error) {
    return { kind: 'failed', error: readErrorOf(core, error) };
  }
  try {
    return { kind: 'result', ...runWrite(core, query, write), offset: store.offset };
  } catch (error) {
    return { kind: 'failed', error: sqlErrorOf(error) };
  }
}

const noParameters: SqlParameters = new Map();

interface Write {
  readonly statement: PreparedWrite | PreparedExplainedWrite;
  readonly request: StatementRequest;
}

function runWrite(
  core: DatabaseCore,
  { caller, connection, sql }: SqlRequest,
  { statement, request }: Write,
): SqlRows {
  const transaction = core.store.begin();
  const timestampMicros = request.nowMicros;
  let isDone = false;
  try {
    const { returned, ...counts } = executeWrite(statement, request, transaction);
    const failure = core.views.refresh(transaction, timestampMicros, false);
    if (failure !== undefined) throw invalid(statementFailureText(failure));
    isDone = true;
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
    return { ...counts, ...(returned ?? noRows) };
  } finally {
    if (!isDone) {
      core.views.rollback();
      transaction.rollback();
    }
  }
}

const noRows = { columns: [], types: emptyTypespace, rows: noBytes, rowCount: 0 };

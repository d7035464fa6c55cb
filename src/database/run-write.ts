import type { CommitInputs } from '../log/record.ts';
import { invalid, SqlFailure } from '../sql/failure.ts';
import type { WriteOutcome } from '../sql/run/results.ts';
import { executeWrite, isWrite } from '../sql/statement.ts';
import type { Transaction } from '../store/transaction.ts';
import { emptyTypespace } from '../values/type.ts';
import type { AskedStatement } from './asked-statement.ts';
import { appendChanges, type DatabaseCore } from './core.ts';
import type { SqlRequest, SqlRows } from './outcome.ts';
import { budgetOf } from './read-run.ts';
import { noBytes, rollBack } from './run-reducer.ts';
import { statementFailureText } from './views/view-failure.ts';

/** Makes the changes of a statement in a transaction of its own, and commits them. */
export function commitInTransaction(
  core: DatabaseCore,
  query: SqlRequest,
  timestampMicros: bigint,
  write: (transaction: Transaction) => SqlRows,
): SqlRows {
  const transaction = core.store.begin();
  let isDone = false;
  try {
    const rows = write(transaction);
    isDone = true;
    commitWrite(core, query, timestampMicros, transaction);
    return rows;
  } finally {
    if (!isDone) rollBack(core, transaction);
  }
}

/** Does all of a write except begin and end the transaction, which is rolled back on errors. */
export function writeWithin(
  core: DatabaseCore,
  { statement, request, times: { now, millisMax } }: AskedStatement,
  transaction: Transaction,
): SqlRows {
  if (!isWrite(statement)) throw invalid('A statement that only reads changes nothing');
  const given = { ...request, budget: budgetOf({ now, millisMax }) };
  const outcome = executeWrite(statement, given, transaction);
  return afterWriting(core, request.nowMicros, transaction, outcome);
}

/** Checks the quota after a write, and refreshes the views that depend on the rows written. */
export function afterWriting(
  core: DatabaseCore,
  nowMicros: bigint,
  transaction: Transaction,
  { returned, ...counts }: WriteOutcome,
): SqlRows {
  const fault = core.quota.faultOf(core, transaction, true);
  if (fault !== undefined) throw new SqlFailure({ code: 'quota.exceeded', message: fault });
  const failure = core.views.refresh(transaction, nowMicros, false);
  if (failure !== undefined) throw invalid(statementFailureText(failure));
  return { ...counts, ...(returned ?? noRows) };
}

/** Commits what `writeWithin` has done. */
export function commitWrite(
  core: DatabaseCore,
  { caller, connection, sql }: SqlRequest,
  timestampMicros: bigint,
  transaction: Transaction,
): void {
  commitAs(core, transaction, {
    reducer: '',
    caller: caller.identity,
    connectionId: connection.id,
    timestampMicros,
    seed: noBytes,
    args: new TextEncoder().encode(sql),
  });
}

/** Commits a transaction whose views are refreshed, and appends it with these inputs. */
export function commitAs(core: DatabaseCore, transaction: Transaction, inputs: CommitInputs): void {
  const { timestampMicros } = inputs;
  core.schedules.beforeCommit(transaction, timestampMicros);
  const changes = transaction.commit();
  core.schedules.committed(changes);
  appendChanges(core, changes, inputs);
  const views = core.views.commit();
  core.live.committed(core, { changes, views, timestampMicros, isOfCall: false });
}

const noRows = { columns: [], types: emptyTypespace, rows: noBytes, rowCount: 0 };

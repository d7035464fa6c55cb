import { notAuthorized, writesByPreviewFailure } from '../sql/failure.ts';
import { isWrite } from '../sql/statement.ts';
import { identityToHex } from '../values/identity.ts';
import { type AskedStatement, askedStatement } from './asked-statement.ts';
import { type DatabaseCore, requireSpace } from './core.ts';
import { Refusal, type SqlOutcome, type SqlRequest } from './outcome.ts';
import { PausedQuery, type StatementRun } from './paused-query.ts';
import { enter, leave } from './run-call.ts';
import { commitInTransaction, writeWithin } from './run-write.ts';
import { SlicedWrite } from './sliced-write.ts';
import { readErrorOf, sqlErrorOf } from './statement-error.ts';

type Ended =
  | Omit<Extract<SqlOutcome, { kind: 'result' }>, 'micros'>
  | Omit<Extract<SqlOutcome, { kind: 'failed' }>, 'micros'>;

/**
 * Runs one statement against the rows of the last commit, to its outcome or to the end of its first
 * slice. Like a call it runs within a connection; a write is a transaction of its own. Synchronous.
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
    const statement = new PausedQuery(core, { query, acceptedMicros }, outcome, millis());
    return statement.resume() ?? statement;
  }
  const ended = { ...outcome, micros: Math.round(millis() * 1000) };
  leave(core, query, acceptedMicros);
  return ended;
}

/** Starts a statement; runs a write under EXPLAIN at once. */
function begin(
  core: DatabaseCore,
  query: SqlRequest,
  timestampMicros: bigint,
): StatementRun | Ended {
  const { store } = core;
  const { identity, rights } = query.caller;
  let asked: AskedStatement;
  try {
    asked = askedStatement(core, query, timestampMicros);
    const { statement, times, request } = asked;
    if (!isWrite(statement)) return core.startReadRun(statement, store, times, request);
    if (rights.isReadOnly) throw notAuthorized(identityToHex(identity));
    if (rights.writesByPreview === true) throw writesByPreviewFailure();
    requireSpace(core);
    if (statement.kind === 'write') {
      return new SlicedWrite(core, { query, acceptedMicros: timestampMicros }, asked);
    }
  } catch (error) {
    if (error instanceof Refusal) throw error;
    return { kind: 'failed', error: readErrorOf(core, error) };
  }
  try {
    const rows = commitInTransaction(core, query, timestampMicros, (transaction) =>
      writeWithin(core, asked, transaction),
    );
    return { kind: 'result', ...rows, offset: store.offset };
  } catch (error) {
    return { kind: 'failed', error: sqlErrorOf(error) };
  }
}

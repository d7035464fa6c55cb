import { limits } from '../limits.ts';
import { explainLive } from '../live/explain-live.ts';
import type { ViewId } from '../schema/ids.ts';
import type { PreparedStatement } from '../sql/statement.ts';
import type { DatabaseCore } from './core.ts';
import type { SqlRequest } from './outcome.ts';
import type { ReadRequest, ReadTimes } from './read-run.ts';
import { CallerTables } from './views/caller-tables.ts';

/** A statement ready to run, with its request and time limits. */
export interface AskedStatement {
  readonly statement: PreparedStatement;
  readonly request: ReadRequest;
  readonly times: ReadTimes;
}

/** Checks and plans a statement; the views that it reads are evaluated. Can throw. */
export function askedStatement(
  core: DatabaseCore,
  query: SqlRequest,
  timestampMicros: bigint,
): AskedStatement {
  const { clock, program, statementMillisMax, statementMemory } = core;
  const { caller } = query;
  const millisMax = Math.min(statementMillisMax, query.millisMax ?? statementMillisMax);
  const now = () => clock.monotonicMillis();
  const tables = new CallerTables(core, caller, timestampMicros, query.cluster);
  const { statement, parameters } = program.statements.get(query, tables);
  return {
    statement: explainedLive(core, query, statement),
    request: {
      ...{ tables, caller, parameters, nowMicros: timestampMicros },
      memory: statementMemory.shareOf(caller),
    },
    times: { now, millisMax, sliceMillis: limits.readSliceMillisMax },
  };
}

/** How a query would be watched is for live queries to say. */
function explainedLive(
  { live, views }: DatabaseCore,
  { caller }: SqlRequest,
  statement: PreparedStatement,
): PreparedStatement {
  const { typed } = statement;
  if (statement.kind !== 'explain' || typed.kind !== 'explain') return statement;
  if (typed.live === undefined) return statement;
  const watching = typed.as ?? caller;
  const viewForm = (id: ViewId) => views.formOf(id, watching.identity);
  return { ...statement, lines: explainLive(live.queries, typed.live, watching, viewForm) };
}

import { present } from '../../assert.ts';
import type { SetForm } from '../../live/set-query.ts';
import type { ModuleLogLine } from '../../module/log-line.ts';
import type { ReadSet } from '../../module/read-set.ts';
import type { ModuleRunner, ViewOutcome } from '../../module/runner.ts';
import type { TableId } from '../../schema/ids.ts';
import type { CallerIdentity } from '../../values/identity-roles.ts';
import type { ServedView } from './served-views.ts';
import { crashedFailure, type ViewFailure } from './view-failure.ts';
import type { ViewQueryRunner } from './view-query.ts';

/** The parts of the database needed to evaluate views. */
export interface ViewSurroundings {
  readonly runQuery: ViewQueryRunner;
  /** Writes a line into the module's log. */
  readonly report: (line: ModuleLogLine) => void;
}

/** The rows of a view as its program returned them, not checked yet. */
export interface ViewRows {
  readonly kind: 'rows';
  readonly rows: Uint8Array;
  readonly count: number;
  /** What the program has read. */
  readonly reads: ReadSet;
  /** What it returned instead of rows. */
  readonly query: ReturnedQuery | undefined;
}

/** A query that a program returned. */
export interface ReturnedQuery {
  readonly tables: readonly TableId[];
  readonly form: SetForm;
}

export type Evaluation = ViewRows | { readonly kind: 'failed'; readonly failure: ViewFailure };

/**
 * Evaluates a view over the current rows, including those of an open transaction. A failure is
 * already in the module's log.
 */
export function evaluateView(
  runner: ModuleRunner,
  view: ServedView,
  sender: CallerIdentity | undefined,
  around: ViewSurroundings,
): Evaluation {
  const { hookId, name: viewName } = view;
  const hook = present(runner.callView?.bind(runner), 'a program with views evaluates them');
  const outcome = hook({ hookId, viewName, sender });
  switch (outcome.kind) {
    case 'rows':
      return { ...outcome, query: undefined };
    case 'sql':
      return queryRows(view, sender, outcome, around);
    case 'refused':
      return failed({ view: viewName, kind: 'refused', reason: outcome.message }, around);
    case 'crashed': {
      const { message, trace } = outcome;
      around.report({ level: 'panic', message, functionName: viewName, trace });
      return { kind: 'failed', failure: crashedFailure(viewName) };
    }
  }
}

function queryRows(
  view: ServedView,
  sender: CallerIdentity | undefined,
  { text, reads }: Extract<ViewOutcome, { kind: 'sql' }>,
  around: ViewSurroundings,
): Evaluation {
  const result = around.runQuery(text, view, sender);
  if (result.kind === 'invalid') return invalidRows(view, result.message, around);
  const { rows, count, tables, form } = result;
  const query = form === undefined ? undefined : { tables, form };
  return { kind: 'rows', rows, count, reads, query };
}

/** The failure of a view whose result cannot be its rows. */
export function invalidRows(
  { name }: ServedView,
  reason: string,
  around: ViewSurroundings,
): Extract<Evaluation, { kind: 'failed' }> {
  return failed({ view: name, kind: 'invalid', reason }, around);
}

function failed(
  failure: ViewFailure,
  { report }: ViewSurroundings,
): Extract<Evaluation, { kind: 'failed' }> {
  const level = failure.kind === 'refused' ? 'info' : 'error';
  report({ level, message: failure.reason, functionName: failure.view });
  return { kind: 'failed', failure };
}

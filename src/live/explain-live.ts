import { unreachable } from '../assert.ts';
import type { TableSpec } from '../schema/catalog.ts';
import type { ViewId } from '../schema/ids.ts';
import type { TypedRead } from '../sql/check/typed.ts';
import { SqlFailure } from '../sql/failure.ts';
import { isVisible, type StatementCaller } from '../sql/rights.ts';
import type { FragmentRelation, LiveFragment } from './fragment.ts';
import type { IncrementalShape } from './incremental-shape.ts';
import type { LiveQueries } from './live-queries.ts';
import { type PreparedQuery, tablesOf } from './prepared-query.ts';
import type { SetForm, SetQuery } from './set-query.ts';

/** How the result of a view for the caller is kept; `undefined`: there is none so far. */
export type ViewFormOf = (view: ViewId) => SetForm | undefined;

/**
 * Says how a query, which is a correct one, would be kept up to date for a caller: what is followed
 * from changed rows alone, what is run again, and why.
 */
export function explainLive(
  queries: Pick<LiveQueries, 'prepare'>,
  sql: string,
  caller: StatementCaller,
  viewForm: ViewFormOf = () => undefined,
): readonly string[] {
  let query: PreparedQuery;
  try {
    query = queries.prepare(sql, caller.rights, 'full');
  } catch (error) {
    if (!(error instanceof SqlFailure)) throw error;
    return [`cannot be watched: ${error.message}`];
  }
  const lines = [...howKept(query, caller), sharing(query), ...viewLines(query, caller, viewForm)];
  return query.dialect === 'full' ? [...lines, 'needs a connection with dialect=full'] : lines;
}

function howKept(query: PreparedQuery, caller: StatementCaller): readonly string[] {
  const { form } = query;
  switch (form.kind) {
    case 'rerun': {
      const names = shownNames(tablesOf(query.reads), caller);
      if (names.length === 0) return [`never changes: ${form.reason}`];
      return [`run again at each commit that changes ${names.join(', ')}: ${form.reason}`];
    }
    case 'fragments':
      return [incremental, ...query.reads.flatMap((read) => readLines(query, read, caller))];
    case 'union':
      return [
        incremental,
        ...form.fragments.flatMap((read) => readLines(query, read, caller)),
        '  rows that several filters let through are kept, and told once',
      ];
    case 'incremental':
      return [incremental, ...readLines(query, form.shape.base, caller), ...stageLines(form.shape)];
    default:
      return unreachable(form);
  }
}

const incremental = 'incremental: each commit is followed by its changed rows';

/** How the changed rows of each table of a block find the query. */
function readLines(
  query: PreparedQuery,
  read: TypedRead,
  caller: StatementCaller,
): readonly string[] {
  if (hidesAny(read, caller)) return hiddenLines;
  return relationLines(query.fragmentOf(read, caller.identity), query.callerJoinOf(read));
}

/** For those who may not read a table, it does not exist: filters and views read it for them. */
function hidesAny(read: TypedRead, { rights }: StatementCaller): boolean {
  return tablesOf([read]).some((table) => !isVisible(table, rights));
}

const hiddenLines = ['  changed rows of tables that you may not read find the query, too'];

function shownNames(tables: readonly TableSpec[], { rights }: StatementCaller): readonly string[] {
  const names = tables.filter((table) => isVisible(table, rights)).map(({ name }) => name);
  return names.length === tables.length ? names : [...names, 'tables that you may not read'];
}

function relationLines(
  { relations }: LiveFragment,
  { join, lack }: SetQuery['callers'],
): readonly string[] {
  return relations.map((relation, side) => {
    const start = `  changed rows of ${relation.table.name}`;
    if (join?.side === side) {
      const { owned, column, isExact } = join;
      const found = `find callers by ${nameOf(owned, column)}, once for all of them`;
      const rest = isExact ? '' : '; the join is evaluated for each caller who is found';
      return `${start} ${found}${rest}`;
    }
    if (lack !== undefined && lack.side === side) {
      const { owned, joined } = lack;
      return `${start} are joined for each caller alone: no index on ${nameOf(owned, joined)}`;
    }
    return `${start} ${foundBy(relation)}`;
  });
}

function foundBy({ table, watch, test }: FragmentRelation): string {
  switch (watch?.kind) {
    case 'value':
      return `find the query by the value of ${nameOf(table, watch.column)}`;
    case 'range':
      return `find the query by the range of ${nameOf(table, watch.column)}`;
    case undefined:
      return test === undefined ? 'all concern the query' : 'are all tested';
    default:
      return unreachable(watch);
  }
}

function stageLines({ groups, window }: IncrementalShape): readonly string[] {
  const lines = groups === undefined ? [] : ['  the groups are kept, and changed by those rows'];
  if (window !== undefined) lines.push('  the first rows of the order are kept');
  return lines;
}

function sharing(query: PreparedQuery): string {
  return query.isOfCaller
    ? 'kept for each caller'
    : 'kept once for all callers with the same rights';
}

/** Results of views are kept up to date before queries follow their rows. */
function viewLines(
  { views, schema }: PreparedQuery,
  caller: StatementCaller,
  viewForm: ViewFormOf,
): readonly string[] {
  return views.flatMap((id) => {
    const name = schema.table(id)?.name ?? '';
    const who = schema.isOfCaller(id) ? 'for each caller whose result' : 'if its result';
    const form = viewForm(id);
    if (form?.kind === 'followed') {
      return [
        `the view ${name} returns a query: its result follows the changed rows`,
        ...(hidesAny(form.query.read, caller)
          ? hiddenLines
          : relationLines(form.query.fragmentFor(caller.identity), form.query.callers)),
        '  its code is called again only if it has read what a commit changes',
      ];
    }
    const reason = form === undefined ? '' : `: ${form.reason}`;
    return [`the view ${name} is called again ${who} has read what a commit changes${reason}`];
  });
}

function nameOf({ name, columns }: TableSpec, column: number): string {
  return `${name}.${columns[column]?.name ?? ''}`;
}

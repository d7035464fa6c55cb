import { present } from '../../assert.ts';
import { canRaise } from '../check/can-raise.ts';
import { comparedColumn, equalityOf } from '../check/conjuncts.ts';
import type { OutputColumn, TypedExpression, TypedQuery } from '../check/typed.ts';
import {
  addOwn,
  hasSubquery,
  isFree,
  mapExpression,
  needsOf,
  outerNeedsOf,
  type TypedSubquery,
  visitExpression,
} from '../check/typed-expression.ts';
import type { FlatBlock } from './flatten.ts';
import type { RowsPlan, SourcePlan, SubqueryPlan, TuplesPlan } from './plan.ts';
import type { Planner } from './planner.ts';
import { operandsOf } from './search-access.ts';
import { distinctValues } from './selectivity.ts';

/** Plans every subquery in the expressions of a plan, including nested ones. */
export function planSubqueries(planner: Planner, rows: RowsPlan): void {
  eachExpressionOfRows(rows, (expression, asked) => planInside(planner, expression, asked));
}

export function planSubqueriesOfTuples(planner: Planner, tuples: TuplesPlan): void {
  eachExpressionOfTuples(tuples, (expression, asked) => planInside(planner, expression, asked));
}

/** `asked`: the estimated number of rows that the expression is evaluated for. */
export function planInside(planner: Planner, expression: TypedExpression, asked: number): void {
  visitOutermost(expression, (subquery) => {
    if (planner.subqueries.has(subquery)) return;
    const plan = planSubquery(planner, subquery, asked);
    planner.subqueries.set(subquery, plan);
    planSubqueries(planner, plan.rows);
    if (plan.kind === 'keyed' || plan.kind === 'grouped') {
      for (const key of plan.keys) planInside(planner, key, asked);
    }
    if (plan.kind === 'keyed') planSubqueries(planner, plan.each);
    if (plan.kind !== 'grouped') return;
    planInside(planner, plan.value, plan.rows.estimate.rows);
    planSubqueries(planner, plan.absent);
    planSubqueries(planner, plan.each);
  });
}

/** The subqueries of an expression, not including nested ones. */
function visitOutermost(expression: TypedExpression, visit: (e: TypedSubquery) => void): void {
  const inner = new Set<TypedExpression>();
  visitExpression(expression, (e) => {
    if (e.kind !== 'subquery' || inner.has(e)) return;
    visit(e);
    visitNested(e.query, inner);
  });
}

function visitNested(query: TypedQuery, into: Set<TypedExpression>): void {
  const holder: TypedSubquery = {
    kind: 'subquery',
    mode: 'exists',
    operand: undefined,
    query,
    type: { kind: 'bool' },
    isNullable: false,
  };
  visitExpression(holder, (e) => {
    if (e !== holder && e.kind === 'subquery') into.add(e);
  });
}

function planSubquery(planner: Planner, subquery: TypedSubquery, asked: number): SubqueryPlan {
  const { query, mode } = subquery;
  const column = query.columns[0];
  const { optimise } = planner.scope.options;
  if (isFree(outerNeedsOf(query))) {
    const wanted = mode === 'exists' ? firstRowOf(query) : query;
    return { kind: optimise ? 'once' : 'each', rows: planner.query(wanted), column };
  }
  const rows = planner.correlated(query);
  const each: SubqueryPlan = { kind: 'each', rows, column };
  if (!optimise) return each;
  const keyed =
    mode === 'scalar' ? planGrouped(planner, subquery, rows) : planKeyed(planner, subquery, rows);
  if (keyed === undefined) return each;
  const costEach = asked * (rows.estimate.cost + 3);
  const looked = keyed.kind === 'keyed' ? matchesOf(planner, keyed) / 2 : 0;
  const costKeyed = keyed.rows.estimate.cost * 2 + asked * (looked + 0.5);
  return costKeyed < costEach ? keyed : each;
}

/** The estimated number of inner rows that `rest` is asked of for each outer row. */
function matchesOf(planner: Planner, { rows, rest }: KeyedPlan): number {
  if (rest.length === 0 || rows.kind !== 'project' || rows.input.kind !== 'source') return 0;
  const { from, estimate } = rows.input;
  const table = from.kind === 'table' ? from.table : undefined;
  const counts = rows.items.map((key) => {
    const column = comparedColumn(key)?.column ?? noColumn;
    return distinctValues(table, column, estimate.rows, planner.scope.statistics);
  });
  return estimate.rows / Math.max(1, ...counts);
}

/** No index has it. */
const noColumn = -1;

/** EXISTS needs no order. */
function firstRowOf(query: TypedQuery): TypedQuery {
  return query.limit === undefined && query.offset === undefined ? { ...query, order: [] } : query;
}

/** A subquery that depends on outer rows only by conditions in its WHERE clause. */
interface Correlation {
  /** Without those conditions. */
  readonly block: FlatBlock;
  readonly outerKeys: readonly TypedExpression[];
  readonly innerKeys: readonly TypedExpression[];
  /** The conditions other than equal keys; they raise nothing. */
  readonly rest: readonly TypedExpression[];
  /** Whether an expression needs anything from the outer query. */
  readonly reaches: (e: TypedExpression) => boolean;
}

function correlationOf(planner: Planner, query: TypedQuery): Correlation | undefined {
  const { body, limit, offset } = query;
  if (body.kind !== 'block' || limit !== undefined || offset !== undefined) return undefined;
  const block = planner.flatten(body);
  const own = new Set<number>();
  const ownValues = new Set<number>();
  addOwn(query, own, ownValues);
  const reaches = (e: TypedExpression): boolean => {
    const { slots, values } = needsOf(e);
    return [...slots].some((slot) => !own.has(slot)) || [...values].some((v) => !ownValues.has(v));
  };
  const outerKeys: TypedExpression[] = [];
  const innerKeys: TypedExpression[] = [];
  const rest: TypedExpression[] = [];
  const conjuncts: TypedExpression[] = [];
  for (const term of block.conjuncts) {
    if (!reaches(term)) {
      conjuncts.push(term);
      continue;
    }
    if (canRaise(term) || block.security.has(term)) return undefined;
    const sides = sidesOf(term, own, reaches);
    if (sides !== undefined) {
      outerKeys.push(sides.outer);
      innerKeys.push(sides.inner);
    } else if (!hasSubquery(term)) rest.push(term);
    else return undefined;
  }
  if (reachesInside(block, reaches)) return undefined;
  return { block: { ...block, conjuncts }, outerKeys, innerKeys, rest, reaches };
}

type KeyedPlan = Extract<SubqueryPlan, { readonly kind: 'keyed' }>;

/** EXISTS and IN as a look-up among the keys of the inner rows. */
function planKeyed(
  planner: Planner,
  { query, mode, operand }: TypedSubquery,
  each: RowsPlan,
): KeyedPlan | undefined {
  const correlation = correlationOf(planner, query);
  if (correlation === undefined) return undefined;
  const { block, rest, reaches } = correlation;
  if (block.grouping !== undefined || block.having !== undefined) return undefined;
  const outerKeys = [...correlation.outerKeys];
  const innerKeys = [...correlation.innerKeys];
  if (mode === 'in') {
    const item = present(block.items[0], 'the column of IN');
    const isPlain = operand !== undefined && !operand.isNullable && !item.isNullable;
    if (!isPlain || canRaise(operand) || reaches(item)) return undefined;
    outerKeys.push(operand);
    innerKeys.push(item);
  }
  if (outerKeys.length === 0) return undefined;
  const columns = keyColumns(innerKeys);
  const rows = planner.keyRows(block, innerKeys, columns);
  const isOneSource = rows.kind === 'project' && rows.input.kind === 'source';
  if (rest.length > 0 && !isOneSource) return undefined;
  return { kind: 'keyed', rows, columns, keys: outerKeys, rest, each, column: query.columns[0] };
}

function keyColumns(keys: readonly TypedExpression[]): readonly OutputColumn[] {
  return keys.map(({ type, isNullable }, at) => ({ name: `key_${at + 1}`, type, isNullable }));
}

/** Turns an aggregate of each outer row's inner rows into groups of all inner rows. */
function planGrouped(
  planner: Planner,
  { query }: TypedSubquery,
  each: RowsPlan,
): Extract<SubqueryPlan, { readonly kind: 'grouped' }> | undefined {
  const correlation = correlationOf(planner, query);
  if (correlation === undefined) return undefined;
  const { block, innerKeys, outerKeys, rest, reaches } = correlation;
  const { grouping } = block;
  const [item] = block.items;
  if (grouping === undefined || grouping.keys.length > 0 || item === undefined) return undefined;
  if (block.having !== undefined || block.isDistinct || innerKeys.length === 0) return undefined;
  if (rest.length > 0) return undefined;
  if (reaches(item)) return undefined;
  if (grouping.aggregates.some(({ argument }) => argument !== undefined && reaches(argument))) {
    return undefined;
  }
  // The values of the keys come before those of the aggregates, so all get new numbers.
  const firstValue = planner.newValues(innerKeys.length + grouping.aggregates.length);
  const shift = firstValue + innerKeys.length - grouping.firstValue;
  const value = mapExpression(item, (e) =>
    e.kind === 'value' ? { ...e, value: e.value + shift } : undefined,
  );
  const keys = innerKeys.map(({ type, isNullable }, at): TypedExpression => {
    return { kind: 'value', value: firstValue + at, type, isNullable };
  });
  const grouped = { ...block, grouping: { ...grouping, keys: innerKeys, firstValue } };
  const rows = planner.groupRows(grouped, keys, keyColumns(innerKeys));
  const never: TypedExpression = {
    kind: 'constant',
    type: { kind: 'bool' },
    isNullable: false,
    bytes: Uint8Array.of(0),
  };
  const absent = planner.groupRows({ ...block, conjuncts: [never] }, [item], query.columns);
  const column = query.columns[0];
  return { kind: 'grouped', rows, keys: outerKeys, value, absent, each, column };
}

function sidesOf(
  term: TypedExpression,
  own: ReadonlySet<number>,
  reaches: (e: TypedExpression) => boolean,
): { readonly outer: TypedExpression; readonly inner: TypedExpression } | undefined {
  const equality = equalityOf(term);
  if (equality === undefined) return undefined;
  const { left, right } = equality;
  const isInner = (e: TypedExpression): boolean => !reaches(e) && needsOf(e).slots.size > 0;
  const isOuter = (e: TypedExpression): boolean => {
    return reaches(e) && ![...needsOf(e).slots].some((slot) => own.has(slot));
  };
  if (isInner(left) && isOuter(right)) return { inner: left, outer: right };
  if (isInner(right) && isOuter(left)) return { inner: right, outer: left };
  return undefined;
}

/** Whether anything else of the block depends on outer rows. */
function reachesInside(block: FlatBlock, reaches: (e: TypedExpression) => boolean): boolean {
  return block.relations.some(({ source, security, on }) => {
    if (source.kind === 'query' && !isFree(outerNeedsOf(source.query))) return true;
    return [...security, ...(on ?? [])].some(reaches);
  });
}

/** Visits every expression of a plan, with the estimated number of rows it is evaluated for. */
export type ExpressionVisitor = (expression: TypedExpression, asked: number) => void;

export function eachExpressionOfRows(plan: RowsPlan, visit: ExpressionVisitor): void {
  const { rows } = plan.estimate;
  switch (plan.kind) {
    case 'project':
      for (const item of plan.items) visit(item, rows);
      eachExpressionOfTuples(plan.input, visit);
      return;
    case 'sort':
      for (const item of plan.items) visit(item, rows);
      for (const { expression } of plan.keys) visit(expression, rows);
      eachExpressionOfTuples(plan.input, visit);
      return;
    case 'distinct':
    case 'window':
      eachExpressionOfRows(plan.input, visit);
      return;
    case 'set':
      eachExpressionOfRows(plan.left, visit);
      eachExpressionOfRows(plan.right, visit);
      return;
    case 'recursive':
      eachExpressionOfRows(plan.base, visit);
      eachExpressionOfRows(plan.step, visit);
      return;
    case 'working':
      return;
    case 'elements':
      visit(plan.array, 1);
      return;
    case 'limit':
      if (plan.limit !== undefined) visit(plan.limit, 1);
      if (plan.offset !== undefined) visit(plan.offset, 1);
      eachExpressionOfRows(plan.input, visit);
      return;
    case 'count':
      return;
  }
}

function eachExpressionOfTuples(plan: TuplesPlan, visit: ExpressionVisitor): void {
  switch (plan.kind) {
    case 'one':
    case 'nothing':
      return;
    case 'source':
      eachExpressionOfSource(plan, 1, visit);
      return;
    case 'loop':
    case 'hash': {
      eachExpressionOfTuples(plan.outer, visit);
      const outerRows = plan.outer.estimate.rows;
      const isRepeated = plan.kind === 'loop' && !plan.isInnerKept;
      eachExpressionOfSource(plan.inner, isRepeated ? outerRows : 1, visit);
      for (const term of plan.conditions) visit(term, plan.estimate.rows * 2);
      if (plan.kind === 'loop') return;
      for (const key of plan.outerKeys) visit(key, outerRows);
      for (const key of plan.innerKeys) visit(key, plan.inner.estimate.rows);
      return;
    }
    case 'filter':
      for (const term of plan.conditions) visit(term, plan.input.estimate.rows);
      eachExpressionOfTuples(plan.input, visit);
      return;
    case 'first':
      eachExpressionOfTuples(plan.input, visit);
      return;
    case 'aggregate':
      for (const key of plan.grouping.keys) visit(key, plan.input.estimate.rows);
      for (const { argument } of plan.grouping.aggregates) {
        if (argument !== undefined) visit(argument, plan.input.estimate.rows);
      }
      eachExpressionOfTuples(plan.input, visit);
      return;
  }
}

function eachExpressionOfSource(
  { access, conditions, from, estimate }: SourcePlan,
  opened: number,
  visit: ExpressionVisitor,
): void {
  const asked = opened * Math.max(estimate.rows, access.kind === 'scan' ? estimate.cost : 1);
  for (const term of conditions) visit(term, asked);
  switch (access.kind) {
    case 'point':
      for (const key of access.keys) visit(key, opened);
      break;
    case 'points':
      for (const key of access.keys.flat()) visit(key, opened);
      break;
    case 'nearest':
      visit(access.wanted, opened);
      break;
    case 'search':
      for (const key of operandsOf(access.search)) visit(key, opened);
      break;
    case 'range':
      for (const term of access.conditions) visit(term, opened);
      for (const key of access.prefix) visit(key, opened);
      break;
    default:
  }
  if (from.kind === 'rows') eachExpressionOfRows(from.rows, visit);
}

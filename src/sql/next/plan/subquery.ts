import { present } from '../../../assert.ts';
import type { OutputColumn, TypedExpression, TypedQuery } from '../check/typed.ts';
import { equalityOf } from './conjuncts.ts';
import {
  addOwn,
  canRaise,
  isFree,
  needsOf,
  outerNeedsOf,
  type TypedSubquery,
  visitExpression,
} from './expression.ts';
import type { FlatBlock } from './flatten.ts';
import type { RowsPlan, SourcePlan, SubqueryPlan, TuplesPlan } from './plan.ts';
import type { Planner } from './planner.ts';

/** Plans every subquery in the expressions of a plan, those inside of them included. */
export function planSubqueries(planner: Planner, rows: RowsPlan): void {
  eachExpressionOfRows(rows, (expression, asked) => planInside(planner, expression, asked));
}

export function planSubqueriesOfTuples(planner: Planner, tuples: TuplesPlan): void {
  eachExpressionOfTuples(tuples, (expression, asked) => planInside(planner, expression, asked));
}

/** `asked`: how many rows the expression is expected to be evaluated for. */
export function planInside(planner: Planner, expression: TypedExpression, asked: number): void {
  visitOutermost(expression, (subquery) => {
    if (planner.subqueries.has(subquery)) return;
    const plan = planSubquery(planner, subquery, asked);
    planner.subqueries.set(subquery, plan);
    planSubqueries(planner, plan.rows);
    if (plan.kind === 'keyed') for (const key of plan.keys) planInside(planner, key, asked);
  });
}

/** The subqueries of an expression, without those inside of them. */
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
  if (!optimise || mode === 'scalar') return each;
  const keyed = planKeyed(planner, subquery);
  if (keyed === undefined) return each;
  const costEach = asked * (rows.estimate.cost + 3);
  const costKeyed = keyed.rows.estimate.cost * 2 + asked * 0.5;
  return costKeyed < costEach ? keyed : each;
}

/** EXISTS needs no order. */
function firstRowOf(query: TypedQuery): TypedQuery {
  return query.limit === undefined && query.offset === undefined ? { ...query, order: [] } : query;
}

/** Takes the equalities with outer rows out of a subquery, if nothing else reaches outside. */
function planKeyed(
  planner: Planner,
  { query, mode, operand }: TypedSubquery,
): Extract<SubqueryPlan, { readonly kind: 'keyed' }> | undefined {
  const { body, limit, offset } = query;
  if (body.kind !== 'block' || limit !== undefined || offset !== undefined) return undefined;
  if (body.grouping !== undefined || body.having !== undefined) return undefined;
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
  const conjuncts: TypedExpression[] = [];
  for (const term of block.conjuncts) {
    if (!reaches(term)) {
      conjuncts.push(term);
      continue;
    }
    const sides = sidesOf(term, own, reaches);
    if (sides === undefined || block.security.has(term)) return undefined;
    outerKeys.push(sides.outer);
    innerKeys.push(sides.inner);
  }
  if (mode === 'in') {
    const item = present(block.items[0], 'the column of IN');
    const isPlain = operand !== undefined && !operand.isNullable && !item.isNullable;
    if (!isPlain || canRaise(operand) || reaches(item)) return undefined;
    outerKeys.push(operand);
    innerKeys.push(item);
  }
  if (outerKeys.length === 0 || reachesInside(block, reaches)) return undefined;
  const columns = innerKeys.map((key, at): OutputColumn => {
    return { name: `key_${at + 1}`, type: key.type, isNullable: key.isNullable };
  });
  const rows = planner.keyRows({ ...block, conjuncts }, innerKeys, columns);
  return { kind: 'keyed', rows, columns, keys: outerKeys };
}

function sidesOf(
  term: TypedExpression,
  own: ReadonlySet<number>,
  reaches: (e: TypedExpression) => boolean,
): { readonly outer: TypedExpression; readonly inner: TypedExpression } | undefined {
  const equality = equalityOf(term);
  if (equality === undefined || canRaise(term)) return undefined;
  const { left, right } = equality;
  const isInner = (e: TypedExpression): boolean => !reaches(e) && needsOf(e).slots.size > 0;
  const isOuter = (e: TypedExpression): boolean => {
    return reaches(e) && ![...needsOf(e).slots].some((slot) => own.has(slot));
  };
  if (isInner(left) && isOuter(right)) return { inner: left, outer: right };
  if (isInner(right) && isOuter(left)) return { inner: right, outer: left };
  return undefined;
}

/** Whether anything else of the block hangs on outer rows. */
function reachesInside(block: FlatBlock, reaches: (e: TypedExpression) => boolean): boolean {
  return block.relations.some(({ source, security, on }) => {
    if (source.kind === 'query' && !isFree(outerNeedsOf(source.query))) return true;
    return [...security, ...(on ?? [])].some(reaches);
  });
}

/** Shows every expression of a plan, with the number of rows it is expected to be asked for. */
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
      eachExpressionOfRows(plan.input, visit);
      return;
    case 'set':
      eachExpressionOfRows(plan.left, visit);
      eachExpressionOfRows(plan.right, visit);
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
    case 'range':
      for (const term of access.conditions) visit(term, opened);
      for (const key of access.prefix) visit(key, opened);
      break;
    default:
  }
  if (from.kind === 'rows') eachExpressionOfRows(from.rows, visit);
}

import { unreachable } from '../../assert.ts';
import type { TypedBlock, TypedExpression, TypedQuery, TypedRead, TypedWrite } from './typed.ts';
import { operandsOf } from './typed-expression.ts';

/**
 * The size of a tree when shared parts are counted at every use: a common table at each of its
 * names, an expression at each of its places. Computing it visits each part once.
 */
const known = new WeakMap<TypedExpression | TypedQuery, number>();

export function sizeOfExpression(expression: TypedExpression): number {
  const before = known.get(expression);
  if (before !== undefined) return before;
  let size = 1;
  for (const operand of operandsOf(expression)) size += sizeOfExpression(operand);
  if (expression.kind === 'subquery') size += sizeOfQuery(expression.query);
  known.set(expression, size);
  return size;
}

/** Rows of values are not counted: each is written once. */
export function sizeOfStatement(statement: TypedRead | TypedWrite): number {
  if (statement.kind === 'read') return sizeOfQuery(statement.query);
  const returned = sum(statement.returning?.items ?? []);
  if (statement.kind === 'insert') {
    const { source, conflict } = statement;
    const { assignments = [], where } = conflict?.update ?? {};
    const updated = sum([where, ...assignments.map(({ value }) => value)]);
    return returned + updated + (source.kind === 'query' ? sizeOfQuery(source.query) : 1);
  }
  const { relation, where, beside } = statement;
  const besides = sizeOfRelations(beside?.relations ?? []) + sizeOfJoins(beside?.joins ?? []);
  const values = statement.kind === 'update' ? statement.assignments.map(({ value }) => value) : [];
  return returned + besides + sum([relation.security, where, ...values]);
}

export function sizeOfQuery(query: TypedQuery): number {
  const before = known.get(query);
  if (before !== undefined) return before;
  const { body, limit, offset } = query;
  const keys = query.order.map(({ key }) =>
    key.kind === 'expression' ? key.expression : undefined,
  );
  let size = 1 + sum([...keys, limit, offset]);
  if (body.kind === 'setOperation') size += sizeOfQuery(body.left) + sizeOfQuery(body.right);
  else if (body.kind === 'window') size += sizeOfQuery(body.input) + body.calls.length;
  else if (body.kind === 'recursive') size += sizeOfQuery(body.base) + sizeOfQuery(body.step);
  else if (body.kind === 'working') size += 1;
  else if (body.kind === 'elements') size += sizeOfExpression(body.array);
  else size += sizeOfBlock(body);
  known.set(query, size);
  return size;
}

function sizeOfBlock({ relations, joins, where, grouping, having, items }: TypedBlock): number {
  const size = sizeOfRelations(relations) + sizeOfJoins(joins) + sum([where, having, ...items]);
  if (grouping === undefined) return size;
  return size + sum([...grouping.keys, ...grouping.aggregates.map(({ argument }) => argument)]);
}

function sizeOfRelations(relations: TypedBlock['relations']): number {
  let size = 0;
  for (const { source, security } of relations) {
    size += 1 + sum([security]);
    if (source.kind === 'query') size += sizeOfQuery(source.query);
  }
  return size;
}

function sizeOfJoins(joins: TypedBlock['joins']): number {
  return sum(joins.map(({ condition }) => condition));
}

function sum(parts: readonly (TypedExpression | undefined)[]): number {
  let size = 0;
  for (const part of parts) if (part !== undefined) size += sizeOfExpression(part);
  return size;
}

const knownDepths = new WeakMap<TypedExpression | TypedQuery, number>();
/** A query takes later stages about this many levels of an expression. */
const levelsOfQuery = 4;

/** Levels of a query, through the common tables that it names: later stages recurse. */
export function depthOfQuery(query: TypedQuery): number {
  const before = knownDepths.get(query);
  if (before !== undefined) return before;
  const { body, order, limit, offset } = query;
  let depth = deepest([limit, offset]);
  for (const { key } of order) {
    if (key.kind === 'expression') depth = Math.max(depth, depthOfExpression(key.expression));
  }
  depth = Math.max(depth, depthOfBody(body));
  if (body.kind === 'block') depth += levelsOfQuery;
  knownDepths.set(query, depth);
  return depth;
}

function depthOfBody(body: TypedQuery['body']): number {
  switch (body.kind) {
    case 'block':
      return depthOfBlock(body);
    case 'setOperation':
      return Math.max(depthOfQuery(body.left), depthOfQuery(body.right) + levelsOfQuery);
    case 'window':
      return depthOfQuery(body.input) + levelsOfQuery;
    case 'recursive':
      return Math.max(depthOfQuery(body.base), depthOfQuery(body.step)) + levelsOfQuery;
    case 'working':
      return 1;
    case 'elements':
      return depthOfExpression(body.array) + levelsOfQuery;
    default:
      return unreachable(body);
  }
}

function depthOfBlock({ relations, joins, where, grouping, having, items }: TypedBlock): number {
  let depth = deepest([...joins.map(({ condition }) => condition), where, having, ...items]);
  for (const { source } of relations) {
    if (source.kind === 'query') depth = Math.max(depth, depthOfQuery(source.query));
  }
  const grouped = grouping?.aggregates.map(({ argument }) => argument) ?? [];
  return Math.max(depth, deepest([...(grouping?.keys ?? []), ...grouped]));
}

function depthOfExpression(expression: TypedExpression): number {
  const before = knownDepths.get(expression);
  if (before !== undefined) return before;
  let depth = deepest(operandsOf(expression));
  if (expression.kind === 'subquery') depth = Math.max(depth, depthOfQuery(expression.query));
  knownDepths.set(expression, depth + 1);
  return depth + 1;
}

function deepest(parts: readonly (TypedExpression | undefined)[]): number {
  let depth = 0;
  for (const part of parts) {
    if (part !== undefined) depth = Math.max(depth, depthOfExpression(part));
  }
  return depth;
}

import { promotedType } from '../functions/arithmetic.ts';
import type { Expression, Query, Span } from '../syntax/ast.ts';
import { checkQuery } from './check-query.ts';
import { coerceQuery, openItemsOf, requireSettled } from './coerce-query.ts';
import { boolType, boolValue, type Environment, equalTypes, mismatch, refuse } from './context.ts';
import { requireComparable } from './type-comparison.ts';
import { infer, typeAlone, typeAs } from './type-expression.ts';
import type { OutputColumn, TypedExpression, TypedQuery } from './typed.ts';
import { converted } from './unify.ts';

export function typeExists(query: Query, environment: Environment): TypedExpression {
  const typed = requireSettled(checkInner(query, environment), environment);
  return { kind: 'subquery', mode: 'exists', operand: undefined, query: typed, ...boolValue };
}

/** The only column of at most one row; null without a row, so never for an ungrouped aggregate. */
export function typeScalarQuery(
  query: Query,
  span: Span,
  environment: Environment,
): TypedExpression {
  const typed = requireSettled(checkInner(query, environment), environment);
  const { type, isNullable: isColumnNullable } = onlyColumn(typed, span, environment);
  const isNullable = isColumnNullable || !givesOneRow(typed);
  return { kind: 'subquery', mode: 'scalar', operand: undefined, query: typed, type, isNullable };
}

function givesOneRow({ body, limit, offset }: TypedQuery): boolean {
  if (body.kind !== 'block' || body.grouping === undefined) return false;
  if (limit !== undefined || offset !== undefined) return false;
  return body.grouping.keys.length === 0 && body.having === undefined;
}

/** `operand IN (SELECT …)`. */
export function typeInQuery(
  operand: Expression,
  query: Query,
  span: Span,
  environment: Environment,
): TypedExpression {
  const inner = checkInner(query, environment);
  const column = onlyColumn(inner, span, environment);
  const leader = infer(operand, environment);
  const isOpen = openItemsOf(inner, 0, environment.statement) !== undefined;
  if (leader === undefined) {
    const typed = requireSettled(inner, environment);
    const value = isOpen
      ? typeAlone(operand, environment)
      : typeAs(operand, column.type, environment);
    return inQuery(value, typed, span, environment);
  }
  if (isOpen) {
    return inQuery(leader, coerceQuery(inner, [leader.type], environment), span, environment);
  }
  if (equalTypes(leader.type, column.type, environment)) {
    return inQuery(leader, inner, span, environment);
  }
  const type = promotedType(leader.type, column.type);
  if (type === undefined) throw mismatch(column.type, leader.type, span, environment);
  const promoted = coerceQuery(inner, [type], environment);
  return inQuery(converted(leader, type, environment), promoted, span, environment);
}

function inQuery(
  operand: TypedExpression,
  query: TypedQuery,
  span: Span,
  environment: Environment,
): TypedExpression {
  requireComparable('=', [operand, operand], span, environment);
  const isNullable = operand.isNullable || query.columns[0]?.isNullable === true;
  return { kind: 'subquery', mode: 'in', operand, query, type: boolType, isNullable };
}

/** A query inside an expression sees the scope of the expression. */
function checkInner(query: Query, environment: Environment): TypedQuery {
  return checkQuery(query, { ...environment, aliases: undefined });
}

function onlyColumn({ columns }: TypedQuery, span: Span, environment: Environment): OutputColumn {
  const [column, second] = columns;
  if (column !== undefined && second === undefined) return column;
  const message = `A subquery in this place must have one column, not ${columns.length}`;
  throw refuse(message, span, environment);
}

import { promotedType } from '../functions/arithmetic.ts';
import { optionInnerType } from '../functions/convert.ts';
import type { Expression, Query, Span } from '../syntax/ast.ts';
import { checkQuery } from './check-query.ts';
import { coerceQuery, openItemsOf, requireSettled } from './coerce-query.ts';
import { boolType, boolValue, type Environment, equalTypes, mismatch, refuse } from './context.ts';
import { inferPlain, requireComparable } from './type-comparison.ts';
import { typeAlone, typeAs } from './type-expression.ts';
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
  const leader = inferPlain(operand, environment);
  const isOpen = openItemsOf(inner, 0, environment.statement) !== undefined;
  if (leader === undefined) {
    const typed = requireSettled(inner, environment);
    if (isOpen) return inQuery(typeAlone(operand, environment), typed, span, environment);
    const type = optionInnerType(column.type, environment.statement.typespace) ?? column.type;
    const plain = coerceQuery(typed, [type], environment);
    return inQuery(typeAs(operand, type, environment), plain, span, environment);
  }
  if (isOpen) {
    return inQuery(leader, coerceQuery(inner, [leader.type], environment), span, environment);
  }
  const columnType = optionInnerType(column.type, environment.statement.typespace) ?? column.type;
  if (equalTypes(leader.type, columnType, environment)) {
    return inQuery(leader, coerceQuery(inner, [columnType], environment), span, environment);
  }
  const type = promotedType(leader.type, columnType);
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

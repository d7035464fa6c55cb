import { present } from '../../assert.ts';
import { promotedType } from '../functions/arithmetic.ts';
import { optionInnerType } from '../functions/convert.ts';
import type { Expression, Query, Span } from '../syntax/ast.ts';
import { checkQuery } from './check-query.ts';
import { coerceQuery, openItemsOf, requireSettled } from './coerce-query.ts';
import { boolType, boolValue, type Environment, equalTypes, mismatch, refuse } from './context.ts';
import type { RowInQuery } from './row-values.ts';
import { comparison, inferPlain, requireComparable } from './type-comparison.ts';
import { typeAlone, typeAs } from './type-expression.ts';
import type { OutputColumn, TypedBlock, TypedExpression, TypedQuery } from './typed.ts';
import { queryOf } from './typed-expression.ts';
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
  onlyColumn(inner, span, environment);
  const side = sideOf(operand, { query: inner, column: 0 }, span, environment);
  const typed = coerceQuery(inner, [side.type], environment);
  requireComparable('=', [side, side], span, environment);
  const isNullable = side.isNullable || typed.columns[0]?.isNullable === true;
  return { kind: 'subquery', mode: 'in', operand: side, query: typed, type: boolType, isNullable };
}

/**
 * `(a, b) IN (SELECT …)`: true if a row of the query has all of the values. Else it is null if one
 * might have, but for a null among the values compared.
 */
export function typeRowInQuery(
  { operand, among, span }: RowInQuery,
  environment: Environment,
): TypedExpression {
  const { statement } = environment;
  const { values } = operand;
  const inner = checkInner(among, environment);
  if (inner.columns.length !== values.length) {
    const count = inner.columns.length;
    const message = `A subquery in this place must have ${values.length} columns, not ${count}`;
    throw refuse(message, span, environment);
  }
  const sides = values.map((value, column) => {
    const side = sideOf(value, { query: inner, column }, span, environment);
    requireComparable('=', [side, side], span, environment);
    return side;
  });
  const types = sides.map(({ type }) => type);
  const query = coerceQuery(inner, types, environment);
  const matches = (test: (equal: TypedExpression) => TypedExpression): TypedExpression => {
    const slot = statement.newSlot();
    const terms = query.columns.map(({ name, type, isNullable }, column) => {
      const found = { kind: 'column', slot, column, name, type, isNullable } as const;
      return comparison('=', [sides[column] as TypedExpression, found]);
    });
    const isNullable = terms.some((term) => term.isNullable);
    return existsIn(query, slot, test({ kind: 'and', terms, type: boolType, isNullable }));
  };
  const isFound = matches((equal) => equal);
  const isNullable = [...sides, ...query.columns].some((one) => one.isNullable);
  if (!isNullable) return isFound;
  for (const side of sides) statement.noteRepetition(side, 1);
  const unknown: TypedExpression = { ...boolValue, kind: 'constant', bytes: undefined, isNullable };
  const isPossible = matches((equal) => ({ kind: 'isNull', operand: equal, ...boolValue }));
  const isUnknown: TypedExpression = {
    kind: 'and',
    terms: [unknown, isPossible],
    type: boolType,
    isNullable,
  };
  return { kind: 'or', terms: [isFound, isUnknown], type: boolType, isNullable };
}

/** Whether a row of `query`, which is in `slot`, passes the condition. */
function existsIn(query: TypedQuery, slot: number, where: TypedExpression): TypedExpression {
  const source = { kind: 'query', query, isBarrier: false, commonTable: undefined } as const;
  const one: TypedExpression = { kind: 'constant', bytes: Uint8Array.of(1), ...boolValue };
  const block: TypedBlock = {
    kind: 'block',
    relations: [{ slot, name: '', source, security: undefined, isNullable: false }],
    joins: [],
    where,
    grouping: undefined,
    having: undefined,
    items: [one],
    isDistinct: false,
  };
  const found = queryOf(block, [{ name: '', ...boolValue }]);
  return { kind: 'subquery', mode: 'exists', operand: undefined, query: found, ...boolValue };
}

/** A value that is looked for in a column of a query; the column gets the type of the value. */
function sideOf(
  operand: Expression,
  { query, column }: { readonly query: TypedQuery; readonly column: number },
  span: Span,
  environment: Environment,
): TypedExpression {
  const { statement } = environment;
  const leader = inferPlain(operand, environment);
  const isOpenColumn = openItemsOf(query, column, statement) !== undefined;
  if (leader === undefined) requireSettled(query, environment);
  if (isOpenColumn) return leader ?? typeAlone(operand, environment);
  const { type: own } = present(query.columns[column], 'a column for each value');
  const columnType = optionInnerType(own, statement.typespace) ?? own;
  if (leader === undefined) return typeAs(operand, columnType, environment);
  if (equalTypes(leader.type, columnType, environment)) return leader;
  const type = promotedType(leader.type, columnType);
  if (type === undefined) throw mismatch(own, leader.type, span, environment);
  return converted(leader, type, environment);
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

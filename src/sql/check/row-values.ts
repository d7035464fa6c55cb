import type { Comparison, Expression, Query } from '../syntax/ast.ts';
import { isList } from './written.ts';

type In = Extract<Expression, { readonly kind: 'in' }>;
type Row = Extract<Expression, { readonly kind: 'row' }>;

/** A row among those of a query. */
export interface RowInQuery extends In {
  readonly operand: Row;
  readonly among: Query;
}

export function isRowInQuery(expression: Expression): expression is RowInQuery {
  if (expression.kind !== 'in' || isList(expression.among)) return false;
  return expression.operand.kind === 'row';
}

/** A comparison of two rows in terms of their values; `undefined` if it is not one. */
export function rowComparison({ operator, left, right, span }: Comparison): Expression | undefined {
  if (left.kind !== 'row' || right.kind !== 'row' || !isAlike(left, right)) return undefined;
  switch (operator) {
    case '=':
      return equality(left, right);
    case '<>':
      return { kind: 'not', operand: equality(left, right), span };
    default:
      return order(left, right, operator);
  }
}

/** A row among rows. */
export function rowIn({ operand, among, isNegated, span }: In): Expression | undefined {
  if (operand.kind !== 'row' || !isList(among)) return undefined;
  const terms: Expression[] = [];
  for (const row of among) {
    if (row.kind !== 'row' || !isAlike(operand, row)) return undefined;
    terms.push(equality(operand, row));
  }
  const [only] = terms;
  const found: Expression =
    only !== undefined && terms.length === 1 ? only : { kind: 'or', terms, span };
  return isNegated ? { kind: 'not', operand: found, span } : found;
}

function isAlike(left: Row, right: Row): boolean {
  return left.values.length === right.values.length;
}

function equality(left: Row, right: Row): Expression {
  const terms = left.values.map((value, at) => compared('=', value, right, at));
  return { kind: 'and', terms, span: left.span };
}

/** The first values that differ decide. */
function order(left: Row, right: Row, operator: '<' | '<=' | '>' | '>='): Expression {
  const strict = operator.startsWith('<') ? '<' : '>';
  const last = left.values.length - 1;
  const terms = left.values.map((value, at): Expression => {
    const decisive = compared(at === last ? operator : strict, value, right, at);
    if (at === 0) return decisive;
    const before = left.values.slice(0, at).map((one, place) => compared('=', one, right, place));
    return { kind: 'and', terms: [...before, decisive], span: left.span };
  });
  return { kind: 'or', terms, span: left.span };
}

function compared(
  operator: Comparison['operator'],
  value: Expression,
  { values }: Row,
  at: number,
): Expression {
  const other = values[at] ?? value;
  return { kind: 'comparison', operator, left: value, right: other, span: value.span };
}

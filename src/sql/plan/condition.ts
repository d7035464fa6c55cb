import { assert, unreachable } from '../../assert.ts';
import { encodedComparatorOf } from '../../values/compare-encoded.ts';
import type { Typespace } from '../../values/type.ts';
import type {
  TypedColumn,
  TypedComparison,
  TypedConstant,
  TypedExpression,
} from '../check/typed.ts';
import type { ComparisonOperator } from '../syntax/ast.ts';

/**
 * A condition in the form that planner and filter want: no NOT, constants on the right, chains
 * flat, what is known without a row decided.
 */
export type Condition =
  | { readonly kind: 'always'; readonly value: boolean }
  | ColumnToValue
  | ColumnToColumn
  /** Two conditions compared as booleans, false < true. */
  | {
      readonly kind: 'conditions';
      readonly operator: ComparisonOperator;
      readonly left: Condition;
      readonly right: Condition;
    }
  | { readonly kind: 'and' | 'or'; readonly terms: readonly Condition[] };

export interface ColumnToValue {
  readonly kind: 'columnToValue';
  readonly operator: ComparisonOperator;
  readonly column: TypedColumn;
  /** Encoded as the column's type. */
  readonly bytes: Uint8Array;
}

export interface ColumnToColumn {
  readonly kind: 'columnToColumn';
  readonly operator: ComparisonOperator;
  readonly left: TypedColumn;
  readonly right: TypedColumn;
}

/**
 * Brings a typed condition into normal form. Every comparison has exactly one answer for every pair
 * of values (there is no NULL, and NaN has its place in the order), so NOT moves into the
 * operators.
 */
export function toCondition(expression: TypedExpression, typespace: Typespace): Condition {
  return normalise(expression, false, typespace);
}

/** The conditions that all have to hold, for a condition that is their conjunction. */
export function conjunctsOf(condition: Condition): readonly Condition[] {
  if (condition.kind === 'and') return condition.terms;
  return condition.kind === 'always' && condition.value ? [] : [condition];
}

/** The inverse of `conjunctsOf`; also decides what follows from constants. */
export function conjunction(terms: readonly Condition[]): Condition {
  return chain('and', terms);
}

/** Whether `operator` holds for two values of which the first compares as `sign` to the second. */
export function holds(operator: ComparisonOperator, sign: number): boolean {
  switch (operator) {
    case '=':
      return sign === 0;
    case '<>':
      return sign !== 0;
    case '<':
      return sign < 0;
    case '<=':
      return sign <= 0;
    case '>':
      return sign > 0;
    case '>=':
      return sign >= 0;
    default:
      return unreachable(operator);
  }
}

function normalise(
  expression: TypedExpression,
  isNegated: boolean,
  typespace: Typespace,
): Condition {
  switch (expression.kind) {
    case 'column': {
      const bytes = Uint8Array.of(isNegated ? 0 : 1);
      return { kind: 'columnToValue', operator: '=', column: expression, bytes };
    }
    case 'constant':
      return always(truthOf(expression) !== isNegated);
    case 'not':
      return normalise(expression.operand, !isNegated, typespace);
    case 'and':
    case 'or': {
      const isAnd = (expression.kind === 'and') !== isNegated;
      const terms = expression.terms.map((term) => normalise(term, isNegated, typespace));
      return chain(isAnd ? 'and' : 'or', terms);
    }
    case 'comparison':
      return normaliseComparison(expression, isNegated, typespace);
    default:
      return unreachable(expression);
  }
}

function normaliseComparison(
  comparison: TypedComparison,
  isNegated: boolean,
  typespace: Typespace,
): Condition {
  const { left, right, type } = comparison;
  const operator = isNegated ? negated[comparison.operator] : comparison.operator;
  if (left.kind === 'constant') {
    if (right.kind === 'constant') {
      const sign = encodedComparatorOf(type, typespace)(left.bytes, 0, right.bytes, 0);
      return always(holds(operator, sign));
    }
    return compareToConstant(right, swapped[operator], left, typespace);
  }
  if (right.kind === 'constant') return compareToConstant(left, operator, right, typespace);
  if (left.kind === 'column' && right.kind === 'column') {
    return { kind: 'columnToColumn', operator, left, right };
  }
  const leftCondition = normalise(left, false, typespace);
  const rightCondition = normalise(right, false, typespace);
  return compareConditions(leftCondition, operator, rightCondition);
}

function compareToConstant(
  operand: TypedExpression,
  operator: ComparisonOperator,
  constant: TypedConstant,
  typespace: Typespace,
): Condition {
  if (operand.kind === 'column') {
    return { kind: 'columnToValue', operator, column: operand, bytes: constant.bytes };
  }
  const value = truthOf(constant);
  const ifTrue = holds(operator, 1 - Number(value));
  const ifFalse = holds(operator, 0 - Number(value));
  if (ifTrue === ifFalse) return always(ifTrue);
  return normalise(operand, ifFalse, typespace);
}

function compareConditions(
  left: Condition,
  operator: ComparisonOperator,
  right: Condition,
): Condition {
  if (left.kind === 'always' && right.kind === 'always') {
    return always(holds(operator, Number(left.value) - Number(right.value)));
  }
  return { kind: 'conditions', operator, left, right };
}

function chain(kind: 'and' | 'or', terms: readonly Condition[]): Condition {
  const isAnd = kind === 'and';
  const kept: Condition[] = [];
  for (const term of terms) {
    if (term.kind === kind) kept.push(...term.terms);
    else if (term.kind !== 'always') kept.push(term);
    else if (term.value !== isAnd) return term;
  }
  const [only] = kept;
  if (only === undefined) return always(isAnd);
  return kept.length === 1 ? only : { kind, terms: kept };
}

function always(value: boolean): Condition {
  return { kind: 'always', value };
}

function truthOf(constant: TypedConstant): boolean {
  assert(constant.type.kind === 'bool', 'a constant condition is a Bool');
  return constant.bytes[0] === 1;
}

/** Holds exactly when the other does not. */
const negated: Readonly<Record<ComparisonOperator, ComparisonOperator>> = {
  '=': '<>',
  '<>': '=',
  '<': '>=',
  '>=': '<',
  '>': '<=',
  '<=': '>',
};

/** The same with its sides exchanged. */
const swapped: Readonly<Record<ComparisonOperator, ComparisonOperator>> = {
  '=': '=',
  '<>': '<>',
  '<': '>',
  '>': '<',
  '<=': '>=',
  '>=': '<=',
};

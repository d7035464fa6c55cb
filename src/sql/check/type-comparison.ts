import { specialKindOf } from '../../values/special-types.ts';
import { promotedType } from '../functions/arithmetic.ts';
import { enumNames } from '../functions/enum.ts';
import { isComparable } from '../functions/literal.ts';
import type { Comparison, ComparisonOperator, Expression, Span } from '../syntax/ast.ts';
import { boolType, boolValue, type Environment, equalTypes, mismatch, refuse } from './context.ts';
import { unwrapped } from './field.ts';
import { comparisonHint } from './place-hint.ts';
import { shownType } from './shown-type.ts';
import { quantifiedOf, typeQuantified } from './type-array.ts';
import { infer, negated, typeAlone, typeAs, typeOpen } from './type-expression.ts';
import { fitsNumber, isOpen } from './type-literal.ts';
import type { TypedExpression } from './typed.ts';
import { converted, isStored } from './unify.ts';

export function typeComparison(
  { operator, left, right, span }: Comparison,
  environment: Environment,
): TypedExpression {
  const quantified = quantifiedOf(right);
  if (quantified !== undefined) {
    return typeQuantified({ operator, operand: left, ...quantified, span }, environment);
  }
  const pair = typePair(left, right, span, environment);
  requireComparable(operator, pair, span, environment);
  return comparison(operator, pair);
}

export function comparison(operator: ComparisonOperator, [left, right]: Pair): TypedExpression {
  const isNullable = left.isNullable || right.isNullable;
  return { kind: 'comparison', operator, left, right, type: boolType, isNullable };
}

/** `IS [NOT] DISTINCT FROM`: NULL is a value to it. */
export function typeDistinct(
  expression: Extract<Expression, { readonly kind: 'isDistinct' }>,
  environment: Environment,
): TypedExpression {
  const { span, isNegated } = expression;
  const pair = typeDistinctPair(expression.left, expression.right, span, environment);
  requireComparable(isNegated ? '=' : '<>', pair, span, environment);
  const [left, right] = pair;
  const test: TypedExpression = { kind: 'isDistinct', left, right, ...boolValue };
  return isNegated ? negated(test) : test;
}

function typeDistinctPair(
  left: Expression,
  right: Expression,
  span: Span,
  environment: Environment,
): Pair {
  const [own, other] = [left, right].map((side) => inferPlain(side, environment));
  if (own !== undefined && other !== undefined) {
    return pairOf(own, other, right.span, environment);
  }
  const leader = own ?? other;
  if (leader === undefined) throw unresolvable([left, right], span, environment);
  const open = own === undefined ? left : right;
  const pair = typeBeside(leader, open, environment);
  return own === undefined ? [pair[1], pair[0]] : pair;
}

/** `low <= operand AND operand <= high`; the operand is typed once and used in both. */
export function typeBetween(
  expression: Extract<Expression, { readonly kind: 'between' }>,
  environment: Environment,
): TypedExpression {
  const { operand, low, high, span } = expression;
  const bounds: readonly (readonly [ComparisonOperator, Expression])[] = [
    ['>=', low],
    ['<=', high],
  ];
  const typedOperand = inferPlain(operand, environment);
  const terms = bounds.map(([operator, bound]) => {
    const pair =
      typedOperand === undefined
        ? typePair(operand, bound, span, environment)
        : typeBeside(typedOperand, bound, environment);
    requireComparable(operator, pair, span, environment);
    return comparison(operator, pair);
  });
  if (typedOperand !== undefined) {
    environment.statement.noteRepetition(typedOperand, 2);
  }
  const isNullable = terms.some((term) => term.isNullable);
  const between: TypedExpression = { kind: 'and', terms, type: boolType, isNullable };
  return expression.isNegated ? negated(between) : between;
}

/** `operand IN (…)`: compared with each value as with `=`. */
export function typeIn(
  operand: Expression,
  among: readonly Expression[],
  span: Span,
  environment: Environment,
): TypedExpression {
  const leader = inferPlain(operand, environment) ?? leaderOf(operand, among, span, environment);
  let type = leader.type;
  const typedValues = among.map((value) => {
    const [, typed] = typeBeside(leader, value, environment);
    type = promotedType(type, typed.type) ?? type;
    return typed;
  });
  const typedOperand = isOpen(operand) ? typeOpen(operand, type, environment) : leader;
  const stored = typedValues.find((value) => isStored(value, environment));
  const sample = stored ?? typedValues[0] ?? typedOperand;
  requireComparable('=', [typedOperand, sample], span, environment);
  const values = typedValues.map((value) => converted(value, type, environment));
  const isNullable = typedOperand.isNullable || values.some((value) => value.isNullable);
  return {
    kind: 'inList',
    operand: converted(typedOperand, type, environment),
    values,
    type: boolType,
    isNullable,
  };
}

export type Pair = readonly [left: TypedExpression, right: TypedExpression];

/** The side that knows its type best decides that of the other; in doubt, the left. */
export function typePair(
  left: Expression,
  right: Expression,
  span: Span,
  environment: Environment,
): Pair {
  const isRightLeading = typeStrength(right) > typeStrength(left);
  const leader = inferPlain(isRightLeading ? right : left, environment);
  if (leader === undefined) throw unresolvable([left, right], span, environment);
  const pair = typeBeside(leader, isRightLeading ? left : right, environment);
  return isRightLeading ? [pair[1], pair[0]] : pair;
}

/**
 * Types `other` beside `leader`, which is not an Option: where `other` is one, the value that it
 * holds is compared. Columns of tables must have the same type; if a side is computed, both become
 * the number type that holds them.
 */
export function typeBeside(
  leader: TypedExpression,
  other: Expression,
  environment: Environment,
): Pair {
  const isStrict = isStored(leader, environment);
  if (isOpen(other)) {
    if (isStrict || fitsNumber(other, leader.type)) {
      return [leader, typeOpen(other, leader.type, environment)];
    }
    return (
      promoted(leader, typeAlone(other, environment), environment) ?? [
        leader,
        typeOpen(other, leader.type, environment),
      ]
    );
  }
  if (other.kind === 'boolean' || other.kind === 'sender') {
    return [leader, typeAs(other, leader.type, environment)];
  }
  return pairOf(
    leader,
    unwrapped(typeAlone(other, environment), environment),
    other.span,
    environment,
  );
}

/** Types an operand that has its own type; of an Option, what it holds. */
export function inferPlain(
  expression: Expression,
  environment: Environment,
): TypedExpression | undefined {
  const typed = infer(expression, environment);
  return typed && unwrapped(typed, environment);
}

function pairOf(
  leader: TypedExpression,
  other: TypedExpression,
  span: Span,
  environment: Environment,
): Pair {
  if (equalTypes(other.type, leader.type, environment)) return [leader, other];
  const isBothStored = isStored(leader, environment) && isStored(other, environment);
  const pair = isBothStored ? undefined : promoted(leader, other, environment);
  if (pair !== undefined) return pair;
  const hint =
    isBothStored && areNumbers(leader, other)
      ? castHint
      : (enumHint(leader, other) ?? incomparableHint([leader, other], environment));
  throw mismatch(other.type, leader.type, span, environment, hint);
}

const castHint = 'Write CAST(column AS type) on one side to compare numbers of two types';

function enumHint({ type: left }: TypedExpression, { type: right }: TypedExpression) {
  const isEnum = enumNames(left) !== undefined || enumNames(right) !== undefined;
  const hasText = left.kind === 'string' || right.kind === 'string';
  return isEnum && hasText ? variantHint : undefined;
}

/** Lists and schedules are not compared as a whole, whatever is beside them. */
function incomparableHint(pair: Pair, environment: Environment): string | undefined {
  const whole = pair.find(({ type }) => {
    const special = specialKindOf(type);
    return special === 'scheduleAt' || (special === undefined && type.kind === 'array');
  });
  return whole && comparisonHint(whole.type, environment);
}

const variantHint = 'Write CAST(column AS String) to compare the name of the variant with a text';

function areNumbers(left: TypedExpression, right: TypedExpression): boolean {
  return promotedType(left.type, right.type) !== undefined;
}

/** Two times that are apart are computed, so they can be compared unless both are columns. */
export function requireComparable(
  operator: ComparisonOperator,
  [left, right]: Pair,
  span: Span,
  environment: Environment,
): void {
  const { type } = left;
  if (isComparable(type)) return;
  const isDuration = specialKindOf(type) === 'timeDuration';
  if (isDuration && !(isStored(left, environment) && isStored(right, environment))) return;
  const typeName = shownType(type, environment.statement.typespace);
  throw refuse(
    `Invalid binary operator \`${operator}\` for type \`${typeName}\``,
    span,
    environment,
    comparisonHint(type, environment),
  );
}

function promoted(
  left: TypedExpression,
  right: TypedExpression,
  environment: Environment,
): Pair | undefined {
  const type = promotedType(left.type, right.type);
  if (type === undefined) return undefined;
  return [converted(left, type, environment), converted(right, type, environment)];
}

/** The first value of a list that has a type, if the operand has none. */
function leaderOf(
  operand: Expression,
  among: readonly Expression[],
  span: Span,
  environment: Environment,
): TypedExpression {
  for (const value of among) {
    const typed = inferPlain(value, environment);
    if (typed !== undefined) return typed;
  }
  throw unresolvable([operand, ...among], span, environment);
}

/** No value has a type: literals, which is a documented error, or parameters. */
function unresolvable(
  expressions: readonly Expression[],
  span: Span,
  environment: Environment,
): Error {
  const parameter = expressions.find((expression) => expression.kind === 'parameter');
  if (parameter !== undefined) typeAlone(parameter, environment);
  return refuse('Cannot resolve type for literal expression', span, environment);
}

/** How much an operand says about its type: nothing, its usual type, exactly its type. */
function typeStrength(expression: Expression): 0 | 1 | 2 {
  if (isOpen(expression)) return 0;
  return expression.kind === 'boolean' || expression.kind === 'sender' ? 1 : 2;
}

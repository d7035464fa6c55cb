import type { AlgebraicType } from '../../values/type.ts';
import { resolveType } from '../../values/typespace.ts';
import { promotedType } from '../functions/arithmetic.ts';
import {
  arrayOf,
  containsAll,
  elementAt,
  joined,
  makingArray,
  overlaps,
  quantified,
} from '../functions/arrays.ts';
import { hasRefs } from '../functions/canonical.ts';
import type { ScalarFunction } from '../functions/function.ts';
import { encodeNumbersText } from '../functions/literal.ts';
import { isIntegerType, scalarTypes } from '../functions/value-kind.ts';
import type { ComparisonOperator, Expression, Span } from '../syntax/ast.ts';
import { boolType, type Environment, equalTypes, mismatch, refuse } from './context.ts';
import { unwrapped } from './field.ts';
import { placeHint } from './place-hint.ts';
import { shownType } from './shown-type.ts';
import { inferPlain, requireComparable, typeIn } from './type-comparison.ts';
import { negated, typeAlone, typeAs, typeOpen } from './type-expression.ts';
import { constant, isOpen } from './type-literal.ts';
import type { TypedConstant, TypedExpression } from './typed.ts';
import { converted, typeTogether } from './unify.ts';

type ArrayExpression = Extract<Expression, { readonly kind: 'array' }>;

/** `ARRAY[…]`, `array[position]`, `@>`, `<@`, `&&`: calls of functions made for their types. */
export function typeArray(expression: ArrayExpression, environment: Environment): TypedExpression {
  const { form, operands, span } = expression;
  const [first, second] = operands;
  switch (form) {
    case 'literal':
      return typeLiteralAlone(expression, environment);
    case 'element':
      if (first === undefined || second === undefined || operands.length > 2) {
        throw refuse('A subscript is one position, as in `column[1]`', span, environment);
      }
      return typeElement(first, second, environment);
    case '@>':
      return typeTest(containsAll, [first, second], span, environment);
    case '<@':
      return typeTest(containsAll, [second, first], span, environment);
    case '&&':
      return typeTest(overlaps, [first, second], span, environment);
    default:
      return form satisfies never;
  }
}

/** An array that nothing beside it gives a type to, and the type of its elements. */
export function typeArrayAlone(
  expression: Expression,
  environment: Environment,
): { readonly typed: TypedExpression; readonly element: AlgebraicType } {
  const typed = requireArray(expression, environment);
  return { typed, element: elementOf(typed, expression, environment) };
}

export function isArrayLiteral(expression: Expression): expression is ArrayExpression {
  return expression.kind === 'array' && expression.form === 'literal';
}

/** An array in a place of type `type`: the elements of a literal are read as its elements. */
export function typeArrayAs(
  expression: Expression,
  type: AlgebraicType,
  environment: Environment,
): TypedExpression {
  if (type.kind !== 'array') return typeAlone(expression, environment);
  if (isOpen(expression)) {
    return typeNumbers(expression, type, environment) ?? typeOpen(expression, type, environment);
  }
  if (!isArrayLiteral(expression)) {
    const typed = unwrapped(typeAlone(expression, environment), environment);
    if (equalTypes(typed.type, type, environment)) return typed;
    throw mismatch(typed.type, type, expression.span, environment);
  }
  const element = resolveType(type.element, environment.statement.typespace);
  const typed = expression.operands.map((operand) => typeValueAs(operand, element, environment));
  return arrayOfValues(typed, type, element);
}

/** `'[0, 1]'` where an array of numbers is expected: parameters are written so, too. */
export function typeNumbers(
  expression: Expression,
  type: AlgebraicType,
  { statement }: Environment,
): TypedConstant | undefined {
  if (expression.kind !== 'string' || type.kind !== 'array') return undefined;
  const element = resolveType(type.element, statement.typespace);
  const bytes = encodeNumbersText(expression.text, element);
  return bytes === undefined ? undefined : constant(type, bytes);
}

interface Quantified {
  readonly array: Expression;
  readonly isAll: boolean;
}

/** `ANY(array)`, `SOME(array)` or `ALL(array)` on the right of a comparison. */
export function quantifiedOf(right: Expression): Quantified | undefined {
  if (right.kind !== 'call') return undefined;
  const [array, more] = right.arguments;
  if (array === undefined || more !== undefined) return undefined;
  const name = right.name.toLowerCase();
  if (name !== 'any' && name !== 'some' && name !== 'all') return undefined;
  return { array, isAll: name === 'all' };
}

interface QuantifiedComparison extends Quantified {
  readonly operator: ComparisonOperator;
  readonly operand: Expression;
  readonly span: Span;
}

export function typeQuantified(
  { operator, operand, array, isAll, span }: QuantifiedComparison,
  environment: Environment,
): TypedExpression {
  // A list of values: as a list it can be looked up in an index.
  if (isArrayLiteral(array) && array.operands.length > 0 && !isOpen(operand)) {
    if (operator === '=' && !isAll) return typeIn(operand, array.operands, span, environment);
    if (operator === '<>' && isAll) {
      return negated(typeIn(operand, array.operands, span, environment));
    }
  }
  const takesType = isArrayLiteral(array) || array.kind === 'parameter';
  const leader = takesType ? inferPlain(operand, environment) : undefined;
  const typedArray =
    leader === undefined
      ? requireArray(array, environment)
      : typeArrayAs(array, arrayOf(leader.type), environment);
  const element = elementOf(typedArray, array, environment);
  const value = leader ?? typeValueAs(operand, element, environment);
  requireComparable(operator, [value, value], span, environment);
  const made = quantified(operator, isAll, element);
  return callOf(made, [value, typedArray], boolType);
}

function typeLiteralAlone(
  { operands, span }: ArrayExpression,
  environment: Environment,
): TypedExpression {
  if (operands.length === 0) {
    throw refuse('Cannot resolve the type of an array without elements', span, environment);
  }
  const typed = typeTogether(operands, environment).map((one) => unwrapped(one, environment));
  const element = (typed[0] as TypedExpression).type;
  if (hasRefs(element)) throw refuse('Arrays of this type cannot be written', span, environment);
  return arrayOfValues(typed, arrayOf(element), element);
}

/** A literal of constants is a constant. */
function arrayOfValues(
  values: readonly TypedExpression[],
  type: AlgebraicType,
  element: AlgebraicType,
): TypedExpression {
  const encoded = values.flatMap((value) =>
    value.kind === 'constant' && value.bytes !== undefined ? [value.bytes] : [],
  );
  if (encoded.length === values.length) return constant(type, joined(encoded)) as TypedConstant;
  const canRaise = values.some(({ kind }) => kind !== 'constant' && kind !== 'parameter');
  return callOf(makingArray(element, values.length, canRaise), values, type);
}

function typeElement(
  array: Expression,
  position: Expression,
  environment: Environment,
): TypedExpression {
  const typed = requireArray(array, environment);
  const element = elementOf(typed, array, environment);
  const at = isOpen(position)
    ? typeOpen(position, scalarTypes.i64, environment)
    : unwrapped(typeAlone(position, environment), environment);
  if (!isIntegerType(at.type)) {
    throw mismatch(at.type, scalarTypes.i64, position.span, environment);
  }
  const made = elementAt(element);
  const call = callOf(made, [typed, converted(at, scalarTypes.i64, environment)], element);
  return { ...call, isNullable: true };
}

/** The side that is no literal decides the type of the other. */
function typeTest(
  makeTest: (element: AlgebraicType) => ScalarFunction,
  [left, right]: readonly (Expression | undefined)[],
  span: Span,
  environment: Environment,
): TypedExpression {
  if (left === undefined || right === undefined) {
    throw refuse('This operator takes two arrays', span, environment);
  }
  const isLeftLeading = !isOpen(left) && (!isArrayLiteral(left) || isArrayLiteral(right));
  const leader = isLeftLeading ? left : right;
  const typedLeader = requireArray(leader, environment);
  const other = typeArrayAs(isLeftLeading ? right : left, typedLeader.type, environment);
  const element = elementOf(typedLeader, leader, environment);
  const pair = isLeftLeading ? [typedLeader, other] : [other, typedLeader];
  return callOf(makeTest(element), pair, boolType);
}

function requireArray(expression: Expression, environment: Environment): TypedExpression {
  const typed = unwrapped(typeAlone(expression, environment), environment);
  if (typed.type.kind === 'array') return typed;
  const shown = shownType(typed.type, environment.statement.typespace);
  throw refuse(`Expected an array, not \`${shown}\``, expression.span, environment);
}

function elementOf(
  { type }: TypedExpression,
  { span }: Expression,
  environment: Environment,
): AlgebraicType {
  const { typespace } = environment.statement;
  const element = type.kind === 'array' ? resolveType(type.element, typespace) : type;
  if (!hasRefs(element)) return element;
  throw refuse('The elements of this array cannot be compared', span, environment);
}

/** A value as an element: literals are read as one, and numbers are widened. */
function typeValueAs(
  expression: Expression,
  element: AlgebraicType,
  environment: Environment,
): TypedExpression {
  if (isOpen(expression)) return typeOpen(expression, element, environment);
  if (expression.kind === 'boolean' || expression.kind === 'sender') {
    return typeAs(expression, element, environment);
  }
  if (isArrayLiteral(expression)) return typeArrayAs(expression, element, environment);
  const typed = unwrapped(typeAlone(expression, environment), environment);
  if (equalTypes(typed.type, element, environment)) return typed;
  const promoted = promotedType(typed.type, element);
  if (promoted !== undefined && equalTypes(promoted, element, environment)) {
    return converted(typed, element, environment);
  }
  throw mismatch(
    typed.type,
    element,
    expression.span,
    environment,
    placeHint(element, environment),
  );
}

function callOf(
  made: ScalarFunction,
  operands: readonly TypedExpression[],
  type: AlgebraicType,
): TypedExpression {
  const nullable = operands.map((operand) => operand.isNullable);
  const isNullable = made.isNullableFor?.(nullable) ?? nullable.includes(true);
  return { kind: 'call', function: made, arguments: operands, type, isNullable };
}

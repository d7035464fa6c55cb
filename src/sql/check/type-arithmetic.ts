import { isIntegerKind } from '../../values/integer-range.ts';
import { timeDurationType } from '../../values/special-types.ts';
import type { AlgebraicType } from '../../values/type.ts';
import { arithmeticTypes, negatedType } from '../functions/arithmetic.ts';
import { conversionOf } from '../functions/convert.ts';
import { valueKindOf } from '../functions/value-kind.ts';
import type { ArithmeticOperator, Expression, Span } from '../syntax/ast.ts';
import { type Environment, refuse, stringType } from './context.ts';
import { unwrapped } from './field.ts';
import { shownType } from './shown-type.ts';
import { inferPlain } from './type-comparison.ts';
import { typeAlone, typeOpen } from './type-expression.ts';
import { fitsNumber, isFraction, isOpen, type OpenExpression, ownType } from './type-literal.ts';
import type { TypedExpression } from './typed.ts';
import { converted } from './unify.ts';

type Arithmetic = Extract<Expression, { readonly kind: 'arithmetic' }>;

/** `+ - * / % ||`: `functions/arithmetic.ts` defines the types that they take. */
export function typeArithmetic(
  { operator, left, right, span }: Arithmetic,
  environment: Environment,
): TypedExpression {
  const inferredLeft = inferPlain(left, environment);
  const inferredRight = inferPlain(right, environment);
  const typedLeft = inferredLeft ?? typeBesideOf(left, operator, inferredRight, environment);
  const typedRight = inferredRight ?? typeBesideOf(right, operator, inferredLeft, environment);
  const types = arithmeticTypes(operator, typedLeft.type, typedRight.type);
  if (types === undefined) {
    const offending = isArithmetic(typedLeft.type) ? typedRight.type : typedLeft.type;
    throw invalidOperator(operator, offending, span, environment, timeHint(typedLeft, typedRight));
  }
  for (const [operand, type] of [
    [typedLeft, types.left],
    [typedRight, types.right],
  ] as const) {
    if (conversionOf(operand.type, type, environment.statement.typespace) === undefined) {
      throw invalidOperator(operator, operand.type, span, environment);
    }
  }
  return {
    kind: 'arithmetic',
    operator,
    left: converted(typedLeft, types.left, environment),
    right: converted(typedRight, types.right, environment),
    type: types.result,
    isNullable: typedLeft.isNullable || typedRight.isNullable,
  };
}

export function typeNegation(
  { operand, span }: Extract<Expression, { readonly kind: 'not' | 'negate' }>,
  environment: Environment,
): TypedExpression {
  const typed = unwrapped(typeAlone(operand, environment), environment);
  const type = negatedType(typed.type);
  if (type === undefined) throw invalidOperator('-', typed.type, span, environment);
  const { isNullable } = typed;
  return { kind: 'negate', operand: converted(typed, type, environment), type, isNullable };
}

/**
 * A literal takes the type of the other operand, or its own if it does not fit there or is written
 * as a fraction beside integers. `price / 100.0` asks for a quotient with its digits.
 */
function typeBesideOf(
  open: Expression,
  operator: ArithmeticOperator,
  other: TypedExpression | undefined,
  environment: Environment,
): TypedExpression {
  if (!isOpen(open)) return typeAlone(open, environment);
  if (operator === '||') return typeConcatenated(open, other, environment);
  if (other === undefined) return typeAlone(open, environment);
  switch (valueKindOf(other.type, environment.statement.typespace)) {
    case 'timestamp':
    case 'timeDuration':
      return typeBesideTime(open, operator, environment);
    default:
  }
  const isFitting =
    fitsNumber(open, other.type) &&
    isArithmetic(other.type) &&
    !(isFraction(open) && isIntegerKind(other.type.kind));
  return isFitting ? typeOpen(open, other.type, environment) : typeAlone(open, environment);
}

/** Literals beside bytes are bytes, beside everything else they are text. */
function typeConcatenated(
  open: OpenExpression,
  other: TypedExpression | undefined,
  environment: Environment,
): TypedExpression {
  const isBytes =
    other !== undefined && valueKindOf(other.type, environment.statement.typespace) === 'bytes';
  const isHex = open.kind === 'hex' && other === undefined;
  const bytes = isBytes ? other.type : undefined;
  const type = bytes ?? (isHex ? ownType(open) : stringType);
  return typeOpen(open, type, environment);
}

/** Beside a time, text and parameters are durations, and numbers scale. */
function typeBesideTime(
  open: OpenExpression,
  operator: ArithmeticOperator,
  environment: Environment,
): TypedExpression {
  if (open.kind !== 'parameter' && open.kind !== 'null') return typeAlone(open, environment);
  const isSum = operator === '+' || operator === '-';
  return typeOpen(open, isSum ? timeDurationType : { kind: 'i64' }, environment);
}

function isArithmetic(type: AlgebraicType): boolean {
  return negatedType(type) !== undefined || valueKindOf(type) === 'timestamp';
}

function invalidOperator(
  operator: string,
  type: AlgebraicType,
  span: Span,
  environment: Environment,
  hint?: string,
): Error {
  const typeName = shownType(type, environment.statement.typespace);
  const message = `Invalid binary operator \`${operator}\` for type \`${typeName}\``;
  return refuse(message, span, environment, hint);
}

function timeHint(left: TypedExpression, right: TypedExpression): string | undefined {
  const kinds = [left, right].map(({ type }) => valueKindOf(type));
  const isAboutTime = kinds.includes('timestamp') || kinds.includes('timeDuration');
  return isAboutTime ? "Write a duration as INTERVAL '1 day 2 hours'" : undefined;
}

import { present } from '../../assert.ts';
import { specialKindOf } from '../../values/special-types.ts';
import type { AlgebraicType } from '../../values/type.ts';
import { resolveType } from '../../values/typespace.ts';
import { SqlFailure } from '../failure.ts';
import { optionInnerType } from '../functions/convert.ts';
import { bareVariantNamed, enumNames } from '../functions/enum.ts';
import { encodeLiteralText } from '../functions/literal.ts';
import { someOf } from '../functions/option-bytes.ts';
import { isFloatType, isIntegerType, isNumericType } from '../functions/value-kind.ts';
import type { Expression, Literal, Span } from '../syntax/ast.ts';
import { dialectTexts } from '../syntax/refusal.ts';
import { boolType, type Environment, equalTypes, mismatch, refuse, stringType } from './context.ts';
import { unwrapped } from './field.ts';
import { storedHint } from './place-hint.ts';
import { requiredValue } from './required-value.ts';
import { isArrayLiteral, typeArrayAs, typeNumbers } from './type-array.ts';
import { typeAlone, typeAs } from './type-expression.ts';
import { badLiteral, constant, noneOf, typeLiteral } from './type-literal.ts';
import type { TypedConstant, TypedExpression } from './typed.ts';
import { converted, isStored } from './unify.ts';

/** The column that a value is stored in. */
export interface StoredIn {
  readonly name: string;
  readonly type: AlgebraicType;
}

/** Types a value written to a column: the result has the column's type, and is not null. */
export function typeStored(
  value: Expression,
  column: StoredIn,
  environment: Environment,
): TypedExpression {
  const { statement } = environment;
  const type = resolveType(column.type, statement.typespace);
  const inner = optionInnerType(type, statement.typespace);
  switch (value.kind) {
    case 'boolean':
    case 'string':
    case 'number':
    case 'hex':
      return inner === undefined
        ? storedLiteral(value, type, environment)
        : someLiteral(value, type, inner, environment);
    case 'null': {
      if (inner !== undefined) return noneOf(type);
      const hint = `The column \`${column.name}\` is not an Option: it does not accept NULL`;
      throw refuse(dialectTexts.literal('NULL'), value.span, environment, hint);
    }
    case 'parameter':
      return statement.parameter(value.name, type, inner === undefined);
    case 'sender': {
      // The caller fits a column of bytes too.
      const wanted = resolveType(inner ?? type, statement.typespace);
      const isBytes = specialKindOf(wanted) === 'bytes';
      const sender = isBytes ? typeAs(value, wanted, environment) : typeAlone(value, environment);
      return storedValue(sender, column, value.span, environment);
    }
    default: {
      const array = inner ?? type;
      const typed = isArrayLiteral(value)
        ? typeArrayAs(value, resolveType(array, statement.typespace), environment)
        : typeAlone(value, environment);
      return storedValue(typed, column, value.span, environment);
    }
  }
}

/**
 * A literal to be stored: a string fits a column of strings or of an enum, and where it can mean
 * one thing only: durations with units, numbers in brackets, variants that carry nothing.
 */
export function storedLiteral(
  literal: Expression,
  type: AlgebraicType,
  environment: Environment,
): TypedConstant {
  const isText = type.kind === 'string' || enumNames(type) !== undefined;
  if (literal.kind === 'string' && !isText) {
    const typed = storedText(literal, type, environment);
    if (typed !== undefined) return typed;
    throw mismatch(stringType, type, literal.span, environment, storedHint(type, environment));
  }
  return typeLiteral(literal as Literal, type, environment, storedHint);
}

function storedText(
  literal: Extract<Literal, { readonly text: string }>,
  type: AlgebraicType,
  environment: Environment,
): TypedConstant | undefined {
  const tag = bareVariantNamed(type, literal.text);
  if (tag !== undefined) return constant(type, Uint8Array.of(tag));
  if (specialKindOf(type) !== 'timeDuration') return typeNumbers(literal, type, environment);
  const bytes = encodeLiteralText(literal.text, type);
  return bytes === undefined ? undefined : constant(type, bytes);
}

/**
 * A computed value for a column. Whole numbers are converted to the column's kind with a range
 * check, all numbers to floats, and texts to variants of an enum; NULL becomes the none of an
 * Option.
 */
export function storedValue(
  value: TypedExpression,
  column: StoredIn,
  span: Span,
  environment: Environment,
): TypedExpression {
  const { typespace } = environment.statement;
  const type = resolveType(column.type, typespace);
  if (equalTypes(value.type, type, environment) && !value.isNullable) return value;
  const inner = optionInnerType(type, typespace);
  if (inner !== undefined) {
    const plain = asType(unwrapped(value, environment), inner, environment);
    if (plain !== undefined) return { kind: 'convert', operand: plain, type, isNullable: false };
    throw mismatch(value.type, type, span, environment, hintBeside(value, inner, environment));
  }
  const typed = asType(value, type, environment);
  if (typed === undefined) {
    throw mismatch(value.type, type, span, environment, hintBeside(value, type, environment));
  }
  if (!typed.isNullable) return typed;
  if (value.kind === 'subquery') return requiredValue(typed, column.name);
  const message =
    `The column \`${column.name}\` does not accept NULL, and this value can be NULL; ` +
    'write COALESCE(value, other)';
  throw refuse(message, span, environment);
}

function hintBeside(
  value: TypedExpression,
  type: AlgebraicType,
  environment: Environment,
): string | undefined {
  const isNumber = isNumericType(value.type) || isNumericType(type);
  return isNumber ? castHint : storedHint(type, environment);
}

const castHint = 'Write CAST(value AS type) to convert it';

function asType(
  value: TypedExpression,
  type: AlgebraicType,
  environment: Environment,
): TypedExpression | undefined {
  if (equalTypes(value.type, type, environment)) return value;
  if (value.type.kind === 'string' && enumNames(type) !== undefined) {
    return converted(value, type, environment);
  }
  if (isStored(value, environment) || !isNumericType(value.type)) return undefined;
  const isWhole = isIntegerType(value.type) && isIntegerType(type);
  return isWhole || isFloatType(type) ? converted(value, type, environment) : undefined;
}

function someLiteral(
  literal: Literal,
  type: AlgebraicType,
  inner: AlgebraicType,
  environment: Environment,
): TypedConstant {
  try {
    const { bytes } = storedLiteral(
      literal,
      resolveType(inner, environment.statement.typespace),
      environment,
    );
    return constant(type, someOf(present(bytes, 'a literal is a value')));
  } catch (error) {
    if (!(error instanceof SqlFailure) || enumNames(inner) !== undefined) throw error;
    const hint = storedHint(type, environment);
    if (literal.kind === 'boolean') throw mismatch(boolType, type, literal.span, environment, hint);
    if (literal.kind === 'string') {
      throw mismatch(stringType, type, literal.span, environment, hint);
    }
    throw badLiteral(literal.text, type, literal, environment, storedHint);
  }
}

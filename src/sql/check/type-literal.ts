import { integerRange, isIntegerKind } from '../../values/integer-range.ts';
import { bytesType, specialKindOf } from '../../values/special-types.ts';
import type { AlgebraicType } from '../../values/type.ts';
import { resolveType } from '../../values/typespace.ts';
import { SqlFailure } from '../failure.ts';
import { optionInnerType } from '../functions/convert.ts';
import { enumNames, notVariant } from '../functions/enum.ts';
import { intervalFromText } from '../functions/interval.ts';
import { encodeLiteralText } from '../functions/literal.ts';
import { noneBytes } from '../functions/option-bytes.ts';
import { isNumericType } from '../functions/value-kind.ts';
import { shortened } from '../functions/value-text.ts';
import type { Expression, Literal, Span } from '../syntax/ast.ts';
import { boolType, type Environment, mismatch, refuse, stringType } from './context.ts';
import { shownType } from './shown-type.ts';
import type { TypedConstant } from './typed.ts';
import { nameHint } from './visibility.ts';

/** Expressions that have no type of their own and take that of their place. */
export type OpenExpression =
  | OpenLiteral
  | Extract<Expression, { readonly kind: 'null' | 'parameter' }>;

export type OpenLiteral = Exclude<Literal, { readonly kind: 'boolean' }>;

export function isOpen(expression: Expression): expression is OpenExpression {
  switch (expression.kind) {
    case 'string':
    case 'number':
    case 'hex':
    case 'null':
    case 'parameter':
      return true;
    default:
      return false;
  }
}

/**
 * A literal in a place of type `type`: the text counts, not the kind of the literal. Only TRUE and
 * FALSE have a type of their own.
 */
export function typeLiteral(
  literal: Literal,
  type: AlgebraicType,
  environment: Environment,
): TypedConstant {
  if (literal.kind === 'boolean') {
    if (type.kind !== 'bool') throw mismatch(boolType, type, literal.span, environment);
    return constant(type, Uint8Array.of(literal.value ? 1 : 0));
  }
  const bytes = encodeLiteralText(literal.text, type);
  if (bytes === undefined) throw badLiteral(literal.text, type, literal, environment);
  return constant(type, bytes);
}

/** The microseconds of `INTERVAL 'text'`. */
export function intervalMicros(text: string, span: Span, environment: Environment): bigint {
  try {
    return intervalFromText(text);
  } catch (error) {
    if (!(error instanceof SqlFailure)) throw error;
    throw refuse(error.message, span, environment);
  }
}

export function badLiteral(
  text: string,
  type: AlgebraicType,
  { span }: Expression,
  environment: Environment,
): Error {
  const names = enumNames(type);
  if (names !== undefined) {
    const hint = nameHint(text, names);
    return refuse(notVariant(shortened(text), names), span, environment, hint);
  }
  const typeName = shownType(type, environment.statement.typespace);
  const message = `The literal expression \`${text}\` cannot be parsed as type \`${typeName}\``;
  return refuse(message, span, environment, placeHint(type, environment));
}

/** A hint on what to write where a value of this type is expected or compared. */
export function placeHint(type: AlgebraicType, { statement }: Environment): string | undefined {
  if (isIntegerKind(type.kind)) {
    const { min, max } = integerRange[type.kind];
    return `Expected a whole number from ${min} to ${max}`;
  }
  switch (specialKindOf(type)) {
    case 'timestamp':
      return "Write a timestamp with its offset, as in '2025-02-17T10:30:45Z'";
    case 'timeDuration':
      return "Write a duration as INTERVAL '1 day 2 hours'";
    default:
  }
  switch (resolveType(type, statement.typespace).kind) {
    case 'bool':
      return 'Expected TRUE or FALSE';
    case 'sum':
      return 'Compare the name of its variant, as in variant_name(column), or its value';
    case 'product':
      return specialKindOf(type) === undefined
        ? 'Compare one of its elements, as in `column.element`'
        : undefined;
    case 'array':
      return "Write an array as ARRAY['a', 'b'], and a test of one element as 'a' = ANY(column)";
    default:
      return undefined;
  }
}

/** Whether a number, as written, is a value of a number type. */
export function fitsNumber(expression: Expression, type: AlgebraicType): boolean {
  if (expression.kind !== 'number' || !isNumericType(type)) return true;
  return encodeLiteralText(expression.text, type) !== undefined;
}

/** A number with a point or an exponent, whatever its value. */
export function isFraction(expression: Expression): boolean {
  return expression.kind === 'number' && /[.eE]/.test(expression.text);
}

/** The type of a literal that has none from its place. */
export function ownType(literal: OpenLiteral): AlgebraicType {
  switch (literal.kind) {
    case 'string':
      return stringType;
    case 'hex':
      return bytesType;
    default: {
      if (isFraction(literal)) return { kind: 'f64' };
      const wholes: readonly AlgebraicType[] = [
        { kind: 'i64' },
        { kind: 'i128' },
        { kind: 'i256' },
      ];
      return wholes.find((type) => fitsNumber(literal, type)) ?? { kind: 'f64' };
    }
  }
}

/** The null of type `type`. An Option has a value for it. */
export function typeNull(type: AlgebraicType, { statement }: Environment): TypedConstant {
  if (optionInnerType(type, statement.typespace) !== undefined) return noneOf(type);
  return { kind: 'constant', type, isNullable: true, bytes: undefined };
}

export function noneOf(type: AlgebraicType): TypedConstant {
  return constant(type, noneBytes);
}

export function constant(type: AlgebraicType, bytes: Uint8Array): TypedConstant {
  return { kind: 'constant', type, isNullable: false, bytes };
}

import { bytesType } from '../../values/special-types.ts';
import type { AlgebraicType } from '../../values/type.ts';
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
import { type HintOf, placeHint } from './place-hint.ts';
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
  hintOf: HintOf = placeHint,
): TypedConstant {
  if (literal.kind === 'boolean') {
    if (type.kind !== 'bool') throw mismatch(boolType, type, literal.span, environment);
    return constant(type, Uint8Array.of(literal.value ? 1 : 0));
  }
  const bytes = encodeLiteralText(literal.text, type);
  if (bytes === undefined) throw badLiteral(literal.text, type, literal, environment, hintOf);
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
  hintOf: HintOf = placeHint,
): Error {
  const names = enumNames(type);
  if (names !== undefined) {
    const hint = nameHint(text, names);
    return refuse(notVariant(shortened(text), names), span, environment, hint);
  }
  const typeName = shownType(type, environment.statement.typespace);
  const message = `The literal expression \`${text}\` cannot be parsed as type \`${typeName}\``;
  return refuse(message, span, environment, hintOf(type, environment));
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

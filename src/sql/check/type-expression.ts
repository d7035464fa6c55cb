import { unreachable } from '../../assert.ts';
import { bytesType, identityType, specialKindOf } from '../../values/special-types.ts';
import type { AlgebraicType } from '../../values/type.ts';
import type { SqlFailure } from '../failure.ts';
import { enumNames } from '../functions/enum.ts';
import type { Expression, Literal, Span } from '../syntax/ast.ts';
import { dialectTexts } from '../syntax/refusal.ts';
import {
  boolType,
  boolValue,
  type Environment,
  equalTypes,
  mismatch,
  refuse,
  stringType,
} from './context.ts';
import { fieldOf, unwrapped } from './field.ts';
import { resolveName } from './resolve-name.ts';
import { isRowInQuery, rowComparison, rowIn } from './row-values.ts';
import { typeArithmetic, typeNegation } from './type-arithmetic.ts';
import { typeArray } from './type-array.ts';
import { typeCall } from './type-call.ts';
import { typeCase } from './type-case.ts';
import { typeCast, typeTypedLiteral } from './type-cast.ts';
import { typeBetween, typeComparison, typeDistinct, typeIn } from './type-comparison.ts';
import { typeJsonOperation } from './type-json.ts';
import { isOpen, type OpenExpression, ownType, typeLiteral, typeNull } from './type-literal.ts';
import { typeExists, typeInQuery, typeRowInQuery, typeScalarQuery } from './type-subquery.ts';
import type { TypedExpression } from './typed.ts';
import { converted } from './unify.ts';
import { isList } from './written.ts';

/** Types an expression in a place where a condition is required. */
export function typeCondition(expression: Expression, environment: Environment): TypedExpression {
  return typeAs(expression, boolType, environment);
}

/** Types `expression` in a place that requires values of type `required`. */
export function typeAs(
  expression: Expression,
  required: AlgebraicType,
  environment: Environment,
): TypedExpression {
  if (isOpen(expression)) return typeOpen(expression, required, environment);
  if (expression.kind === 'boolean') return typeLiteral(expression, required, environment);
  if (expression.kind === 'sender') return typeSender(required, expression.span, environment);
  const typed = typeOwn(expression, environment);
  if (equalTypes(typed.type, required, environment)) return typed;
  const plain = unwrapped(typed, environment);
  if (equalTypes(plain.type, required, environment)) return plain;
  throw mismatch(typed.type, required, expression.span, environment);
}

/** A literal, null or parameter as a value of type `type`. */
export function typeOpen(
  expression: OpenExpression,
  type: AlgebraicType,
  environment: Environment,
): TypedExpression {
  switch (expression.kind) {
    case 'null':
      return typeNull(type, environment);
    case 'parameter':
      return environment.statement.parameter(expression.name, type);
    default:
      return typeLiteral(expression, type, environment);
  }
}

/** Types an expression that has its own type; `undefined` for expressions that have none. */
export function infer(
  expression: Expression,
  environment: Environment,
): TypedExpression | undefined {
  return isOpen(expression) ? undefined : typeOwn(expression, environment);
}

/** Types an expression in a place that says nothing about its type. */
export function typeAlone(expression: Expression, environment: Environment): TypedExpression {
  switch (expression.kind) {
    case 'parameter':
      throw unresolvedParameter(expression.span, environment);
    case 'null':
      return typeNull(stringType, environment);
    case 'string':
    case 'number':
    case 'hex':
      return typeLiteral(expression, ownType(expression), environment);
    default:
      return typeOwn(expression, environment);
  }
}

export function unresolvedParameter(span: Span, environment: Environment): SqlFailure {
  const text = environment.source.text(span);
  const message = `Cannot resolve the type of parameter ${text}; write it as CAST(${text} AS type)`;
  return refuse(message, span, environment);
}

/** The caller's identity, or its 32 bytes, most significant first. */
function typeSender(
  required: AlgebraicType,
  span: Span,
  environment: Environment,
): TypedExpression {
  switch (specialKindOf(required)) {
    case 'identity':
      return environment.statement.parameter(undefined, identityType);
    case 'bytes':
      return environment.statement.parameter(undefined, bytesType);
    default:
      throw mismatch(identityType, required, span, environment);
  }
}

function typeOwn(
  expression: Exclude<Expression, OpenExpression>,
  environment: Environment,
): TypedExpression {
  switch (expression.kind) {
    case 'column':
      return resolveName(expression, environment);
    case 'boolean':
      return typeLiteral(expression, boolType, environment);
    case 'sender':
      return typeSender(identityType, expression.span, environment);
    case 'comparison': {
      const ofRows = rowComparison(expression);
      if (ofRows !== undefined) return typeAs(ofRows, boolType, environment);
      return typeComparison(expression, environment);
    }
    case 'and':
    case 'or': {
      const terms = expression.terms.map((term) => typeAs(term, boolType, environment));
      const isNullable = terms.some((term) => term.isNullable);
      return { kind: expression.kind, terms, type: boolType, isNullable };
    }
    case 'not':
      return negated(typeAs(expression.operand, boolType, environment));
    case 'negate':
      return typeNegation(expression, environment);
    case 'isNull':
      return typeIsNull(expression, environment);
    case 'isTrue':
    case 'isFalse':
      return typeIsTruth(expression, environment);
    case 'isDistinct':
      return typeDistinct(expression, environment);
    case 'in': {
      const ofRows = rowIn(expression);
      if (ofRows !== undefined) return typeAs(ofRows, boolType, environment);
      const { among, isNegated } = expression;
      if (isRowInQuery(expression)) {
        const found = typeRowInQuery(expression, environment);
        return isNegated ? negated(found) : found;
      }
      const typed = isList(among)
        ? typeIn(expression.operand, among, expression.span, environment)
        : typeInQuery(expression.operand, among, expression.span, environment);
      return isNegated ? negated(typed) : typed;
    }
    case 'between':
      return typeBetween(expression, environment);
    case 'like':
      return typeLike(expression, environment);
    case 'arithmetic':
      return typeArithmetic(expression, environment);
    case 'json':
      return typeJsonOperation(expression, environment);
    case 'case':
      return typeCase(expression, environment);
    case 'cast':
      return typeCast(expression, environment);
    case 'typedLiteral':
      return typeTypedLiteral(expression, environment);
    case 'call':
      return typeCall(expression, environment);
    case 'array':
      return typeArray(expression, environment);
    case 'exists':
      return typeExists(expression.query, environment);
    case 'subquery':
      return typeScalarQuery(expression.query, expression.span, environment);
    case 'field': {
      const operand = typeAlone(expression.operand, environment);
      return fieldOf(operand, expression.name, expression.span, environment);
    }
    case 'row': {
      const text = environment.source.text(expression.span);
      throw refuse(dialectTexts.expression(text), expression.span, environment);
    }
    case 'unsupported':
      throw refuse(expression.message, expression.span, environment);
    default:
      return unreachable(expression);
  }
}

type TruthTest = Extract<Expression, { readonly kind: 'isNull' | 'isTrue' | 'isFalse' }>;

export function negated(operand: TypedExpression): TypedExpression {
  return { kind: 'not', operand, type: boolType, isNullable: operand.isNullable };
}

/** Tests whether a value exists: what an Option carries, the null side of a join, and so on. */
function typeIsNull({ operand, isNegated }: TruthTest, environment: Environment): TypedExpression {
  const typed =
    operand.kind === 'parameter'
      ? environment.statement.unresolvedParameter(
          operand.name,
          unresolvedParameter(operand.span, environment),
        )
      : unwrapped(typeAlone(operand, environment), environment);
  const test: TypedExpression = { kind: 'isNull', operand: typed, ...boolValue };
  return isNegated ? negated(test) : test;
}

/** `x IS TRUE`: never null, so `x` is compared as a value. */
function typeIsTruth(expression: TruthTest, environment: Environment): TypedExpression {
  const left = typeAs(expression.operand, boolType, environment);
  const truth: Literal = {
    kind: 'boolean',
    value: expression.kind === 'isTrue',
    span: expression.span,
  };
  const right = typeLiteral(truth, boolType, environment);
  const isOther: TypedExpression = { kind: 'isDistinct', left, right, ...boolValue };
  return expression.isNegated ? isOther : negated(isOther);
}

function typeLike(
  expression: Extract<Expression, { readonly kind: 'like' }>,
  environment: Environment,
): TypedExpression {
  const text = (part: Expression): TypedExpression => {
    if (isOpen(part)) return typeOpen(part, stringType, environment);
    const typed = unwrapped(typeOwn(part, environment), environment);
    if (typed.type.kind === 'string') return typed;
    if (enumNames(typed.type) !== undefined) return converted(typed, stringType, environment);
    throw mismatch(typed.type, stringType, part.span, environment);
  };
  const operand = text(expression.operand);
  const pattern = text(expression.pattern);
  const escapeBy = expression.escape === undefined ? undefined : text(expression.escape);
  const isNullable = operand.isNullable || pattern.isNullable || escapeBy?.isNullable === true;
  const { ignoresCase } = expression;
  const test: TypedExpression = {
    kind: 'like',
    operand,
    pattern,
    escape: escapeBy,
    ignoresCase,
    type: boolType,
    isNullable,
  };
  return expression.isNegated ? negated(test) : test;
}

import { assert } from '../../assert.ts';
import type { AlgebraicType } from '../../values/type.ts';
import { promotedType } from '../functions/arithmetic.ts';
import type { Expression } from '../syntax/ast.ts';
import { type Environment, equalTypes, mismatch, stringType } from './context.ts';
import { unwrapped } from './field.ts';
import { infer, typeOpen, unresolvedParameter } from './type-expression.ts';
import { fitsNumber, isOpen, type OpenLiteral, ownType } from './type-literal.ts';
import type { TypedExpression } from './typed.ts';

/** Converts a value to type `type`, to which a conversion exists. */
export function converted(
  operand: TypedExpression,
  type: AlgebraicType,
  environment: Environment,
): TypedExpression {
  if (equalTypes(operand.type, type, environment)) return operand;
  return { kind: 'convert', operand, type, isNullable: operand.isNullable };
}

/** True for values as a table stores them: such numbers are compared only with their own type. */
export function isStored(expression: TypedExpression, environment: Environment): boolean {
  switch (expression.kind) {
    case 'column':
      return environment.statement.tableSlots.has(expression.slot);
    case 'field':
    case 'variant':
      return isStored(expression.operand, environment);
    default:
      return false;
  }
}

/**
 * Gives all expressions one type, like the branches of a CASE: the type that they share, or the
 * number type that holds all of them. Literals, nulls and parameters follow the others.
 */
export function typeTogether(
  expressions: readonly Expression[],
  environment: Environment,
): readonly TypedExpression[] {
  const inferred = expressions.map((expression) => infer(expression, environment));
  const hasLiteral = expressions.some(isLiteral);
  const typed = alike(inferred, hasLiteral, environment);
  let common = commonTypeOf(typed, expressions, environment);
  for (const expression of expressions) {
    if (!isLiteral(expression)) continue;
    const own = ownType(expression);
    if (common === undefined) common = own;
    else if (!fitsNumber(expression, common)) common = promotedType(common, own) ?? common;
  }
  const type = common;
  return expressions.map((expression, at) => {
    const one = typed[at];
    if (one !== undefined) return converted(one, type ?? one.type, environment);
    assert(isOpen(expression), 'what has a type of its own was typed');
    if (type === undefined && expression.kind === 'parameter') {
      throw unresolvedParameter(expression.span, environment);
    }
    return typeOpen(expression, type ?? stringType, environment);
  });
}

function isLiteral(expression: Expression): expression is OpenLiteral {
  return isOpen(expression) && expression.kind !== 'null' && expression.kind !== 'parameter';
}

/**
 * Options stay Options among Options, unless one may itself be absent, which is the same NULL;
 * beside other types their value counts.
 */
function alike(
  inferred: readonly (TypedExpression | undefined)[],
  hasLiteral: boolean,
  environment: Environment,
): readonly (TypedExpression | undefined)[] {
  const [first, ...others] = inferred.filter((typed) => typed !== undefined);
  if (first === undefined) return inferred;
  const isOneType = others.every((typed) => equalTypes(typed.type, first.type, environment));
  const isAbsent = [first, ...others].some((typed) => typed?.isNullable === true);
  if (isOneType && !hasLiteral && !isAbsent) return inferred;
  return inferred.map((typed) => typed && unwrapped(typed, environment));
}

function commonTypeOf(
  typed: readonly (TypedExpression | undefined)[],
  expressions: readonly Expression[],
  environment: Environment,
): AlgebraicType | undefined {
  let common: AlgebraicType | undefined;
  typed.forEach((one, at) => {
    if (one === undefined) return;
    if (common === undefined || equalTypes(common, one.type, environment)) {
      common ??= one.type;
      return;
    }
    const promoted = promotedType(common, one.type);
    if (promoted === undefined) {
      const { span } = expressions[at] as Expression;
      throw mismatch(one.type, common, span, environment);
    }
    common = promoted;
  });
  return common;
}

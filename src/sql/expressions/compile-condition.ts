import type { TypedExpression } from '../check/typed.ts';
import { comparatorOf, decodeQueryValue } from '../functions/value-codec.ts';
import { negatedOperator } from '../syntax/comparison-operators.ts';
import { compileComparison, testAt } from './compile-comparison.ts';
import type { CompileContext } from './compile-context.ts';
import { compileExpression } from './compile-expression.ts';
import { compileMembership } from './compile-in-list.ts';
import { compileLike } from './compile-like.ts';
import type { Test } from './frame.ts';
import { placeOf } from './place.ts';

/** Whether a condition is true for the rows in the frame; false and null are not. */
export function compileCondition(expression: TypedExpression, context: CompileContext): Test {
  return compileTruth(expression, true, context);
}

/** Whether all of `terms` are true, tested in their order; `undefined` if there are none. */
export function compileConditions(
  terms: readonly TypedExpression[],
  context: CompileContext,
): Test | undefined {
  if (terms.length === 0) return undefined;
  return all(terms.map((term) => compileCondition(term, context)));
}

/**
 * Whether a condition has exactly the truth value `wanted`. Three-valued logic needs no third value
 * this way: a conjunction is true if all of its terms are, false if one of them is, and otherwise
 * null.
 */
export function compileTruth(
  expression: TypedExpression,
  wanted: boolean,
  context: CompileContext,
): Test {
  switch (expression.kind) {
    case 'constant': {
      const isWanted = decodeQueryValue(expression.type, expression.bytes) === wanted;
      return () => isWanted;
    }
    case 'not':
      return compileTruth(expression.operand, !wanted, context);
    case 'and':
    case 'or': {
      const terms = expression.terms.map((term) => compileTruth(term, wanted, context));
      return (expression.kind === 'and') === wanted ? all(terms) : any(terms);
    }
    case 'comparison': {
      const { operator, left, right } = expression;
      const wantedOperator = wanted ? operator : negatedOperator[operator];
      return compileComparison(wantedOperator, left, right, context);
    }
    case 'isNull':
      return compileIsNull(expression.operand, wanted, context);
    case 'isDistinct':
      return compileIsDistinct(expression, wanted, context);
    case 'inList':
      return compileMembership(expression, wanted, context);
    case 'like':
      return compileLike(expression, wanted, context);
    default: {
      const place = placeOf(expression, context);
      const byte = wanted ? 1 : 0;
      if (place !== undefined) return testAt(place, (bytes, at) => bytes[at] === byte);
      const evaluate = compileExpression(expression, context);
      return (frame) => evaluate(frame) === wanted;
    }
  }
}

function all(terms: readonly Test[]): Test {
  const [first, second, ...more] = terms;
  if (first === undefined) return () => true;
  if (second === undefined) return first;
  if (more.length === 0) return (frame) => first(frame) && second(frame);
  return (frame) => {
    if (!first(frame) || !second(frame)) return false;
    for (const term of more) if (!term(frame)) return false;
    return true;
  };
}

function any(terms: readonly Test[]): Test {
  const [first, second, third] = terms;
  if (first === undefined) return () => false;
  if (second === undefined) return first;
  if (third === undefined) return (frame) => first(frame) || second(frame);
  return (frame) => {
    for (const term of terms) if (term(frame)) return true;
    return false;
  };
}

/** Searches for the value without reading it where that is possible. */
function compileIsNull(operand: TypedExpression, wanted: boolean, context: CompileContext): Test {
  const place = placeOf(operand, context);
  if (place === undefined) {
    const evaluate = compileExpression(operand, context);
    return (frame) => (evaluate(frame) === null) === wanted;
  }
  const isThere = testAt(place, () => true);
  return (frame) => isThere(frame) !== wanted;
}

/** `IS DISTINCT FROM` is never null: two nulls are not distinct, a null and a value are. */
function compileIsDistinct(
  { left, right }: Extract<TypedExpression, { kind: 'isDistinct' }>,
  wanted: boolean,
  context: CompileContext,
): Test {
  const leftOf = compileExpression(left, context);
  const rightOf = compileExpression(right, context);
  const compare = comparatorOf(left.type, context.types);
  return (frame) => {
    const a = leftOf(frame);
    const b = rightOf(frame);
    const isDistinct = a === null || b === null ? a !== b : compare(a, b) !== 0;
    return isDistinct === wanted;
  };
}

/**
 * Typed expressions as functions over a frame. Values that are encoded in a row are read there, the
 * rest is computed; the branches of the compiler are taken once, not once per row.
 */
import { unreachable } from '../../assert.ts';
import type { TypedExpression } from '../check/typed.ts';
import { arithmeticOf, type BinaryOperation, negationOf } from '../functions/arithmetic.ts';
import { comparatorOf, decodeQueryValue, valueReaderOf } from '../functions/value-codec.ts';
import { scalarOfKind, valueKindOf } from '../functions/value-kind.ts';
import { holds } from '../syntax/comparison-operators.ts';
import { charge, lengthOf } from './charge.ts';
import { compileCall } from './compile-call.ts';
import { compileTruth } from './compile-condition.ts';
import type { CompileContext } from './compile-context.ts';
import { compileConvert } from './compile-convert.ts';
import { compileInList } from './compile-in-list.ts';
import { compileLikeValue } from './compile-like.ts';
import type { Evaluator } from './frame.ts';
import { elementStep, type Place, placeOf } from './place.ts';

/** The value of an expression for the rows in the frame; null is NULL. */
export function compileExpression(expression: TypedExpression, context: CompileContext): Evaluator {
  const place = placeOf(expression, context);
  if (place !== undefined) return readPlace(place, context);
  switch (expression.kind) {
    case 'column':
      return unreachable(expression as never);
    case 'constant': {
      const value = decodeQueryValue(expression.type, expression.bytes, context.types);
      return () => value;
    }
    case 'parameter':
      return compileParameter(expression, context);
    case 'value': {
      const { value } = expression;
      return (frame) => frame.values[value] ?? null;
    }
    case 'isNull':
    case 'isDistinct':
      return compileTruth(expression, true, context);
    case 'not': {
      const operandOf = compileExpression(expression.operand, context);
      return (frame) => {
        const value = operandOf(frame);
        return value === null ? null : !value;
      };
    }
    case 'and':
    case 'or':
    case 'comparison':
    case 'inList':
    case 'like':
      return compileLogic(expression, context);
    case 'negate': {
      const operandOf = compileExpression(expression.operand, context);
      const negate = negationOf(expression.type);
      return (frame) => {
        const value = operandOf(frame);
        return value === null ? null : negate(value);
      };
    }
    case 'arithmetic':
      return compileArithmetic(expression, context);
    case 'case':
      return compileCase(expression, context);
    case 'convert':
      return compileConvert(expression, context);
    case 'call':
      return compileCall(expression, context);
    case 'field':
    case 'variant':
      return compilePart(expression, context);
    case 'subquery':
      return context.subquery(expression);
    default:
      return unreachable(expression);
  }
}

function readPlace(place: Place, context: CompileContext): Evaluator {
  const read = readAnyPlace(place, context);
  const scalar = scalarOfKind(valueKindOf(place.type, context.types));
  return scalar === undefined || scalar === 'string' ? accounted(read) : read;
}

/** Values that can be long count as work. */
function accounted(evaluate: Evaluator): Evaluator {
  return (frame) => {
    const value = evaluate(frame);
    charge(frame, lengthOf(value));
    return value;
  };
}

function readAnyPlace(place: Place, { types }: CompileContext): Evaluator {
  const { slot, locate, withoutRow, isNullable } = place;
  const read = valueReaderOf(place.type, types);
  const ifNoRow = withoutRow ?? null;
  if (!isNullable) {
    return (frame) => {
      const bytes = frame.pages[slot];
      if (bytes === undefined) return ifNoRow;
      return read(bytes, locate(bytes, frame.rows[slot] as number));
    };
  }
  return (frame) => {
    const bytes = frame.pages[slot];
    if (bytes === undefined) return null;
    const at = locate(bytes, frame.rows[slot] as number);
    return at < 0 ? null : read(bytes, at);
  };
}

/** A parameter is decoded once for each request that sends it. */
function compileParameter(
  { parameter, type }: Extract<TypedExpression, { kind: 'parameter' }>,
  { types }: CompileContext,
): Evaluator {
  let known: Uint8Array | undefined;
  let value = decodeQueryValue(type, undefined, types);
  return (frame) => {
    const bytes = frame.parameters[parameter];
    if (bytes !== known) {
      value = decodeQueryValue(type, bytes, types);
      known = bytes;
    }
    return value;
  };
}

type Logic = Extract<TypedExpression, { kind: 'and' | 'or' | 'comparison' | 'inList' | 'like' }>;

/** Conditions as values, where null and false differ. */
function compileLogic(expression: Logic, context: CompileContext): Evaluator {
  if (!expression.isNullable) return compileTruth(expression, true, context);
  switch (expression.kind) {
    case 'and':
    case 'or':
      return compileChain(expression.kind === 'or', expression.terms, context);
    case 'comparison': {
      const leftOf = compileExpression(expression.left, context);
      const rightOf = compileExpression(expression.right, context);
      const compare = comparatorOf(expression.left.type, context.types);
      const { operator } = expression;
      return (frame) => {
        const left = leftOf(frame);
        // Evaluated also beside a null, as the arguments of functions are: it may fail.
        const right = rightOf(frame);
        return left === null || right === null ? null : holds(operator, compare(left, right));
      };
    }
    case 'inList':
      return compileInList(expression, context);
    case 'like':
      return compileLikeValue(expression, context);
    default:
      return unreachable(expression);
  }
}

/** `decisive` decides the chain as soon as one term has that value; else null if a term is null. */
function compileChain(
  decisive: boolean,
  terms: readonly TypedExpression[],
  context: CompileContext,
): Evaluator {
  const evaluators = terms.map((term) => compileExpression(term, context));
  return (frame) => {
    let hasNull = false;
    for (const evaluate of evaluators) {
      const value = evaluate(frame);
      if (value === decisive) return decisive;
      if (value === null) hasNull = true;
    }
    return hasNull ? null : !decisive;
  };
}

function compileArithmetic(
  expression: Extract<TypedExpression, { kind: 'arithmetic' }>,
  context: CompileContext,
): Evaluator {
  const { operator, left, right } = expression;
  const operate = arithmeticOf(operator, left.type, right.type);
  if (operator === '||') return accounted(compileOperation(operate, left, right, context));
  return compileOperation(operate, left, right, context);
}

function compileOperation(
  operate: BinaryOperation,
  left: TypedExpression,
  right: TypedExpression,
  context: CompileContext,
): Evaluator {
  const leftOf = compileExpression(left, context);
  const rightOf = compileExpression(right, context);
  if (right.kind === 'constant') {
    const constant = decodeQueryValue(right.type, right.bytes, context.types);
    if (constant === null) return () => null;
    return (frame) => {
      const value = leftOf(frame);
      return value === null ? null : operate(value, constant);
    };
  }
  // Both are evaluated, whatever the first is: an error in the second does not depend on it.
  return (frame) => {
    const a = leftOf(frame);
    const b = rightOf(frame);
    return a === null || b === null ? null : operate(a, b);
  };
}

function compileCase(
  expression: Extract<TypedExpression, { kind: 'case' }>,
  context: CompileContext,
): Evaluator {
  const branches = expression.branches.map(({ when, then }) => ({
    isTaken: compileTruth(when, true, context),
    resultOf: compileExpression(then, context),
  }));
  const { otherwise } = expression;
  const elseOf: Evaluator =
    otherwise === undefined ? () => null : compileExpression(otherwise, context);
  return (frame) => {
    for (const { isTaken, resultOf } of branches) if (isTaken(frame)) return resultOf(frame);
    return elseOf(frame);
  };
}

/** An element of a product, or a variant's payload, of a computed operand. */
function compilePart(
  expression: Extract<TypedExpression, { kind: 'field' | 'variant' }>,
  context: CompileContext,
): Evaluator {
  const { types } = context;
  const operandOf = compileExpression(expression.operand, context);
  const read = valueReaderOf(expression.type, types);
  if (expression.kind === 'field') {
    const step = elementStep(expression.operand.type, expression.element, types);
    return (frame) => {
      const value = operandOf(frame) as Uint8Array | null;
      return value === null ? null : read(value, step(value, 0));
    };
  }
  const { tag } = expression;
  if (valueKindOf(expression.operand.type, types) === 'enum') {
    return (frame) => (operandOf(frame) === tag ? nothing : null);
  }
  return (frame) => {
    const value = operandOf(frame) as Uint8Array | null;
    return value === null || value[0] !== tag ? null : read(value, 1);
  };
}

/** The payload of the variants of an enum. */
const nothing = new Uint8Array(0);

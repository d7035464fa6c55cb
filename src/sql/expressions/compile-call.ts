import type { TypedExpression } from '../check/typed.ts';
import type { QueryValue, ScalarFunction } from '../functions/function.ts';
import { charge, chargeElements, lengthOf } from './charge.ts';
import type { CompileContext } from './compile-context.ts';
import { compileRowDistance, evaluateRowDistance } from './compile-distance.ts';
import { compileExpression } from './compile-expression.ts';
import type { Evaluator, Frame } from './frame.ts';

/** Functions must not keep the argument list: one list serves all calls from one place. */
export function compileCall(
  expression: Extract<TypedExpression, { kind: 'call' }>,
  context: CompileContext,
): Evaluator {
  const { function: called } = expression;
  const distance = compileRowDistance(expression, context);
  if (distance !== undefined) return evaluateRowDistance(distance);
  const evaluators = expression.arguments.map((argument) => compileExpression(argument, context));
  if (called.isLazy === true) return firstValue(evaluators);
  return called.isStrict ? strictCall(called, evaluators) : anyCall(called, evaluators);
}

/** COALESCE: arguments after the first value can raise and are not evaluated. */
function firstValue(evaluators: readonly Evaluator[]): Evaluator {
  return (frame) => {
    for (const evaluate of evaluators) {
      const value = evaluate(frame);
      if (value !== null) return value;
    }
    return null;
  };
}

function strictCall(called: ScalarFunction, evaluators: readonly Evaluator[]): Evaluator {
  const { evaluate, elementCount } = called;
  const values: QueryValue[] = evaluators.map(() => null);
  const [only] = evaluators;
  if (only !== undefined && evaluators.length === 1) {
    return (frame) => {
      const value = only(frame);
      if (value === null) return null;
      values[0] = value;
      const result = evaluate(values, frame.nowMicros);
      account(frame, values, result);
      return result;
    };
  }
  return (frame) => {
    let hasNull = false;
    for (let at = 0; at < evaluators.length; at++) {
      const value = (evaluators[at] as Evaluator)(frame);
      if (value === null) hasNull = true;
      values[at] = value;
    }
    if (hasNull) return null;
    if (elementCount !== undefined) chargeElements(frame, elementCount(values));
    const result = evaluate(values, frame.nowMicros);
    account(frame, values, result);
    return result;
  };
}

function anyCall(called: ScalarFunction, evaluators: readonly Evaluator[]): Evaluator {
  const { evaluate, elementCount } = called;
  const values: QueryValue[] = evaluators.map(() => null);
  return (frame) => {
    for (let at = 0; at < evaluators.length; at++) {
      values[at] = (evaluators[at] as Evaluator)(frame);
    }
    if (elementCount !== undefined) chargeElements(frame, elementCount(values));
    const result = evaluate(values, frame.nowMicros);
    account(frame, values, result);
    return result;
  };
}

/** Long values count as work, and are not held until the next row. */
function account(frame: Frame, values: QueryValue[], result: QueryValue): void {
  let length = lengthOf(result);
  for (let at = 0; at < values.length; at++) length += lengthOf(values[at] as QueryValue);
  if (length < longLength) return;
  values.fill(null);
  charge(frame, length);
}

const longLength = 512;

import type { TypedExpression } from '../check/typed.ts';
import { setKeyOf } from '../functions/canonical.ts';
import type { QueryValue } from '../functions/function.ts';
import { comparatorOf, decodeQueryValue, type ValueComparator } from '../functions/value-codec.ts';
import type { CompileContext } from './compile-context.ts';
import { compileExpression } from './compile-expression.ts';
import type { Evaluator, Test } from './frame.ts';

type InList = Extract<TypedExpression, { kind: 'inList' }>;

/** Whether `operand IN (…)` has exactly the truth value `wanted`. */
export function compileMembership(
  expression: InList,
  wanted: boolean,
  context: CompileContext,
): Test {
  const evaluate = compileInList(expression, context);
  return (frame) => evaluate(frame) === wanted;
}

/** True, false, or null: the operand is null, or is not found and the list has a null. */
export function compileInList(expression: InList, context: CompileContext): Evaluator {
  const { operand } = expression;
  const operandOf = compileExpression(operand, context);
  const { constants, others } = takeApart(expression, context);
  const ifMissing = constants.delete(null) ? null : false;
  const keyOf = setKeyOf(operand.type, context.types);
  const keys = new Set([...constants].map(keyOf));
  if (others.length === 0) {
    return (frame) => {
      const value = operandOf(frame);
      if (value === null) return null;
      return keys.has(keyOf(value)) ? true : ifMissing;
    };
  }
  const compare = comparatorOf(operand.type, context.types);
  return (frame) => {
    const value = operandOf(frame);
    if (value === null) return null;
    if (keys.has(keyOf(value))) return true;
    return findIn(others, value, compare, frame, ifMissing);
  };
}

function findIn(
  others: readonly Evaluator[],
  value: QueryValue,
  compare: ValueComparator,
  frame: Parameters<Evaluator>[0],
  ifMissing: false | null,
): boolean | null {
  let result = ifMissing;
  for (const other of others) {
    const candidate = other(frame);
    if (candidate === null) result = null;
    else if (compare(value, candidate) === 0) return true;
  }
  return result;
}

/** The constants as one set, and the rest, which is computed for each row. */
function takeApart(
  { values }: InList,
  context: CompileContext,
): { readonly constants: Set<QueryValue>; readonly others: Evaluator[] } {
  const constants = new Set<QueryValue>();
  const others: Evaluator[] = [];
  for (const value of values) {
    if (value.kind === 'constant') {
      constants.add(decodeQueryValue(value.type, value.bytes, context.types));
    } else others.push(compileExpression(value, context));
  }
  return { constants, others };
}

import type { TypedExpression } from '../check/typed.ts';
import { setKeyOf } from '../functions/aggregates.ts';
import type { QueryValue } from '../functions/function.ts';
import type { CompileContext, Evaluator, Test } from './compile-context.ts';
import { compileExpression } from './compile-expression.ts';
import { comparatorOf, decodeQueryValue, type ValueComparator } from './value-codec.ts';

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

/** True, false, or null: the operand is null, or it is not found and the list has a null. */
export function compileInList(expression: InList, context: CompileContext): Evaluator {
  const operandOf = compileExpression(expression.operand, context);
  const { constants, others } = takeApart(expression, context);
  const hasNull = constants.has(null);
  const ifMissing = hasNull ? null : false;
  const keyOf = isHeldAsBytes(constants) ? setKeyOf : undefined;
  const keys = keyOf === undefined ? constants : new Set([...constants].map(keyOf));
  if (others.length === 0) {
    if (keyOf !== undefined) {
      return (frame) => {
        const value = operandOf(frame);
        if (value === null) return null;
        return keys.has(keyOf(value)) ? true : ifMissing;
      };
    }
    return (frame) => {
      const value = operandOf(frame);
      if (value === null) return null;
      return keys.has(value) ? true : ifMissing;
    };
  }
  const compare = comparatorOf(expression.operand.type, context.types);
  return (frame) => {
    const value = operandOf(frame);
    if (value === null) return null;
    if (keys.has(keyOf === undefined ? value : keyOf(value))) return true;
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

/** The constants as one set, the rest to be computed for each row. */
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

function isHeldAsBytes(constants: ReadonlySet<QueryValue>): boolean {
  for (const value of constants) if (value instanceof Uint8Array) return true;
  return false;
}

import { encodedComparatorOf } from '../../values/compare-encoded.ts';
import type { TypedExpression } from '../check/typed.ts';
import { comparatorOf } from '../functions/value-codec.ts';
import type { ComparisonOperator } from '../syntax/ast.ts';
import { holds, swappedOperator } from '../syntax/comparison-operators.ts';
import { type BytesTest, bytesTestOf } from './bytes-test.ts';
import type { CompileContext } from './compile-context.ts';
import { compileExpression } from './compile-expression.ts';
import type { Evaluator, Test } from './frame.ts';
import { type Place, placeOf } from './place.ts';

/** Whether `left operator right` is true; false if either is null. */
export function compileComparison(
  operator: ComparisonOperator,
  left: TypedExpression,
  right: TypedExpression,
  context: CompileContext,
): Test {
  const leftPlace = placeOf(left, context);
  const rightPlace = placeOf(right, context);
  if (leftPlace !== undefined) {
    if (rightPlace !== undefined) return comparePlaces(operator, leftPlace, rightPlace, context);
    const test = compareToFixed(operator, leftPlace, right, context);
    if (test !== undefined) return test;
  } else if (rightPlace !== undefined) {
    const test = compareToFixed(swappedOperator[operator], rightPlace, left, context);
    if (test !== undefined) return test;
  }
  return compareValues(operator, left, right, context);
}

/** Tests the value at `place`; false if it is null. */
export function testAt(place: Place, test: BytesTest): Test {
  const { slot, locate, withoutRow, isNullable } = place;
  if (withoutRow !== undefined) {
    return (frame) => {
      const bytes = frame.pages[slot];
      if (bytes === undefined) return test(withoutRow, 0);
      return test(bytes, locate(bytes, frame.rows[slot] as number));
    };
  }
  if (!isNullable) {
    return (frame) => {
      const bytes = frame.pages[slot];
      return bytes !== undefined && test(bytes, locate(bytes, frame.rows[slot] as number));
    };
  }
  return (frame) => {
    const bytes = frame.pages[slot];
    if (bytes === undefined) return false;
    const at = locate(bytes, frame.rows[slot] as number);
    return at >= 0 && test(bytes, at);
  };
}

/** `undefined` unless `other` is the same for all rows: a constant or a parameter. */
function compareToFixed(
  operator: ComparisonOperator,
  place: Place,
  other: TypedExpression,
  { types }: CompileContext,
): Test | undefined {
  const { type } = place;
  if (other.kind === 'constant') {
    if (other.bytes === undefined) return () => false;
    return testAt(place, bytesTestOf({ operator, type, value: other.bytes }, types));
  }
  if (other.kind !== 'parameter') return undefined;
  const { parameter } = other;
  let known: Uint8Array | undefined;
  let test: Test = () => false;
  return (frame) => {
    const value = frame.parameters[parameter];
    if (value === undefined) return false;
    if (value !== known) {
      test = testAt(place, bytesTestOf({ operator, type, value }, types));
      known = value;
    }
    return test(frame);
  };
}

function comparePlaces(
  operator: ComparisonOperator,
  left: Place,
  right: Place,
  { types }: CompileContext,
): Test {
  const compare = encodedComparatorOf(left.type, types);
  const { slot: leftSlot, locate: locateLeft } = left;
  const { slot: rightSlot, locate: locateRight } = right;
  return (frame) => {
    const leftRow = frame.pages[leftSlot];
    const rightRow = frame.pages[rightSlot];
    const leftBytes = leftRow ?? left.withoutRow;
    const rightBytes = rightRow ?? right.withoutRow;
    if (leftBytes === undefined || rightBytes === undefined) return false;
    const leftAt = leftRow === undefined ? 0 : locateLeft(leftRow, frame.rows[leftSlot] as number);
    if (leftAt < 0) return false;
    const rightAt =
      rightRow === undefined ? 0 : locateRight(rightRow, frame.rows[rightSlot] as number);
    return rightAt >= 0 && holds(operator, compare(leftBytes, leftAt, rightBytes, rightAt));
  };
}

function compareValues(
  operator: ComparisonOperator,
  left: TypedExpression,
  right: TypedExpression,
  context: CompileContext,
): Test {
  const leftOf: Evaluator = compileExpression(left, context);
  const rightOf: Evaluator = compileExpression(right, context);
  const compare = comparatorOf(left.type, context.types);
  return (frame) => {
    const a = leftOf(frame);
    const b = rightOf(frame);
    return a !== null && b !== null && holds(operator, compare(a, b));
  };
}

/**
 * What statements do with arrays. An array is its encoding: the count of its elements in four
 * bytes, then one after another. Elements are compared where they are, and decoded for sets alone.
 */
import { encodedComparatorOf } from '../../values/compare-encoded.ts';
import { readCount, skipperOf } from '../../values/layout.ts';
import type { AlgebraicType } from '../../values/type.ts';
import type { ComparisonOperator } from '../syntax/ast.ts';
import { outcomesOf } from '../syntax/comparison-operators.ts';
import { setKeyOf } from './canonical.ts';
import type { QueryValue, ScalarFunction } from './function.ts';
import { checkArrayBytes } from './text-length.ts';
import { encodeQueryValue, valueReaderOf } from './value-codec.ts';
import { scalarTypes } from './value-kind.ts';

export function arrayOf(element: AlgebraicType): AlgebraicType {
  return { kind: 'array', element };
}

/**
 * The array of its arguments; null if one of them is. `canRaise`: whether rows decide how long it
 * is.
 */
export function makingArray(
  element: AlgebraicType,
  count: number,
  canRaise: boolean,
): ScalarFunction {
  return {
    name: 'array',
    parameters: new Array<AlgebraicType>(count).fill(element),
    isStrict: true,
    canRaise,
    evaluate: (values) => joined(values.map((value) => encodeQueryValue(element, value))),
  };
}

/** The encoding of an array of encoded elements. */
export function joined(elements: readonly Uint8Array[]): Uint8Array {
  const byteCount = elements.reduce((total, { length }) => total + length, 4);
  checkArrayBytes(byteCount);
  const bytes = new Uint8Array(byteCount);
  new DataView(bytes.buffer).setUint32(0, elements.length, true);
  let at = 4;
  for (const element of elements) {
    bytes.set(element, at);
    at += element.length;
  }
  return bytes;
}

/** The element at a position, counted from 1; null where there is none. */
export function elementAt(element: AlgebraicType): ScalarFunction {
  const skip = skipperOf(element);
  const read = valueReaderOf(element);
  return {
    name: 'element',
    parameters: [arrayOf(element), scalarTypes.i64],
    isStrict: true,
    canRaise: false,
    evaluate: ([array, position]) => {
      const bytes = array as Uint8Array;
      const wanted = position as bigint;
      if (wanted < 1n || wanted > BigInt(readCount(bytes, 0))) return null;
      let at = 4;
      for (let left = Number(wanted) - 1; left > 0; left--) at = skip(bytes, at);
      return read(bytes, at);
    },
  };
}

/** Whether the first array has every element of the second. */
export function containsAll(element: AlgebraicType): ScalarFunction {
  return testOfKeys('@>', element, (keys, wanted) => {
    for (const key of wanted) if (!keys.has(key)) return false;
    return true;
  });
}

/** Whether the arrays have an element in common. */
export function overlaps(element: AlgebraicType): ScalarFunction {
  return testOfKeys('&&', element, (keys, others) => {
    for (const key of others) if (keys.has(key)) return true;
    return false;
  });
}

type Keys = ReadonlySet<QueryValue>;

function testOfKeys(
  name: string,
  element: AlgebraicType,
  test: (left: Keys, right: Keys) => boolean,
): ScalarFunction {
  const keysOf = keysReader(element);
  let known: Uint8Array | undefined;
  let knownKeys: Keys = new Set();
  return {
    name,
    parameters: [arrayOf(element), arrayOf(element)],
    isStrict: true,
    canRaise: false,
    evaluate: ([left, right]) => {
      // The second is the same for all rows, mostly.
      if (right !== known) {
        known = right as Uint8Array;
        knownKeys = keysOf(known);
      }
      return test(keysOf(left as Uint8Array), knownKeys);
    },
  };
}

function keysReader(element: AlgebraicType): (array: Uint8Array) => Keys {
  const skip = skipperOf(element);
  const read = valueReaderOf(element);
  const keyOf = setKeyOf(element);
  return (array) => {
    const keys = new Set<QueryValue>();
    let at = 4;
    for (let left = readCount(array, 0); left > 0; left--) {
      keys.add(keyOf(read(array, at)));
      at = skip(array, at);
    }
    return keys;
  };
}

/**
 * `value operator ANY(array)`, or `ALL`: null if the array is, or if it has elements and the value
 * is null.
 */
export function quantified(
  operator: ComparisonOperator,
  isAll: boolean,
  element: AlgebraicType,
): ScalarFunction {
  const compare = encodedComparatorOf(element);
  const skip = skipperOf(element);
  const [ifLess, ifEqual, ifGreater] = outcomesOf(operator);
  return {
    name: `${operator} ${isAll ? 'all' : 'any'}`,
    parameters: [element, arrayOf(element)],
    isStrict: false,
    isNullableFor: (isArgumentNullable) => isArgumentNullable.includes(true),
    canRaise: false,
    evaluate: ([value, array]) => {
      if (array === null) return null;
      const bytes = array as Uint8Array;
      const count = readCount(bytes, 0);
      if (count === 0) return isAll;
      if (value === null) return null;
      const sought = encodeQueryValue(element, value as QueryValue);
      let at = 4;
      for (let left = count; left > 0; left--) {
        const sign = compare(sought, 0, bytes, at);
        const isTrue = sign < 0 ? ifLess : sign > 0 ? ifGreater : ifEqual;
        if (isTrue !== isAll) return isTrue;
        at = skip(bytes, at);
      }
      return isAll;
    },
  };
}

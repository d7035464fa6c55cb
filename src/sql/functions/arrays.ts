/**
 * What statements do with arrays. An array is its encoding: the count of its elements in four
 * bytes, then one after another. Elements are compared where they are, and decoded for sets alone.
 */
import { limits } from '../../limits.ts';
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
  const elements = elementsOf(element);
  return testOfArrays('@>', element, (array, wanted) => {
    let missing = wanted.size;
    const found = new Set<QueryValue>();
    elements(array, (key) => {
      if (!wanted.has(key) || found.has(key)) return true;
      found.add(key);
      missing--;
      return missing > 0;
    });
    return missing === 0 ? undefined : false;
  });
}

/** Whether the arrays have an element in common. */
export function overlaps(element: AlgebraicType): ScalarFunction {
  const elements = elementsOf(element);
  return testOfArrays('&&', element, (array, others) => {
    return elements(array, (key) => !others.has(key)) ? undefined : true;
  });
}

/**
 * What an array says about some elements of another one: what is true of both arrays, if these
 * decide that, else `undefined`.
 */
type TestOfSome = (array: Uint8Array, some: ReadonlySet<QueryValue>) => boolean | undefined;

/**
 * The second array goes into sets of at most `limits.sqlArrayKeysMax` elements, one after another,
 * and the first is looked through for each of them: no set of all elements is made.
 */
function testOfArrays(name: string, element: AlgebraicType, test: TestOfSome): ScalarFunction {
  const keysOf = keysReader(element);
  // If nothing decides: all wanted elements were found, and no common one was.
  const otherwise = name === '@>';
  return {
    name,
    parameters: [arrayOf(element), arrayOf(element)],
    isStrict: true,
    canRaise: false,
    elementCount: ([left, right]) => {
      const [some, more] = [left, right].map((array) => readCount(array as Uint8Array, 0));
      return (more ?? 0) + (some ?? 0) * Math.ceil((more ?? 0) / limits.sqlArrayKeysMax);
    },
    evaluate: ([left, right]) => {
      const array = left as Uint8Array;
      for (const keys of keysOf(right as Uint8Array)) {
        const decided = test(array, keys);
        if (decided !== undefined) return decided;
      }
      return otherwise;
    },
  };
}

type VisitElements = (array: Uint8Array, visit: (key: QueryValue) => boolean) => boolean;

/** Calls `visit` with the key of each element until it returns false; false if it did. */
function elementsOf(element: AlgebraicType): VisitElements {
  const skip = skipperOf(element);
  const read = valueReaderOf(element);
  const keyOf = setKeyOf(element);
  return (array, visit) => {
    let at = 4;
    for (let left = readCount(array, 0); left > 0; left--) {
      if (!visit(keyOf(read(array, at)))) return false;
      at = skip(array, at);
    }
    return true;
  };
}

type ReadKeys = (array: Uint8Array) => Iterable<ReadonlySet<QueryValue>>;

/** Sets of the keys of an array. One that is asked for again, as for each row, is kept. */
function keysReader(element: AlgebraicType): ReadKeys {
  const skip = skipperOf(element);
  const read = valueReaderOf(element);
  const keyOf = setKeyOf(element);
  const pieces: ReadKeys = function* (array) {
    let keys = new Set<QueryValue>();
    let at = 4;
    for (let left = readCount(array, 0); left > 0; left--) {
      keys.add(keyOf(read(array, at)));
      at = skip(array, at);
      if (keys.size < limits.sqlArrayKeysMax) continue;
      yield keys;
      keys = new Set();
    }
    if (keys.size > 0) yield keys;
  };
  return (array) => {
    const at = keptKeys.findIndex((kept) => kept.array === array && kept.pieces === pieces);
    const [known] = at < 0 ? [] : keptKeys.splice(at, 1);
    const isLong = array.length > limits.sqlTextCharactersMax;
    if (known === undefined && isLong) return pieces(array);
    const kept = known ?? { array, pieces, keys: [...pieces(array)] };
    // The last ones that were used come first.
    keptKeys.unshift(kept);
    if (keptKeys.length > limits.sqlArraySetsMax) keptKeys.pop();
    return kept.keys;
  };
}

interface KeptKeys {
  readonly array: Uint8Array;
  readonly pieces: ReadKeys;
  readonly keys: readonly ReadonlySet<QueryValue>[];
}

/** Of all statements, so that few are kept. The array of a constant is the same for all rows. */
const keptKeys: KeptKeys[] = [];

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
    elementCount: ([, array]) => (array === null ? 0 : readCount(array as Uint8Array, 0)),
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

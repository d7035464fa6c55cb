import { present, unreachable } from '../../assert.ts';
import type { RowShape } from '../../store/row-shape.ts';
import { encodedComparatorOf } from '../../values/compare-encoded.ts';
import { readF32, readF64, readI16, readI32, readU16 } from '../../values/read-bytes.ts';
import type { AlgebraicType, Typespace } from '../../values/type.ts';
import { scalarOfKind, valueKindOf } from '../functions/value-kind.ts';
import type { ComparisonOperator } from '../syntax/ast.ts';
import { outcomesOf } from '../syntax/comparison-operators.ts';
import { locatorOf } from './row-layout.ts';

/** Tests what is encoded from `at` on: a value, or the row that it is in. Allocates nothing. */
export type BytesTest = (bytes: Uint8Array, at: number) => boolean;

/** The comparison of an encoded value of `type` with `value`, which is encoded, too. */
export interface ComparisonToValue {
  readonly operator: ComparisonOperator;
  readonly type: AlgebraicType;
  readonly value: Uint8Array;
}

/**
 * Tests the value that begins `distance` bytes after `at`. The kinds that most filters use have
 * code of their own.
 */
export function bytesTestOf(
  { operator, type, value }: ComparisonToValue,
  types: Typespace,
  distance = 0,
): BytesTest {
  const kind = scalarOfKind(valueKindOf(type, types));
  switch (kind) {
    case 'bool':
    case 'u8':
    case 'i8':
    case 'u16':
    case 'i16':
    case 'u32':
    case 'i32':
      return shortTest(kind, operator, value, distance);
    case 'u64':
    case 'i64':
      return longTest(kind === 'i64', operator, value, distance);
    case 'f32':
    case 'f64':
      return floatTest(kind, operator, value, distance);
    case 'string':
      if (operator === '=') return sameText(value, true, distance);
      if (operator === '<>') return sameText(value, false, distance);
      break;
    case 'u128':
    case 'i128':
    case 'u256':
    case 'i256':
      if (operator === '=') return sameBytes(value, true, distance);
      if (operator === '<>') return sameBytes(value, false, distance);
      break;
    default:
  }
  const compare = encodedComparatorOf(type, types);
  const [ifLess, ifEqual, ifGreater] = outcomesOf(operator);
  return (bytes, at) => {
    const sign = compare(bytes, at + distance, value, 0);
    return sign < 0 ? ifLess : sign > 0 ? ifGreater : ifEqual;
  };
}

/** Tests a column of the row that begins at `at`. */
export function columnTestOf(
  comparison: ComparisonToValue,
  column: number,
  shape: RowShape,
): BytesTest {
  const start = shape.fixedStart(column);
  if (start !== undefined) return bytesTestOf(comparison, shape.types, start);
  const test = bytesTestOf(comparison, shape.types);
  return (bytes, row) => test(bytes, shape.startOf(bytes, row, column));
}

/** Compares two columns of the row that begins at `at`. */
export function columnsTestOf(
  operator: ComparisonOperator,
  left: number,
  right: number,
  shape: RowShape,
): BytesTest {
  const compare = encodedComparatorOf(present(shape.columnTypes[left], 'a column'), shape.types);
  const locateLeft = locatorOf(shape, left);
  const locateRight = locatorOf(shape, right);
  const [ifLess, ifEqual, ifGreater] = outcomesOf(operator);
  return (bytes, row) => {
    const sign = compare(bytes, locateLeft(bytes, row), bytes, locateRight(bytes, row));
    return sign < 0 ? ifLess : sign > 0 ? ifGreater : ifEqual;
  };
}

export function allOf(tests: readonly BytesTest[]): BytesTest {
  const [first, second, third] = tests;
  if (first === undefined) return () => true;
  if (second === undefined) return first;
  if (third === undefined) return (bytes, at) => first(bytes, at) && second(bytes, at);
  return (bytes, at) => {
    for (const test of tests) if (!test(bytes, at)) return false;
    return true;
  };
}

export function anyOf(tests: readonly BytesTest[]): BytesTest {
  const [first, second, third] = tests;
  if (first === undefined) return () => false;
  if (second === undefined) return first;
  if (third === undefined) return (bytes, at) => first(bytes, at) || second(bytes, at);
  return (bytes, at) => {
    for (const test of tests) if (test(bytes, at)) return true;
    return false;
  };
}

type ShortKind = 'bool' | 'u8' | 'i8' | 'u16' | 'i16' | 'u32' | 'i32';

/** Every operator but `<>` is a range of integers, so one comparison serves all of them. */
function shortTest(
  kind: ShortKind,
  operator: ComparisonOperator,
  value: Uint8Array,
  distance: number,
): BytesTest {
  const constant = readShort(kind, value, 0);
  if (operator === '<>') {
    const isEqual = shortTest(kind, '=', value, distance);
    return (bytes, at) => !isEqual(bytes, at);
  }
  const [ifLess, ifEqual, ifGreater] = outcomesOf(operator);
  const low = ifLess ? Number.NEGATIVE_INFINITY : ifEqual ? constant : constant + 1;
  const high = ifGreater ? Number.POSITIVE_INFINITY : ifEqual ? constant : constant - 1;
  switch (kind) {
    case 'u32':
      if (operator === '=') return (bytes, at) => readI32(bytes, at + distance) === (constant | 0);
      return (bytes, at) => {
        const field = readI32(bytes, at + distance) >>> 0;
        return field >= low && field <= high;
      };
    case 'i32':
      if (operator === '=') return (bytes, at) => readI32(bytes, at + distance) === constant;
      return (bytes, at) => {
        const field = readI32(bytes, at + distance);
        return field >= low && field <= high;
      };
    default:
      return (bytes, at) => {
        const field = readShort(kind, bytes, at + distance);
        return field >= low && field <= high;
      };
  }
}

/** 64 bits as two halves: bigints would be allocated. */
function longTest(
  isSigned: boolean,
  operator: ComparisonOperator,
  value: Uint8Array,
  distance: number,
): BytesTest {
  // Flipping the sign bit puts signed halves into unsigned order.
  const flip = isSigned ? 0x8000_0000 : 0;
  const valueHigh = (readI32(value, 4) ^ flip) >>> 0;
  const valueLow = readI32(value, 0) >>> 0;
  const [ifLess, ifEqual, ifGreater] = outcomesOf(operator);
  return (bytes, start) => {
    const at = start + distance;
    const high = (readI32(bytes, at + 4) ^ flip) >>> 0;
    if (high !== valueHigh) return high < valueHigh ? ifLess : ifGreater;
    const low = readI32(bytes, at) >>> 0;
    if (low !== valueLow) return low < valueLow ? ifLess : ifGreater;
    return ifEqual;
  };
}

/** A NaN is greater than every number. */
function floatTest(
  kind: 'f32' | 'f64',
  operator: ComparisonOperator,
  value: Uint8Array,
  distance: number,
): BytesTest {
  const constant = kind === 'f32' ? readF32(value, 0) : readF64(value, 0);
  const [ifLess, ifEqual, ifGreater] = outcomesOf(operator);
  if (Number.isNaN(constant)) {
    const read = kind === 'f32' ? readF32 : readF64;
    return (bytes, at) => (Number.isNaN(read(bytes, at + distance)) ? ifEqual : ifLess);
  }
  // One function for each width: both read their own bytes without a call.
  if (kind === 'f32') {
    return (bytes, at) => {
      const field = readF32(bytes, at + distance);
      if (field < constant) return ifLess;
      return field === constant ? ifEqual : ifGreater;
    };
  }
  return (bytes, at) => {
    const field = readF64(bytes, at + distance);
    if (field < constant) return ifLess;
    return field === constant ? ifEqual : ifGreater;
  };
}

/** For types where equal values have equal bytes. */
function sameBytes(value: Uint8Array, ifEqual: boolean, distance: number): BytesTest {
  const { length } = value;
  return (bytes, start) => {
    const at = start + distance;
    // If a count comes first, values of another length differ within it.
    for (let index = 0; index < length; index++) {
      if (bytes[at + index] !== value[index]) return !ifEqual;
    }
    return ifEqual;
  };
}

/** Compares from the end: texts of one column differ there more often than at the start. */
function sameText(value: Uint8Array, ifEqual: boolean, distance: number): BytesTest {
  const count = readI32(value, 0);
  const last = value.length - 1;
  return (bytes, start) => {
    const at = start + distance;
    if (readI32(bytes, at) !== count) return !ifEqual;
    for (let index = last; index >= 4; index--) {
      if (bytes[at + index] !== value[index]) return !ifEqual;
    }
    return ifEqual;
  };
}

function readShort(kind: ShortKind, bytes: Uint8Array, at: number): number {
  switch (kind) {
    case 'bool':
    case 'u8':
      return bytes[at] as number;
    case 'i8':
      return ((bytes[at] as number) << 24) >> 24;
    case 'u16':
      return readU16(bytes, at);
    case 'i16':
      return readI16(bytes, at);
    case 'u32':
      return readI32(bytes, at) >>> 0;
    case 'i32':
      return readI32(bytes, at);
    default:
      return unreachable(kind);
  }
}

import { unreachable } from '../../assert.ts';
import { encodedComparatorOf } from '../../values/compare-encoded.ts';
import type { AlgebraicType, Typespace } from '../../values/type.ts';
import { scalarOfKind, valueKindOf } from '../functions/value-kind.ts';
import type { ComparisonOperator } from '../syntax/ast.ts';
import { holds } from './comparison-operators.ts';
import { readF32, readF64, readI16, readI32, readU16 } from './read-bytes.ts';

/** Tests the encoded value that begins at `at`. Allocates nothing. */
export type BytesTest = (bytes: Uint8Array, at: number) => boolean;

/**
 * Tests whether an encoded value of `type` compares by `operator` to `value`, which is encoded,
 * too. The kinds that most filters use have code of their own.
 */
export function bytesTestOf(
  type: AlgebraicType,
  operator: ComparisonOperator,
  value: Uint8Array,
  types: Typespace,
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
      return shortTest(kind, operator, value);
    case 'u64':
    case 'i64':
      return longTest(kind === 'i64', operator, value);
    case 'f32':
      return shortFloatTest(operator, value);
    case 'f64':
      return longFloatTest(operator, value);
    case 'string':
      if (operator === '=') return sameText(value, true);
      if (operator === '<>') return sameText(value, false);
      break;
    case 'u128':
    case 'i128':
    case 'u256':
    case 'i256':
      if (operator === '=') return sameBytes(value, true);
      if (operator === '<>') return sameBytes(value, false);
      break;
    default:
  }
  const compare = encodedComparatorOf(type, types);
  const [ifLess, ifEqual, ifGreater] = outcomesOf(operator);
  return (bytes, at) => {
    const sign = compare(bytes, at, value, 0);
    return sign < 0 ? ifLess : sign > 0 ? ifGreater : ifEqual;
  };
}

type ShortKind = 'bool' | 'u8' | 'i8' | 'u16' | 'i16' | 'u32' | 'i32';

/** Every operator but `<>` is a range of integers, so one comparison serves all of them. */
function shortTest(kind: ShortKind, operator: ComparisonOperator, value: Uint8Array): BytesTest {
  const constant = readShort(kind, value, 0);
  if (operator === '<>') {
    const isEqual = shortTest(kind, '=', value);
    return (bytes, at) => !isEqual(bytes, at);
  }
  const [ifLess, ifEqual, ifGreater] = outcomesOf(operator);
  const low = ifLess ? Number.NEGATIVE_INFINITY : ifEqual ? constant : constant + 1;
  const high = ifGreater ? Number.POSITIVE_INFINITY : ifEqual ? constant : constant - 1;
  switch (kind) {
    case 'u32':
      if (operator === '=') return (bytes, at) => readI32(bytes, at) === (constant | 0);
      return (bytes, at) => {
        const field = readI32(bytes, at) >>> 0;
        return field >= low && field <= high;
      };
    case 'i32':
      if (operator === '=') return (bytes, at) => readI32(bytes, at) === constant;
      return (bytes, at) => {
        const field = readI32(bytes, at);
        return field >= low && field <= high;
      };
    default:
      return (bytes, at) => {
        const field = readShort(kind, bytes, at);
        return field >= low && field <= high;
      };
  }
}

/** 64 bits as two halves: bigints would be allocated. */
function longTest(isSigned: boolean, operator: ComparisonOperator, value: Uint8Array): BytesTest {
  // Flipping the sign bit puts signed halves into unsigned order.
  const flip = isSigned ? 0x8000_0000 : 0;
  const valueHigh = (readI32(value, 4) ^ flip) >>> 0;
  const valueLow = readI32(value, 0) >>> 0;
  const [ifLess, ifEqual, ifGreater] = outcomesOf(operator);
  return (bytes, at) => {
    const high = (readI32(bytes, at + 4) ^ flip) >>> 0;
    if (high !== valueHigh) return high < valueHigh ? ifLess : ifGreater;
    const low = readI32(bytes, at) >>> 0;
    if (low !== valueLow) return low < valueLow ? ifLess : ifGreater;
    return ifEqual;
  };
}

/** A NaN is greater than every number. */
function shortFloatTest(operator: ComparisonOperator, value: Uint8Array): BytesTest {
  const constant = readF32(value, 0);
  const [ifLess, ifEqual, ifGreater] = outcomesOf(operator);
  if (Number.isNaN(constant)) {
    return (bytes, at) => (Number.isNaN(readF32(bytes, at)) ? ifEqual : ifLess);
  }
  return (bytes, at) => {
    const field = readF32(bytes, at);
    if (field < constant) return ifLess;
    return field === constant ? ifEqual : ifGreater;
  };
}

function longFloatTest(operator: ComparisonOperator, value: Uint8Array): BytesTest {
  const constant = readF64(value, 0);
  const [ifLess, ifEqual, ifGreater] = outcomesOf(operator);
  if (Number.isNaN(constant)) {
    return (bytes, at) => (Number.isNaN(readF64(bytes, at)) ? ifEqual : ifLess);
  }
  return (bytes, at) => {
    const field = readF64(bytes, at);
    if (field < constant) return ifLess;
    return field === constant ? ifEqual : ifGreater;
  };
}

/** For types where equal values have equal bytes. */
function sameBytes(value: Uint8Array, ifEqual: boolean): BytesTest {
  const { length } = value;
  return (bytes, at) => {
    // If a count comes first, values of another length differ within it.
    for (let index = 0; index < length; index++) {
      if (bytes[at + index] !== value[index]) return !ifEqual;
    }
    return ifEqual;
  };
}

/** Compares from the end: texts of one column differ there more often than at the start. */
function sameText(value: Uint8Array, ifEqual: boolean): BytesTest {
  const count = readI32(value, 0);
  const last = value.length - 1;
  return (bytes, at) => {
    if (readI32(bytes, at) !== count) return !ifEqual;
    for (let index = last; index >= 4; index--) {
      if (bytes[at + index] !== value[index]) return !ifEqual;
    }
    return ifEqual;
  };
}

function outcomesOf(operator: ComparisonOperator): readonly [boolean, boolean, boolean] {
  return [holds(operator, -1), holds(operator, 0), holds(operator, 1)];
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

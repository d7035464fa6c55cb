/**
 * Converts query values between their encoding and JavaScript, compiled per type; `QueryValue`
 * defines the JavaScript type of each.
 */
import { assert, unreachable } from '../../assert.ts';
import { BinaryWriter } from '../../values/binary-writer.ts';
import { compareFloats, compareTexts } from '../../values/compare.ts';
import { encodedComparatorOf } from '../../values/compare-encoded.ts';
import { skipperOf } from '../../values/layout.ts';
import { perType } from '../../values/per-type.ts';
import {
  readF32,
  readF64,
  readI16,
  readI32,
  readI64,
  readI128,
  readI256,
  readU16,
  readU32,
  readU64,
  readU128,
  readU256,
} from '../../values/read-bytes.ts';
import type { AlgebraicType, ScalarKind, Typespace } from '../../values/type.ts';
import { readUtf8 } from '../../values/utf8.ts';
import type { QueryValue } from './function.ts';
import { scalarOfKind, valueKindOf } from './value-kind.ts';

/** The value whose valid encoding begins at `at`; never null. */
export type ValueReader = (bytes: Uint8Array, at: number) => QueryValue;

/** Appends the encoding of a value that is not null and of the type. */
export type ValueWriter = (writer: BinaryWriter, value: QueryValue) => void;

/**
 * The order of SQL over values that are not null; the sign counts. It is that of
 * `encodedComparatorOf`: strings by code point, NaN equal to itself and above all other floats,
 * zeros of both signs equal.
 */
export type ValueComparator = (a: QueryValue, b: QueryValue) => number;

/** Values that stay encoded are copied: a value outlives the page it came from. */
export const valueReaderOf: (type: AlgebraicType, typespace?: Typespace) => ValueReader = perType(
  (type, typespace) => {
    const scalar = scalarOfKind(valueKindOf(type, typespace));
    if (scalar !== undefined) return scalarReaders[scalar];
    const skip = skipperOf(type, typespace);
    return (bytes, at) => bytes.slice(at, skip(bytes, at));
  },
);

export const valueWriterOf: (type: AlgebraicType, typespace?: Typespace) => ValueWriter = perType(
  (type, typespace) => {
    const scalar = scalarOfKind(valueKindOf(type, typespace));
    return scalar === undefined ? writeEncoded : scalarWriters[scalar];
  },
);

export const comparatorOf: (type: AlgebraicType, typespace?: Typespace) => ValueComparator =
  perType((type, typespace) => {
    const scalar = scalarOfKind(valueKindOf(type, typespace));
    if (scalar !== undefined) return scalarComparator(scalar);
    const compare = encodedComparatorOf(type, typespace);
    return (a, b) => compare(a as Uint8Array, 0, b as Uint8Array, 0);
  });

/** The encoding of one value that is not null, in bytes of its own. */
export function encodeQueryValue(
  type: AlgebraicType,
  value: QueryValue,
  typespace?: Typespace,
): Uint8Array {
  const writer = new BinaryWriter(16);
  valueWriterOf(type, typespace)(writer, value);
  return writer.finish();
}

/** The value of one encoding; null for `undefined`, as in constants and parameters. */
export function decodeQueryValue(
  type: AlgebraicType,
  bytes: Uint8Array | undefined,
  typespace?: Typespace,
): QueryValue {
  return bytes === undefined ? null : valueReaderOf(type, typespace)(bytes, 0);
}

const scalarReaders: Readonly<Record<ScalarKind, ValueReader>> = {
  bool: (bytes, at) => bytes[at] === 1,
  string: readString,
  u8: (bytes, at) => bytes[at] as number,
  i8: (bytes, at) => ((bytes[at] as number) << 24) >> 24,
  u16: readU16,
  i16: readI16,
  u32: readU32,
  i32: readI32,
  u64: readU64,
  i64: readI64,
  u128: readU128,
  i128: readI128,
  u256: readU256,
  i256: readI256,
  f32: readF32,
  f64: readF64,
};

function readString(bytes: Uint8Array, at: number): string {
  const text = readUtf8(bytes, at + 4, at + 4 + readU32(bytes, at));
  assert(text !== undefined, 'a stored string is UTF-8');
  return text;
}

const scalarWriters: Readonly<Record<ScalarKind, ValueWriter>> = {
  bool: (writer, value) => writer.bool(value as boolean),
  string: (writer, value) => writer.string(value as string),
  u8: (writer, value) => writer.u8(value as number),
  i8: (writer, value) => writer.i8(value as number),
  u16: (writer, value) => writer.u16(value as number),
  i16: (writer, value) => writer.i16(value as number),
  u32: (writer, value) => writer.u32(value as number),
  i32: (writer, value) => writer.i32(value as number),
  u64: (writer, value) => writer.u64(value as bigint),
  i64: (writer, value) => writer.i64(value as bigint),
  u128: (writer, value) => writer.u128(value as bigint),
  i128: (writer, value) => writer.i128(value as bigint),
  u256: (writer, value) => writer.u256(value as bigint),
  i256: (writer, value) => writer.i256(value as bigint),
  f32: (writer, value) => writer.f32(value as number),
  f64: (writer, value) => writer.f64(value as number),
};

function writeEncoded(writer: BinaryWriter, value: QueryValue): void {
  assert(value instanceof Uint8Array, 'a value of a composite type is its encoding');
  writer.raw(value);
}

function scalarComparator(kind: ScalarKind): ValueComparator {
  switch (kind) {
    case 'string':
      return compareTexts as ValueComparator;
    case 'f32':
    case 'f64':
      return compareFloats as ValueComparator;
    case 'bool':
      return (a, b) => Number(a) - Number(b);
    case 'u8':
    case 'i8':
    case 'u16':
    case 'i16':
    case 'u32':
    case 'i32':
      return (a, b) => (a as number) - (b as number);
    case 'u64':
    case 'i64':
    case 'u128':
    case 'i128':
    case 'u256':
    case 'i256':
      return (a, b) => {
        const left = a as bigint;
        const right = b as bigint;
        return left < right ? -1 : left > right ? 1 : 0;
      };
    default:
      return unreachable(kind);
  }
}

/** The order of one key of ORDER BY, in which nulls have a place. */
export function orderOf(
  type: AlgebraicType,
  types: Typespace,
  {
    isDescending,
    isNullsFirst,
  }: { readonly isDescending: boolean; readonly isNullsFirst: boolean },
): ValueComparator {
  const compare = comparatorOf(type, types);
  const nullSign = isNullsFirst ? -1 : 1;
  return (a, b) => {
    if (a === null) return b === null ? 0 : nullSign;
    if (b === null) return -nullSign;
    return isDescending ? compare(b, a) : compare(a, b);
  };
}

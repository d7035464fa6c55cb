import { BinaryWriter } from '../../values/binary-writer.ts';
import { connectionIdFromHex } from '../../values/connection-id.ts';
import { encoderOf } from '../../values/encode.ts';
import { fromHex } from '../../values/hex.ts';
import { identityFromHex } from '../../values/identity.ts';
import { specialKindOf } from '../../values/special-types.ts';
import { timestampFromText } from '../../values/timestamp.ts';
import type { AlgebraicType, ScalarKind } from '../../values/type.ts';
import { uuidFromText } from '../../values/uuid.ts';
import type { Value } from '../../values/value.ts';
import { SqlFailure } from '../failure.ts';
import { joined } from './arrays.ts';
import { enumNames, variantNamed } from './enum.ts';
import { intervalFromText } from './interval.ts';
import { isNumericType } from './value-kind.ts';

/** True for types whose values SQL can compare and write; other values can only be read. */
export function isComparable(type: AlgebraicType): boolean {
  switch (specialKindOf(type)) {
    case 'identity':
    case 'connectionId':
    case 'timestamp':
    case 'uuid':
    case 'bytes':
      return true;
    default:
      return (
        !['product', 'sum', 'array', 'ref'].includes(type.kind) || enumNames(type) !== undefined
      );
  }
}

/**
 * The encoded value that the text of a string, number or hex literal denotes in a place of type
 * `type`, or `undefined` if it denotes none. The kind of the literal makes no difference: `5`,
 * `'5'` and `0x5` are all the text `5`.
 */
export function encodeLiteralText(text: string, type: AlgebraicType): Uint8Array | undefined {
  const value = literalValue(text, type);
  if (value === undefined) return undefined;
  literalWriter.reset();
  encoderOf(type)(literalWriter, value);
  return literalWriter.finish();
}

/** Reused for every literal; its contents are copied out at once. */
const literalWriter = new BinaryWriter();

function literalValue(text: string, type: AlgebraicType): Value | undefined {
  switch (specialKindOf(type)) {
    case 'identity':
      return wrap(identityFromHex(text));
    case 'connectionId':
      return wrap(connectionIdFromHex(text));
    case 'uuid':
      return wrap(uuidFromText(text));
    case 'timestamp':
      return wrap(timestampMicros(text));
    case 'bytes':
      return hexBytes(text);
    case 'timeDuration':
      return wrap(durationMicros(text));
    default:
  }
  switch (type.kind) {
    case 'sum':
      return enumValue(text, type);
    case 'product':
    case 'array':
    case 'ref':
    case 'bool':
      return undefined;
    case 'string':
      return text;
    case 'f32':
    case 'f64':
      return floatValue(text, type.kind);
    default:
      return integerValue(text, type.kind);
  }
}

/** A text with units: digits alone could be seconds as well as microseconds. */
function durationMicros(text: string): bigint | undefined {
  if (decimal.test(text)) return undefined;
  try {
    return intervalFromText(text);
  } catch (error) {
    if (error instanceof SqlFailure) return undefined;
    throw error;
  }
}

/** The encoded array that a text of numbers in brackets denotes: `[0, 1.5]`. */
export function encodeNumbersText(text: string, element: AlgebraicType): Uint8Array | undefined {
  const inside = /^\s*\[([^[\]]*)\]\s*$/.exec(text)?.[1]?.trim();
  if (inside === undefined || !isNumericType(element)) return undefined;
  const parts = inside === '' ? [] : inside.split(',');
  const numbers: Uint8Array[] = [];
  for (const part of parts) {
    const bytes = encodeLiteralText(part.trim(), element);
    if (bytes === undefined) return undefined;
    numbers.push(bytes);
  }
  return joined(numbers);
}

/** The special products hold their number as the only element. */
function wrap(value: bigint | undefined): Value | undefined {
  return value === undefined ? undefined : [value];
}

function enumValue(text: string, type: AlgebraicType): Value | undefined {
  const names = enumNames(type);
  const tag = names && variantNamed(names, text);
  return tag === undefined ? undefined : { tag, value: [] };
}

const decimal = /^([+-]?)(\d*)(?:\.(\d*))?(?:[eE]([+-]?\d+))?$/;

function floatValue(text: string, kind: 'f32' | 'f64'): number | undefined {
  if (!decimal.test(text) || !/\d/.test(text)) return undefined;
  const value = Number(text);
  return kind === 'f32' ? Math.fround(value) : value;
}

type IntegerKind = Exclude<ScalarKind, 'string' | 'bool' | 'f32' | 'f64'>;

const bitsOf: Readonly<Record<IntegerKind, number>> = {
  i8: 8,
  u8: 8,
  i16: 16,
  u16: 16,
  i32: 32,
  u32: 32,
  i64: 64,
  u64: 64,
  i128: 128,
  u128: 128,
  i256: 256,
  u256: 256,
};

function integerValue(text: string, kind: IntegerKind): number | bigint | undefined {
  const bits = bitsOf[kind];
  // The widest types accept no written fraction, not even `.0`.
  if (bits === 256 && /\.\d/.test(text)) return undefined;
  const value = exactInteger(text);
  if (value === undefined) return undefined;
  const isSigned = kind.startsWith('i');
  const fits = isSigned ? BigInt.asIntN(bits, value) : BigInt.asUintN(bits, value);
  if (fits !== value) return undefined;
  return bits <= 32 ? Number(value) : value;
}

/** More digits than this do not fit 256 bits. */
const integerDigitsMax = 78;

/** Sign, digits, fraction and exponent, if the exact value is an integer. */
function exactInteger(text: string): bigint | undefined {
  if (/^\d{1,15}$/.test(text)) return BigInt(text);
  const match = decimal.exec(text);
  if (match === null) return undefined;
  const [, sign, whole = '', fraction = '', exponentText = '0'] = match;
  if (whole === '' && fraction === '') return undefined;
  const digits = trimZeros(whole + fraction);
  if (digits === '') return 0n;
  const trailing = (whole + fraction).length - lastNonZero(whole + fraction) - 1;
  const exponent = Number(exponentText) - fraction.length + trailing;
  if (exponent < 0 || digits.length + exponent > integerDigitsMax) return undefined;
  const magnitude = BigInt(digits + '0'.repeat(exponent));
  return sign === '-' ? -magnitude : magnitude;
}

function trimZeros(digits: string): string {
  const last = lastNonZero(digits);
  let first = 0;
  while (first <= last && digits.charAt(first) === '0') first++;
  return digits.slice(first, last + 1);
}

function lastNonZero(digits: string): number {
  let last = digits.length - 1;
  while (last >= 0 && digits.charAt(last) === '0') last--;
  return last;
}

/** Pairs of hex digits; a string keeps its `0x` prefix, a hex literal has lost it. */
function hexBytes(text: string): Uint8Array | undefined {
  return fromHex(text.startsWith('0x') ? text.slice(2) : text);
}

/** RFC 3339 with an offset; the fraction may have any number of digits. */
function timestampMicros(text: string): bigint | undefined {
  return timestampFromText(text.replace(/(\.\d{6})\d+/, '$1'));
}

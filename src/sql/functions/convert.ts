/**
 * Conversions between types, for `CAST` and for those that the check inserts.
 *
 * | from | to | rule |
 * |---|---|---|
 * | integer | integer | the same number, or `… does not fit U8` |
 * | integer | float | the nearest |
 * | float | integer | rounded, halves to even; NaN and what is out of range do not fit |
 * | Bool | integer, and back | 1 and 0; every number but 0 is true |
 * | Timestamp, TimeDuration | integer, and back | microseconds |
 * | Identity, ConnectionId, UUID | integer, and back | the number of their digits |
 * | String | scalar, time, id, byte array, enum | as its literal is written; times also shorter |
 * | anything | String | its text; of an enum the name of its variant |
 */
import { decodeValue } from '../../values/decode.ts';
import { type IntegerKind, integerRange, isIntegerKind } from '../../values/integer-range.ts';
import { specialKindOf } from '../../values/special-types.ts';
import {
  type AlgebraicType,
  emptyTypespace,
  type ScalarKind,
  type SumType,
  type Typespace,
} from '../../values/type.ts';
import { kindName, resolveType, typesEqual } from '../../values/typespace.ts';
import { invalid, type SqlFailure } from '../failure.ts';
import { enumNames, notVariant, variantNamed } from './enum.ts';
import type { QueryValue } from './function.ts';
import { intervalFromText } from './interval.ts';
import { encodeLiteralText } from './literal.ts';
import { momentFromText } from './time-text.ts';
import { scalarOfKind, type ValueKind, valueKindOf } from './value-kind.ts';
import { shortened, valueTextOf } from './value-text.ts';

export interface Conversion {
  readonly canRaise: boolean;
  /** Never called with null. */
  readonly convert: (value: QueryValue) => QueryValue;
}

/** Returns `undefined` if there is no such conversion. */
export function conversionOf(
  from: AlgebraicType,
  to: AlgebraicType,
  typespace: Typespace = emptyTypespace,
): Conversion | undefined {
  if (typesEqual(from, to, typespace)) return unchanged;
  const fromKind = valueKindOf(from, typespace);
  const toKind = valueKindOf(to, typespace);
  if (toKind === 'string') {
    // The text of a long value can be too long.
    const canRaise = fromKind === 'composite' || fromKind === 'bytes';
    return { canRaise, convert: valueTextOf(from, typespace) };
  }
  if (fromKind === 'string') return toKind === 'composite' ? undefined : fromText(to, toKind);
  if (fromKind === 'composite' || toKind === 'composite') return undefined;
  if (fromKind === 'bytes' || toKind === 'bytes') return undefined;
  if (fromKind === 'enum' || toKind === 'enum') return undefined;
  return betweenScalars(fromKind, toKind);
}

/** Whether the numeric conversion keeps every value, or rounds it to the nearest float. */
export function isWidening(from: AlgebraicType, to: AlgebraicType): boolean {
  if (from.kind === to.kind) return isIntegerKind(from.kind) || isFloatKind(from.kind);
  if (isIntegerKind(from.kind)) {
    if (isFloatKind(to.kind)) return true;
    if (!isIntegerKind(to.kind)) return false;
    const inner = integerRange[from.kind];
    const outer = integerRange[to.kind];
    return inner.min >= outer.min && inner.max <= outer.max;
  }
  return from.kind === 'f32' && to.kind === 'f64';
}

/** The type that an Option carries, or `undefined` for any other type. */
export function optionInnerType(
  type: AlgebraicType,
  typespace: Typespace = emptyTypespace,
): AlgebraicType | undefined {
  const target = resolveType(type, typespace);
  if (specialKindOf(target) !== 'option') return undefined;
  return (target as SumType).variants[0]?.type;
}

const unchanged: Conversion = { canRaise: false, convert: (value) => value };

function isFloatKind(kind: AlgebraicType['kind']): kind is 'f32' | 'f64' {
  return kind === 'f32' || kind === 'f64';
}

/** Times and ids are treated as the integers that they are. */
function betweenScalars(fromKind: ValueKind, toKind: ValueKind): Conversion | undefined {
  const from = scalarOfKind(fromKind);
  const to = scalarOfKind(toKind);
  if (from === undefined || to === undefined) return undefined;
  const isSpecial = from !== fromKind || to !== toKind;
  // Between two of the five, no conversion has an obvious meaning.
  if (from !== fromKind && to !== toKind) return undefined;
  if (isSpecial && (!isIntegerKind(from) || !isIntegerKind(to))) return undefined;
  if (from === 'bool') return isIntegerKind(to) ? fromBool(to) : undefined;
  if (to === 'bool') return isIntegerKind(from) ? toBool : undefined;
  if (isFloatKind(from)) {
    if (isIntegerKind(to)) return floatToInteger(to);
    return isFloatKind(to) ? floatToFloat(to) : undefined;
  }
  if (!isIntegerKind(from)) return undefined;
  if (isFloatKind(to)) return integerToFloat(to);
  return isIntegerKind(to) ? integerToInteger(from, to) : undefined;
}

function fromBool(to: IntegerKind): Conversion {
  const convert = isShort(to)
    ? (value: QueryValue) => (value === true ? 1 : 0)
    : (value: QueryValue) => (value === true ? 1n : 0n);
  return { canRaise: false, convert };
}

const toBool: Conversion = { canRaise: false, convert: (value) => value !== 0 && value !== 0n };

function floatToFloat(to: 'f32' | 'f64'): Conversion {
  if (to === 'f64') return unchanged;
  return { canRaise: false, convert: (value) => Math.fround(value as number) };
}

function integerToFloat(to: 'f32' | 'f64'): Conversion {
  const convert =
    to === 'f64'
      ? (value: QueryValue) => Number(value)
      : (value: QueryValue) => Math.fround(Number(value));
  return { canRaise: false, convert };
}

function floatToInteger(to: IntegerKind): Conversion {
  const { min, max } = integerRange[to];
  const isShortResult = isShort(to);
  const convert = (value: QueryValue) => {
    const whole = roundHalfToEven(value as number);
    // Between a float and a bigint the comparison is exact.
    if (!(whole >= min && whole <= max)) throw doesNotFit(String(value), to);
    return isShortResult ? whole + 0 : BigInt(whole);
  };
  return { canRaise: true, convert };
}

/** The nearest whole number; of two that are equally near, the even one. */
export function roundHalfToEven(value: number): number {
  const below = Math.floor(value);
  const rest = value - below;
  if (rest !== 0.5) return Math.round(value);
  return below % 2 === 0 ? below : below + 1;
}

function integerToInteger(from: IntegerKind, to: IntegerKind): Conversion {
  const { min, max } = integerRange[to];
  const canRaise = integerRange[from].min < min || integerRange[from].max > max;
  const check = (value: QueryValue): void => {
    const number = value as number | bigint;
    if (number < min || number > max) throw doesNotFit(String(value), to);
  };
  if (isShort(from) === isShort(to)) {
    if (!canRaise) return unchanged;
    return {
      canRaise,
      convert: (value) => {
        check(value);
        return value;
      },
    };
  }
  if (isShort(from)) {
    if (!canRaise) return { canRaise, convert: (value) => BigInt(value as number) };
    return {
      canRaise,
      convert: (value) => {
        check(value);
        return BigInt(value as number);
      },
    };
  }
  return {
    canRaise,
    convert: (value) => {
      check(value);
      return Number(value);
    },
  };
}

function isShort(kind: IntegerKind): boolean {
  return integerRange[kind].max <= 0xffff_ffffn;
}

function doesNotFit(value: string, to: IntegerKind): SqlFailure {
  return invalid(`Integer overflow: ${value} does not fit ${kindName(to)}`);
}

function fromText(to: AlgebraicType, kind: Exclude<ValueKind, 'string' | 'composite'>): Conversion {
  if (kind === 'timeDuration') {
    return { canRaise: true, convert: (value) => intervalFromText(value as string) };
  }
  if (kind === 'enum') return variantFromText(to);
  const parse =
    kind === 'bool'
      ? parseBool
      : kind === 'timestamp'
        ? momentFromText
        : isFloatKind(kind as ScalarKind)
          ? parseFloatOf(to)
          : parseLiteralOf(to);
  return {
    canRaise: true,
    convert: (value) => {
      const result = parse((value as string).trim());
      if (result === undefined) {
        throw invalid(`'${shortened(value as string)}' cannot be converted to ${kindText(kind)}`);
      }
      return result;
    },
  };
}

function variantFromText(to: AlgebraicType): Conversion {
  const names = enumNames(to) ?? [];
  return {
    canRaise: true,
    convert: (value) => {
      const tag = variantNamed(names, value as string);
      if (tag === undefined) throw invalid(notVariant(shortened(value as string), names));
      return tag;
    },
  };
}

function parseBool(text: string): boolean | undefined {
  switch (text.toLowerCase()) {
    case 'true':
    case 't':
    case 'yes':
    case 'on':
    case '1':
      return true;
    case 'false':
    case 'f':
    case 'no':
    case 'off':
    case '0':
      return false;
    default:
      return undefined;
  }
}

/** Also reads the text that a cast to String writes for such floats. */
function parseFloatOf(to: AlgebraicType): (text: string) => QueryValue | undefined {
  const parse = parseLiteralOf(to);
  return (text) => {
    const special = /^([+-]?)(nan|inf|infinity)$/i.exec(text);
    if (special === null) return parse(text);
    const [, sign, name = ''] = special;
    if (name.toLowerCase() === 'nan') return Number.NaN;
    return sign === '-' ? Number.NEGATIVE_INFINITY : Number.POSITIVE_INFINITY;
  };
}

function parseLiteralOf(to: AlgebraicType): (text: string) => QueryValue | undefined {
  return (text) => {
    const bytes = encodeLiteralText(text, to);
    if (bytes === undefined || to.kind === 'array') return bytes;
    const value = decodeValue(to, bytes);
    return Array.isArray(value) ? (value[0] as bigint) : (value as QueryValue);
  };
}

function kindText(kind: ValueKind): string {
  switch (kind) {
    case 'identity':
    case 'connectionId':
    case 'timestamp':
    case 'timeDuration':
      return kind.charAt(0).toUpperCase() + kind.slice(1);
    case 'uuid':
      return 'UUID';
    case 'bytes':
      return 'Array<U8>';
    case 'enum':
      return 'this enum';
    case 'composite':
      return 'this type';
    default:
      return kindName(kind);
  }
}

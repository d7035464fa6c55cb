import {
  bytesType,
  optionType,
  sum,
  timeDurationType,
  timestampType,
  unitType,
  uuidType,
} from '../../../src/values/special-types.ts';
import { timestampToText } from '../../../src/values/timestamp.ts';
import type { AlgebraicType } from '../../../src/values/type.ts';

export const integerKinds = [
  'i8',
  'u8',
  'i16',
  'u16',
  'i32',
  'u32',
  'i64',
  'u64',
  'i128',
  'u128',
  'i256',
  'u256',
] as const;
export type IntegerKind = (typeof integerKinds)[number];

/** The types that both engines have, by our names. */
export type Kind =
  | IntegerKind
  | 'f32'
  | 'f64'
  | 'bool'
  | 'string'
  | 'timestamp'
  | 'duration'
  | 'bytes'
  | 'uuid'
  | 'enum';

/**
 * A value that stands in neither engine's form: integers, timestamps and durations (microseconds)
 * are `bigint`; bytes are lower-case hex digits; a UUID is its text, an enum the name of its variant.
 */
export type Plain = bigint | number | boolean | string | null;

/** Bounds of what a number can be, both included; for fractions rounded outwards. */
export interface Range {
  readonly low: bigint;
  readonly high: bigint;
}

export type Dialect = 'ours' | 'postgres';

export function isInteger(kind: Kind): kind is IntegerKind {
  return (integerKinds as readonly Kind[]).includes(kind);
}

export function isNumber(kind: Kind): boolean {
  return isInteger(kind) || kind === 'f32' || kind === 'f64';
}

export function bitsOf(kind: IntegerKind): number {
  return Number(kind.slice(1));
}

export function isSigned(kind: IntegerKind): boolean {
  return kind.startsWith('i');
}

export function rangeOf(kind: IntegerKind): Range {
  const bits = BigInt(bitsOf(kind));
  return isSigned(kind)
    ? { low: -(2n ** (bits - 1n)), high: 2n ** (bits - 1n) - 1n }
    : { low: 0n, high: 2n ** bits - 1n };
}

export function isWithin(inner: Range, outer: Range): boolean {
  return inner.low >= outer.low && inner.high <= outer.high;
}

/** The kind in which two numbers meet: the smallest that holds both; `f64` with any fraction. */
export function promote(a: Kind, b: Kind): Kind {
  if (a === b) return a;
  if (!isInteger(a) || !isInteger(b)) return 'f64';
  const wanted = {
    low: min(rangeOf(a).low, rangeOf(b).low),
    high: max(rangeOf(a).high, rangeOf(b).high),
  };
  const holding = integerKinds
    .filter((kind) => isWithin(wanted, rangeOf(kind)))
    .sort((x, y) => bitsOf(x) - bitsOf(y));
  return holding[0] ?? 'i256';
}

export function min(a: bigint, b: bigint): bigint {
  return a < b ? a : b;
}

export function max(a: bigint, b: bigint): bigint {
  return a > b ? a : b;
}

export function typeOf(kind: Kind): AlgebraicType {
  switch (kind) {
    case 'timestamp':
      return timestampType;
    case 'duration':
      return timeDurationType;
    case 'bytes':
      return bytesType;
    case 'uuid':
      return uuidType;
    case 'enum':
      return enumType;
    default:
      return { kind };
  }
}

/** The order of the names is that of their declaration, so that PostgreSQL has it for its texts. */
export const variants = ['done', 'inProgress', 'lost', 'todo'];

const enumType: AlgebraicType = sum(...variants.map((name) => [name, unitType] as const));

export function columnTypeOf(kind: Kind, isOption: boolean): AlgebraicType {
  return isOption ? optionType(typeOf(kind)) : typeOf(kind);
}

/**
 * Integers of every width are `numeric` over there, so that width is checked where we check it and
 * nowhere else; a duration is its number of microseconds, because an interval has months and days.
 */
export function postgresTypeOf(kind: Kind): string {
  switch (kind) {
    case 'f32':
      return 'float4';
    case 'f64':
      return 'float8';
    case 'bool':
      return 'boolean';
    case 'string':
      return 'text COLLATE "C"';
    case 'timestamp':
      return 'timestamptz';
    case 'bytes':
      return 'bytea';
    case 'uuid':
      return 'uuid';
    // The table adds which texts there are.
    case 'enum':
      return 'text COLLATE "C"';
    default:
      return 'numeric';
  }
}

/** The name of a type in CAST. */
export function castNameOf(kind: Kind): string {
  const names: Partial<Record<Kind, string>> = {
    string: 'String',
    bool: 'Bool',
    timestamp: 'timestamp',
    duration: 'interval',
    bytes: 'bytea',
    uuid: 'uuid',
  };
  return names[kind] ?? kind.toUpperCase();
}

/** A literal that takes its type from its place in our dialect, and carries it in the other. */
export function literalText(kind: Kind, value: Plain, dialect: Dialect): string {
  return dialect === 'ours' ? ourLiteral(kind, value) : postgresLiteral(kind, value);
}

function ourLiteral(kind: Kind, value: Plain): string {
  if (value === null) return 'NULL';
  switch (kind) {
    case 'string':
    case 'enum':
      return quoted(String(value));
    case 'bool':
      return value === true ? 'TRUE' : 'FALSE';
    case 'timestamp':
      return `TIMESTAMP '${timestampToText(value as bigint)}'`;
    case 'duration':
      return `INTERVAL '${value} microseconds'`;
    case 'bytes':
      return `0x${value}`;
    case 'uuid':
      return `UUID '${value}'`;
    case 'f32':
    case 'f64':
      return fractionText(value as number);
    default:
      return String(value);
  }
}

function postgresLiteral(kind: Kind, value: Plain): string {
  if (value === null) return `CAST(NULL AS ${postgresTypeOf(kind).split(' ')[0]})`;
  switch (kind) {
    case 'string':
    case 'enum':
      return `${quoted(String(value))}::text`;
    case 'bool':
      return value === true ? 'TRUE' : 'FALSE';
    case 'timestamp':
      return `TIMESTAMPTZ '${timestampToText(value as bigint)}'`;
    case 'bytes':
      return `'\\x${value}'::bytea`;
    case 'uuid':
      return `UUID '${value}'`;
    case 'f32':
    case 'f64':
      return `(${fractionText(value as number)})::${postgresTypeOf(kind)}`;
    default:
      return `(${value})::numeric`;
  }
}

/** Always with a fraction: without one, a literal alone would be an integer. */
function fractionText(value: number): string {
  const text = String(value);
  return /^-?\d+$/.test(text) ? `${text}.0` : text;
}

function quoted(text: string): string {
  return `'${text.replaceAll("'", "''")}'`;
}

/**
 * One form for all equal values. Values have it already, except floats: SQL has one zero and one
 * NaN, their encoding has two and many.
 */
import { decodeValue } from '../../values/decode.ts';
import { encodeValue } from '../../values/encode.ts';
import { perType } from '../../values/per-type.ts';
import { type AlgebraicType, emptyTypespace, type Typespace } from '../../values/type.ts';
import { resolveType } from '../../values/typespace.ts';
import type { SumValue, Value } from '../../values/value.ts';
import type { QueryValue } from './function.ts';
import { scalarOfKind, valueKindOf } from './value-kind.ts';

/** Whether equal values of the type can have different encodings: there is a float inside. */
export const hasFloats: (type: AlgebraicType, typespace?: Typespace) => boolean = perType(
  (type, typespace) => contains(type, typespace, ({ kind }) => kind === 'f32' || kind === 'f64'),
);

/** Whether the type cannot be understood without a typespace. */
export const hasRefs: (type: AlgebraicType) => boolean = perType((type) =>
  contains(type, undefined, ({ kind }) => kind === 'ref'),
);

/** For values that are not null. */
export function canonicalOf(
  type: AlgebraicType,
  typespace: Typespace = emptyTypespace,
): (value: QueryValue) => QueryValue {
  if (!hasFloats(type, typespace)) return (value) => value;
  if (scalarOfKind(valueKindOf(type, typespace)) !== undefined) {
    return (value) => oneFloat(value as number);
  }
  if (type.kind === 'array' && isFloat(type.element)) {
    const { kind } = type.element;
    return (value) => withOneFloatEach(kind, value as Uint8Array);
  }
  return (value) => {
    const decoded = decodeValue(type, value as Uint8Array, typespace);
    return encodeValue(type, withOneFloat(decoded), typespace);
  };
}

/**
 * The value that a `Set` distinguishes exactly when SQL does. It takes zeros of both signs, and all
 * NaN, as one, but byte arrays by identity.
 */
export function setKeyOf(
  type: AlgebraicType,
  typespace: Typespace = emptyTypespace,
): (value: QueryValue) => QueryValue {
  if (scalarOfKind(valueKindOf(type, typespace)) !== undefined) return (value) => value;
  const canonical = canonicalOf(type, typespace);
  return (value) => textOfBytes(canonical(value) as Uint8Array);
}

/** Follows refs if a typespace is given; otherwise `isSought` tests them like other types. */
function contains(
  type: AlgebraicType,
  typespace: Typespace | undefined,
  isSought: (type: AlgebraicType) => boolean,
): boolean {
  const seen = new Set<AlgebraicType>();
  const search = (current: AlgebraicType): boolean => {
    const target = typespace === undefined ? current : resolveType(current, typespace);
    if (seen.has(target)) return false;
    seen.add(target);
    switch (target.kind) {
      case 'product':
        return target.elements.some((element) => search(element.type));
      case 'sum':
        return target.variants.some((variant) => search(variant.type));
      case 'array':
        return search(target.element);
      default:
        return isSought(target);
    }
  };
  return search(type);
}

type FloatKind = 'f32' | 'f64';

function isFloat(type: AlgebraicType): type is AlgebraicType & { readonly kind: FloatKind } {
  return type.kind === 'f32' || type.kind === 'f64';
}

/** The encoding of an array of floats, each in its one form: in place, however many there are. */
function withOneFloatEach(kind: FloatKind, encoded: Uint8Array): Uint8Array {
  const bytes = encoded.slice();
  const view = new DataView(bytes.buffer, bytes.byteOffset, bytes.length);
  const size = kind === 'f32' ? 4 : 8;
  for (let at = 4; at < bytes.length; at += size) {
    const value = size === 4 ? view.getFloat32(at, true) : view.getFloat64(at, true);
    if (value !== 0 && !Number.isNaN(value)) continue;
    if (size === 4) view.setFloat32(at, oneFloat(value), true);
    else view.setFloat64(at, oneFloat(value), true);
  }
  return bytes;
}

function oneFloat(value: number): number {
  return Number.isNaN(value) ? Number.NaN : value + 0;
}

/** Numbers of integer types have one zero only and stay as they are. */
function withOneFloat(value: Value): Value {
  if (typeof value === 'number') return oneFloat(value);
  if (typeof value !== 'object' || value instanceof Uint8Array) return value;
  if (Array.isArray(value)) return (value as readonly Value[]).map(withOneFloat);
  const { tag, value: payload } = value as SumValue;
  return { tag, value: withOneFloat(payload) };
}

/**
 * Represents values in a `Map`: equal for equal values, different for different ones. A number that
 * is small enough is never a bigint, whatever its type.
 */
export type KeyPart = QueryValue;

/** Keys made from values, for sets that are filled by one expression and asked by another. */
export function keyPartOf(value: QueryValue): KeyPart {
  if (typeof value === 'bigint') return shortNumber(value);
  if (value instanceof Uint8Array) return textOfBytes(value);
  return value === 0 ? 0 : value;
}

/** A number instead of a bigint, if it is small enough. */
export function shortNumber(value: bigint): number | bigint {
  return value >= minSafe && value <= maxSafe ? Number(value) : value;
}

const minSafe = BigInt(Number.MIN_SAFE_INTEGER);
const maxSafe = BigInt(Number.MAX_SAFE_INTEGER);

/** One character for each byte: equal exactly for equal bytes. */
export function textOfBytes(bytes: Uint8Array): string {
  let text = '';
  for (let at = 0; at < bytes.length; at += bytesAtOnce) {
    text += String.fromCharCode(...bytes.subarray(at, at + bytesAtOnce));
  }
  return text;
}

/** A call takes a limited number of arguments. */
const bytesAtOnce = 4_096;

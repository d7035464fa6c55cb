import { readU16, readU32 } from '../values/read-bytes.ts';
import type { AlgebraicType, Typespace } from '../values/type.ts';
import { resolveType } from '../values/typespace.ts';

/**
 * A double made from the beginning of a key, in the order of keys: `a < b` implies `prefix(a) <=
 * prefix(b)`. Trees keep it beside each row, so that most comparisons read no row.
 */
export interface PrefixKind {
  readonly code: PrefixCode;
  /** True if equal prefixes mean equal values, as long as they are below 2^53 in magnitude. */
  readonly isExact: boolean;
}

export type PrefixCode = (typeof codes)[keyof typeof codes];

const codes = {
  none: 0,
  u8: 1,
  i8: 2,
  u16: 3,
  i16: 4,
  u32: 5,
  i32: 6,
  u64: 7,
  i64: 8,
  u128: 9,
  i128: 10,
  u256: 11,
  i256: 12,
  f32: 13,
  f64: 14,
  text: 15,
} as const;

/** Prefixes of this magnitude and beyond are rounded. */
export const exactPrefixLimit = 2 ** 53;

export function prefixKindOf(type: AlgebraicType, types: Typespace): PrefixKind {
  const resolved = resolveType(type, types);
  switch (resolved.kind) {
    case 'bool':
      return { code: codes.u8, isExact: true };
    case 'string':
      return { code: codes.text, isExact: false };
    case 'array': {
      const isBytes = resolveType(resolved.element, types).kind === 'u8';
      return { code: isBytes ? codes.text : codes.none, isExact: false };
    }
    case 'sum':
      // Only the tag: payloads of different variants have no common scale.
      return { code: codes.u8, isExact: resolved.variants.every((v) => isUnit(v.type, types)) };
    case 'product': {
      const [first, second] = resolved.elements;
      if (first === undefined) return { code: codes.none, isExact: false };
      const kind = prefixKindOf(first.type, types);
      return second === undefined ? kind : { code: kind.code, isExact: false };
    }
    case 'u128':
    case 'i128':
    case 'u256':
    case 'i256':
      return { code: codes[resolved.kind], isExact: false };
    default:
      return { code: codes[resolved.kind], isExact: true };
  }
}

/** Prefix of the encoded value at `at`. Never NaN. */
export function prefixOf(code: PrefixCode, bytes: Uint8Array, at: number): number {
  switch (code) {
    case codes.none:
      return 0;
    case codes.u8:
      return bytes[at] as number;
    case codes.i8:
      return ((bytes[at] as number) << 24) >> 24;
    case codes.u16:
      return readU16(bytes, at);
    case codes.i16:
      return (readU16(bytes, at) << 16) >> 16;
    case codes.u32:
      return readU32(bytes, at);
    case codes.i32:
      return readU32(bytes, at) | 0;
    case codes.u64:
      return readU32(bytes, at + 4) * 0x1_0000_0000 + readU32(bytes, at);
    case codes.i64:
      return (readU32(bytes, at + 4) | 0) * 0x1_0000_0000 + readU32(bytes, at);
    case codes.u128:
      return readU32(bytes, at + 12) * 0x1_0000 + readU16(bytes, at + 10);
    case codes.i128:
      return (readU32(bytes, at + 12) | 0) * 0x1_0000 + readU16(bytes, at + 10);
    case codes.u256:
      return readU32(bytes, at + 28) * 0x1_0000 + readU16(bytes, at + 26);
    case codes.i256:
      return (readU32(bytes, at + 28) | 0) * 0x1_0000 + readU16(bytes, at + 26);
    case codes.f32:
    case codes.f64:
      return floatPrefix(bytes, at, code);
    case codes.text:
      return textPrefix(bytes, at);
  }
}

function isUnit(type: AlgebraicType, types: Typespace): boolean {
  const resolved = resolveType(type, types);
  return resolved.kind === 'product' && resolved.elements.every((e) => isUnit(e.type, types));
}

/** NaN is above everything, so it shares the prefix of +Infinity. */
function floatPrefix(bytes: Uint8Array, at: number, code: PrefixCode): number {
  floatBits.setUint32(0, readU32(bytes, at), true);
  if (code === codes.f64) floatBits.setUint32(4, readU32(bytes, at + 4), true);
  const value = code === codes.f32 ? floatBits.getFloat32(0, true) : floatBits.getFloat64(0, true);
  return Number.isNaN(value) ? Number.POSITIVE_INFINITY : value;
}

const floatBits = new DataView(new ArrayBuffer(8));

/** The first six bytes, most significant first, padded with zeros. */
function textPrefix(bytes: Uint8Array, at: number): number {
  const length = readU32(bytes, at);
  const start = at + 4;
  let prefix = 0;
  for (let index = 0; index < 6; index++) {
    prefix = prefix * 256 + (index < length ? (bytes[start + index] as number) : 0);
  }
  return prefix;
}

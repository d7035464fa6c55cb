/**
 * The order of `compare.ts` over encoded values. Values that are equal in this order have encodings
 * of equal length, so skipping an equal pair requires measuring only one side.
 */
import { fixedSizeOf, readCount, scalarBytes, skipperOf } from './layout.ts';
import { perType } from './per-type.ts';
import type { AlgebraicType, NamedType, ScalarKind, Typespace } from './type.ts';
import { resolveType } from './typespace.ts';

/**
 * Compares the encoded values at `aOffset` of `a` and at `bOffset` of `b`; both must be valid. Only
 * the sign of the result matters.
 */
export type EncodedComparator = (
  a: Uint8Array,
  aOffset: number,
  b: Uint8Array,
  bOffset: number,
) => number;

export const encodedComparatorOf: (
  type: AlgebraicType,
  typespace?: Typespace,
) => EncodedComparator = perType((type, typespace) => {
  switch (type.kind) {
    case 'ref': {
      let target: EncodedComparator | undefined;
      return (a, aOffset, b, bOffset) => {
        target ??= encodedComparatorOf(resolveType(type, typespace), typespace);
        return target(a, aOffset, b, bOffset);
      };
    }
    case 'product':
      return productComparator(type.elements, typespace);
    case 'sum':
      return sumComparator(type.variants, typespace);
    case 'array':
      return type.element.kind === 'u8'
        ? compareCountedBytes
        : arrayComparator(type.element, typespace);
    case 'string':
      return compareCountedBytes;
    default:
      return scalarComparator(type.kind);
  }
});

function productComparator(
  elements: readonly NamedType[],
  typespace: Typespace,
): EncodedComparator {
  const [only] = elements;
  if (elements.length === 1 && only !== undefined) return encodedComparatorOf(only.type, typespace);
  const steps = elements.map((element) => ({
    compare: encodedComparatorOf(element.type, typespace),
    skip: skipperOf(element.type, typespace),
  }));
  return (a, aOffset, b, bOffset) => {
    let aAt = aOffset;
    let bAt = bOffset;
    for (const { compare, skip } of steps) {
      const order = compare(a, aAt, b, bAt);
      if (order !== 0) return order;
      const end = skip(a, aAt);
      bAt += end - aAt;
      aAt = end;
    }
    return 0;
  };
}

function sumComparator(variants: readonly NamedType[], typespace: Typespace): EncodedComparator {
  const comparators = variants.map((variant) => encodedComparatorOf(variant.type, typespace));
  return (a, aOffset, b, bOffset) => {
    const tag = a[aOffset] as number;
    const order = tag - (b[bOffset] as number);
    if (order !== 0) return order;
    const compare = comparators[tag];
    return compare === undefined ? 0 : compare(a, aOffset + 1, b, bOffset + 1);
  };
}

function arrayComparator(element: AlgebraicType, typespace: Typespace): EncodedComparator {
  const compare = encodedComparatorOf(element, typespace);
  const skip = skipperOf(element, typespace);
  const isEmpty = fixedSizeOf(element, typespace) === 0;
  return (a, aOffset, b, bOffset) => {
    const aCount = readCount(a, aOffset);
    const bCount = readCount(b, bOffset);
    const shared = isEmpty ? 0 : Math.min(aCount, bCount);
    let aAt = aOffset + 4;
    let bAt = bOffset + 4;
    for (let index = 0; index < shared; index += 1) {
      const order = compare(a, aAt, b, bAt);
      if (order !== 0) return order;
      const end = skip(a, aAt);
      bAt += end - aAt;
      aAt = end;
    }
    return aCount - bCount;
  };
}

/** Orders strings and byte arrays by their bytes, then the shorter first. */
function compareCountedBytes(
  a: Uint8Array,
  aOffset: number,
  b: Uint8Array,
  bOffset: number,
): number {
  const aCount = readCount(a, aOffset);
  const bCount = readCount(b, bOffset);
  const aEnd = aOffset + 4 + Math.min(aCount, bCount);
  for (let aAt = aOffset + 4, bAt = bOffset + 4; aAt < aEnd; aAt += 1, bAt += 1) {
    const difference = (a[aAt] as number) - (b[bAt] as number);
    if (difference !== 0) return difference;
  }
  return aCount - bCount;
}

function scalarComparator(kind: Exclude<ScalarKind, 'string'>): EncodedComparator {
  switch (kind) {
    case 'bool':
    case 'u8':
      return (a, aOffset, b, bOffset) => (a[aOffset] as number) - (b[bOffset] as number);
    case 'i8':
      return (a, aOffset, b, bOffset) =>
        signedByte(a[aOffset] as number) - signedByte(b[bOffset] as number);
    case 'u32':
      return (a, aOffset, b, bOffset) => readCount(a, aOffset) - readCount(b, bOffset);
    case 'i32':
      return (a, aOffset, b, bOffset) => (readCount(a, aOffset) | 0) - (readCount(b, bOffset) | 0);
    case 'f32':
      return compareF32;
    case 'f64':
      return compareF64;
    default:
      return integerComparator(scalarBytes[kind], kind.startsWith('i'));
  }
}

/** Compares little-endian integers of any width: sign first, then from the highest byte down. */
function integerComparator(width: number, isSigned: boolean): EncodedComparator {
  const top = width - 1;
  return (a, aOffset, b, bOffset) => {
    let left = a[aOffset + top] as number;
    let right = b[bOffset + top] as number;
    if (left !== right) {
      return isSigned ? signedByte(left) - signedByte(right) : left - right;
    }
    for (let index = top - 1; index >= 0; index -= 1) {
      left = a[aOffset + index] as number;
      right = b[bOffset + index] as number;
      if (left !== right) return left - right;
    }
    return 0;
  };
}

function signedByte(byte: number): number {
  return (byte << 24) >> 24;
}

function compareF32(a: Uint8Array, aOffset: number, b: Uint8Array, bOffset: number): number {
  return f32Rank(readCount(a, aOffset)) - f32Rank(readCount(b, bOffset));
}

/**
 * A number that orders like the float with these bits: magnitudes order like integers, zeros of
 * both signs rank 0, and every NaN ranks alike above infinity.
 */
function f32Rank(bits: number): number {
  const magnitude = bits & 0x7fff_ffff;
  if (magnitude > 0x7f80_0000) return 0x7f80_0001;
  return bits >= 0x8000_0000 ? -magnitude : magnitude;
}

function compareF64(a: Uint8Array, aOffset: number, b: Uint8Array, bOffset: number): number {
  const aHigh = readCount(a, aOffset + 4);
  const bHigh = readCount(b, bOffset + 4);
  const aLow = readCount(a, aOffset);
  const bLow = readCount(b, bOffset);
  if (aHigh === bHigh && aLow === bLow) return 0;
  const aNan = isNan64(aHigh, aLow);
  const bNan = isNan64(bHigh, bLow);
  if (aNan || bNan) return Number(aNan) - Number(bNan);
  const high = f64HighRank(aHigh) - f64HighRank(bHigh);
  if (high !== 0) return high;
  // The upper halves have equal rank; zeros of both signs can still differ in the sign bit.
  const aSigned = aHigh >= 0x8000_0000 ? -aLow : aLow;
  const bSigned = bHigh >= 0x8000_0000 ? -bLow : bLow;
  return aSigned - bSigned;
}

function isNan64(high: number, low: number): boolean {
  const magnitude = high & 0x7fff_ffff;
  return magnitude > 0x7ff0_0000 || (magnitude === 0x7ff0_0000 && low !== 0);
}

function f64HighRank(high: number): number {
  return high >= 0x8000_0000 ? -(high & 0x7fff_ffff) : high;
}

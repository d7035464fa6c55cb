/**
 * Stores floats, for generated codecs. A hardened realm replaces `DataView.prototype.setFloat64`
 * with a guarded one that takes 200 ns, and a store into a `Float64Array` is slow there too; so
 * there the bits are computed.
 */
import { isHardenedRealm } from './hardened-realm.ts';

/** Stores a little-endian 32-bit float; `value` is rounded to the nearest one. */
export function writeFloat32(view: DataView, at: number, value: number): void {
  if (isHardenedRealm) view.setUint32(at, float32Bits(value), true);
  else view.setFloat32(at, value, true);
}

/** Stores a little-endian 64-bit float. */
export function writeFloat64(view: DataView, at: number, value: number): void {
  if (isHardenedRealm) writeFloat64Bits(view, at, value);
  else view.setFloat64(at, value, true);
}

/** The IEEE 754 bits of `value` rounded to 32-bit precision. Every NaN gives the same bits. */
export function float32Bits(value: number): number {
  const rounded = fround(value);
  if (isNotANumber(rounded)) return 0x7fc0_0000;
  const sign = rounded < 0 || (rounded === 0 && 1 / rounded < 0) ? 0x8000_0000 : 0;
  const magnitude = abs(rounded);
  if (magnitude === 1 / 0) return sign + 0x7f80_0000;
  // Below the normal numbers the bits count multiples of the smallest one.
  if (magnitude < 2 ** -126) return sign + magnitude * 2 ** 149;
  const exponent = exponentOf(magnitude);
  const fraction = magnitude * powerOf2(-exponent) - 1;
  return sign + (exponent + 127) * 2 ** 23 + fraction * 2 ** 23;
}

/** Stores the IEEE 754 bits of `value` at `at`. Every NaN gives the same bits. */
export function writeFloat64Bits(view: DataView, at: number, value: number): void {
  if (isNotANumber(value)) {
    writeWords(view, at, 0x7ff8_0000, 0);
    return;
  }
  const sign = value < 0 || (value === 0 && 1 / value < 0) ? 0x8000_0000 : 0;
  const magnitude = abs(value);
  if (magnitude === 1 / 0) {
    writeWords(view, at, sign + 0x7ff0_0000, 0);
    return;
  }
  const isNormal = magnitude >= 2 ** -1022;
  const exponent = isNormal ? exponentOf(magnitude) : -1022;
  // The fraction in units of 2^-20: its whole part goes into the upper word. Below the normal
  // numbers two steps, because 2^1022 and 2^20 together are beyond the largest power of two.
  const scaled = magnitude * powerOf2(-exponent) * 2 ** 20 - (isNormal ? 2 ** 20 : 0);
  const upper = floor(scaled);
  const biased = isNormal ? exponent + 1023 : 0;
  writeWords(view, at, sign + biased * 2 ** 20 + upper, (scaled - upper) * 2 ** 32);
}

function writeWords(view: DataView, at: number, upper: number, lower: number): void {
  view.setUint32(at, lower, true);
  view.setUint32(at + 4, upper, true);
}

/** The `e` with 2^e <= magnitude < 2^(e+1), for normal numbers. */
function exponentOf(magnitude: number): number {
  // The logarithm is rounded, possibly up to the next power.
  const exponent = min(floor(log2(magnitude)), 1023);
  return powerOf2(exponent) > magnitude ? exponent - 1 : exponent;
}

/** Exact powers of two, for exponents from -1023 to 1023. */
function powerOf2(exponent: number): number {
  return powersOf2[exponent + 1023] as number;
}

const powersOf2: readonly number[] = /* @__PURE__ */ Array.from({ length: 2047 }, (_, index) =>
  // Each half is exact; 2^-1023 is below the normal numbers.
  index < 1023 ? 1 / 2 ** (1023 - index) : 2 ** (index - 1023),
);

const { abs, floor, fround, log2, min } = Math;
const isNotANumber = Number.isNaN;

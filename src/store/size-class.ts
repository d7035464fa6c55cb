import { assert } from '../assert.ts';
import { limits } from '../limits.ts';
import { slotUnitBytes } from './row-ref.ts';

/**
 * Slot sizes. Up to 128 bytes there is a class every 8 bytes, above that eight classes per
 * doubling, so that at most an eighth of a slot is unused. A row whose slot would exceed half a
 * page has a page of its own and no class.
 */

/** Classes of the small sizes, 8 to 128 bytes. */
const smallClassCount = 16;

/** Largest slot that shares a page. */
export const sharedSlotBytesMax = limits.pageBytes / 2;

/** Class of the smallest slot that holds `bytes`; `bytes` is at most `sharedSlotBytesMax`. */
export function sizeClassOf(bytes: number): number {
  const units = (bytes + slotUnitBytes - 1) >>> 3;
  if (units <= smallClassCount) return units > 0 ? units - 1 : 0;
  const exponent = 31 - Math.clz32(units - 1);
  const step = (units - 1 - (1 << exponent)) >>> (exponent - 3);
  return smallClassCount + ((exponent - 4) << 3) + step;
}

/** Bytes of each slot of a class. */
export function slotBytesOf(sizeClass: number): number {
  if (sizeClass < smallClassCount) return (sizeClass + 1) * slotUnitBytes;
  const exponent = 4 + ((sizeClass - smallClassCount) >>> 3);
  const step = (sizeClass - smallClassCount) & 7;
  return ((1 << exponent) + ((step + 1) << (exponent - 3))) * slotUnitBytes;
}

export const sizeClassCount = sizeClassOf(sharedSlotBytesMax) + 1;

assert(slotBytesOf(sizeClassCount - 1) === sharedSlotBytesMax, 'the last class is half a page');

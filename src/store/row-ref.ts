import { assert } from '../assert.ts';
import type { Brand } from '../brand.ts';
import { limits } from '../limits.ts';

/**
 * Names the slot of one row of one table: page number and position in the page, in one number.
 *
 * ```
 *  bit 31   30 ........ 17   16 ........ 0
 *    0      page, from 1     offset / 8
 * ```
 *
 * A ref fits a small integer of the engine's JavaScript machine, so lists of refs are
 * `Int32Array`s. 0 is never a ref. A ref is valid from the insert of its row until the transaction
 * that deletes the row ends; after that the slot may hold another row.
 */
export type RowRef = Brand<number, 'RowRef'>;

/** Refs of a materialised scan. */
export type RowRefs = Int32Array;

/** Mints a ref from a place in the pages, or from an array of refs; the place is not checked. */
export function rowRef(raw: number): RowRef {
  return raw as RowRef;
}

export const noRow: RowRef = 0 as RowRef;

/** Slots begin at multiples of this many bytes. */
export const slotUnitBytes = 8;

/** `ref >>> pageShift` is the page number. */
export const pageShift = 17;

/** `ref & offsetMask` is the offset in units. */
export const offsetMask = (1 << pageShift) - 1;

/** Pages of one table; number 0 is not used, so that no ref is 0. */
export const pageCountMax = (1 << (31 - pageShift)) - 1;

assert(limits.pageBytes <= slotUnitBytes << pageShift, 'every offset in a page must fit a ref');
assert(limits.pageBytes % slotUnitBytes === 0, 'pages hold whole units');

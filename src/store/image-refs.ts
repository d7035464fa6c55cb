import { ImageError, type ImageReader, type ImageWriter } from './image-bytes.ts';
import type { RefQueue } from './ref-queue.ts';
import type { RowRanks } from './row-ranks.ts';
import { type RowRef, rowRef } from './row-ref.ts';

/**
 * Replaces refs in ascending order by the numbers of their rows, and returns how many have one:
 * they are at the front.
 */
export function rankRefs(refs: Int32Array, ranks: RowRanks): number {
  let count = 0;
  for (let at = 0; at < refs.length; at++) {
    const rank = ranks.rankOf(refs[at] as RowRef);
    if (rank >= 0) refs[count++] = rank;
  }
  return count;
}

/** Writes `count` numbers of rows in ascending order, all greater than `after`: by differences. */
export function writeRanks(
  into: ImageWriter,
  numbers: Int32Array,
  count: number,
  after = -1,
): void {
  into.varint(count);
  let before = after;
  for (let at = 0; at < count; at++) {
    const number = numbers[at] as number;
    into.varint(number - before - 1);
    before = number;
  }
}

/**
 * Reads what `writeRanks` wrote: appends the rows to `refs`, in ascending order of their numbers,
 * and returns the last number. Throws `ImageError`.
 */
export function readRefs(
  from: ImageReader,
  rows: RefQueue,
  refs: { push(ref: RowRef): void },
  after = -1,
): number {
  let number = after;
  for (let left = from.varint(); left > 0; left--) {
    number += 1 + from.varint();
    if (number >= rows.end) throw new ImageError(`there is no row ${number}`);
    refs.push(rows.at(number));
  }
  return number;
}

/** The rows of a list, each once, in ascending order. */
export function ascending(refs: Int32Array): Int32Array {
  for (let at = 1; at < refs.length; at++) {
    if ((refs[at] as number) < (refs[at - 1] as number)) return refs.sort();
  }
  return refs;
}

/** Reads one number of a row. Throws `ImageError`. */
export function readRow(from: ImageReader, rows: RefQueue): RowRef {
  return rowRef(rows.at(from.below(rows.end, 'the number of a row')));
}

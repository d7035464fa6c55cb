import { hashBytes } from '../values/hash.ts';
import { changesOf, type RowChanges } from './live-update.ts';
import { type RowSet, RowSetBuilder } from './row-set.ts';
import { eachPicked } from './source-changes.ts';

/**
 * Rows with a count each, which can be negative: copies gained minus copies lost. Rows with equal
 * bytes are one. The bytes stay where they are and must not change meanwhile.
 */
export class RowBag {
  /** By hash of the row; rows with the same hash are chained. */
  readonly #entries = new Map<number, Entry>();

  /**
   * Adds `count` copies, which can be negative, of the row `bytes[start, end)`; returns the new
   * count.
   */
  add(count: number, bytes: Uint8Array, start: number, end: number): number {
    const hash = hashBytes(bytes, start, end);
    const first = this.#entries.get(hash);
    for (let entry = first; entry !== undefined; entry = entry.next) {
      if (!isRow(entry, bytes, start, end)) continue;
      entry.count += count;
      return entry.count;
    }
    this.#entries.set(hash, { bytes, start, end, count, next: first });
    return count;
  }

  /** The rows with a count above zero, each that many times, and those below. */
  surplus(): { readonly gained: RowSet; readonly lost: RowSet } {
    const gained = new RowSetBuilder();
    const lost = new RowSetBuilder();
    for (const first of this.#entries.values()) {
      for (let entry: Entry | undefined = first; entry !== undefined; entry = entry.next) {
        const { bytes, start, end, count } = entry;
        for (let copy = 0; copy < count; copy++) gained.add(bytes, start, end);
        for (let copy = 0; copy > count; copy--) lost.add(bytes, start, end);
      }
    }
    return { gained: gained.finish(), lost: lost.finish() };
  }
}

/** The difference from the rows of one moment to those of a later one; `undefined` if none. */
export function rowDifference(before: RowSet, after: RowSet): RowChanges | undefined {
  const bag = new RowBag();
  eachPicked(before, undefined, (start, end) => bag.add(-1, before.data, start, end));
  eachPicked(after, undefined, (start, end) => bag.add(1, after.data, start, end));
  const { gained, lost } = bag.surplus();
  return changesOf(gained, lost);
}

/** Each row of several sets once, in the order of first occurrence. */
export function distinctRows(sets: readonly RowSet[]): RowSet {
  const bag = new RowBag();
  const found = new RowSetBuilder();
  for (const rows of sets) {
    const { data } = rows;
    eachPicked(rows, undefined, (start, end) => {
      if (bag.add(1, data, start, end) === 1) found.add(data, start, end);
    });
  }
  return found.finish();
}

interface Entry {
  readonly bytes: Uint8Array;
  readonly start: number;
  readonly end: number;
  count: number;
  readonly next: Entry | undefined;
}

function isRow(entry: Entry, bytes: Uint8Array, start: number, end: number): boolean {
  if (entry.end - entry.start !== end - start) return false;
  for (let at = start, other = entry.start; at < end; at++, other++) {
    if (bytes[at] !== entry.bytes[other]) return false;
  }
  return true;
}

import { hashBytes } from '../values/hash.ts';
import { changesOf, type RowChanges } from './live-update.ts';
import { compareRows, type RowPlace, type RowSet, RowSetBuilder } from './row-set.ts';
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

  /** The rows with a count above zero, each that many times, and those below; as first added. */
  surplus(): Surplus {
    const surplus = new SurplusBuilder();
    for (const first of this.#entries.values()) {
      for (let entry: Entry | undefined = first; entry !== undefined; entry = entry.next) {
        surplus.add(entry);
      }
    }
    return surplus.finish();
  }

  /** The same in the order of `compareRows`, for rows that were added as they are stored. */
  surplusInOrder(): Surplus {
    const changed: Entry[] = [];
    for (const first of this.#entries.values()) {
      for (let entry: Entry | undefined = first; entry !== undefined; entry = entry.next) {
        if (entry.count !== 0) changed.push(entry);
      }
    }
    const surplus = new SurplusBuilder();
    for (const entry of changed.sort(compareRows)) surplus.add(entry);
    return surplus.finish();
  }
}

interface Surplus {
  readonly gained: RowSet;
  readonly lost: RowSet;
}

class SurplusBuilder {
  readonly #gained = new RowSetBuilder();
  readonly #lost = new RowSetBuilder();

  add({ bytes, start, end, count }: Entry): void {
    for (let copy = 0; copy < count; copy++) this.#gained.add(bytes, start, end);
    for (let copy = 0; copy > count; copy--) this.#lost.add(bytes, start, end);
  }

  finish(): Surplus {
    return { gained: this.#gained.finish(), lost: this.#lost.finish() };
  }
}

/** The difference from the rows of one moment to those of a later one; `undefined` if none. */
export function rowDifference(before: RowSet, after: RowSet): RowChanges | undefined {
  const bag = new RowBag();
  eachPicked(before, undefined, (start, end) => bag.add(-1, before.data, start, end));
  eachPicked(after, undefined, (start, end) => bag.add(1, after.data, start, end));
  const { gained, lost } = bag.surplusInOrder();
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

interface Entry extends RowPlace {
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

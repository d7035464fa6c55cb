import type { RowHeap } from './row-heap.ts';
import { offsetMask, pageShift, type RowRef, slotUnitBytes } from './row-ref.ts';

/**
 * The order in which the rows of a table were written to a snapshot: refs to numbers, from 0.
 *
 * A table that is loaded has its rows at other places, so what a snapshot says about rows names
 * them by these numbers. One bit for each slot, and a count for each 32, take two bits a row.
 */
export class RowRanks {
  readonly #heap: RowHeap;
  readonly #pages: (RankedPage | undefined)[] = [];
  #count = 0;
  #bytes = 0;

  constructor(heap: RowHeap) {
    this.#heap = heap;
  }

  /** Rows that have a number. */
  get count(): number {
    return this.#count;
  }

  get bytes(): number {
    return this.#bytes;
  }

  /** Gives the next number to a row; refs ascend. */
  note(ref: RowRef): void {
    const page = this.#pages[ref >>> pageShift] ?? this.#begin(ref);
    const slot = slotOf(page, ref);
    const word = slot >>> 5;
    page.bits[word] = (page.bits[word] as number) | (1 << (slot & 31));
    if (page.last !== word) {
      page.before[word] = this.#count;
      page.last = word;
    }
    this.#count++;
  }

  /** The number of a row; -1: it has none. */
  rankOf(ref: RowRef): number {
    const page = this.#pages[ref >>> pageShift];
    if (page === undefined) return -1;
    const slot = slotOf(page, ref);
    const bits = page.bits[slot >>> 5] ?? 0;
    const bit = 1 << (slot & 31);
    if ((bits & bit) === 0) return -1;
    return (page.before[slot >>> 5] as number) + bitCount(bits & (bit - 1));
  }

  #begin(ref: RowRef): RankedPage {
    const slotBytes = this.#heap.slotBytesOf(ref);
    const words = (Math.ceil(this.#heap.pageOf(ref).length / slotBytes) + 31) >>> 5;
    const page = {
      slotUnits: slotBytes / slotUnitBytes,
      bits: new Int32Array(words),
      before: new Int32Array(words),
      last: -1,
    };
    this.#pages[ref >>> pageShift] = page;
    this.#bytes += words * 8;
    return page;
  }
}

interface RankedPage {
  readonly slotUnits: number;
  readonly bits: Int32Array;
  /** By word of `bits`: the number of its first row. */
  readonly before: Int32Array;
  /** The word of the row that was noted last. */
  last: number;
}

function slotOf({ slotUnits }: RankedPage, ref: RowRef): number {
  return Math.trunc((ref & offsetMask) / slotUnits);
}

function bitCount(bits: number): number {
  let rest = bits - ((bits >>> 1) & 0x5555_5555);
  rest = (rest & 0x3333_3333) + ((rest >>> 2) & 0x3333_3333);
  return Math.imul((rest + (rest >>> 4)) & 0x0f0f_0f0f, 0x0101_0101) >>> 24;
}

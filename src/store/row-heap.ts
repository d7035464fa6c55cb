import { assert } from '../assert.ts';
import { limits } from '../limits.ts';
import type { RefList } from './ref-list.ts';
import { noRow, offsetMask, pageCountMax, pageShift, type RowRef, rowRef } from './row-ref.ts';
import { sharedSlotBytesMax, sizeClassCount, sizeClassOf, slotBytesOf } from './size-class.ts';

/**
 * The rows of one table, as bytes in pages.
 *
 * ```
 * page   = slot | slot | slot | ...            all slots of a page have one size
 * slot   = header u32 | row bytes | unused      begins at a multiple of 8
 * header = state (bits 26..31) | row length (bits 0..25)
 * free   = 0 u32 | next free slot of the page u32 (a ref, 0 = none)
 * ```
 *
 * Pages of a size class double from `firstPageBytes` up to `limits.pageBytes`, so a table of three
 * rows costs kilobytes and a large one wastes less than a page per class. A page whose last row is
 * freed is released. A page never moves: its bytes stay valid for as long as one row in it does.
 *
 * While the table is pinned (`held-rows.ts`), the pages of the pinned moment are *closed*: rows are
 * placed after all others in them or not at all, and their numbers are not reused, so the place of
 * a row tells whether it is older than the moment.
 */
export const headerBytes = 4;

/** States of a slot. */
export const slotFree = 0;
/** Visible, present before the open transaction. */
export const slotCommitted = 1;
/** Visible, inserted by the open transaction. */
export const slotInserted = 2;
/** Not visible: was `slotCommitted`, deleted by the open transaction. */
export const slotDeleted = 3;
/** Not visible: was `slotInserted`, deleted by the same transaction. */
export const slotCancelled = 4;
/**
 * Not visible, deleted by a commit, kept for a pin: this state and the `slotHeldCount - 1` after
 * it, which distinguish pins of different moments.
 */
export const slotHeld = 5;

const stateShift = 26;
/** Number of states of a slot. */
export const slotStateCount = 64;
export const slotHeldCount = slotStateCount - slotHeld;

const lengthMask = (1 << 26) - 1;
const firstPageBytes = 1024;

assert(limits.rowBytesMax <= lengthMask, 'a row length must fit the header');

/** Book-keeping of one page; offsets are in bytes. */
interface Page {
  readonly number: number;
  readonly sizeClass: number;
  readonly slotBytes: number;
  readonly bytesEnd: number;
  /** Slots from here on have never been used. */
  fresh: number;
  /** First slot of the page's free list, 0 = none. */
  freeHead: RowRef;
  /** First slot of the free list while the page is closed: its free slots wait here. */
  closedHead: RowRef;
  usedSlots: number;
  /** True if it is on its class's list of pages with free slots. */
  isListed: boolean;
  isDropped: boolean;
}

const ownPage = -1;
const noBytes: Uint8Array = new Uint8Array(0);
const noWords = new Int32Array(0);

export class RowHeap {
  /** Bytes of each page, by page number; read them through `pageShift` and `offsetOf`. */
  readonly bytes: Uint8Array[] = [noBytes];
  /** The same buffers as 32-bit words, for headers. */
  readonly words: Int32Array[] = [noWords];
  readonly #pages: (Page | undefined)[] = [undefined];
  readonly #freeNumbers: number[] = [];
  /** By size class: the page that inserts go to, and other pages with free slots. */
  readonly #current: (Page | undefined)[] = new Array(sizeClassCount).fill(undefined);
  /** By size class: a page whose unused end is kept for the next time pages are closed. */
  readonly #spare: (Page | undefined)[] = new Array(sizeClassCount).fill(undefined);
  readonly #roomy: Page[][] = [];
  readonly #classBytes = new Float64Array(sizeClassCount);
  readonly #pageNumberMax: number;
  /** Pages with smaller numbers are closed. */
  #floor = 0;
  /** Numbers below the floor that belong to no page. */
  readonly #closedNumbers: number[] = [];
  /** Bytes of closed pages that hold no row. */
  #closedFreeBytes = 0;
  /** Pages from this number on were added while others were closed. */
  #firstLate = Number.POSITIVE_INFINITY;
  #lateBytes = 0;
  /** Free bytes lost to earlier closing, and bytes in use when the pages were opened again. */
  #debtBytes = 0;
  #openedUsedBytes = 0;
  #allocatedBytes = 0;
  #usedBytes = 0;
  #sourceBytes = noBytes;
  #source = viewOf(noBytes);
  #targetBytes = noBytes;
  #target = viewOf(noBytes);

  /** `pageNumberMax` is for tests of a full heap. */
  constructor(pageNumberMax: number = pageCountMax) {
    this.#pageNumberMax = pageNumberMax;
    for (let sizeClass = 0; sizeClass < sizeClassCount; sizeClass++) this.#roomy.push([]);
  }

  /** Bytes of all pages. */
  get allocatedBytes(): number {
    return this.#allocatedBytes;
  }

  /** Bytes of all slots that hold a row. */
  get usedBytes(): number {
    return this.#usedBytes;
  }

  /** All pages have smaller numbers. */
  get pageEnd(): number {
    return this.bytes.length;
  }

  /**
   * Bytes lost to closing pages: their free space, as far as new pages had to be added for it. Of
   * earlier losses, an amount equal to what rows take is disregarded.
   */
  get closedBytes(): number {
    const before = Math.max(0, this.#debtBytes - this.#usedBytes);
    return Math.min(this.#closedFreeBytes, this.#lateBytes + before);
  }

  /**
   * Copies a row into a slot, in state `state`, and returns its ref; `noRow` if the table has no
   * page number left, in which case nothing changes. Costs one copy, and allocates only new pages.
   */
  place(from: Uint8Array, at: number, length: number, state: number): RowRef {
    const ref = this.#allocate(length + headerBytes);
    if (ref === noRow) return noRow;
    const number = ref >>> pageShift;
    const words = this.words[number] as Int32Array;
    const header = (ref & offsetMask) << 1;
    words[header] = (state << stateShift) | length;
    if (length >= longBytes) {
      (this.bytes[number] as Uint8Array).set(from.subarray(at, at + length), (header + 1) << 2);
      return ref;
    }
    const view = this.#sourceOf(from);
    const whole = length >> 2;
    for (let word = 0; word < whole; word++) {
      words[header + 1 + word] = view.getInt32(at + (word << 2), true);
    }
    const bytes = this.bytes[number] as Uint8Array;
    const row = (header + 1) << 2;
    for (let byte = whole << 2; byte < length; byte++)
      bytes[row + byte] = from[at + byte] as number;
    return ref;
  }

  /** Copies the row to `into` at `at`, if it fits, and returns its length. */
  copy(ref: RowRef, into: Uint8Array, at: number): number {
    return this.copyInto(ref, into, this.#targetOf(into), at);
  }

  /** Like `copy`; `view` covers the whole of `into`. */
  copyInto(ref: RowRef, into: Uint8Array, view: DataView, at: number): number {
    const number = ref >>> pageShift;
    const words = this.words[number] as Int32Array;
    const bytes = this.bytes[number] as Uint8Array;
    const header = (ref & offsetMask) << 1;
    const length = (words[header] as number) & lengthMask;
    const row = (header + 1) << 2;
    assert(at + length <= into.length, 'the row fits where it is copied to');
    if (length >= longBytes) {
      into.set(bytes.subarray(row, row + length), at);
      return length;
    }
    const whole = length >> 2;
    for (let word = 0; word < whole; word++) {
      view.setInt32(at + (word << 2), words[header + 1 + word] as number, true);
    }
    for (let byte = whole << 2; byte < length; byte++)
      into[at + byte] = bytes[row + byte] as number;
    return length;
  }

  /** Releases the slot. The caller makes sure that nothing refers to it any more. */
  free(ref: RowRef): void {
    const number = ref >>> pageShift;
    const page = this.#pages[number] as Page;
    const words = this.words[number] as Int32Array;
    const word = (ref & offsetMask) << 1;
    assert((words[word] as number) >>> stateShift !== slotFree, 'a slot is freed once');
    this.#usedBytes -= page.slotBytes;
    page.usedSlots--;
    words[word] = 0;
    if (number < this.#floor) {
      this.#freeClosed(page, ref);
      return;
    }
    words[word + 1] = page.freeHead;
    page.freeHead = ref;
    if (page.sizeClass === ownPage) {
      this.#drop(page);
    } else if (page !== this.#current[page.sizeClass]) {
      if (page.usedSlots === 0) this.#drop(page);
      else if (!page.isListed && page !== this.#spare[page.sizeClass]) this.#list(page);
    }
  }

  /** Bytes of the row's slot. */
  slotBytesOf(ref: RowRef): number {
    return (this.#pages[ref >>> pageShift] as Page).slotBytes;
  }

  /** Closes all current pages. */
  closePages(): void {
    if (this.#floor === 0) this.#beginClosed();
    for (let number = Math.max(this.#floor, 1); number < this.pageEnd; number++) {
      const page = this.#pages[number];
      if (page === undefined) continue;
      page.closedHead = page.freeHead;
      page.freeHead = noRow;
      page.isListed = false;
    }
    this.#floor = this.pageEnd;
    for (const roomy of this.#roomy) if (roomy.length > 0) roomy.length = 0;
    for (const number of this.#freeNumbers) this.#closedNumbers.push(number);
    this.#freeNumbers.length = 0;
    this.#countClosed();
  }

  /** By page number: where the next row will go, in pages that still have room. */
  tails(): Map<number, number> {
    const tails = new Map<number, number>();
    for (const pages of [this.#current, this.#spare]) {
      for (const page of pages) {
        if (page !== undefined && hasTail(page)) tails.set(page.number, page.fresh);
      }
    }
    return tails;
  }

  /** True when no row was placed in these pages since. */
  areTails(tails: ReadonlyMap<number, number>): boolean {
    for (const [number, fresh] of tails) {
      if (this.#pages[number]?.fresh !== fresh) return false;
    }
    return true;
  }

  /** Opens the closed pages from number `floor` on; 0 opens all. */
  openPages(floor: number): void {
    const closedEnd = this.#floor;
    assert(floor <= closedEnd, 'pages are opened that were closed');
    if (floor === 0) this.#endClosed();
    this.#floor = floor;
    const roomy: Page[] = [];
    for (let number = Math.max(floor, 1); number < closedEnd; number++) {
      const page = this.#pages[number];
      if (page === undefined) continue;
      page.freeHead = page.closedHead;
      page.closedHead = noRow;
      const isFull = page.freeHead === noRow && !hasTail(page);
      if (!isFull && !this.#isChosen(page)) roomy.push(page);
    }
    // The fullest is filled first, so that the others become empty and can be released.
    for (const page of roomy.sort((a, b) => a.usedSlots - b.usedSlots)) this.#list(page);
    if (floor === 0) this.#spareTails();
    for (const number of this.#closedNumbers.splice(0)) {
      if (number < floor) this.#closedNumbers.push(number);
      else this.#freeNumbers.push(number);
    }
    this.#countClosed();
  }

  stateOf(ref: RowRef): number {
    const words = this.words[ref >>> pageShift] as Int32Array;
    return (words[(ref & offsetMask) << 1] as number) >>> stateShift;
  }

  setState(ref: RowRef, state: number): void {
    const words = this.words[ref >>> pageShift] as Int32Array;
    const word = (ref & offsetMask) << 1;
    words[word] = (state << stateShift) | ((words[word] as number) & lengthMask);
  }

  /** Bytes of the row. */
  lengthOf(ref: RowRef): number {
    const words = this.words[ref >>> pageShift] as Int32Array;
    return (words[(ref & offsetMask) << 1] as number) & lengthMask;
  }

  /** The page that holds the row; the row begins at `offsetOf(ref)`. */
  pageOf(ref: RowRef): Uint8Array {
    return this.bytes[ref >>> pageShift] as Uint8Array;
  }

  /** True when the slot of `ref` holds exactly these bytes. */
  rowEquals(ref: RowRef, bytes: Uint8Array, at: number, length: number): boolean {
    const number = ref >>> pageShift;
    const words = this.words[number] as Int32Array;
    const header = (ref & offsetMask) << 1;
    if (((words[header] as number) & lengthMask) !== length) return false;
    const view = this.#sourceOf(bytes);
    const whole = length >> 2;
    for (let word = 0; word < whole; word++) {
      if (words[header + 1 + word] !== view.getInt32(at + (word << 2), true)) return false;
    }
    const page = this.bytes[number] as Uint8Array;
    const row = (header + 1) << 2;
    for (let byte = whole << 2; byte < length; byte++) {
      if (page[row + byte] !== bytes[at + byte]) return false;
    }
    return true;
  }

  /** The next visible row after `ref` in storage order (`noRow`: from the start), or `noRow`. */
  nextVisible(ref: RowRef): RowRef {
    let number = ref >>> pageShift;
    let from = ref === noRow ? -1 : (ref & offsetMask) << 3;
    for (; number < this.bytes.length; number++, from = -1) {
      const page = this.#pages[number];
      if (page === undefined) continue;
      const words = this.words[number] as Int32Array;
      // The page may have been replaced since by one with slots of another size.
      const start = from < 0 ? 0 : from - (from % page.slotBytes) + page.slotBytes;
      for (let offset = start; offset < page.fresh; offset += page.slotBytes) {
        const state = (words[offset >> 2] as number) >>> stateShift;
        if (isVisible(state)) return rowRef((number << pageShift) | (offset >> 3));
      }
    }
    return noRow;
  }

  /**
   * The next row after `ref` among those in pages below `pageEnd`, before the tails, whose state is
   * marked in `seen`.
   */
  nextSeen(ref: RowRef, { pageEnd, tails, seen }: Sight): RowRef {
    let number = ref >>> pageShift;
    let from = ref === noRow ? -1 : (ref & offsetMask) << 3;
    for (; number < pageEnd; number++, from = -1) {
      const page = this.#pages[number];
      if (page === undefined) continue;
      const words = this.words[number] as Int32Array;
      const start = from < 0 ? 0 : from + page.slotBytes;
      const end = tails.get(number) ?? page.fresh;
      for (let offset = start; offset < end; offset += page.slotBytes) {
        const state = (words[offset >> 2] as number) >>> stateShift;
        if (seen[state] === 1) return rowRef((number << pageShift) | (offset >> 3));
      }
    }
    return noRow;
  }

  /** The next visible row inserted since: after the tails, or in later pages. */
  nextLater(ref: RowRef, { pageEnd, tails }: Omit<Sight, 'seen'>): RowRef {
    let number = ref >>> pageShift;
    let from = ref === noRow ? -1 : (ref & offsetMask) << 3;
    for (; number < this.bytes.length; number++, from = -1) {
      const page = this.#pages[number];
      const first = number < pageEnd ? tails.get(number) : 0;
      if (page === undefined || first === undefined) continue;
      const words = this.words[number] as Int32Array;
      const start = from < 0 ? first : from + page.slotBytes;
      for (let offset = start; offset < page.fresh; offset += page.slotBytes) {
        const state = (words[offset >> 2] as number) >>> stateShift;
        if (isVisible(state)) return rowRef((number << pageShift) | (offset >> 3));
      }
    }
    return noRow;
  }

  /** Appends all visible rows to `into`, in storage order. */
  collectVisible(into: RefList): void {
    for (let number = 1; number < this.#pages.length; number++) {
      const page = this.#pages[number];
      if (page === undefined) continue;
      const words = this.words[number] as Int32Array;
      const base = number << pageShift;
      for (let offset = 0; offset < page.fresh; offset += page.slotBytes) {
        const state = (words[offset >> 2] as number) >>> stateShift;
        if (isVisible(state)) into.push((base | (offset >> 3)) as RowRef);
      }
    }
  }

  /** A view of the buffer that is read or compared: nearly always the same one. */
  #sourceOf(bytes: Uint8Array): DataView {
    if (bytes === this.#sourceBytes) return this.#source;
    this.#sourceBytes = bytes;
    this.#source = viewOf(bytes);
    return this.#source;
  }

  /** A view of the buffer that is written to. */
  #targetOf(bytes: Uint8Array): DataView {
    if (bytes === this.#targetBytes) return this.#target;
    this.#targetBytes = bytes;
    this.#target = viewOf(bytes);
    return this.#target;
  }

  #allocate(slotBytes: number): RowRef {
    if (slotBytes > sharedSlotBytesMax) return this.#allocateOwnPage(slotBytes);
    const sizeClass = sizeClassOf(slotBytes);
    let page = this.#current[sizeClass];
    if (page === undefined || (page.freeHead === noRow && !hasTail(page))) {
      page = this.#takePage(sizeClass);
      if (page === undefined) return noRow;
    }
    page.usedSlots++;
    this.#usedBytes += page.slotBytes;
    const ref = page.freeHead;
    if (ref === noRow) {
      const offset = page.fresh;
      page.fresh = offset + page.slotBytes;
      return rowRef((page.number << pageShift) | (offset >> 3));
    }
    const words = this.words[page.number] as Int32Array;
    page.freeHead = words[((ref & offsetMask) << 1) + 1] as RowRef;
    return ref;
  }

  /** Makes another page the current one of its class: one with free slots, or a new one. */
  #takePage(sizeClass: number): Page | undefined {
    const roomy = this.#roomy[sizeClass] as Page[];
    for (let page = roomy.pop(); page !== undefined; page = roomy.pop()) {
      page.isListed = false;
      if (page.isDropped) continue;
      this.#current[sizeClass] = page;
      return page;
    }
    const spare = this.#spare[sizeClass];
    if (spare !== undefined) {
      this.#spare[sizeClass] = undefined;
      this.#current[sizeClass] = spare;
      return spare;
    }
    const slotBytes = slotBytesOf(sizeClass);
    const wanted = Math.max(firstPageBytes, this.#classBytes[sizeClass] as number);
    const bytes = Math.max(1, Math.floor(Math.min(wanted, limits.pageBytes) / slotBytes));
    const page = this.#addPage(sizeClass, slotBytes, bytes * slotBytes);
    if (page === undefined) return undefined;
    this.#classBytes[sizeClass] = (this.#classBytes[sizeClass] as number) + page.bytesEnd;
    this.#current[sizeClass] = page;
    return page;
  }

  #allocateOwnPage(slotBytes: number): RowRef {
    const rounded = (slotBytes + 7) & ~7;
    const page = this.#addPage(ownPage, rounded, rounded);
    if (page === undefined) return noRow;
    page.fresh = rounded;
    page.usedSlots = 1;
    this.#usedBytes += rounded;
    return rowRef(page.number << pageShift);
  }

  #addPage(sizeClass: number, slotBytes: number, bytes: number): Page | undefined {
    const number = this.#freeNumbers.pop() ?? this.bytes.length;
    if (number > this.#pageNumberMax) return undefined;
    const buffer = new ArrayBuffer(bytes);
    const page: Page = {
      number,
      sizeClass,
      slotBytes,
      bytesEnd: bytes,
      fresh: 0,
      freeHead: noRow,
      closedHead: noRow,
      usedSlots: 0,
      isListed: false,
      isDropped: false,
    };
    this.bytes[number] = new Uint8Array(buffer);
    this.words[number] = new Int32Array(buffer);
    this.#pages[number] = page;
    this.#allocatedBytes += bytes;
    if (number >= this.#firstLate) this.#lateBytes += bytes;
    return page;
  }

  /**
   * Fills free space in other pages before a page that was added while those were closed: its end
   * is needed for the next closing, which would otherwise add a page each time.
   */
  #spareTails(): void {
    for (let sizeClass = 0; sizeClass < sizeClassCount; sizeClass++) {
      const page = this.#current[sizeClass];
      const hasOthers = (this.#roomy[sizeClass] as Page[]).length > 0;
      if (page === undefined || !hasOthers || !hasTail(page)) continue;
      if (this.#spare[sizeClass] !== undefined) continue;
      this.#spare[sizeClass] = page;
      this.#current[sizeClass] = undefined;
    }
  }

  #isChosen(page: Page): boolean {
    return page === this.#current[page.sizeClass] || page === this.#spare[page.sizeClass];
  }

  /** Adds a page to its class's list of pages with free slots. */
  #list(page: Page): void {
    page.isListed = true;
    (this.#roomy[page.sizeClass] as Page[]).push(page);
  }

  #freeClosed(page: Page, ref: RowRef): void {
    const words = this.words[page.number] as Int32Array;
    words[((ref & offsetMask) << 1) + 1] = page.closedHead;
    page.closedHead = ref;
    this.#closedFreeBytes += page.slotBytes;
    if (page.usedSlots === 0 && page !== this.#current[page.sizeClass]) this.#drop(page);
  }

  /** Rows inserted since the pages were opened have used some of the room lost to closing. */
  #beginClosed(): void {
    const refilled = Math.max(0, this.#usedBytes - this.#openedUsedBytes);
    const free = this.#allocatedBytes - this.#usedBytes;
    this.#debtBytes = Math.min(free, Math.max(0, this.#debtBytes - refilled));
    this.#firstLate = this.pageEnd;
  }

  #endClosed(): void {
    this.#debtBytes = Math.min(this.#closedFreeBytes, this.#lateBytes + this.#debtBytes);
    this.#openedUsedBytes = this.#usedBytes;
    this.#firstLate = Number.POSITIVE_INFINITY;
    this.#lateBytes = 0;
  }

  #countClosed(): void {
    let free = 0;
    for (let number = 1; number < this.#floor; number++) {
      const page = this.#pages[number];
      if (page !== undefined) free += page.bytesEnd - page.usedSlots * page.slotBytes;
    }
    this.#closedFreeBytes = free;
  }

  #drop(page: Page): void {
    page.isDropped = true;
    this.bytes[page.number] = noBytes;
    this.words[page.number] = noWords;
    this.#pages[page.number] = undefined;
    this.#allocatedBytes -= page.bytesEnd;
    if (page.number >= this.#firstLate) this.#lateBytes -= page.bytesEnd;
    if (page.number < this.#floor) {
      this.#closedNumbers.push(page.number);
      this.#closedFreeBytes -= page.bytesEnd;
    } else {
      this.#freeNumbers.push(page.number);
    }
    if (page.sizeClass !== ownPage) {
      if (page === this.#spare[page.sizeClass]) this.#spare[page.sizeClass] = undefined;
      const classBytes = this.#classBytes[page.sizeClass] as number;
      this.#classBytes[page.sizeClass] = classBytes - page.bytesEnd;
    }
  }
}

/** Describes the rows visible at an earlier moment; all three conditions hold. */
export interface Sight {
  /** They are in pages with smaller numbers. */
  readonly pageEnd: number;
  /** In these pages, they are before this offset. */
  readonly tails: ReadonlyMap<number, number>;
  /** By state of the slot: 1 if rows in it are visible. */
  readonly seen: Uint8Array;
}

/** Where the row's bytes begin in its page. */
export function offsetOf(ref: RowRef): number {
  return ((ref & offsetMask) << 3) + headerBytes;
}

export function isVisible(state: number): boolean {
  return state === slotCommitted || state === slotInserted;
}

function viewOf(bytes: Uint8Array): DataView {
  return new DataView(bytes.buffer, bytes.byteOffset, bytes.byteLength);
}

/** From this length on the native copy is faster than a loop over words. */
const longBytes = 256;

/** True if its last slots have never been used. */
function hasTail(page: Page): boolean {
  return page.fresh < page.bytesEnd;
}

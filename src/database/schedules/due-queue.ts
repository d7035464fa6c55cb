/**
 * What is due when, of one schedule: a 4-ary heap of due times and keys of rows, 16 bytes an entry.
 * Entries are never removed from the middle: one that is taken has to be compared with its row.
 * Ties are in the order of keys.
 *
 * The heap lies in blocks, so nothing is copied as a whole to grow, except a small first block.
 */
export class DueQueue {
  #size = 0;
  #blocks: Block[] = [];

  /** Entries, including those that no longer hold. */
  get size(): number {
    return this.#size;
  }

  /** Bytes held. */
  get bytes(): number {
    return this.#blocks.reduce((sum, { dues }) => sum + dues.length * entryBytes, 0);
  }

  /** Due time of the first entry, in microseconds; infinite if there is none. */
  get firstDue(): number {
    return this.#size === 0 ? Number.POSITIVE_INFINITY : this.#due(0);
  }

  /** The two halves of the key of the first entry; only if there is one. */
  get firstHigh(): number {
    return this.#high(0);
  }

  get firstLow(): number {
    return this.#low(0);
  }

  push(due: number, high: number, low: number): void {
    this.add(due, high, low);
    this.#rise(this.#size - 1, due, high, low);
  }

  /** Adds an entry out of order: `order` must follow before anything else is done. */
  add(due: number, high: number, low: number): void {
    const at = this.#size;
    this.#makeRoom(at);
    this.#size = at + 1;
    this.#set(at, due, high, low);
  }

  /** Makes a heap of everything that was added. */
  order(): void {
    for (let at = parentOf(this.#size - 1); at >= 0; at--) {
      this.#sink(at, this.#due(at), this.#high(at), this.#low(at));
    }
  }

  /** Removes the first entry; there must be one. */
  pop(): void {
    const last = this.#size - 1;
    this.#size = last;
    if (last > 0) this.#sink(0, this.#due(last), this.#high(last), this.#low(last));
    // A spare block stays, so that a queue that changes around a border does not allocate.
    const used = (last >>> blockShift) + 2;
    if (this.#blocks.length > used) this.#blocks.length = used;
  }

  clear(): void {
    this.#size = 0;
    this.#blocks = [];
  }

  #rise(from: number, due: number, high: number, low: number): void {
    let at = from;
    while (at > 0) {
      const parent = parentOf(at);
      if (!this.#isBefore(due, high, low, parent)) break;
      this.#move(parent, at);
      at = parent;
    }
    if (at !== from) this.#set(at, due, high, low);
  }

  /** Places an entry at `from` or below, above all that come after it. */
  #sink(from: number, due: number, high: number, low: number): void {
    const size = this.#size;
    let at = from;
    for (;;) {
      const first = at * 4 + 1;
      if (first >= size) break;
      const end = Math.min(first + 4, size);
      let least = first;
      for (let child = first + 1; child < end; child++) {
        const isLess = this.#isBefore(this.#due(child), this.#high(child), this.#low(child), least);
        if (isLess) least = child;
      }
      if (!this.#isAfter(due, high, low, least)) break;
      this.#move(least, at);
      at = least;
    }
    this.#set(at, due, high, low);
  }

  /** True if the given entry comes before the one at `at`. */
  #isBefore(due: number, high: number, low: number, at: number): boolean {
    const otherDue = this.#due(at);
    if (due !== otherDue) return due < otherDue;
    const otherHigh = this.#high(at);
    return high === otherHigh ? low < this.#low(at) : high < otherHigh;
  }

  #isAfter(due: number, high: number, low: number, at: number): boolean {
    const otherDue = this.#due(at);
    if (due !== otherDue) return due > otherDue;
    const otherHigh = this.#high(at);
    return high === otherHigh ? low > this.#low(at) : high > otherHigh;
  }

  #due(at: number): number {
    return (this.#blocks[at >>> blockShift] as Block).dues[at & blockMask] as number;
  }

  #high(at: number): number {
    return (this.#blocks[at >>> blockShift] as Block).keys[(at & blockMask) * 2] as number;
  }

  #low(at: number): number {
    return (this.#blocks[at >>> blockShift] as Block).keys[(at & blockMask) * 2 + 1] as number;
  }

  #set(at: number, due: number, high: number, low: number): void {
    const { dues, keys } = this.#blocks[at >>> blockShift] as Block;
    const slot = at & blockMask;
    dues[slot] = due;
    keys[slot * 2] = high;
    keys[slot * 2 + 1] = low;
  }

  #move(from: number, to: number): void {
    this.#set(to, this.#due(from), this.#high(from), this.#low(from));
  }

  #makeRoom(at: number): void {
    const number = at >>> blockShift;
    const block = this.#blocks[number];
    if (block === undefined) {
      this.#blocks.push(blockOf(number === 0 ? firstEntries : blockEntries));
    } else if ((at & blockMask) >= block.dues.length) {
      const larger = blockOf(block.dues.length * 2);
      larger.dues.set(block.dues);
      larger.keys.set(block.keys);
      this.#blocks[number] = larger;
    }
  }
}

interface Block {
  readonly dues: Float64Array;
  /** The high half of each key, then the low one. */
  readonly keys: Uint32Array;
}

function blockOf(entries: number): Block {
  return { dues: new Float64Array(entries), keys: new Uint32Array(entries * 2) };
}

function parentOf(at: number): number {
  return (at - 1) >> 2;
}

const entryBytes = 16;
const firstEntries = 16;
const blockShift = 16;
const blockEntries = 1 << blockShift;
const blockMask = blockEntries - 1;

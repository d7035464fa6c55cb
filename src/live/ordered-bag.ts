/** An item, and how many copies of it exist. */
export interface BagEntry<Item> {
  readonly item: Item;
  count: number;
}

/**
 * The first items of a bag in a total order: of equal items one is kept, with its count. When it
 * holds more than it must, the last ones are dropped, and a *bound* remembers up to where all items
 * are known. Removing items can use up what is known; then it must be filled again.
 */
export class OrderedBag<Item> {
  readonly #compare: (a: Item, b: Item) => number;
  readonly #sizeOf: (item: Item) => number;
  #entries: BagEntry<Item>[] = [];
  /** All items up to this one are here; `undefined`: there are no others. */
  #bound: Item | undefined;
  #keptMax: number;
  #count = 0;
  #bytes = 0;
  #changedFrom = Number.POSITIVE_INFINITY;

  /** `keptMax`: at least this many different items are kept, if there are as many. */
  constructor(
    compare: (a: Item, b: Item) => number,
    keptMax: number,
    sizeOf: (item: Item) => number,
  ) {
    this.#compare = compare;
    this.#keptMax = keptMax;
    this.#sizeOf = sizeOf;
  }

  /** Sorted in ascending order. */
  get entries(): readonly BagEntry<Item>[] {
    return this.#entries;
  }

  /** Approximate memory. */
  get bytes(): number {
    return this.#bytes;
  }

  /** Whether fewer items are known than asked for, although more may exist. */
  isShortOf(count: number): boolean {
    return this.#bound !== undefined && this.#count < count;
  }

  /** The first position that changed since the last call. */
  takeChangedFrom(): number {
    const from = this.#changedFrom;
    this.#changedFrom = Number.POSITIVE_INFINITY;
    return from;
  }

  add(item: Item): void {
    if (this.#isBeyond(item)) return;
    const at = this.#positionOf(item);
    const known = this.#entries[at];
    this.#noteChange(at);
    this.#count += 1;
    if (known !== undefined && this.#compare(known.item, item) === 0) {
      known.count += 1;
      return;
    }
    this.#entries.splice(at, 0, { item, count: 1 });
    this.#bytes += entryBytes + this.#sizeOf(item);
    if (this.#entries.length > 2 * this.#keptMax) this.#trim();
  }

  /** Removes an item that was added, or that is beyond what is known. */
  remove(item: Item): void {
    if (this.#isBeyond(item)) return;
    const at = this.#positionOf(item);
    const known = this.#entries[at];
    if (known === undefined || this.#compare(known.item, item) !== 0) return;
    this.#noteChange(at);
    this.#count -= 1;
    known.count -= 1;
    if (known.count > 0) return;
    this.#entries.splice(at, 1);
    this.#bytes -= entryBytes + this.#sizeOf(known.item);
  }

  /** Forgets all items, to be added again. Keeps more of them than before if it was short. */
  restart(): void {
    if (this.#bound !== undefined && this.#keptMax < grownMax) this.#keptMax *= 2;
    this.#entries = [];
    this.#bound = undefined;
    this.#count = 0;
    this.#bytes = 0;
    this.#noteChange(0);
  }

  /** Replaces all items, many at once. They can come in any order. */
  fill(visit: (add: (item: Item) => void) => void): void {
    this.restart();
    visit((item) => {
      if (this.#isBeyond(item)) return;
      this.#entries.push({ item, count: 1 });
      if (this.#entries.length > 2 * this.#keptMax + fillSlack) this.#settle();
    });
    this.#settle();
  }

  /** Declares that every item up to the last is here, and that what follows is unknown. */
  boundByLast(): void {
    this.#bound = this.#entries.at(-1)?.item ?? this.#bound;
  }

  get keptMax(): number {
    return this.#keptMax;
  }

  #isBeyond(item: Item): boolean {
    return this.#bound !== undefined && this.#compare(item, this.#bound) > 0;
  }

  /** Position of the first entry that is not before the item. */
  #positionOf(item: Item): number {
    let low = 0;
    let high = this.#entries.length;
    while (low < high) {
      const middle = (low + high) >> 1;
      const { item: other } = this.#entries[middle] as BagEntry<Item>;
      if (this.#compare(other, item) < 0) low = middle + 1;
      else high = middle;
    }
    return low;
  }

  /** Sorts the items pushed so far and merges equal ones. */
  #settle(): void {
    const sorted = this.#entries.sort((a, b) => this.#compare(a.item, b.item));
    const entries: BagEntry<Item>[] = [];
    for (const entry of sorted) {
      const last = entries.at(-1);
      if (last !== undefined && this.#compare(last.item, entry.item) === 0) {
        last.count += entry.count;
      } else entries.push(entry);
    }
    this.#entries = entries;
    if (entries.length > this.#keptMax) this.#trim();
    this.#count = this.#entries.reduce((sum, { count }) => sum + count, 0);
    this.#bytes = this.#entries.reduce((sum, { item }) => sum + entryBytes + this.#sizeOf(item), 0);
  }

  #trim(): void {
    for (const { item, count } of this.#entries.splice(this.#keptMax)) {
      this.#count -= count;
      this.#bytes -= entryBytes + this.#sizeOf(item);
    }
    this.boundByLast();
  }

  #noteChange(at: number): void {
    this.#changedFrom = Math.min(this.#changedFrom, at);
  }
}

const entryBytes = 48;
/** While it is filled, this many extra items are collected before they are sorted. */
const fillSlack = 1_024;
/** The kept count grows up to this, unless more was asked for from the start. */
const grownMax = 4_096;

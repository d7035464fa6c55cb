import type { RowRef, RowRefs } from './row-ref.ts';

/** Capacity kept between uses; a longer list releases its memory. */
const keptCapacityMax = 1 << 16;

/** A growing list of refs or other numbers that fit 32 bits, reused from one use to the next. */
export class RefList<Item extends number = RowRef> {
  items: Int32Array = new Int32Array(16);
  length = 0;

  push(item: Item): void {
    if (this.length === this.items.length) this.#grow();
    this.items[this.length++] = item;
  }

  /** Appends two at once. */
  pushPair(first: Item, second: Item): void {
    const end = this.length + 2;
    if (end > this.items.length) this.#grow();
    this.items[end - 2] = first;
    this.items[end - 1] = second;
    this.length = end;
  }

  at(index: number): Item {
    return this.items[index] as Item;
  }

  /** A copy of the contents, of exactly their length. */
  copy(): RowRefs {
    return this.items.slice(0, this.length);
  }

  /** Returns a copy of the contents and empties the list. */
  take(): RowRefs {
    const refs = this.copy();
    this.clear();
    return refs;
  }

  clear(): void {
    this.length = 0;
    if (this.items.length > keptCapacityMax) this.items = new Int32Array(16);
  }

  #grow(): void {
    const grown = new Int32Array(this.items.length * 2);
    grown.set(this.items);
    this.items = grown;
  }
}

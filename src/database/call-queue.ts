import { limits } from '../limits.ts';
import { Refusal } from './outcome.ts';

/** Items that are created one by one as they are taken. Holds at least one. */
export interface ItemSource<Item> {
  readonly remaining: number;
  next(): Item;
}

/** Requests in arrival order. Bounded: a request that does not fit is rejected at once. */
export class CallQueue<Item> {
  #sources: ItemSource<Item>[] = [];
  /** Position of the first source that is not used up. */
  #head = 0;
  #length = 0;

  get length(): number {
    return this.#length;
  }

  push(item: Item): void {
    this.pushAll(new OneItem(item));
  }

  /** Throws `Refusal` `database.overloaded`, and queues nothing, when the queue is full. */
  pushAll(source: ItemSource<Item>): void {
    if (this.#length + source.remaining > limits.callQueueMax) throw overloaded();
    this.#length += source.remaining;
    this.#sources.push(source);
  }

  take(): Item | undefined {
    const source = this.#sources[this.#head];
    if (source === undefined) return undefined;
    const item = source.next();
    this.#length -= 1;
    if (source.remaining === 0) this.#leave();
    return item;
  }

  #leave(): void {
    this.#head += 1;
    if (this.#head < this.#sources.length && this.#head < limits.callsPerTurnMax) return;
    this.#sources = this.#sources.slice(this.#head);
    this.#head = 0;
  }
}

class OneItem<Item> implements ItemSource<Item> {
  readonly #item: Item;
  remaining = 1;

  constructor(item: Item) {
    this.#item = item;
  }

  next(): Item {
    this.remaining = 0;
    return this.#item;
  }
}

/** The rejection of a request that found the queue full. */
export function overloaded(): Refusal {
  return new Refusal({
    code: 'database.overloaded',
    message: `The database is overloaded: ${limits.callQueueMax} requests wait. Try again later.`,
  });
}

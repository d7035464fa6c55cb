import { limits } from '../limits.ts';
import { Refusal } from './outcome.ts';

/** Requests in arrival order. Bounded: what does not fit is refused at once, never buffered. */
export class CallQueue<Item> {
  #items: Item[] = [];
  /** Position of the first item that was not taken. */
  #head = 0;

  get length(): number {
    return this.#items.length - this.#head;
  }

  /** Throws `Refusal` `database.overloaded` when the queue is full. */
  push(item: Item): void {
    if (this.length >= limits.callQueueMax) throw overloaded();
    this.#items.push(item);
  }

  take(): Item | undefined {
    const item = this.#items[this.#head];
    if (item === undefined) return undefined;
    this.#head += 1;
    if (this.#head === this.#items.length) this.#reset();
    else if (this.#head >= limits.callsPerTurnMax) this.#compact();
    return item;
  }

  #reset(): void {
    this.#items = [];
    this.#head = 0;
  }

  #compact(): void {
    this.#items = this.#items.slice(this.#head);
    this.#head = 0;
  }
}

/** The refusal of a request that found the queue full. */
export function overloaded(): Refusal {
  return new Refusal({
    code: 'database.overloaded',
    message: `The database is overloaded: ${limits.callQueueMax} requests wait. Try again later.`,
  });
}

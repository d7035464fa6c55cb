import { limits } from '../limits.ts';

/**
 * What goes to one client beside the answer to its request, as an event stream. It is read as fast
 * as the client reads; what waits meanwhile is bounded, since of one key only the newest is kept
 * and beyond `limits.mcpMessagesWaitingMax` keys the new is dropped.
 */
export class Outgoing implements AsyncIterable<string | undefined> {
  /** Unsent, in the order in which their keys came. */
  readonly #waiting = new Map<string, string>();
  #last: string | undefined;
  #hasEnded = false;
  /** Wakes whoever waits for something to send. */
  #wake: () => void = () => undefined;
  readonly #onLeave: () => void;

  /** `onLeave`: the client reads no more, though there would be more. */
  constructor(onLeave: () => void) {
    this.#onLeave = onLeave;
  }

  put(key: string, message: string): void {
    if (this.#hasEnded) return;
    const isFull = this.#waiting.size >= limits.mcpMessagesWaitingMax;
    if (isFull && !this.#waiting.has(key)) return;
    this.#waiting.set(key, message);
    this.#wake();
  }

  /** Nothing comes behind `last`. Only the first end counts. */
  end(last?: string): void {
    if (this.#hasEnded) return;
    this.#hasEnded = true;
    this.#last = last;
    this.#wake();
  }

  /**
   * Waits until there is a message, or the end, or nothing for as long as clients bear. False when
   * the end came first: then there is nothing but that.
   */
  async begun(): Promise<boolean> {
    if (this.#waiting.size === 0 && !this.#hasEnded) await this.#quietTime();
    return this.#waiting.size > 0 || !this.#hasEnded;
  }

  /** One reader: messages, and `undefined` when it was quiet for so long that a sign is due. */
  [Symbol.asyncIterator](): AsyncIterator<string | undefined, undefined> {
    return {
      next: () => this.#next(),
      // Not a generator's: that one would wait for the message that `next` waits for.
      return: async () => {
        this.#leave();
        return { done: true, value: undefined };
      },
    };
  }

  async #next(): Promise<IteratorResult<string | undefined, undefined>> {
    const [key, message] = this.#waiting.entries().next().value ?? [];
    if (key !== undefined) {
      this.#waiting.delete(key);
      return { done: false, value: message };
    }
    if (this.#hasEnded) {
      const value = this.#last;
      this.#last = undefined;
      return value === undefined ? { done: true, value } : { done: false, value };
    }
    const isNew = await this.#quietTime();
    return isNew ? this.#next() : { done: false, value: undefined };
  }

  #leave(): void {
    this.#waiting.clear();
    this.#last = undefined;
    if (this.#hasEnded) return;
    this.#hasEnded = true;
    this.#wake();
    this.#onLeave();
  }

  /** Waits for something new; false when the time for a sign of life came first. */
  #quietTime(): Promise<boolean> {
    return new Promise((resolve) => {
      const timer = setTimeout(() => resolve(false), limits.mcpQuietMillisMax);
      this.#wake = () => {
        clearTimeout(timer);
        resolve(true);
      };
    });
  }
}

import { limits } from '../limits.ts';

/**
 * Messages to one client besides the response to its request, as an event stream. It is read at the
 * client's pace. The queue is bounded: per key only the newest message is kept, and beyond
 * `limits.mcpMessagesWaitingMax` keys new messages are dropped.
 */
export class Outgoing implements AsyncIterable<string | undefined> {
  /** Unsent messages, in the order of their keys. */
  readonly #waiting = new Map<string, string>();
  #last: string | undefined;
  #hasEnded = false;
  /** Wakes the pending wait for a message. */
  #wake: () => void = () => undefined;
  readonly #onLeave: () => void;

  /** `onLeave`: called when the client stops reading before the end. */
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

  /** Ends the stream after `last`. Only the first call counts. */
  end(last?: string): void {
    if (this.#hasEnded) return;
    this.#hasEnded = true;
    this.#last = last;
    this.#wake();
  }

  /**
   * Waits for a message, the end, or the longest quiet time that clients tolerate. Returns false if
   * the end came first and nothing precedes it.
   */
  async begun(): Promise<boolean> {
    if (this.#waiting.size === 0 && !this.#hasEnded) await this.#quietTime();
    return this.#waiting.size > 0 || !this.#hasEnded;
  }

  /** Iterates for one reader: messages, and `undefined` when a keep-alive is due. */
  [Symbol.asyncIterator](): AsyncIterator<string | undefined, undefined> {
    return {
      next: () => this.#next(),
      // Not a generator, whose `return` would wait for the pending `next`.
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

  /** Waits for a message or the end; returns false when a keep-alive is due first. */
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

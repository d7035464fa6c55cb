/**
 * Bounds what one client has sent and not had answered: the count of requests before the connection
 * is dropped, and the bytes before reading pauses.
 */
export class Intake {
  readonly #messagesMax: number;
  readonly #bytesMax: number;
  /** Messages with unanswered requests, in order. */
  #messages: { readonly lastRequest: number; readonly byteCount: number }[] = [];
  #byteCount = 0;
  #received = 0;

  constructor(limits: { readonly messagesMax: number; readonly bytesMax: number }) {
    this.#messagesMax = limits.messagesMax;
    this.#bytesMax = limits.bytesMax;
  }

  /** Whether the next request would exceed the bound and end the connection. */
  isFull(unanswered: number): boolean {
    return unanswered >= this.#messagesMax;
  }

  /** Whether reading must pause. */
  get isSated(): boolean {
    return this.#byteCount > this.#bytesMax;
  }

  /** Counts a message and its requests. */
  add(requestCount: number, byteCount: number): void {
    this.#received += requestCount;
    this.#messages.push({ lastRequest: this.#received, byteCount });
    this.#byteCount += byteCount;
  }

  /** Releases fully answered messages, given the number of unanswered requests. */
  settle(unanswered: number): void {
    const answered = this.#received - unanswered;
    let count = 0;
    for (const { lastRequest, byteCount } of this.#messages) {
      if (lastRequest > answered) break;
      this.#byteCount -= byteCount;
      count += 1;
    }
    if (count > 0) this.#messages = this.#messages.slice(count);
  }
}

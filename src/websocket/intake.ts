/**
 * What one client has sent and not been answered: how many requests the database has room for
 * before the connection is given up, and for how many bytes of them the socket is read on.
 */
export class Intake {
  readonly #messagesMax: number;
  readonly #bytesMax: number;
  /** Messages whose requests are not all answered, in order. */
  #messages: { readonly lastRequest: number; readonly byteCount: number }[] = [];
  #byteCount = 0;
  #received = 0;

  constructor(limits: { readonly messagesMax: number; readonly bytesMax: number }) {
    this.#messagesMax = limits.messagesMax;
    this.#bytesMax = limits.bytesMax;
  }

  /** True: so many requests are unanswered that the next one ends the connection. */
  isFull(unanswered: number): boolean {
    return unanswered >= this.#messagesMax;
  }

  /** True: nothing more is to be read for now. */
  get isSated(): boolean {
    return this.#byteCount > this.#bytesMax;
  }

  /** A message brought so many requests. */
  add(requestCount: number, byteCount: number): void {
    this.#received += requestCount;
    this.#messages.push({ lastRequest: this.#received, byteCount });
    this.#byteCount += byteCount;
  }

  /** Only so many requests are unanswered now. */
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

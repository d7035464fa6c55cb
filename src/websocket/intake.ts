import type { LiveConnection } from '../host/feeds/live-connection.ts';
import type { DecodedRequest } from './message-codec.ts';

export interface IntakeOptions {
  readonly live: Pick<LiveConnection, 'send' | 'unanswered'>;
  /** Unanswered requests before the connection is dropped. */
  readonly messagesMax: number;
  /** Bytes of messages with unanswered requests before reading pauses. */
  readonly bytesMax: number;
  /** Called when decoding a request failed; the requests behind it are dropped. */
  readonly failed: (error: unknown) => void;
}

/**
 * The requests of one client: passes them to the database in order, where those behind one that is
 * still being parsed wait, and bounds what is unanswered.
 */
export class Intake {
  readonly #options: IntakeOptions;
  /** Requests that are not sent yet; the first one is being parsed. */
  #waiting: DecodedRequest[] = [];
  /** Messages with unanswered requests, in order. */
  #messages: { readonly lastRequest: number; readonly byteCount: number }[] = [];
  #byteCount = 0;
  #received = 0;

  constructor(options: IntakeOptions) {
    this.#options = options;
  }

  /** Requests that wait here, or for their answer. */
  get unanswered(): number {
    return this.#options.live.unanswered + this.#waiting.length;
  }

  /** Whether reading must pause. */
  get isSated(): boolean {
    return this.#byteCount > this.#options.bytesMax;
  }

  /**
   * Whether the next request would exceed the bound and end the connection; `keptCount`: messages
   * that the codec holds back.
   */
  isFull(keptCount: number): boolean {
    return this.unanswered + keptCount >= this.#options.messagesMax;
  }

  add(request: DecodedRequest): void {
    if (this.#waiting.length === 0 && !(request instanceof Promise)) {
      this.#options.live.send(request);
      return;
    }
    // A failure is handled when its turn comes.
    if (request instanceof Promise) request.catch(() => {});
    this.#waiting.push(request);
    if (this.#waiting.length === 1) void this.#goOn(this.#waiting);
  }

  /** Reports a message that cannot be decoded, after the requests before it. */
  fail(error: unknown): void {
    if (this.#waiting.length > 0) this.add(Promise.reject(error));
    else this.#options.failed(error);
  }

  /** Counts a message and the requests that it added. */
  count(message: Uint8Array, requestCount: number): void {
    const byteCount = message.length;
    this.#received += requestCount;
    this.#messages.push({ lastRequest: this.#received, byteCount });
    this.#byteCount += byteCount;
  }

  /** Releases the bytes of fully answered messages. */
  settle(): void {
    const answered = this.#received - this.unanswered;
    let count = 0;
    for (const { lastRequest, byteCount } of this.#messages) {
      if (lastRequest > answered) break;
      this.#byteCount -= byteCount;
      count += 1;
    }
    if (count > 0) this.#messages = this.#messages.slice(count);
  }

  /** Drops all waiting requests. */
  abandon(): void {
    this.#waiting = [];
  }

  /** Runs until `waiting` is empty or abandoned. */
  async #goOn(waiting: readonly DecodedRequest[]): Promise<void> {
    for (let next = waiting[0]; next !== undefined; next = waiting[0]) {
      try {
        const request = await next;
        if (this.#waiting !== waiting) return;
        this.#waiting.shift();
        this.#options.live.send(request);
      } catch (error) {
        if (this.#waiting !== waiting) return;
        this.abandon();
        this.#options.failed(error);
      }
    }
  }
}

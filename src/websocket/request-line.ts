import type { LiveRequest } from '../host/feeds/live-connection.ts';
import type { Asked } from './dialect.ts';

interface LineEvents {
  send(request: LiveRequest): void;
  /** Called when decoding a request failed; the requests behind it are dropped. */
  failed(error: unknown): void;
}

/** Sends the requests of one client in order; those behind one that is still being parsed wait. */
export class RequestLine {
  readonly #events: LineEvents;
  #waiting: Asked[] = [];

  constructor(events: LineEvents) {
    this.#events = events;
  }

  /** The number of waiting requests, including the one being parsed. */
  get length(): number {
    return this.#waiting.length;
  }

  add(asked: Asked): void {
    if (this.#waiting.length === 0 && !(asked instanceof Promise)) {
      this.#events.send(asked);
      return;
    }
    // A failure is handled when its turn comes.
    if (asked instanceof Promise) asked.catch(() => {});
    this.#waiting.push(asked);
    if (this.#waiting.length === 1) void this.#goOn(this.#waiting);
  }

  /** Drops all waiting requests. */
  abandon(): void {
    this.#waiting = [];
  }

  /** Runs until `line` is empty or abandoned. */
  async #goOn(line: readonly Asked[]): Promise<void> {
    for (let next = line[0]; next !== undefined; next = line[0]) {
      try {
        const request = await next;
        if (this.#waiting !== line) return;
        this.#waiting.shift();
        this.#events.send(request);
      } catch (error) {
        if (this.#waiting !== line) return;
        this.abandon();
        this.#events.failed(error);
      }
    }
  }
}

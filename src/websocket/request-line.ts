import type { LiveRequest } from '../host/live-connection.ts';
import type { Asked } from './dialect.ts';

interface LineEvents {
  send(request: LiveRequest): void;
  /** Reading a request has failed; what was behind it is gone. */
  failed(error: unknown): void;
}

/** The requests of one client in their order, of which some are still read: the others wait. */
export class RequestLine {
  readonly #events: LineEvents;
  #waiting: Asked[] = [];

  constructor(events: LineEvents) {
    this.#events = events;
  }

  /** How many wait, the one that is being read included. */
  get length(): number {
    return this.#waiting.length;
  }

  add(asked: Asked): void {
    if (this.#waiting.length === 0 && !(asked instanceof Promise)) {
      this.#events.send(asked);
      return;
    }
    // Its fault is looked at when it has its turn.
    if (asked instanceof Promise) asked.catch(() => {});
    this.#waiting.push(asked);
    if (this.#waiting.length === 1) void this.#goOn(this.#waiting);
  }

  /** What waits is not sent any more. */
  abandon(): void {
    this.#waiting = [];
  }

  /** Ends when nothing waits in `line`, or when it has been abandoned. */
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

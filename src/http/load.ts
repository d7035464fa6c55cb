import { HttpError, text } from './exchange.ts';

export interface LoadBounds {
  /** Requests in progress. */
  readonly requestsMax: number;
  /** Bytes of their bodies. */
  readonly bodiesBytesMax: number;
  /** Time without a new byte of an unfinished body. */
  readonly bodyIdleMillisMax: number;
  /** Bytes of large responses that their clients have not received yet. */
  readonly answersBytesMax: number;
}

/**
 * Bounds the work in progress for all clients together: requests over a bound are rejected until
 * some of it is done. Responses are never rejected, because what they report has already happened;
 * the connection of a slow reader is closed instead.
 */
export class Load {
  readonly #bounds: LoadBounds;
  #requests = 0;
  #bodiesBytes = 0;
  /** Body bytes of each client, by the client's key. */
  readonly #clientBytes = new Map<string, number>();
  /** In insertion order. */
  readonly #answers = new Set<WaitingAnswer>();
  #answersBytes = 0;

  constructor(bounds: LoadBounds) {
    this.#bounds = bounds;
  }

  /** Begins a request, whose share must be ended; returns `undefined` if there are too many. */
  begin(): LoadShare | undefined {
    if (this.#requests >= this.#bounds.requestsMax) return undefined;
    this.#requests += 1;
    let ownBytes = 0;
    let payers: readonly string[] = [];
    return {
      takeBytes: (count, clients) => {
        payers = clients;
        this.#requireRoom(count, clients);
        this.#countBytes(count, clients);
        ownBytes += count;
      },
      end: () => {
        this.#requests -= 1;
        this.#countBytes(-ownBytes, payers);
      },
      holdAnswer: (answer) => this.#holdAnswer(answer),
    };
  }

  /** Lets a client hold at most as many bytes as it leaves free, so others always have room. */
  #requireRoom(count: number, clients: readonly string[]): void {
    const free = this.#bounds.bodiesBytesMax - this.#bodiesBytes;
    if (count > free) throw new HttpError(tooMuch);
    for (const client of clients) {
      const held = this.#clientBytes.get(client) ?? 0;
      if (held + count > free - count) throw new HttpError(tooMuchOfOne);
    }
  }

  #countBytes(count: number, clients: readonly string[]): void {
    this.#bodiesBytes += count;
    for (const client of clients) {
      const held = (this.#clientBytes.get(client) ?? 0) + count;
      if (held === 0) this.#clientBytes.delete(client);
      else this.#clientBytes.set(client, held);
    }
  }

  #holdAnswer(answer: WaitingAnswer): () => void {
    this.#answers.add(answer);
    this.#answersBytes += answer.bytes;
    for (const oldest of this.#answers) {
      if (this.#answersBytes <= this.#bounds.answersBytesMax || oldest === answer) break;
      this.#release(oldest);
      oldest.giveUp();
    }
    return () => this.#release(answer);
  }

  #release(answer: WaitingAnswer): void {
    if (this.#answers.delete(answer)) this.#answersBytes -= answer.bytes;
  }
}

/** A large response that is being sent. */
export interface WaitingAnswer {
  readonly bytes: number;
  /** Closes its connection. */
  giveUp(): void;
}

/** The share of the load that one request takes. */
export interface LoadShare {
  /**
   * Counts bytes of the request's body; `clients` must be the same in each call. Throws 503 when
   * the service holds too many bytes, and 429 when one client does.
   */
  takeBytes(count: number, clients: readonly string[]): void;
  /**
   * Counts a response until the returned function is called. When the responses exceed their bound,
   * those that have waited longest are given up.
   */
  holdAnswer(answer: WaitingAnswer): () => void;
  end(): void;
}

const tooMuchOfOne = text(
  429,
  'This client has too many bytes of requests under way; try again when some of them have ended',
  { 'retry-after': '1', connection: 'close' },
);

/** The response when the service is overloaded. */
export const tooMuch = text(503, 'The service has too many requests in hand; try again soon', {
  'retry-after': '1',
  connection: 'close',
});

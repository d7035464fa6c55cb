import { HttpError, text } from './exchange.ts';

export interface LoadBounds {
  /** Requests that are being answered. */
  readonly requestsMax: number;
  /** Bytes of their bodies. */
  readonly bodiesBytesMax: number;
  /** Time without a byte of a body that is still coming. */
  readonly bodyIdleMillisMax: number;
  /** Bytes of large answers that their clients have not taken yet. */
  readonly answersBytesMax: number;
}

/**
 * What is in hand for all clients together: more is refused until some of it is done. Answers are
 * not refused, as what they tell of has happened: whoever has not taken theirs loses it.
 */
export class Load {
  readonly #bounds: LoadBounds;
  #requests = 0;
  #bodiesBytes = 0;
  /** Of each client, by what it is known by. */
  readonly #clientBytes = new Map<string, number>();
  /** In the order in which they were given. */
  readonly #answers = new Set<WaitingAnswer>();
  #answersBytes = 0;

  constructor(bounds: LoadBounds) {
    this.#bounds = bounds;
  }

  /** Begins a request, whose share must be ended; `undefined` when there are too many. */
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

  /** What one client holds is at most what it leaves: there is always room for others. */
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

/** A large answer on its way. */
export interface WaitingAnswer {
  readonly bytes: number;
  /** Ends its connection. */
  giveUp(): void;
}

/** What one request takes. */
export interface LoadShare {
  /**
   * Counts bytes of the request's body, always for the same clients. Throws the 503 of a service
   * that holds too many, and the 429 of a client that does.
   */
  takeBytes(count: number, clients: readonly string[]): void;
  /**
   * Counts an answer until the function that is returned is called. When too much waits, what has
   * waited for the longest time is given up.
   */
  holdAnswer(answer: WaitingAnswer): () => void;
  end(): void;
}

const tooMuchOfOne = text(
  429,
  'This client has too many bytes of requests under way; try again when some of them have ended',
  { 'retry-after': '1', connection: 'close' },
);

/** The answer when there is too much to do. */
export const tooMuch = text(503, 'The service has too many requests in hand; try again soon', {
  'retry-after': '1',
  connection: 'close',
});

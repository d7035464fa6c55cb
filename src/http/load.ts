import { HttpError, text } from './exchange.ts';

export interface LoadBounds {
  /** Requests that are being answered. */
  readonly requestsMax: number;
  /** Bytes of their bodies. */
  readonly bodiesBytesMax: number;
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
    return {
      takeBytes: (count) => {
        if (this.#bodiesBytes + count > this.#bounds.bodiesBytesMax) throw new HttpError(tooMuch);
        this.#bodiesBytes += count;
        ownBytes += count;
      },
      end: () => {
        this.#requests -= 1;
        this.#bodiesBytes -= ownBytes;
      },
      holdAnswer: (answer) => this.#holdAnswer(answer),
    };
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
  /** Throws the 503 of a service that holds too many bytes of bodies. */
  takeBytes(count: number): void;
  /**
   * Counts an answer until the function that is returned is called. When too much waits, what has
   * waited for the longest time is given up.
   */
  holdAnswer(answer: WaitingAnswer): () => void;
  end(): void;
}

/** The answer when there is too much to do. */
export const tooMuch = text(503, 'The service has too many requests in hand; try again soon', {
  'retry-after': '1',
  connection: 'close',
});

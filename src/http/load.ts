import { HttpError, text } from './exchange.ts';

export interface LoadBounds {
  /** Requests that are being answered. */
  readonly requestsMax: number;
  /** Bytes of their bodies. */
  readonly bodiesBytesMax: number;
}

/** What is in hand for all clients together: more is refused until some of it is done. */
export class Load {
  readonly #bounds: LoadBounds;
  #requests = 0;
  #bodiesBytes = 0;

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
    };
  }
}

/** What one request takes. */
export interface LoadShare {
  /** Throws the 503 of a service that holds too many bytes of bodies. */
  takeBytes(count: number): void;
  end(): void;
}

/** The answer when there is too much to do. */
export const tooMuch = text(503, 'The service has too many requests in hand; try again soon', {
  'retry-after': '1',
  connection: 'close',
});

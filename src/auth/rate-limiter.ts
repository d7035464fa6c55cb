import { limits } from '../limits.ts';

/** What one identity or one address may ask for; `Infinity`: as much as it likes. */
export interface RateLimits {
  readonly identityRequestsPerSecond: number;
  readonly addressRequestsPerSecond: number;
  /** Connections that are open at once. */
  readonly addressConnections: number;
}

export const noRateLimits: RateLimits = {
  identityRequestsPerSecond: Number.POSITIVE_INFINITY,
  addressRequestsPerSecond: Number.POSITIVE_INFINITY,
  addressConnections: Number.POSITIVE_INFINITY,
};

interface Bucket {
  tokens: number;
  filledMillis: number;
}

/**
 * Token buckets, one for each key: a key may do `perSecond` things a second, and as many at once
 * after it was quiet. Buckets that are full again are forgotten, the oldest first, when there are
 * many.
 */
export class RateLimiter {
  readonly #perSecond: number;
  readonly #nowMillis: () => number;
  readonly #buckets = new Map<string, Bucket>();

  constructor(perSecond: number, nowMillis: () => number = () => performance.now()) {
    this.#perSecond = perSecond;
    this.#nowMillis = nowMillis;
  }

  /** Takes one; 0 when there was one, else the seconds, rounded up, after which there will be. */
  take(key: string): number {
    if (this.#perSecond === Number.POSITIVE_INFINITY) return 0;
    const bucket = this.#bucket(key);
    if (bucket.tokens < 1) return Math.ceil((1 - bucket.tokens) / this.#perSecond);
    bucket.tokens -= 1;
    return 0;
  }

  /** Filled up to now, and moved to the end of the line. */
  #bucket(key: string): Bucket {
    const now = this.#nowMillis();
    const bucket = this.#buckets.get(key) ?? { tokens: this.#perSecond, filledMillis: now };
    const gained = ((now - bucket.filledMillis) / 1000) * this.#perSecond;
    bucket.tokens = Math.min(this.#perSecond, bucket.tokens + gained);
    bucket.filledMillis = now;
    this.#buckets.delete(key);
    this.#buckets.set(key, bucket);
    if (this.#buckets.size > limits.rateBucketsMax) {
      const [oldest] = this.#buckets.keys();
      if (oldest !== undefined) this.#buckets.delete(oldest);
    }
    return bucket;
  }
}

/** The rates of requests, by who makes them and by where they come from. */
export interface RequestRates {
  readonly byIdentity: RateLimiter;
  readonly byAddress: RateLimiter;
}

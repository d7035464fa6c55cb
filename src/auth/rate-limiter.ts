import { limits } from '../limits.ts';
import { Allowance, type AllowanceBounds } from './allowance.ts';

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

interface Pace {
  /** After a time of quiet; as many as in a second unless given. */
  readonly atOnce?: number;
  readonly nowMillis?: () => number;
}

const monotonic = () => performance.now();

/**
 * An allowance for each key: a key may do `perSecond` things a second, and `atOnce` after it was
 * quiet. When there are many keys, the one that was quiet longest is forgotten.
 */
export class RateLimiter {
  readonly #bounds: AllowanceBounds;
  readonly #nowMillis: () => number;
  readonly #allowances = new Map<string, Allowance>();

  constructor(perSecond: number, { atOnce = perSecond, nowMillis = monotonic }: Pace = {}) {
    this.#bounds = { perSecond, atOnce };
    this.#nowMillis = nowMillis;
  }

  /** Takes one; 0 when there was one, else the seconds, rounded up, after which there will be. */
  take(key: string): number {
    if (this.#bounds.perSecond === Number.POSITIVE_INFINITY) return 0;
    const now = this.#nowMillis();
    return Math.ceil(this.#allowance(key, now).take(now));
  }

  /** Takes so many, even if there are fewer; the seconds to wait before the next. */
  spend(key: string, count: number): number {
    if (this.#bounds.perSecond === Number.POSITIVE_INFINITY) return 0;
    const now = this.#nowMillis();
    return this.#allowance(key, now).spend(count, now);
  }

  /** Moved to the end of the line. */
  #allowance(key: string, now: number): Allowance {
    const allowance = this.#allowances.get(key) ?? new Allowance(this.#bounds, now);
    this.#allowances.delete(key);
    this.#allowances.set(key, allowance);
    if (this.#allowances.size > limits.rateBucketsMax) {
      const [oldest] = this.#allowances.keys();
      if (oldest !== undefined) this.#allowances.delete(oldest);
    }
    return allowance;
  }
}

/** The rates of requests, by who makes them and by where they come from. */
export interface RequestRates {
  readonly byIdentity: RateLimiter;
  readonly byAddress: RateLimiter;
  /** Of tokens that are given up, by where that is done. */
  readonly ofGivenUpTokens: RateLimiter;
}

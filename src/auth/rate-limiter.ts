import { limits } from '../limits.ts';
import { Allowance, type AllowanceBounds } from './allowance.ts';

/** Request rates of one identity or one address; `Infinity` means no limit. */
export interface RateLimits {
  readonly identityRequestsPerSecond: number;
  readonly addressRequestsPerSecond: number;
  /** Maximum number of open connections. */
  readonly addressConnections: number;
}

export const noRateLimits: RateLimits = {
  identityRequestsPerSecond: Number.POSITIVE_INFINITY,
  addressRequestsPerSecond: Number.POSITIVE_INFINITY,
  addressConnections: Number.POSITIVE_INFINITY,
};

interface Pace {
  /** Burst size after an idle period; defaults to the rate per second. */
  readonly atOnce?: number;
  readonly nowMillis?: () => number;
}

const monotonic = () => performance.now();

/**
 * An allowance for each key: `perSecond` a second, and a burst of `atOnce` after an idle period.
 * When there are too many keys, the least recently used one is evicted.
 */
export class RateLimiter {
  readonly #bounds: AllowanceBounds;
  readonly #nowMillis: () => number;
  readonly #allowances = new Map<string, Allowance>();

  constructor(perSecond: number, { atOnce = perSecond, nowMillis = monotonic }: Pace = {}) {
    this.#bounds = { perSecond, atOnce };
    this.#nowMillis = nowMillis;
  }

  /** Takes one; returns 0 on success, else the seconds, rounded up, until one is available. */
  take(key: string): number {
    if (this.#bounds.perSecond === Number.POSITIVE_INFINITY) return 0;
    const now = this.#nowMillis();
    return Math.ceil(this.#allowance(key, now).take(now));
  }

  /** Takes `count`, going into debt if necessary; returns the seconds until the next request. */
  spend(key: string, count: number): number {
    if (this.#bounds.perSecond === Number.POSITIVE_INFINITY) return 0;
    const now = this.#nowMillis();
    return this.#allowance(key, now).spend(count, now);
  }

  /** Returns the allowance of a key and marks it as most recently used. */
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

/** Request rates by identity and by address. */
export interface RequestRates {
  readonly byIdentity: RateLimiter;
  readonly byAddress: RateLimiter;
  /** Rate of giving up tokens, by address. */
  readonly ofGivenUpTokens: RateLimiter;
}

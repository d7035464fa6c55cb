import { limits } from '../../limits.ts';

/**
 * The clock of a store, as the `Date` of its answers shows it: whole seconds, cut off. Each answer
 * says between which two moments the store's clock is, seen from a clock of this host that never
 * goes back; what all of them allow is far narrower than a second.
 */
export class StoreClock {
  /** The store's clock minus this host's is at least and at most so much, as of `#at`. */
  #least = Number.NEGATIVE_INFINITY;
  #most = Number.POSITIVE_INFINITY;
  #at = 0;

  /** Takes the `Date` of an answer to a request that was sent and came back at these moments. */
  take(date: string | null, sentAt: number, receivedAt: number): void {
    const second = Date.parse(date ?? '');
    if (Number.isNaN(second)) return;
    const slack = limits.s3ClockSlackMillis;
    const least = second - receivedAt - slack;
    const most = second + 1_000 - sentAt + slack;
    const drift = (receivedAt - this.#at) * limits.s3ClockDriftShare;
    const both = {
      least: Math.max(least, this.#least - drift),
      most: Math.min(most, this.#most + drift),
    };
    // One of the two clocks was set: what was known before counts no more.
    const found = both.least <= both.most ? both : { least, most };
    this.#least = found.least;
    this.#most = found.most;
    this.#at = receivedAt;
  }

  /** Milliseconds since 1970; `undefined` before the first answer with a date. */
  at(now: number): number | undefined {
    if (!Number.isFinite(this.#least)) return undefined;
    return now + (this.#least + this.#most) / 2;
  }
}

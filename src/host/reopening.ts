import type { Clock } from '../database/clock.ts';
import { limits } from '../limits.ts';

/**
 * When a database whose disk has failed is tried again: a full disk has space again one day, and
 * nobody should have to start the service again for it. The first request after a delay tries it;
 * each failure doubles the delay, and whatever the database then writes ends that.
 */
export class Reopening {
  readonly #clock: Clock;
  #delayMillis = 0;
  #dueMillis = Number.POSITIVE_INFINITY;

  constructor(clock: Clock) {
    this.#clock = clock;
  }

  /** True when it may be tried now. */
  get isDue(): boolean {
    return this.#clock.monotonicMillis() >= this.#dueMillis;
  }

  /** The disk has failed, so that the database does not serve. */
  failed(): void {
    const { reopenMillisMin, reopenMillisMax } = limits;
    this.#delayMillis = Math.min(reopenMillisMax, this.#delayMillis * 2 || reopenMillisMin);
    this.#dueMillis = this.#clock.monotonicMillis() + this.#delayMillis;
  }

  /** It is being tried. */
  begun(): void {
    this.#dueMillis = Number.POSITIVE_INFINITY;
  }

  /** It works. */
  succeeded(): void {
    this.#delayMillis = 0;
  }
}

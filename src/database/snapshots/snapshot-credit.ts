import { limits } from '../../limits.ts';

/**
 * How long a busy database may read for its snapshot: a share of the time that passes, saved up to
 * one slice.
 */
export class SnapshotCredit {
  #millis = 0;
  #seenAt: number;

  constructor(now: number) {
    this.#seenAt = now;
  }

  /** Time has passed. Nothing is saved up while the scan has to wait. */
  pass(now: number, share: number, isWaiting: boolean): void {
    const saved = isWaiting ? 0 : (now - this.#seenAt) * share;
    this.#seenAt = now;
    this.#millis = Math.min(this.#millis + saved, limits.snapshotSliceMillisMax);
  }

  /** Length of the next slice; 0 while there is not enough for one. */
  get slice(): number {
    return this.#millis >= limits.snapshotSliceMillisMin ? this.#millis : 0;
  }

  /** Time until there is enough. */
  missing(share: number): number {
    return Math.max(0, limits.snapshotSliceMillisMin - this.#millis) / share;
  }

  /** A slice can take a little longer than it was to. */
  spend(millis: number): void {
    this.#millis -= millis;
  }
}

/** Bounds of an allowance: a long-term rate, and a burst size after an idle period. */
export interface AllowanceBounds {
  readonly perSecond: number;
  readonly atOnce: number;
}

/** A token bucket: unused allowance accumulates up to a bound. Times come from any single clock. */
export class Allowance {
  readonly #bounds: AllowanceBounds;
  #left: number;
  #filledMillis: number;

  constructor(bounds: AllowanceBounds, nowMillis: number) {
    this.#bounds = bounds;
    this.#left = bounds.atOnce;
    this.#filledMillis = nowMillis;
  }

  /** Takes one; returns 0 on success, else the seconds until one is available. */
  take(nowMillis: number): number {
    this.#fill(nowMillis);
    if (this.#left < 1) return (1 - this.#left) / this.#bounds.perSecond;
    this.#left -= 1;
    return 0;
  }

  /** Takes `count`, going into debt if necessary; returns the seconds until the debt is paid. */
  spend(count: number, nowMillis: number): number {
    this.#fill(nowMillis);
    this.#left -= count;
    return Math.max(0, -this.#left / this.#bounds.perSecond);
  }

  #fill(nowMillis: number): void {
    const { perSecond, atOnce } = this.#bounds;
    // A clock that is set back neither adds nor removes allowance.
    const gained = (Math.max(0, nowMillis - this.#filledMillis) / 1000) * perSecond;
    this.#left = Math.min(atOnce, this.#left + gained);
    this.#filledMillis = nowMillis;
  }
}

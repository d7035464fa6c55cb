/** How much there is of something in the long run, and at once after a time of quiet. */
export interface AllowanceBounds {
  readonly perSecond: number;
  readonly atOnce: number;
}

/** A token bucket: what is not used up gathers, up to a bound. Times are those of any one clock. */
export class Allowance {
  readonly #bounds: AllowanceBounds;
  #left: number;
  #filledMillis: number;

  constructor(bounds: AllowanceBounds, nowMillis: number) {
    this.#bounds = bounds;
    this.#left = bounds.atOnce;
    this.#filledMillis = nowMillis;
  }

  /** Takes one; 0 when there was one, else the seconds after which there will be. */
  take(nowMillis: number): number {
    this.#fill(nowMillis);
    if (this.#left < 1) return (1 - this.#left) / this.#bounds.perSecond;
    this.#left -= 1;
    return 0;
  }

  /** Takes so many, even if there are fewer; the seconds after which there is no debt any more. */
  spend(count: number, nowMillis: number): number {
    this.#fill(nowMillis);
    this.#left -= count;
    return Math.max(0, -this.#left / this.#bounds.perSecond);
  }

  #fill(nowMillis: number): void {
    const { perSecond, atOnce } = this.#bounds;
    // A clock that is set back gives nothing, and takes nothing away.
    const gained = (Math.max(0, nowMillis - this.#filledMillis) / 1000) * perSecond;
    this.#left = Math.min(atOnce, this.#left + gained);
    this.#filledMillis = nowMillis;
  }
}

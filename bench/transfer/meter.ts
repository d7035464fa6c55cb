/** What a load found: only replies within the measured time count. */
export interface Measured {
  readonly perSecond: number;
  readonly p50Millis: number;
  readonly p99Millis: number;
}

/** One place for all delays above it. */
const microsMax = 2_000_000;

/** Counts the replies of a load, and how long each was waited for. */
export class Meter {
  readonly #warmMillis: number;
  readonly #measuredMillis: number;
  /** Set by the first reply. */
  #from = Number.POSITIVE_INFINITY;
  #until = Number.POSITIVE_INFINITY;
  /** Replies by their delay in whole microseconds. */
  readonly #delays = new Uint32Array(microsMax + 1);
  #count = 0;
  #last = 0;

  /** The load is measured from `warmMillis` after its first reply. */
  constructor(warmMillis: number, measuredMillis: number) {
    this.#warmMillis = warmMillis;
    this.#measuredMillis = measuredMillis;
  }

  /** Returns false when nothing more is to be sent. */
  replied(sentAt: number, now: number): boolean {
    if (this.#from === Number.POSITIVE_INFINITY) {
      this.#from = now + this.#warmMillis;
      this.#until = this.#from + this.#measuredMillis;
    }
    // A machine that is held up still gives a figure, of one reply at least.
    if (now >= this.#until && this.#count > 0) return false;
    if (now < this.#from) return true;
    const micros = Math.min(Math.floor((now - sentAt) * 1000), microsMax);
    this.#delays[micros] = (this.#delays[micros] ?? 0) + 1;
    this.#count += 1;
    this.#last = now;
    return true;
  }

  measured(): Measured {
    if (this.#count === 0) throw new Error('no reply came while the load was measured');
    return {
      perSecond: (this.#count * 1000) / Math.max(this.#last - this.#from, 1),
      p50Millis: this.#delayOf(0.5),
      p99Millis: this.#delayOf(0.99),
    };
  }

  #delayOf(share: number): number {
    let left = Math.ceil(this.#count * share);
    let micros = 0;
    while (left > 0 && micros <= microsMax) {
      left -= this.#delays[micros] ?? 0;
      micros += 1;
    }
    return micros / 1000;
  }
}

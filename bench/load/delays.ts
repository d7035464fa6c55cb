/** Delays, counted in buckets of ten microseconds; the last one holds what took longer. */
export class Delays {
  readonly #counts = new Float64Array(200_000);
  count = 0;
  #longest = 0;

  add(micros: number): void {
    const bucket = Math.min(Math.max(0, Math.floor(micros / 10)), this.#counts.length - 1);
    this.#counts[bucket] = (this.#counts[bucket] ?? 0) + 1;
    this.count += 1;
    if (micros > this.#longest) this.#longest = micros;
  }

  get summary(): DelaySummary {
    const longestMillis = this.#longest / 1000;
    return {
      count: this.count,
      p50: this.#millisAt(0.5),
      p99: this.#millisAt(0.99),
      longestMillis,
    };
  }

  #millisAt(part: number): number {
    let left = part * this.count;
    for (const [bucket, count] of this.#counts.entries()) {
      left -= count;
      if (left <= 0) return (bucket + 1) / 100;
    }
    return this.#longest / 1000;
  }
}

/** Milliseconds. */
export interface DelaySummary {
  readonly count: number;
  readonly p50: number;
  readonly p99: number;
  readonly longestMillis: number;
}

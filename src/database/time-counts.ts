/** Upper bounds of the buckets, in milliseconds. Longer spans are counted too. */
export const timeBoundsMillis = [0.5, 1, 2.5, 5, 10, 25, 100, 500, 2_500, 10_000] as const;

/** Counts time spans of one kind by their length. A span costs no allocation. */
export class TimeCounts {
  /** One count per bucket, one for longer spans, and the sum of all in milliseconds. */
  readonly #figures = new Float64Array(timeCountsLength);

  add(millis: number): void {
    const figures = this.#figures;
    let at = 0;
    while (at < timeBoundsMillis.length && millis > (timeBoundsMillis[at] ?? 0)) at += 1;
    figures[at] = (figures[at] ?? 0) + 1;
    figures[sumAt] = (figures[sumAt] ?? 0) + millis;
  }

  figures(): TimeFigures {
    return Array.from(this.#figures);
  }
}

/** The count of each bucket, not cumulative, then the sum of all spans in milliseconds. */
export type TimeFigures = readonly number[];

const sumAt = timeBoundsMillis.length + 1;
export const timeCountsLength = sumAt + 1;

/** The number of spans. */
export function spanCount(figures: TimeFigures): number {
  return figures.slice(0, sumAt).reduce((sum, count) => sum + count, 0);
}

/** Durations that an actor measures. */
export interface ActorTimes {
  /** How long the first request of a turn has waited since it was accepted. */
  readonly queue: TimeFigures;
  /** From the start of a turn until its records are written. */
  readonly turn: TimeFigures;
  /** Time to make written records durable. */
  readonly sync: TimeFigures;
}

export const noTimes: ActorTimes = {
  queue: new TimeCounts().figures(),
  turn: new TimeCounts().figures(),
  sync: new TimeCounts().figures(),
};

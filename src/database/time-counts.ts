/** Upper bounds of the buckets, in milliseconds. What takes longer than the last counts, too. */
export const timeBoundsMillis = [0.5, 1, 2.5, 5, 10, 25, 100, 500, 2_500, 10_000] as const;

/** How many spans of time of one kind there were, by their length. A span costs no allocation. */
export class TimeCounts {
  /** A count for each bucket, one for what is longer, and the sum of all in milliseconds. */
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

/** The counts of all buckets, each by itself, then the sum of all spans in milliseconds. */
export type TimeFigures = readonly number[];

const sumAt = timeBoundsMillis.length + 1;
export const timeCountsLength = sumAt + 1;

/** How many spans there were. */
export function spanCount(figures: TimeFigures): number {
  return figures.slice(0, sumAt).reduce((sum, count) => sum + count, 0);
}

/** What an actor measures of itself. */
export interface ActorTimes {
  /** What the first request of a turn has waited for since it was accepted. */
  readonly queue: TimeFigures;
  /** From the begin of a turn until its records are written. */
  readonly turn: TimeFigures;
  /** Of making written records durable. */
  readonly sync: TimeFigures;
}

export const noTimes: ActorTimes = {
  queue: new TimeCounts().figures(),
  turn: new TimeCounts().figures(),
  sync: new TimeCounts().figures(),
};

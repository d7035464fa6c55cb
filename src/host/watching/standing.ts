import type { Niceness } from '../../node/child-priority.ts';
import type { ProcessorTime } from '../../node/processor-time.ts';

/**
 * How an actor ranks when actors compete for the processors: one with a long-running call comes
 * after one that has computed much lately, and that one comes after the rest.
 */
export type Standing = 'usual' | 'later' | 'last';

/** Relative to the gateway, which has 0. */
export const nicenessOf: Readonly<Record<Standing, Niceness>> = { usual: 5, later: 10, last: 19 };

/**
 * The same of lanes: a database serves all its callers, and what a lane computes is for one of
 * them.
 */
export const laneNicenessOf: Readonly<Record<Standing, Niceness>> = {
  usual: 10,
  later: 15,
  last: 19,
};

/** Between two samples. */
const sampleMillis = 400;

/** Shares of a processor: use is high from the first on, until less than the second is wanted. */
const highShareMin = 1 / 4;
const lowShareMax = 1 / 8;

/** Tracks how much of the processors one actor had, and wanted. */
export class ProcessorUse {
  #sampledAt = 0;
  #last: ProcessorTime | undefined;
  #isHigh = false;

  get isHigh(): boolean {
    return this.#isHigh;
  }

  /** How long it waited for a processor until the last sample; 0 where that is not known. */
  get waitedMillis(): number {
    return this.#last?.waitMillis ?? 0;
  }

  /** Cheap when called often: measures only now and then. */
  look(now: number, measure: () => ProcessorTime | undefined): void {
    const millis = now - this.#sampledAt;
    if (millis < sampleMillis) return;
    const time = measure();
    const last = this.#last;
    this.#sampledAt = now;
    this.#last = time;
    if (time === undefined || last === undefined) {
      this.#isHigh = false;
      return;
    }
    const ran = (time.runMillis - last.runMillis) / millis;
    const wanted = ran + (time.waitMillis - last.waitMillis) / millis;
    // An actor that is kept waiting runs little without having become modest.
    this.#isHigh = ran >= highShareMin || (this.#isHigh && wanted >= lowShareMax);
  }
}

import type { Niceness } from '../node/child-priority.ts';
import type { ProcessorTime } from '../node/processor-time.ts';

/**
 * How an actor stands before the others when they want the processors: one whose call has run for
 * long comes after one that has computed much lately, and that comes after the rest.
 */
export type Standing = 'usual' | 'later' | 'last';

/** Beside the gateway, which has 0. */
export const nicenessOf: Readonly<Record<Standing, Niceness>> = { usual: 5, later: 10, last: 19 };

/** Between two samples. */
const sampleMillis = 400;

/** Of a processor: use is high from the one on, until less than the other is wanted. */
const highShareMin = 1 / 4;
const lowShareMax = 1 / 8;

/** What is known of one actor: how much of the processors it had, and wanted. */
export class ProcessorUse {
  #sampledAt = 0;
  #last: ProcessorTime | undefined;
  #isHigh = false;

  get isHigh(): boolean {
    return this.#isHigh;
  }

  /** Cheap when called often: measures now and then. */
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
    // Who is kept waiting runs little, and has not become modest by it.
    this.#isHigh = ran >= highShareMin || (this.#isHigh && wanted >= lowShareMax);
  }
}

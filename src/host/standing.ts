import type { Niceness } from '../node/child-priority.ts';
import type { ProcessorTime } from '../node/processor-time.ts';

/**
 * How an actor stands before the others when they want the processors: one whose call has run for
 * long comes after one that has computed much lately, and that comes after the rest.
 */
export type Standing = 'usual' | 'busy' | 'long';

/** Beside the gateway, which has 0. */
export const nicenessOf: Readonly<Record<Standing, Niceness>> = { usual: 5, busy: 10, long: 15 };

/** Between two samples. */
const sampleMillis = 400;

/** Of a processor: who runs for more is busy, until it wants less. */
const busyShareMin = 1 / 4;
const calmShareMax = 1 / 8;

/** What is known of one actor: how much of the processors it had, and wanted. */
export class ProcessorUse {
  #sampledAt = 0;
  #last: ProcessorTime | undefined;
  #isBusy = false;

  get isBusy(): boolean {
    return this.#isBusy;
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
      this.#isBusy = false;
      return;
    }
    const ran = (time.runMillis - last.runMillis) / millis;
    const wanted = ran + (time.waitMillis - last.waitMillis) / millis;
    // Who is kept waiting runs little, and has not become modest by it.
    this.#isBusy = ran >= busyShareMin || (this.#isBusy && wanted >= calmShareMax);
  }
}

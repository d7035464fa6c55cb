import type { Clock } from '../database/clock.ts';
import { limits } from '../limits.ts';
import type { AfterEnd } from './end-line.ts';
import type { SeatEnd, SeatMode } from './seat.ts';

/** Ends, one soon after another, after which a database is broken. */
const endsMax = 3;

/** Another start in this process would come to the same, or must not be tried. */
const finalCauses: ReadonlySet<SeatEnd['cause']> = new Set(['refused', 'sync', 'superseded']);

/** No request tries it again: what is wrong does not pass by itself. */
const lastingCauses: ReadonlySet<SeatEnd['cause']> = new Set([...finalCauses, 'bug']);

/**
 * Whether, and when, a database is opened again whose actor has ended: at once, a few times; then
 * by the first request after a delay, because what the machine lacked (space, a folder, memory,
 * processes) may be there again one day, and nobody should have to start the service again for it.
 * Each failure doubles the delay.
 */
export class Reopening {
  readonly #clock: Clock;
  /** Ends since it last did something, or served for long. */
  #ends = 0;
  #servesSince = 0;
  #delayMillis = 0;
  #dueMillis = Number.POSITIVE_INFINITY;

  constructor(clock: Clock) {
    this.#clock = clock;
  }

  /** True when a request may have it tried now. */
  get isDue(): boolean {
    return this.#clock.monotonicMillis() >= this.#dueMillis;
  }

  /** It is being tried for a request; one more end is enough: it has had the others. */
  begun(): void {
    this.#dueMillis = Number.POSITIVE_INFINITY;
    this.#ends = endsMax - 1;
  }

  /** An actor serves. */
  opened(): void {
    this.#servesSince = this.#clock.monotonicMillis();
  }

  /** It has done something. */
  succeeded(): void {
    this.#ends = 0;
    this.#delayMillis = 0;
  }

  /** Decides what follows when an actor ended before its time. */
  ended(
    { cause, running }: Pick<SeatEnd, 'cause' | 'running'>,
    mode: SeatMode,
    wasServing: boolean,
  ): Exclude<AfterEnd, 'closed'> {
    const servedMillis = this.#clock.monotonicMillis() - this.#servesSince;
    if (wasServing && servedMillis >= limits.reopenMillisMax) this.succeeded();
    const isOfCall = running !== undefined && wasServing && cause !== 'full';
    if (!isOfCall) this.#ends += 1;
    const isNew = mode.kind !== 'open' && !wasServing;
    if (!finalCauses.has(cause) && !isNew && this.#ends < endsMax) return 'reopens';
    if (!lastingCauses.has(cause) && !isNew) this.#delay();
    return 'broken';
  }

  #delay(): void {
    const { reopenMillisMin, reopenMillisMax } = limits;
    this.#delayMillis = Math.min(reopenMillisMax, this.#delayMillis * 2 || reopenMillisMin);
    this.#dueMillis = this.#clock.monotonicMillis() + this.#delayMillis;
  }
}

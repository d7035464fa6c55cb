import type { Clock } from '../../database/clock.ts';
import { noTicket } from '../../database/ticket.ts';
import { limits } from '../../limits.ts';
import type { AfterEnd } from '../seats/end-line.ts';
import type { SeatEnd, SeatMode } from '../seats/seat.ts';

/** Ends in quick succession after which a database is broken. */
const endsMax = 3;

/** Causes for which another start in this process would fail the same way, or must not be tried. */
const finalCauses: ReadonlySet<SeatEnd['cause']> = new Set(['refused', 'sync', 'superseded']);

/**
 * Decides whether, and when, a database is reopened after its actor has ended: at once, a few
 * times; then by the first request after a delay, because what the machine lacked (space, a folder,
 * memory, processes) may become available, and the service should not need a restart for it. Each
 * failure doubles the delay.
 */
export class Reopening {
  readonly #clock: Clock;
  /** Ends since it last did something, or served for a long time. */
  #ends = 0;
  #servesSince = 0;
  #delayMillis = 0;
  #dueMillis = Number.POSITIVE_INFINITY;

  constructor(clock: Clock) {
    this.#clock = clock;
  }

  /** True when a request can try again now. */
  get isDue(): boolean {
    return this.#clock.monotonicMillis() >= this.#dueMillis;
  }

  /** Time until a request can try again; infinite: none can. */
  get waitMillis(): number {
    return Math.max(0, this.#dueMillis - this.#clock.monotonicMillis());
  }

  /** Notes a try for a request; one more end is then enough, as it has had the others. */
  begun(): void {
    this.#dueMillis = Number.POSITIVE_INFINITY;
    this.#ends = endsMax - 1;
  }

  /** Notes that an actor serves. */
  opened(): void {
    this.#servesSince = this.#clock.monotonicMillis();
  }

  /** Notes that it has done something. */
  succeeded(): void {
    this.#ends = 0;
    this.#delayMillis = 0;
  }

  /** Decides what follows after an actor ended before its time. */
  ended(
    { cause, running }: Pick<SeatEnd, 'cause' | 'running'>,
    mode: SeatMode,
    wasServing: boolean,
  ): Exclude<AfterEnd, 'closed'> {
    // Another host serves it meanwhile: nothing is wrong with it here.
    if (cause === 'deposed') return 'reopens';
    const servedMillis = this.#clock.monotonicMillis() - this.#servesSince;
    if (wasServing && servedMillis >= limits.reopenMillisMax) this.succeeded();
    const isOfCall = running !== undefined && wasServing && cause !== 'full';
    if (!isOfCall) this.#ends += 1;
    const isNew = mode.kind !== 'open' && !wasServing;
    if (!finalCauses.has(cause) && !isNew && this.#ends < endsMax) return 'reopens';
    // A fault of ours that a request found is gone with it, unless the start meets it, too.
    const isLasting = finalCauses.has(cause) || (cause === 'bug' && !wasServing);
    if (!isLasting && !isNew) this.#delay();
    return 'broken';
  }

  #delay(): void {
    const { reopenMillisMin, reopenMillisMax } = limits;
    this.#delayMillis = Math.min(reopenMillisMax, this.#delayMillis * 2 || reopenMillisMin);
    this.#dueMillis = this.#clock.monotonicMillis() + this.#delayMillis;
  }
}

/** True if the end of an actor was that of a connection which the one before it had left over. */
export function isOfLeftover({ running, scheduled }: SeatEnd, wasServing: boolean): boolean {
  if (running === undefined || scheduled !== undefined) return false;
  return !wasServing || running === noTicket;
}

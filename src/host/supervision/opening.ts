import type { Clock } from '../../database/clock.ts';
import { Refusal } from '../../database/outcome.ts';
import { limits } from '../../limits.ts';
import { bytesText } from '../../values/bytes-text.ts';

/** The progress of a database that opens. */
export interface OpeningProgress {
  /** Approximate bytes of its log that are read, and the total. */
  readonly readBytes: number;
  readonly bytes: number;
  readonly millis: number;
  /** Requests that wait for it. */
  readonly waiting: number;
}

export interface OpeningOptions {
  readonly clock: Clock;
  /** Bytes of the log; `undefined`: there is no durable one, and nothing is reported. */
  readonly bytes: number | undefined;
  /** For the operator. */
  readonly report: (level: 'info', message: string) => void;
  /** Receives the code of each refusal. */
  readonly refused?: (code: string) => void;
}

/**
 * One database on its way from its log to serving: its progress, and the requests that wait for it.
 * Requests wait within bounds of number and time (`limits.ts`); beyond them they are rejected with
 * `database.opening`, which reports the progress and when to try again.
 */
export class Opening {
  /** Bytes of the log. */
  readonly bytes: number;
  readonly #options: OpeningOptions;
  readonly #startedMillis: number;
  /** Reports also while nothing is read, until it ends. */
  readonly #reporter: NodeJS.Timeout;
  #reportedMillis: number;
  #readBytes = 0;
  #fetchedBytes = 0;
  #isLinking = false;
  #waiting = 0;

  constructor(options: OpeningOptions) {
    this.#options = options;
    this.#startedMillis = options.clock.monotonicMillis();
    this.#reportedMillis = this.#startedMillis;
    this.bytes = options.bytes ?? 0;
    this.#reporter = setInterval(() => this.#reportNow(), limits.openingReportMillis).unref();
    if (this.bytes <= limits.smallLogBytesMax) return;
    this.#report(`is opening: ${bytesText(this.bytes)} of log to read`);
  }

  get progress(): OpeningProgress {
    const { bytes } = this;
    return { readBytes: this.#readBytes, bytes, millis: this.#millis, waiting: this.#waiting };
  }

  /** Notes how much of the log was read in all, at most its size: parts can be read twice. */
  hasRead(bytes: number): void {
    this.#readBytes = Math.min(this.bytes, bytes);
    this.#reportNow();
  }

  /** Notes how much of a shared log came in all; how much there is, nobody knows. */
  hasFetched(bytes: number): void {
    this.#fetchedBytes = bytes;
    this.#reportNow();
  }

  /** Notes whether its program, which the log holds, is being linked. */
  links(isLinking: boolean): void {
    this.#isLinking = isLinking;
  }

  /** Notes that it opens no longer, whatever has become of it. */
  ended(): void {
    clearInterval(this.#reporter);
  }

  /** Notes that it serves. */
  succeeded(): void {
    this.ended();
    const bytes = bytesText(this.bytes);
    this.#report(`serves; opening took ${seconds(this.#millis)} (${bytes} of log)`);
  }

  /**
   * Lets a request wait. After the longest wait `giveUp` is called with its refusal; the returned
   * function ends the wait before. Throws that refusal when too many wait already.
   */
  wait(giveUp: (refusal: Refusal) => void): () => void {
    if (this.#waiting >= limits.openingRequestsMax) throw this.#counted(this.#refusal());
    this.#waiting += 1;
    const late = () => giveUp(this.#counted(this.#refusal()));
    const timer = setTimeout(late, limits.openingWaitMillisMax);
    timer.unref();
    return () => {
      clearTimeout(timer);
      this.#waiting -= 1;
    };
  }

  /**
   * Calls `giveUp` after the longest wait, for requests from before it began to open: it rejects,
   * and counts, those of them that no actor has.
   */
  keep(giveUp: (refusal: Refusal) => void): void {
    setTimeout(() => giveUp(this.#refusal()), limits.openingWaitMillisMax).unref();
  }

  #counted(refusal: Refusal): Refusal {
    this.#options.refused?.(refusal.body.code);
    return refusal;
  }

  /** Unless the last report is too young. */
  #reportNow(): void {
    const now = this.#options.clock.monotonicMillis();
    if (now - this.#reportedMillis < limits.openingReportMillis) return;
    this.#reportedMillis = now;
    this.#report(`is opening: ${this.#progressText()}`);
  }

  #report(message: string): void {
    if (this.#options.bytes !== undefined) this.#options.report('info', message);
  }

  get #millis(): number {
    return this.#options.clock.monotonicMillis() - this.#startedMillis;
  }

  #progressText(): string {
    const passed = seconds(this.#millis);
    if (this.#isLinking) return `its program is being prepared, after ${passed}`;
    const parts: string[] = [];
    const total = bytesText(this.bytes);
    if (this.bytes > 0) parts.push(`${bytesText(this.#readBytes)} of ${total} of its log`);
    if (this.#fetchedBytes > 0) parts.push(`${bytesText(this.#fetchedBytes)} of its shared log`);
    return `${parts.join(' and ') || 'nothing of its log'} read after ${passed}`;
  }

  #refusal(): Refusal {
    const retryAfterSeconds = this.#retryAfterSeconds();
    const next = `Try again in ${retryAfterSeconds} s.`;
    const message = `The database is opening: ${this.#progressText()}. ${next}`;
    return new Refusal({ code: 'database.opening', message, retryAfterSeconds });
  }

  /** Estimates the remaining time from the progress so far, within bounds. */
  #retryAfterSeconds(): number {
    const { openingRetrySecondsMin, openingRetrySecondsMax } = limits;
    if (this.#readBytes === 0) return openingRetrySecondsMin;
    const left = this.bytes - this.#readBytes;
    const restMillis = (this.#millis / this.#readBytes) * left;
    return Math.min(
      openingRetrySecondsMax,
      Math.max(openingRetrySecondsMin, Math.ceil(restMillis / 1_000)),
    );
  }
}

function seconds(millis: number): string {
  return `${(millis / 1_000).toFixed(1)} s`;
}

import { limits } from '../../limits.ts';
import { cutText } from '../../module/log-line.ts';

const minuteMillis = 60_000;

/**
 * Warnings of one actor for the service's log: a bounded number per minute, each within its bound.
 * The rest is counted, and the count is one more warning when the minute is over.
 */
export class Warnings {
  readonly #send: (message: string) => void;
  #count = 0;
  #isMinute = false;

  constructor(send: (message: string) => void) {
    this.#send = send;
  }

  add(text: string): void {
    this.#begin();
    this.#count += 1;
    if (this.#count >= limits.workerWarningsPerMinute) return;
    this.#send(cutText(text, limits.reportCharactersMax));
  }

  #begin(): void {
    if (this.#isMinute) return;
    this.#isMinute = true;
    setTimeout(() => {
      const more = this.#count - limits.workerWarningsPerMinute + 1;
      this.#count = 0;
      this.#isMinute = false;
      if (more > 0) this.#send(`${more} more warnings were omitted within a minute.`);
    }, minuteMillis).unref();
  }
}

import type { ExportAsk } from '../../database/transfer/export-ask.ts';
import { limits } from '../../limits.ts';

/** What uses a database besides requests under way and connections of clients that stay. */
export class OtherUses {
  /** Work on files of its history, which ends with its actor. */
  #tasks = 0;
  /** Connections that requests may name. */
  #guests = 0;
  /** Until when an export may be read on, in milliseconds of the monotonic clock. */
  #exportsUntil = Number.NEGATIVE_INFINITY;

  #wasAsked = false;
  #askedAt = Number.NEGATIVE_INFINITY;

  /** Somebody wants to know what it is, which needs no turn. Calls do so, too: it costs nothing. */
  asked(): void {
    this.#wasAsked = true;
  }

  /** When that was the last time, no later than when this was last looked at. */
  askedAt(now: number): number {
    if (this.#wasAsked) this.#askedAt = now;
    this.#wasAsked = false;
    return this.#askedAt;
  }

  isUsedAt(now: number): boolean {
    return this.#tasks > 0 || this.#guests > 0 || now < this.#exportsUntil;
  }

  async task<Answer>(work: Promise<Answer>): Promise<Answer> {
    this.#tasks += 1;
    try {
      return await work;
    } finally {
      this.#tasks -= 1;
    }
  }

  connected(): void {
    this.#guests += 1;
  }

  disconnected(): void {
    this.#guests = Math.max(0, this.#guests - 1);
  }

  /** A reader who is slow must find the rest of its rows. */
  exported({ kind }: ExportAsk, now: number): void {
    this.#exportsUntil = kind === 'end' ? now : now + limits.exportIdleMillisMax;
  }

  /** Its actor is gone, and with it what it knew. */
  actorEnded(): void {
    this.#guests = 0;
    this.#exportsUntil = Number.NEGATIVE_INFINITY;
  }
}

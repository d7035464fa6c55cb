import { limits } from '../limits.ts';
import type { ConfirmResult } from './shared-log.ts';

interface Waiter {
  readonly resolve: () => void;
  readonly reject: (error: unknown) => void;
}

/**
 * Proof that this host still led after a read ran: an append or a confirmation that *began* after
 * the read, and came back. Those who wait at the same moment share one; a later one is never proved
 * by a confirmation that was under way already.
 */
export class ReadProofs {
  readonly #confirm: () => Promise<ConfirmResult>;
  readonly #pause: (millis: number) => Promise<void>;
  readonly #onPassed: () => void;
  #waiting = new Set<Waiter>();
  /** Those whom the confirmation under way will prove. */
  #asked = new Set<Waiter>();
  #isRunning = false;
  #failure: Error | undefined;

  constructor(options: {
    readonly confirm: () => Promise<ConfirmResult>;
    readonly pause: (millis: number) => Promise<void>;
    /** The log has an entry behind this host's last one. */
    readonly onPassed: () => void;
  }) {
    this.#confirm = options.confirm;
    this.#pause = options.pause;
    this.#onPassed = options.onPassed;
  }

  /** Resolves when it is proved that this host led at some moment after the call. */
  wait(): Promise<void> {
    if (this.#failure !== undefined) return Promise.reject(this.#failure);
    const waited = new Promise<void>((resolve, reject) => {
      this.#waiting.add({ resolve, reject });
    });
    this.#run().catch(() => undefined);
    return waited;
  }

  /** An append begins; the answer is to be called when it was stored. */
  append(): () => void {
    const covered = [...this.#waiting, ...this.#asked];
    return () => {
      for (const waiter of covered) this.#prove(waiter);
    };
  }

  /** Nobody who waits will get a proof. */
  end(failure: Error): void {
    this.#failure = failure;
    for (const { reject } of [...this.#waiting, ...this.#asked]) reject(failure);
    this.#waiting.clear();
    this.#asked.clear();
  }

  async #run(): Promise<void> {
    if (this.#isRunning) return;
    this.#isRunning = true;
    let millis: number = limits.appendRetryMillisMin;
    while (this.#waiting.size > 0) {
      this.#asked = this.#waiting;
      this.#waiting = new Set();
      const result = await this.#confirm();
      if (result === 'last') {
        for (const waiter of [...this.#asked]) this.#prove(waiter);
        millis = limits.appendRetryMillisMin;
        continue;
      }
      for (const waiter of this.#asked) this.#waiting.add(waiter);
      this.#asked = new Set();
      if (result === 'passed') this.#onPassed();
      if (this.#waiting.size === 0) break;
      await this.#pause(millis);
      millis = Math.min(2 * millis, limits.appendRetryMillisMax);
    }
    this.#isRunning = false;
  }

  #prove(waiter: Waiter): void {
    this.#waiting.delete(waiter);
    this.#asked.delete(waiter);
    waiter.resolve();
  }
}

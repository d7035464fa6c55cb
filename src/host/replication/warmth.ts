import { performance } from 'node:perf_hooks';
import type { DatabaseCopy } from '../../database/database-copy.ts';
import { limits } from '../../limits.ts';
import { cutText } from '../../module/log-line.ts';
import type { LookAround } from '../../shared-log/member-options.ts';

export interface WarmthOptions {
  /** Why the program is not loaded at first: it has ended the actor before. */
  readonly coldReason: string | undefined;
  readonly warn: (message: string) => void;
  /** Called when the program is loaded, or cannot be. */
  readonly changed: () => void;
}

/**
 * Keeps the program of a database loaded while this host follows, so that it can serve as soon as
 * it leads. A program that cannot be loaded harms nothing but that: the copy follows on, and this
 * host is no candidate.
 */
export class Warmth {
  readonly #options: WarmthOptions;
  #fault: string | undefined;
  #triedAt = Number.NEGATIVE_INFINITY;
  #isLoading = false;
  /** The commit that published the program of the last try; absent: of one that is not known. */
  #triedOffset: number | undefined;

  constructor(options: WarmthOptions) {
    this.#options = options;
    if (options.coldReason === undefined) return;
    this.#triedAt = performance.now();
    this.#failed(options.coldReason);
  }

  get isLoading(): boolean {
    return this.#isLoading;
  }

  /** Why its program cannot be loaded. */
  get fault(): string | undefined {
    return this.#fault;
  }

  /** Loads it if that is due; `load` does it. */
  care(copy: Pick<DatabaseCopy, 'isWarm' | 'programOffset'>, load: () => Promise<void>): void {
    const { programOffset } = copy;
    if (this.#isLoading || copy.isWarm || programOffset === undefined) return;
    const isSame = this.#triedOffset === undefined || this.#triedOffset === programOffset;
    const isLate = performance.now() - this.#triedAt >= limits.warmRetryMillis;
    if (this.#fault !== undefined && isSame && !isLate) {
      this.#triedOffset = programOffset;
      return;
    }
    this.#triedOffset = programOffset;
    this.#triedAt = performance.now();
    this.#isLoading = true;
    void this.#load(load);
  }

  /** What the host sees around it, with its own part in it. */
  seen(copy: Pick<DatabaseCopy, 'isWarm'>, around: LookAround): LookAround {
    if (this.#fault !== undefined) return { ...around, isCandidate: false };
    return copy.isWarm ? around : { ...around, rank: around.rank + limits.coldRank };
  }

  async #load(load: () => Promise<void>): Promise<void> {
    try {
      await load();
      this.#fault = undefined;
    } catch (error) {
      this.#failed(error instanceof Error ? error.message : String(error));
    }
    this.#isLoading = false;
    this.#options.changed();
  }

  #failed(text: string): void {
    const reason = cutText(text, limits.reportCharactersMax);
    const message =
      `This host follows the database and does not lead it: its program cannot be loaded here. ` +
      reason;
    if (this.#fault !== reason) this.#options.warn(message);
    this.#fault = reason;
  }
}

import { limits } from '../../limits.ts';
import { atMost } from '../../node/at-most.ts';
import type { HistoryAnswer } from './history-task.ts';

/** Does a task; looks at `signal` between two operations on files. */
export type HistoryWork = (signal: AbortSignal) => Promise<HistoryAnswer>;

/**
 * What is done with the files of one database's history beside its actors: while an actor reads the
 * log, nothing is.
 */
export class HistoryDesk {
  #stop = new AbortController();
  readonly #running = new Set<Promise<unknown>>();

  run(work: HistoryWork, signal?: AbortSignal): Promise<HistoryAnswer> {
    const signals = [this.#stop.signal, ...(signal === undefined ? [] : [signal])];
    const answer = work(AbortSignal.any(signals));
    const ended: Promise<unknown> = answer
      .catch(() => undefined)
      .finally(() => this.#running.delete(ended));
    this.#running.add(ended);
    return answer;
  }

  /**
   * Stops what runs, because the actor has ended. Resolves when nothing does any more, or after
   * `limits.historyStopMillisMax`: what is left then ends after its present operation, and touches
   * no file that an opening needs.
   */
  async stop(): Promise<void> {
    if (this.#running.size === 0) return;
    this.#stop.abort();
    this.#stop = new AbortController();
    await atMost(limits.historyStopMillisMax, Promise.all(this.#running));
  }
}

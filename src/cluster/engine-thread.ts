import { Worker as Thread } from 'node:worker_threads';
import type { EnginePlace } from '../engines/engine-place.ts';
import { workerEntry } from '../host/spawner/worker-entry.ts';
import { limits } from '../limits.ts';
import type { Report } from '../node/report-line.ts';
import { EnginePort } from './engine-port.ts';

export interface EngineThreadOptions {
  readonly place: EnginePlace;
  /** The newest past of the engine that this host has seen; see `engine-history.ts`. */
  readonly history: string | undefined;
  readonly gatherMillis: number;
  /** Called when the engine goes on in a newer past, before anything that came from it is used. */
  readonly onHistory: (history: string) => void;
  readonly report: Report;
}

export type EngineStart = Pick<EngineThreadOptions, 'place' | 'history' | 'gatherMillis'>;

/**
 * The thread of a host that holds its connections with the engine, so that the gateway does not
 * encode, decode or wait for them. When it dies, what was under way is unknown, and another one is
 * started.
 */
export class EngineThread {
  readonly engine: EnginePort;
  readonly #options: EngineThreadOptions;
  #history: string | undefined;
  #thread: Thread | undefined;
  #rest: NodeJS.Timeout | undefined;
  #isClosed = false;

  private constructor(options: EngineThreadOptions) {
    this.#options = options;
    this.#history = options.history;
    this.engine = new EnginePort((history) => {
      this.#history = history;
      options.onHistory(history);
    });
  }

  static async start(options: EngineThreadOptions): Promise<EngineThread> {
    const thread = new EngineThread(options);
    // Each engine is a program of its own, so that only the one that is used is loaded.
    const entry = options.place.kind === 's3' ? 'store-engine' : 'engine';
    thread.#run(await workerEntry(entry));
    return thread;
  }

  /** What the engine calls its past now; `undefined` before it has answered. */
  get history(): string | undefined {
    return this.#history;
  }

  async close(): Promise<void> {
    this.#isClosed = true;
    clearTimeout(this.#rest);
    this.engine.detach();
    await this.#thread?.terminate();
  }

  #run(entry: string): void {
    if (this.#isClosed) return;
    const { place, gatherMillis } = this.#options;
    const workerData: EngineStart = { place, history: this.#history, gatherMillis };
    const thread = new Thread(entry, {
      workerData,
      resourceLimits: { maxOldGenerationSizeMb: limits.engineHeapMebibytesMax },
      env: {},
      execArgv: [],
    });
    this.#thread = thread;
    this.engine.attach(thread);
    let failure: unknown;
    thread.on('error', (error) => {
      failure = error;
    });
    thread.on('exit', () => this.#died(failure, entry));
    // The service lives for other things.
    thread.unref();
  }

  #died(failure: unknown, entry: string): void {
    this.#thread = undefined;
    this.engine.detach();
    if (this.#isClosed) return;
    const cause = failure instanceof Error ? failure.message : 'it ended';
    const message = 'The thread that talks to the engine of the cluster has died, and is restarted';
    this.#options.report({ level: 'error', message: `${message}: ${cause}` });
    this.#rest = setTimeout(() => this.#run(entry), limits.engineRestMillis).unref();
  }
}

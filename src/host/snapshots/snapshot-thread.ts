import { Worker as Thread } from 'node:worker_threads';
import { workerEntry } from '../spawner/worker-entry.ts';
import type { SnapshotOrder } from './snapshot-messages.ts';

export interface SnapshotThreadOptions {
  /** The built `snapshot-main`; absent: it is found. */
  readonly entry?: string;
  /** Flags for the thread alone, such as permissions. */
  readonly flags?: readonly string[];
}

/** The thread that writes snapshots, which exists while there are some to write. */
export class SnapshotThread {
  readonly #options: SnapshotThreadOptions;
  #thread: Promise<Thread> | undefined;

  constructor(options: SnapshotThreadOptions = {}) {
    this.#options = options;
  }

  /** Where it cannot start, or ends, the port is closed: its snapshot fails. */
  take(order: SnapshotOrder): void {
    const thread = this.#thread ?? this.#start();
    this.#thread = thread;
    thread.then(
      (started) => started.postMessage(order, [order.port]),
      () => order.port.close(),
    );
  }

  /** Ends it; unfinished snapshots are removed by the next opening of their databases. */
  async close(): Promise<void> {
    const thread = this.#thread;
    this.#thread = undefined;
    await (await thread?.catch(() => undefined))?.terminate();
  }

  async #start(): Promise<Thread> {
    const { entry, flags = [] } = this.#options;
    const forget = (): void => {
      this.#thread = undefined;
    };
    try {
      const thread = new Thread(entry ?? (await workerEntry('snapshot')), {
        env: {},
        execArgv: [...flags],
        resourceLimits: { maxOldGenerationSizeMb: heapMebibytes },
      });
      thread.unref();
      thread.on('exit', forget);
      // The exit follows, and the ports of its snapshots are closed.
      thread.on('error', forget);
      return thread;
    } catch (error) {
      forget();
      throw error;
    }
  }
}

/** Blocks are not on the heap. */
const heapMebibytes = 64;

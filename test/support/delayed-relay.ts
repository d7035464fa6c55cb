import { once } from 'node:events';
import { Worker } from 'node:worker_threads';

/** Passes connections on to a server of this machine as if it were another one. */
export class DelayedRelay {
  readonly port: number;
  readonly #thread: Worker;

  private constructor(port: number, thread: Worker) {
    this.port = port;
    this.#thread = thread;
  }

  /** `millis`: what a round trip takes more; a timer of Node adds some tenths. */
  static async to(port: number, millis: number): Promise<DelayedRelay> {
    const main = new URL('delayed-relay-main.mjs', import.meta.url);
    const thread = new Worker(main, { workerData: { port, millis } });
    const [own] = (await once(thread, 'message')) as [number];
    return new DelayedRelay(own, thread);
  }

  async stop(): Promise<void> {
    await this.#thread.terminate();
  }
}

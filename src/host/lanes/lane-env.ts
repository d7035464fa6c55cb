import { MessageChannel, type MessagePort } from 'node:worker_threads';
import type { EnvReader, ModuleEnv } from '../../module/module-env.ts';
import type { DatabaseIdentity } from '../../values/identity-roles.ts';
import { answerWord, changeWord, type EnvAnswer, type EnvWay } from './env-way.ts';

/** Where lanes have the configuration of their databases from. */
export interface EnvSource {
  /** What a program may read, with the texts of the secrets. */
  whole(reader: EnvReader): Promise<ModuleEnv>;
  /** Calls `changed` after each change, before any request that follows it, until it is ended. */
  follow(database: DatabaseIdentity, changed: () => void | Promise<void>): () => void;
}

/** Gives one lane the configuration. What a lane says is checked: a program may control it. */
export class LaneEnv {
  /** The end for the lane; its port is transferred to it. */
  readonly way: EnvWay;
  readonly #source: EnvSource;
  readonly #reader: EnvReader;
  readonly #port: MessagePort;
  readonly #counts: Int32Array;
  readonly #unfollow: () => void;
  /** The count of changes that was answered last. */
  #answered: number | undefined;
  #isAnswering = false;
  #isClosed = false;

  /** `broken`: called when the lane has sent what no lane sends; it is to be ended. */
  constructor(source: EnvSource, reader: EnvReader, broken: (message: string) => void) {
    const { port1, port2 } = new MessageChannel();
    const counts = new SharedArrayBuffer(8);
    this.way = { port: port2, counts };
    this.#source = source;
    this.#reader = reader;
    this.#port = port1;
    this.#counts = new Int32Array(counts);
    this.#unfollow = source.follow(reader.identity, () => {
      Atomics.add(this.#counts, changeWord, 1);
    });
    port1.on('message', () => {
      if (this.#isClosed) return;
      if (this.#isAnswering || this.#answered === Atomics.load(this.#counts, changeWord)) {
        this.close();
        broken('The lane of a procedure has broken: it asks for what it has');
        return;
      }
      void this.#answer(broken);
    });
    port1.unref();
  }

  close(): void {
    this.#isClosed = true;
    this.#unfollow();
    this.#port.close();
  }

  async #answer(broken: (message: string) => void): Promise<void> {
    this.#isAnswering = true;
    try {
      let change = -1;
      let env: ModuleEnv | undefined;
      // It may change while it is decrypted.
      while (env === undefined || change !== Atomics.load(this.#counts, changeWord)) {
        change = Atomics.load(this.#counts, changeWord);
        env = await this.#source.whole(this.#reader);
      }
      if (this.#isClosed) return;
      this.#answered = change;
      this.#isAnswering = false;
      const answer: EnvAnswer = { env, change };
      this.#port.postMessage(answer);
      Atomics.add(this.#counts, answerWord, 1);
      Atomics.notify(this.#counts, answerWord);
    } catch (error) {
      broken(`The configuration could not be read: ${String(error)}`);
    }
  }
}

import { Worker as Thread } from 'node:worker_threads';
import { type ProgramFiles, programAsFile } from '../../bundle/program-files.ts';
import { refusal } from '../../database/outcome.ts';
import { limits } from '../../limits.ts';
import { baseNiceness } from '../../node/child-priority.ts';
import { workerEntry } from '../spawner/worker-entry.ts';

export interface SourceThreadStart {
  readonly program: Uint8Array;
  /** From where niceness counts; see `baseNiceness`. */
  readonly niceness: number;
}

export interface SourceReaderBounds {
  readonly millisMax: number;
  readonly mebibytesMax: number;
  readonly waitingMax: number;
}

const usualBounds: SourceReaderBounds = {
  millisMax: limits.sourceReadMillisMax,
  mebibytesMax: limits.sourceReadMebibytes,
  waitingMax: limits.sourceReadsMax,
};

/**
 * Reads the files that programs were made of, one program after the other, each on a thread that
 * can be lost: a source map is as long, and as hard to read, as its publisher wants it to be.
 */
export class SourceReader {
  readonly #bounds: SourceReaderBounds;
  #waiting = 0;
  #last: Promise<unknown> = Promise.resolve();

  /** `bounds` replaces those of `limits.ts`, for tests. */
  constructor(bounds: Partial<SourceReaderBounds> = {}) {
    this.#bounds = { ...usualBounds, ...bounds };
  }

  /**
   * Resolves with the text of the program itself where its map cannot be read within the bounds.
   * Rejects with `Refusal` `database.overloaded` when too many programs wait.
   */
  async read(program: Uint8Array): Promise<ProgramFiles> {
    if (this.#waiting >= this.#bounds.waitingMax) {
      const message = 'The sources of too many modules are being read. Try again in a moment.';
      throw refusal('database.overloaded', message);
    }
    this.#waiting += 1;
    const read = this.#last.then(() => this.#onThread(program));
    this.#last = read.catch(() => undefined);
    try {
      return (await read) ?? programAsFile(program);
    } finally {
      this.#waiting -= 1;
    }
  }

  async #onThread(program: Uint8Array): Promise<ProgramFiles | undefined> {
    const copy = program.slice();
    const workerData: SourceThreadStart = { program: copy, niceness: baseNiceness() };
    const thread = new Thread(await workerEntry('source'), {
      workerData,
      transferList: [copy.buffer],
      env: {},
      resourceLimits: { maxOldGenerationSizeMb: this.#bounds.mebibytesMax },
    });
    thread.unref();
    return new Promise((resolve) => {
      const end = setTimeout(() => void thread.terminate(), this.#bounds.millisMax).unref();
      thread.on('message', resolve);
      // An exit follows.
      thread.on('error', () => undefined);
      thread.on('exit', () => {
        clearTimeout(end);
        resolve(undefined);
      });
    });
  }
}

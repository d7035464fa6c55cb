import { Worker as Thread } from 'node:worker_threads';
import { limits } from '../../limits.ts';
import { baseNiceness } from '../../node/child-priority.ts';
import { workerEntry } from '../spawner/worker-entry.ts';
import type { FromRowThread, RowThreadStart, ToRowThread } from './row-messages.ts';
import { type RowOrder, type RowResult, RowWork } from './row-work.ts';

/** The rows could not be read or written; the message is for the one who asked. */
export class RowTextError extends Error {
  override readonly name = 'RowTextError';
}

/** Where rows are read and written as text. */
export interface RowLink {
  /** Rejects with `RowTextError`. Buffers in the order may be taken. */
  do(stream: number, order: RowOrder): Promise<RowResult>;
  close(): Promise<void>;
}

/** In the caller's own thread, for tests. */
export class LocalRows implements RowLink {
  readonly #work = new RowWork();

  async do(stream: number, order: RowOrder): Promise<RowResult> {
    return this.#work.do(stream, order);
  }

  async close(): Promise<void> {
    // Nothing runs.
  }
}

interface Waiting {
  readonly resolve: (result: RowResult) => void;
  readonly reject: (error: Error) => void;
}

/**
 * A thread, which exists while there is something to do, and a little longer. What was open when it
 * ends by itself, fails.
 */
export class RowThread implements RowLink {
  #thread: Promise<Thread> | undefined;
  #lastNumber = 0;
  readonly #waiting = new Map<number, Waiting>();
  readonly #open = new Set<number>();
  #idle: NodeJS.Timeout | undefined;

  async do(stream: number, order: RowOrder): Promise<RowResult> {
    this.#count(stream, order);
    this.#thread ??= this.#start();
    const thread = await this.#thread;
    const number = ++this.#lastNumber;
    return new Promise((resolve, reject) => {
      this.#waiting.set(number, { resolve, reject });
      const message: ToRowThread = { number, stream, order };
      thread.postMessage(message, order.kind === 'push' ? [order.bytes.buffer as ArrayBuffer] : []);
    });
  }

  async close(): Promise<void> {
    clearTimeout(this.#idle);
    const thread = this.#thread;
    await (await thread?.catch(() => undefined))?.terminate();
  }

  #count(stream: number, { kind }: RowOrder): void {
    if (kind === 'openReader' || kind === 'openWriter') this.#open.add(stream);
    if (kind === 'close') this.#open.delete(stream);
    clearTimeout(this.#idle);
    if (this.#open.size > 0) return;
    this.#idle = setTimeout(() => void this.close(), limits.rowThreadIdleMillis);
    this.#idle.unref();
  }

  async #start(): Promise<Thread> {
    try {
      const workerData: RowThreadStart = { niceness: baseNiceness() };
      const thread = new Thread(await workerEntry('rows'), {
        workerData,
        env: {},
        resourceLimits: { maxOldGenerationSizeMb: limits.rowThreadMebibytes },
      });
      thread.unref();
      thread.on('message', (message: FromRowThread) => this.#answered(message));
      // An exit follows.
      thread.on('error', () => undefined);
      thread.on('exit', () => this.#ended());
      return thread;
    } catch (error) {
      this.#ended();
      throw error;
    }
  }

  #answered(answer: FromRowThread): void {
    const waiting = this.#waiting.get(answer.number);
    this.#waiting.delete(answer.number);
    if ('result' in answer) waiting?.resolve(answer.result);
    else waiting?.reject(new RowTextError(answer.message));
  }

  #ended(): void {
    this.#thread = undefined;
    const waiting = [...this.#waiting.values()];
    this.#waiting.clear();
    const error = new RowTextError('the rows took more memory than there is for reading them');
    for (const { reject } of waiting) reject(error);
  }
}

import type { Worker as Thread } from 'node:worker_threads';
import { limits } from '../../limits.ts';
import { hardeningFile } from '../../node/realm.ts';
import type { ActorStart, ThreadTask } from '../messages/worker-messages.ts';
import { Board } from '../seats/board.ts';
import type { Budget } from '../seats/budget.ts';
import { threadProgram } from './compiled-program.ts';
import { newThread, threadWorker } from './thread-worker.ts';
import type { Worker, WorkerEvents, WorkerOptions } from './worker.ts';

interface Waiting {
  readonly thread: Thread;
  readonly board: Board;
}

/**
 * Starts actors on threads, one of which is always there before it is needed: a thread takes longer
 * to start than to examine a program. For a service on which somebody waits for each publish.
 */
export class SpareThread {
  readonly #budget: Budget;
  #next: Promise<Waiting> | undefined;
  #timer: NodeJS.Timeout | undefined;
  #isClosed = false;

  constructor(budget: Budget) {
    this.#budget = budget;
    this.#prepare();
  }

  /** As `startThread`. */
  readonly start = async (
    start: ActorStart,
    { budget, lastTicket }: WorkerOptions,
    events: WorkerEvents,
  ): Promise<Worker> => {
    const { thread, board } = await (this.#next ?? this.#begun());
    this.#next = undefined;
    thread.removeAllListeners();
    board.startAfter(lastTicket);
    const worker = threadWorker(thread, { board, budget, events: this.#following(events) });
    const task: ThreadTask = { start };
    thread.postMessage(task);
    thread.ref();
    return worker;
  };

  close(): void {
    this.#isClosed = true;
    clearTimeout(this.#timer);
    void this.#next?.then(({ thread }) => thread.terminate());
  }

  /** The next one starts once this one has ended, so that it takes no processor from it. */
  #following(events: WorkerEvents): WorkerEvents {
    return {
      message: (message) => events.message(message),
      ended: (death) => {
        events.ended(death);
        this.#timer = setTimeout(() => this.#prepare(), limits.spareMillis);
        this.#timer.unref();
      },
    };
  }

  #prepare(): void {
    if (this.#isClosed || this.#next !== undefined) return;
    const next = this.#begun();
    this.#next = next;
    // One that ends while it waits is replaced when it is needed.
    const forget = () => {
      if (this.#next === next) this.#next = undefined;
    };
    next.then(({ thread }) => {
      thread.once('error', forget);
      thread.once('exit', forget);
      thread.unref();
      if (this.#isClosed) void thread.terminate();
    }, forget);
  }

  async #begun(): Promise<Waiting> {
    const board = new Board();
    const waiting = {
      board: board.buffer,
      hardeningFile: hardeningFile(),
      isWaiting: true,
    } as const;
    return { thread: newThread(await threadProgram.ready(), waiting, this.#budget), board };
  }
}

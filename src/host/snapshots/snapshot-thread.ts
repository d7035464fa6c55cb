import { MessageChannel, Worker as Thread } from 'node:worker_threads';
import { limits } from '../../limits.ts';
import { decodeHistoryTask, type HistoryTask } from '../seats/history-task.ts';
import { workerEntry } from '../spawner/worker-entry.ts';
import type { HistoryMessage, HistoryReply, SnapshotOrder } from './snapshot-messages.ts';

export interface SnapshotThreadOptions {
  /** The built `snapshot-main`; absent: it is found. */
  readonly entry?: string;
  /** Flags for the thread alone, such as permissions. */
  readonly flags?: readonly string[];
  /** Bound of its heap; absent: that of a thread which moves blocks. */
  readonly heapMebibytes?: number;
}

/** The thread that writes snapshots and looks after histories, while there is something to do. */
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

  /**
   * Has it do a task on the files of a history, both as text (`history-task.ts`). A check reads
   * without pauses, and so does a look for a row: they have threads of their own, which end with
   * them; a deep check has more memory.
   * `undefined`: the thread has ended.
   */
  async ask(
    place: Omit<SnapshotOrder, 'port'>,
    task: string,
    signal: AbortSignal,
  ): Promise<string | undefined> {
    const decoded = decodeHistoryTask(task);
    if (decoded.kind !== 'verify' && decoded.kind !== 'row') {
      return this.#ask(place, task, signal);
    }
    const { verifyHeapMebibytes, deepVerifyHeapMebibytes } = limits;
    const isDeep = decoded.kind === 'verify' && decoded.isDeep;
    const heapMebibytes = isDeep ? deepVerifyHeapMebibytes : verifyHeapMebibytes;
    const own = new SnapshotThread({ ...this.#options, heapMebibytes });
    const stop = (): void => void own.close();
    signal.addEventListener('abort', stop, { once: true });
    try {
      return await own.#ask(place, task, signal);
    } finally {
      signal.removeEventListener('abort', stop);
      await own.close();
    }
  }

  #ask(
    place: Omit<SnapshotOrder, 'port'>,
    task: string,
    signal: AbortSignal,
  ): Promise<string | undefined> {
    return new Promise((resolve) => {
      const { port1, port2 } = new MessageChannel();
      const send = (message: HistoryMessage): void => port1.postMessage(message);
      const stop = (): void => send({ kind: 'stop' });
      const end = (answer: string | undefined): void => {
        signal.removeEventListener('abort', stop);
        port1.close();
        resolve(answer);
      };
      port1.on('message', ({ answer }: HistoryReply) => end(answer));
      port1.on('close', () => end(undefined));
      this.take({ ...place, port: port2 });
      send({ kind: 'history', task });
      signal.addEventListener('abort', stop, { once: true });
      if (signal.aborted) stop();
    });
  }

  /** Ends it; unfinished snapshots are removed by the next opening of their databases. */
  async close(): Promise<void> {
    const thread = this.#thread;
    this.#thread = undefined;
    await (await thread?.catch(() => undefined))?.terminate();
  }

  async #start(): Promise<Thread> {
    const { entry, flags = [], heapMebibytes = blocksHeapMebibytes } = this.#options;
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
const blocksHeapMebibytes = 64;

/** What is said of a task that got no answer. */
export function threadEndedText(task: HistoryTask): string {
  const text = 'The thread that does so ended';
  if (task.kind !== 'verify') return text;
  const heap = task.isDeep ? limits.deepVerifyHeapMebibytes : limits.verifyHeapMebibytes;
  return (
    `${text}; it may have needed more than its ${heap} MiB of heap. With the service stopped, ` +
    `\`reducerdb verify${task.isDeep ? ' --deep' : ''}\` has no such bound`
  );
}

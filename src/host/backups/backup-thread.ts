import { MessageChannel, Worker as Thread } from 'node:worker_threads';
import { unreachable } from '../../assert.ts';
import { BackupError } from '../../backup/backup-error.ts';
import type { JobProgress } from '../databases/jobs.ts';
import { workerEntry } from '../spawner/worker-entry.ts';
import type {
  BackupOrder,
  BackupResults,
  BackupWork,
  FromBackupThread,
  RepositorySettings,
} from './backup-messages.ts';

export interface RunOptions {
  readonly signal?: AbortSignal | undefined;
  readonly onProgress?: (progress: JobProgress) => void;
}

/** The thread that reads and writes repositories, which exists while there is work. */
export class BackupThread {
  readonly #heapMebibytes: number;
  #thread: Promise<Thread> | undefined;

  /** Without a heap of another size, it is for work that knows no rows. */
  constructor(heapMebibytes = bytesHeapMebibytes) {
    this.#heapMebibytes = heapMebibytes;
  }

  /** Rejects with `BackupError` for what the user can do something about. */
  async run<Work extends BackupWork>(
    repository: RepositorySettings | undefined,
    work: Work,
    options: RunOptions = {},
  ): Promise<BackupResults[Work['kind']]> {
    const thread = await (this.#thread ?? this.#start());
    const { port1: port, port2 } = new MessageChannel();
    const cancel = (): void => port.postMessage({ kind: 'cancel' });
    options.signal?.addEventListener('abort', cancel, { once: true });
    try {
      const end = new Promise<BackupResults[Work['kind']]>((resolve, reject) => {
        port.on('message', (message: FromBackupThread) => {
          switch (message.kind) {
            case 'progress':
              options.onProgress?.(message.progress);
              return;
            case 'done':
              resolve(message.result as BackupResults[Work['kind']]);
              return;
            case 'failed':
              reject(errorOf(message));
              return;
            default:
              unreachable(message);
          }
        });
        port.on('close', () => reject(new Error('The thread that works on backups has ended')));
      });
      const order: BackupOrder = { port: port2, repository, work };
      thread.postMessage(order, [port2]);
      if (options.signal?.aborted === true) cancel();
      return await end;
    } finally {
      options.signal?.removeEventListener('abort', cancel);
      port.close();
    }
  }

  /** Ends it; what it was doing fails. */
  async close(): Promise<void> {
    const thread = this.#thread;
    this.#thread = undefined;
    await (await thread?.catch(() => undefined))?.terminate();
  }

  #start(): Promise<Thread> {
    const forget = (): void => {
      this.#thread = undefined;
    };
    const starting = (async () => {
      const thread = new Thread(await workerEntry('backup'), {
        env: {},
        execArgv: [],
        resourceLimits: { maxOldGenerationSizeMb: this.#heapMebibytes },
      });
      thread.unref();
      thread.on('exit', forget);
      // The exit follows, and the ports of its work are closed.
      thread.on('error', forget);
      return thread;
    })();
    starting.catch(forget);
    this.#thread = starting;
    return starting;
  }
}

/** A manifest of many databases is large; what is shipped is not on the heap. */
const bytesHeapMebibytes = 512;

function errorOf({ code, message }: Extract<FromBackupThread, { readonly kind: 'failed' }>): Error {
  return code === undefined ? new Error(message) : new BackupError(code, message);
}

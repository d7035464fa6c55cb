import type { SnapshotDesk } from '../../database/snapshots/snapshot-desk.ts';
import {
  decodeHistoryAnswer,
  encodeHistoryTask,
  type HistoryAnswer,
  type HistoryTask,
} from '../seats/history-task.ts';
import { RemoteSnapshots } from './remote-snapshots.ts';
import type { SnapshotOrder } from './snapshot-messages.ts';
import { SnapshotThread, threadEndedText } from './snapshot-thread.ts';

/**
 * Snapshots and the history of one database that has its actor in this thread, on a thread that
 * nobody else waits for. The thread begins with the first thing to do.
 */
export class OwnKeeping {
  readonly snapshotDesk: SnapshotDesk;
  readonly #place: Omit<SnapshotOrder, 'port'>;
  readonly #thread = new SnapshotThread();

  constructor(place: Omit<SnapshotOrder, 'port'>) {
    this.#place = place;
    const snapshots = new RemoteSnapshots({
      // Not before it has been asked: it is granted as if by a message.
      ask: () => queueMicrotask(() => snapshots.granted()),
      leave: () => undefined,
      open: (port) => this.#thread.take({ ...place, port }),
    });
    this.snapshotDesk = snapshots;
  }

  /** Does a task on the files of the history. */
  async history(task: HistoryTask, signal: AbortSignal): Promise<HistoryAnswer> {
    const answer = await this.#thread.ask(this.#place, encodeHistoryTask(task), signal);
    if (signal.aborted) return { kind: 'stopped' };
    if (answer === undefined) return { kind: 'failed', message: threadEndedText(task) };
    return decodeHistoryAnswer(answer);
  }

  /** Ends the thread; the database is closed. */
  close(): Promise<void> {
    return this.#thread.close();
  }
}

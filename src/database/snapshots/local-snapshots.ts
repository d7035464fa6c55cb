import type { SnapshotDesk, SnapshotEvents, SnapshotFile } from './snapshot-desk.ts';
import { SnapshotJob, type SnapshotSurroundings } from './snapshot-job.ts';

/**
 * Writes the snapshots of a database in its own thread: for tests, and for databases so small that
 * nothing waits long.
 */
export class LocalSnapshots implements SnapshotDesk {
  readonly #around: SnapshotSurroundings;

  constructor(around: SnapshotSurroundings) {
    this.#around = around;
  }

  ask(expectedBytes: number, events: SnapshotEvents): SnapshotFile {
    return new SnapshotJob(this.#around, expectedBytes, events);
  }
}

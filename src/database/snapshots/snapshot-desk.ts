import type { SnapshotBlock, SnapshotPlace } from '../../log/snapshot.ts';

/**
 * Where the snapshots of a database are written: on another thread, so that no turn waits for the
 * disk, or in the same one in tests. It takes turns with those of other databases.
 */
export interface SnapshotDesk {
  /**
   * Asks to write a snapshot of about so many bytes. Nothing is kept in memory for it before
   * `ready`; each call ends with `finished` or `failed`, or with `cancel`.
   */
  ask(expectedBytes: number, events: SnapshotEvents): SnapshotFile;
}

/** One snapshot as it is written. */
export interface SnapshotFile {
  /** The first call, after `ready`. */
  begin(place: SnapshotPlace): void;
  /** The next block. The buffer of its rows, or piece of a program or an image, is handed over. */
  add(block: SnapshotBlock): void;
  /** All blocks were added, and the log is durable up to the place: it can count from now on. */
  finish(): void;
  /** Removes what was written. No event follows. */
  cancel(): void;
}

/** Called between turns, never within a call of `SnapshotFile`. */
export interface SnapshotEvents {
  ready(): void;
  /** A block was written. Its buffer can come back, to be filled again. */
  taken(buffer: ArrayBuffer | undefined): void;
  /** It is complete and durable. */
  finished(bytes: number): void;
  /** There is nothing of it; `isForSpace`: it was not begun, as too little space would be left. */
  failed(message: string, isForSpace: boolean): void;
}

import { present } from '../../assert.ts';
import { limits } from '../../limits.ts';
import type { Disk } from '../../log/disk.ts';
import type { SnapshotBlock, SnapshotPlace } from '../../log/snapshot.ts';
import { SnapshotWriter } from '../../log/snapshot-writer.ts';
import type { SnapshotEvents, SnapshotFile } from './snapshot-desk.ts';

/** The machine, as the writing of snapshots needs it. */
export interface SnapshotSurroundings {
  readonly disk: Disk;
  /** 32 random bits. */
  readonly salt: () => number;
  /** The space of the disk; absent, or `undefined`: the system does not say. */
  readonly space?: (() => DiskSpace | undefined) | undefined;
}

export interface DiskSpace {
  readonly freeBytes: number;
  readonly totalBytes: number;
}

/**
 * Writes one snapshot to the disk, step by step in the order of the calls; whatever fails removes
 * the file. Events come later, never within a call. Older
 * snapshots are left to retention.
 */
export class SnapshotJob implements SnapshotFile {
  readonly #around: SnapshotSurroundings;
  readonly #events: SnapshotEvents;
  #writer: SnapshotWriter | undefined;
  /** The steps that are not done. */
  #work: Promise<void>;
  #isOver = false;

  /** `ready` follows, or `failed` if there is too little space. */
  constructor(around: SnapshotSurroundings, expectedBytes: number, events: SnapshotEvents) {
    this.#around = around;
    this.#events = events;
    this.#work = Promise.resolve().then(() => {
      if (this.#isOver) return;
      const fault = spaceFault(around.space?.(), expectedBytes);
      if (fault === undefined) events.ready();
      else this.#fail(fault, true);
    });
  }

  begin(place: SnapshotPlace): void {
    this.#do(() => {
      this.#writer = SnapshotWriter.begin(this.#around.disk, place, this.#around.salt());
    });
  }

  add(block: SnapshotBlock): void {
    this.#do(async () => {
      await this.#open.add(block);
      if (!this.#isOver) this.#events.taken(bufferOf(block));
    });
  }

  finish(): void {
    this.#do(async () => {
      const { bytes } = await this.#open.finish(Promise.resolve());
      if (this.#isOver) return;
      this.#isOver = true;
      this.#events.finished(bytes);
    });
  }

  cancel(): void {
    this.#isOver = true;
    this.#writer?.abort();
  }

  get #open(): SnapshotWriter {
    return present(this.#writer, 'a snapshot is begun first');
  }

  #do(step: () => void | Promise<void>): void {
    this.#work = this.#work.then(async () => {
      if (this.#isOver) return;
      try {
        await step();
      } catch (error) {
        this.#writer?.abort();
        this.#fail(error instanceof Error ? error.message : String(error), false);
      }
    });
  }

  #fail(reason: string, isForSpace: boolean): void {
    if (this.#isOver) return;
    this.#isOver = true;
    const what = isForSpace ? 'is not taken' : 'could not be written, and nothing is left of it';
    this.#events.failed(`A snapshot of the database ${what}: ${reason}`, isForSpace);
  }
}

function bufferOf(block: SnapshotBlock): ArrayBuffer | undefined {
  const bytes = block.kind === 'rows' ? block.rows.bytes : undefined;
  const buffer = block.kind === 'derived' ? block.piece.bytes.buffer : bytes?.buffer;
  return buffer instanceof ArrayBuffer ? buffer : undefined;
}

/** Why a snapshot of about so many bytes would leave too little space. */
function spaceFault(space: DiskSpace | undefined, expectedBytes: number): string | undefined {
  if (space === undefined) return undefined;
  const { snapshotFreeBytesMin, snapshotFreeShareMin } = limits;
  const kept = Math.max(snapshotFreeBytesMin, space.totalBytes * snapshotFreeShareMin);
  if (space.freeBytes >= expectedBytes + kept) return undefined;
  const needed = mebibytes(expectedBytes + kept);
  return `it needs ${needed} MiB of free space, and there are ${mebibytes(space.freeBytes)} MiB`;
}

function mebibytes(bytes: number): number {
  return Math.ceil(bytes / 2 ** 20);
}

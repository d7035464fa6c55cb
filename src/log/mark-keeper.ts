import { type Disk, DiskError, type DiskFile } from './disk.ts';
import type { DurableEnd, DurableMark } from './durable-mark.ts';

/** The log whose mark it is. */
export interface MarkedLog {
  readonly disk: Disk;
  readonly mark: DurableMark | undefined;
  readonly later: (work: () => void) => void;
  readonly isOpen: () => boolean;
  /** The segment that is written to. */
  readonly file: () => DiskFile;
  readonly durableEnd: () => DurableEnd;
  /** The log writes nothing more; what comes of it shows at its next use. */
  readonly broken: (cause: unknown) => Error;
}

/** Has the mark beside a log follow what became durable; no commit waits for it. */
export class MarkKeeper {
  readonly #log: MarkedLog;
  #isDue = false;

  constructor(log: MarkedLog) {
    this.#log = log;
  }

  /** Schedules an update of the mark within a second; costs the caller nothing but a timer. */
  soon(): void {
    if (this.#log.mark === undefined || this.#isDue) return;
    this.#isDue = true;
    this.#log.later(() => {
      this.#isDue = false;
      if (this.#log.isOpen()) this.#lookAround();
    });
  }

  /** Runs each second while the log is written to, to stop writing to files that were deleted. */
  #lookAround(): void {
    const file = this.#log.file();
    try {
      if (file.isInPlace()) this.write();
      else throw new DiskError('look', file.name, new Error(notInPlace));
    } catch (error) {
      this.#log.broken(error);
    }
  }

  /**
   * A failure shows at the next use of the log, like any failure of its disk; but for lack of space
   * the mark may stay behind for a while.
   */
  write(): void {
    try {
      this.#log.disk.checkWriter?.(true);
      this.#log.mark?.write(this.#log.durableEnd());
    } catch (error) {
      if (!(error instanceof DiskError && error.isForSpace)) this.#log.broken(error);
    }
  }

  /** Makes the mark durable. */
  async sync(): Promise<void> {
    try {
      await this.#log.mark?.sync();
    } catch (error) {
      throw this.#log.broken(error);
    }
  }

  close(): void {
    this.#log.mark?.close();
  }
}

const notInPlace = 'it is no longer in its folder: it was deleted, moved or replaced';

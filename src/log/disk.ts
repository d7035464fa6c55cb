/**
 * The disk as the log needs it: one directory of flat files. Implemented by `node/disk.ts`, by
 * `node/memory-disk.ts` and, with faults, by `testing/simulated-disk.ts`; one contract suite for
 * all.
 *
 * Writing is synchronous (it reaches the operating system's cache); only `sync` makes data durable.
 * A created, renamed or removed entry is durable after `syncDirectory`, not before. Every method
 * throws a `DiskError` when the machine refuses; nothing is retried here.
 */
export interface Disk {
  /** False: the files are gone with the process, so that nothing about them has to be kept. */
  readonly isLasting: boolean;
  /** Names of the files, in ascending order. */
  list(): string[];
  /** Opens a file for reading and writing; `create` demands that it does not exist yet. */
  open(name: string, mode: 'existing' | 'create'): DiskFile;
  remove(name: string): void;
  /** Replaces `to` if it exists. */
  rename(from: string, to: string): void;
  syncDirectory(): Promise<void>;
  /**
   * Throws `WriterError` when the directory belongs to another service by now. Looks once in
   * `limits.writerCheckMillis`, so that it may be asked before each write; `always` looks now.
   * Absent: nobody else can reach the directory.
   */
  checkWriter?(always: boolean): void;
}

export interface DiskFile {
  readonly name: string;
  /** Bytes from the start of the file to its end. */
  size(): number;
  /** Reads up to `into.length` bytes at `position`; returns the count, less only at the end. */
  read(into: Uint8Array, position: number): number;
  write(bytes: Uint8Array, position: number): void;
  /** Makes the file `size` bytes long; new bytes read as zero. */
  truncate(size: number): void;
  /**
   * Reserves `size` bytes of real space, so that later writes inside it cannot run out of disk. The
   * file is at least that long afterwards; new bytes read as zero.
   */
  allocate(size: number): void;
  /** Resolves when all that was written before the call is durable. */
  sync(): Promise<void>;
  /** False: it was deleted, moved or replaced; what is written to it nobody finds again. */
  isInPlace(): boolean;
  /**
   * Makes all that was written durable in the call itself, for a thread that has nothing else to
   * do: where that is known to take less time. False: nothing was done.
   */
  syncAtOnce(): boolean;
  close(): void;
}

/** The machine refused; `operation` and `file` say where, `cause` why. */
export class DiskError extends Error {
  override readonly name = 'DiskError';
  readonly operation: string;
  readonly file: string;

  constructor(operation: string, file: string, cause: unknown) {
    super(`disk: ${operation} of ${file} failed: ${String(cause)}`, { cause });
    this.operation = operation;
    this.file = file;
  }

  /** True: there was no space for it. Never of a sync: after a failed one all is unknown. */
  get isForSpace(): boolean {
    return !this.operation.startsWith('sync') && isNoSpace(this.cause);
  }
}

/** For the way out of a failure, which says more than that of removing. */
export function tryToRemove(disk: Disk, name: string): void {
  try {
    disk.remove(name);
  } catch {
    // An operator finds it.
  }
}

/** Whether the system has refused something because the disk, or a quota on it, is full. */
export function isNoSpace(error: unknown): boolean {
  if (!(error instanceof Error) || !('code' in error)) return false;
  return error.code === 'ENOSPC' || error.code === 'EDQUOT';
}

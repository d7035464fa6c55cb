/**
 * The disk as the log needs it: one directory of flat files. Implemented by `node/disk.ts`, by
 * `node/memory-disk.ts` and, with faults, by `testing/simulated-disk.ts`; one contract suite for
 * all.
 *
 * Writing is synchronous (it reaches the operating system's cache); only `sync` makes data durable.
 * A created, renamed or removed entry is durable after `syncDirectory`, not before. Every method
 * throws a `DiskError` when the machine reports an error; nothing is retried here.
 */
export interface Disk {
  /** How old segments are packed; the engine has no compression of its own. */
  readonly codec: SegmentCodec;
  /** False if the files are gone with the process, so that no state about them has to be kept. */
  readonly isLasting: boolean;
  /** Names of the files, in ascending order. */
  list(): string[];
  /**
   * Opens a file for reading and writing, or with `read` for reading alone: it can be one that
   * nothing may write to. `create` requires that it does not exist yet.
   */
  open(name: string, mode: 'existing' | 'create' | 'read'): DiskFile;
  remove(name: string): void;
  /** Replaces `to` if it exists. */
  rename(from: string, to: string): void;
  /**
   * Gives a file a second name, in the directory of `into`, a disk of the same kind; nothing may
   * have it there. Either name can be removed. A machine may not be able to.
   */
  link(name: string, into: Disk, as: string): void;
  /** `undefined` if that is not known, or there is no bound. */
  space(): DiskSpace | undefined;
  syncDirectory(): Promise<void>;
  /**
   * Throws `WriterError` if the directory belongs to another service by now. Checks only once in
   * `limits.writerCheckMillis`, so that it can be called before each write; `always` checks now.
   * Absent: no other service can reach the directory.
   */
  checkWriter?(always: boolean): void;
}

/** Compression as gzip, one member at a time. */
export interface SegmentCodec {
  /** A gzip member without optional fields; such a header has 10 bytes. */
  pack(bytes: Uint8Array): Uint8Array;
  /** The bytes of a member; throws if it is not valid, or has more than `bytesMax`. */
  unpack(member: Uint8Array, bytesMax: number): Uint8Array;
}

/** Bytes of what a directory is on: those that can still be written, and all. */
export interface DiskSpace {
  readonly freeBytes: number;
  readonly totalBytes: number;
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
  /** Resolves when everything written before the call is durable. */
  sync(): Promise<void>;
  /** False if it was deleted, moved or replaced; data written to it would be lost. */
  isInPlace(): boolean;
  /**
   * Makes everything written durable synchronously, for a thread that has nothing else to do, if
   * that is known to be faster. Returns false if nothing was done.
   */
  syncAtOnce(): boolean;
  close(): void;
}

/** An error reported by the machine; `operation` and `file` say where, `cause` why. */
export class DiskError extends Error {
  override readonly name = 'DiskError';
  readonly operation: string;
  readonly file: string;

  constructor(operation: string, file: string, cause: unknown) {
    super(`disk: ${operation} of ${file} failed: ${String(cause)}`, { cause });
    this.operation = operation;
    this.file = file;
  }

  /** True if there was no space. Never for a sync: after a failed one the state is unknown. */
  get isForSpace(): boolean {
    return !this.operation.startsWith('sync') && isNoSpace(this.cause);
  }
}

/** For cleanup after a failure, which matters more than a failure to remove. */
export function tryToRemove(disk: Disk, name: string): void {
  try {
    disk.remove(name);
  } catch {
    // The file is left for the operator.
  }
}

/** Cuts a file that has failed; false if that fails, too: the next open finds what is there. */
export function isCut(file: DiskFile, end: number): boolean {
  try {
    file.truncate(end);
    return true;
  } catch {
    return false;
  }
}

/** Whether the system has refused something because the disk, or a quota on it, is full. */
export function isNoSpace(error: unknown): boolean {
  if (!(error instanceof Error) || !('code' in error)) return false;
  return error.code === 'ENOSPC' || error.code === 'EDQUOT';
}

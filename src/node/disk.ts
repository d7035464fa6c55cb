import fs from 'node:fs';
import path from 'node:path';
import { promisify } from 'node:util';
import { type Disk, DiskError, type DiskFile, type DiskSpace } from '../log/disk.ts';
import { FolderSpace } from './folder-space.ts';
import { gzipCodec } from './gzip.ts';
import { LinkError, noFollow, privateFileMode, refuseLink } from './private-files.ts';
import { UnsyncedRange } from './unsynced-range.ts';
import { WriterCheck, type WriterPlace } from './writer-mark.ts';

export interface MachineDiskOptions {
  /** The mark of the service that may write; absent: no other service can. */
  readonly writer?: WriterPlace | undefined;
  /** Called after each read, with its bytes. */
  readonly hasRead?: (bytes: number) => void;
}

/**
 * A directory of the file system, which must exist. Reads and writes are synchronous: they go to
 * the system's cache and take microseconds. Syncs run on the thread pool and take as long as the
 * device needs, except those that may block where they have been quick.
 */
export class MachineDisk implements Disk {
  readonly isLasting = true;
  readonly codec = gzipCodec;
  readonly #directory: string;
  readonly #writer: WriterCheck | undefined;
  readonly #hasRead: ((bytes: number) => void) | undefined;

  constructor(directory: string, { writer, hasRead }: MachineDiskOptions = {}) {
    this.#directory = directory;
    this.#writer = writer && new WriterCheck(writer);
    this.#hasRead = hasRead;
  }

  /** Fails when the directory, the one that holds it, or an entry is a symbolic link. */
  list(): string[] {
    return attempt('list', this.#directory, () => {
      refuseLink(path.dirname(this.#directory));
      refuseLink(this.#directory);
      const entries = fs.readdirSync(this.#directory, { withFileTypes: true });
      const link = entries.find((entry) => entry.isSymbolicLink());
      if (link !== undefined) throw new LinkError(this.#path(link.name));
      return entries
        .filter((entry) => entry.isFile())
        .map((entry) => entry.name)
        .sort();
    });
  }

  open(name: string, mode: 'existing' | 'create' | 'read'): DiskFile {
    const { O_CREAT, O_EXCL, O_RDONLY, O_RDWR } = fs.constants;
    const access = mode === 'read' ? O_RDONLY : O_RDWR;
    const flags = access | noFollow | (mode === 'create' ? O_CREAT | O_EXCL : 0);
    const operation = mode === 'create' ? 'create' : 'open';
    const full = this.#path(name);
    const descriptor = attempt(operation, name, () => fs.openSync(full, flags, privateFileMode));
    return new MachineFile(name, descriptor, full, this.#hasRead);
  }

  remove(name: string): void {
    attempt('remove', name, () => fs.unlinkSync(this.#path(name)));
  }

  rename(from: string, to: string): void {
    attempt('rename', from, () => fs.renameSync(this.#path(from), this.#path(to)));
  }

  link(name: string, into: Disk, as: string): void {
    attempt('link', name, () => {
      if (!(into instanceof MachineDisk)) throw new Error('the other one is no directory');
      fs.linkSync(this.#path(name), into.#path(as));
    });
  }

  space(): DiskSpace | undefined {
    return new FolderSpace(this.#directory).space();
  }

  async syncDirectory(): Promise<void> {
    try {
      await syncDirectory(this.#directory);
    } catch (error) {
      throw new DiskError('sync', this.#directory, error);
    }
  }

  checkWriter(always: boolean): void {
    this.#writer?.check(always);
  }

  #path(name: string): string {
    return path.join(this.#directory, name);
  }
}

/** Makes created, renamed and removed entries of `directory` durable. */
export async function syncDirectory(directory: string): Promise<void> {
  // Windows cannot sync a directory; its file system logs such changes in order on its own.
  if (process.platform === 'win32') return;
  const handle = await fs.promises.open(directory, 'r');
  try {
    await handle.sync();
  } finally {
    await handle.close();
  }
}

/** A sync that takes longer than this is never waited for in the thread itself. */
const quickSyncMillis = 0.5;

const zeros = new Uint8Array(256 * 1024);

const syncData = promisify(fs.fdatasync);

/**
 * In a process that may reach only certain files, Node syncs only what was opened through its
 * `FileHandle`s, which know that they belong to such a file. They sync on the thread pool; in the
 * thread itself, a descriptor that makes each of its writes durable takes the place of a sync.
 */
const isRestricted = 'permission' in process && process.permission !== undefined;

class MachineFile implements DiskFile {
  readonly name: string;
  readonly #path: string;
  readonly #descriptor: number;
  /** The handle that is synced in place of the descriptor, in a restricted process. */
  #handle: Promise<fs.promises.FileHandle> | undefined;
  /** The descriptor whose writes are durable, in a restricted process; opened on first use. */
  #durable: number | undefined;
  readonly #unsynced = new UnsyncedRange();
  readonly #hasRead: ((bytes: number) => void) | undefined;
  #isOpen = true;
  /** Duration of the last sync, which the next one is expected to take. */
  #syncMillis = Number.POSITIVE_INFINITY;

  constructor(
    name: string,
    descriptor: number,
    path: string,
    hasRead: ((bytes: number) => void) | undefined,
  ) {
    this.#hasRead = hasRead;
    this.name = name;
    this.#path = path;
    this.#descriptor = descriptor;
  }

  size(): number {
    return attempt('size', this.name, () => fs.fstatSync(this.#descriptor).size);
  }

  read(into: Uint8Array, position: number): number {
    return attempt('read', this.name, () => {
      let count = 0;
      while (count < into.length) {
        const left = into.length - count;
        const got = fs.readSync(this.#descriptor, into, count, left, position + count);
        if (got === 0) break;
        count += got;
      }
      this.#hasRead?.(count);
      return count;
    });
  }

  write(bytes: Uint8Array, position: number): void {
    attempt('write', this.name, () => this.#writeAll(bytes, position));
  }

  truncate(size: number): void {
    this.#unsynced.changed();
    attempt('truncate', this.name, () => fs.ftruncateSync(this.#descriptor, size));
  }

  /** Writes zeros from the end of the file on, because Node cannot only reserve space. */
  allocate(size: number): void {
    this.#unsynced.changed();
    attempt('allocate', this.name, () => {
      for (let at = fs.fstatSync(this.#descriptor).size; at < size; ) {
        const length = Math.min(zeros.length, size - at);
        this.#writeAll(zeros.subarray(0, length), at);
        at += length;
      }
    });
  }

  async sync(): Promise<void> {
    const startedAt = performance.now();
    try {
      if (isRestricted) await this.#unsynced.during(this.#syncHandle());
      else await syncData(this.#descriptor);
    } catch (error) {
      throw diskError('sync', this.name, error);
    }
    this.#syncMillis = performance.now() - startedAt;
  }

  isInPlace(): boolean {
    return attempt('look', this.name, () => {
      const found = fs.statSync(this.#path, { throwIfNoEntry: false });
      return found !== undefined && this.#isSame(found);
    });
  }

  /** Going to another thread and back takes as long as a quick disk needs. */
  syncAtOnce(): boolean {
    if (this.#syncMillis >= quickSyncMillis) return false;
    const startedAt = performance.now();
    const isDone = attempt('sync', this.name, () =>
      isRestricted ? this.#writeAgain() : this.#syncNow(),
    );
    if (isDone) this.#syncMillis = performance.now() - startedAt;
    return isDone;
  }

  close(): void {
    if (!this.#isOpen) return;
    this.#isOpen = false;
    attempt('close', this.name, () => fs.closeSync(this.#descriptor));
    if (this.#durable !== undefined) fs.closeSync(this.#durable);
    void this.#handle?.then((handle) => handle.close()).catch(() => undefined);
  }

  #syncNow(): true {
    fs.fdatasyncSync(this.#descriptor);
    return true;
  }

  /** On systems other than Linux such a write may end in the cache of the device. */
  #writeAgain(): boolean {
    if (process.platform !== 'linux') return false;
    return this.#unsynced.rewrite((position, length) => {
      const bytes = new Uint8Array(length);
      const got = fs.readSync(this.#descriptor, bytes, 0, length, position);
      if (got < length) throw new Error(`it is shorter than what was written by ${length - got}`);
      this.#durable ??= this.#openDurable();
      writeAll(this.#durable, bytes, position);
    });
  }

  #openDurable(): number {
    const { O_WRONLY, O_DSYNC } = fs.constants;
    return attempt('open', this.name, () => {
      const descriptor = fs.openSync(this.#path, O_WRONLY | O_DSYNC | noFollow);
      try {
        this.#checkSame(fs.fstatSync(descriptor));
        return descriptor;
      } catch (error) {
        fs.closeSync(descriptor);
        throw error;
      }
    });
  }

  /** Without a handle to sync, nothing is known to be lost: that is not a failed sync. */
  async #syncHandle(): Promise<void> {
    this.#handle ??= this.#openHandle().catch((error: unknown) => {
      throw diskError('open', this.name, error);
    });
    const handle = await this.#handle;
    await handle.datasync();
  }

  /** Syncing one of two descriptors of a file syncs the file. */
  async #openHandle(): Promise<fs.promises.FileHandle> {
    const handle = await fs.promises.open(this.#path, fs.constants.O_RDWR | noFollow);
    try {
      this.#checkSame(await handle.stat());
      return handle;
    } catch (error) {
      await handle.close();
      throw error;
    }
  }

  #checkSame(found: fs.Stats): void {
    if (!this.#isSame(found)) throw new Error('another file has its name now');
  }

  #isSame({ ino, dev }: fs.Stats): boolean {
    const own = fs.fstatSync(this.#descriptor);
    return ino === own.ino && dev === own.dev;
  }

  #writeAll(bytes: Uint8Array, position: number): void {
    this.#unsynced.wrote(position, bytes.length);
    writeAll(this.#descriptor, bytes, position);
  }
}

function writeAll(descriptor: number, bytes: Uint8Array, position: number): void {
  let count = 0;
  while (count < bytes.length) {
    const left = bytes.length - count;
    count += fs.writeSync(descriptor, bytes, count, left, position + count);
  }
}

function attempt<T>(operation: string, file: string, action: () => T): T {
  try {
    return action();
  } catch (error) {
    throw diskError(operation, file, error);
  }
}

/** An error that already says what failed is passed on as it is. */
function diskError(operation: string, file: string, error: unknown): DiskError {
  return error instanceof DiskError ? error : new DiskError(operation, file, error);
}

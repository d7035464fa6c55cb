import fs from 'node:fs';
import path from 'node:path';
import { makeDirectoryDurably } from '../node/atomic-file.ts';
import { syncDirectory } from '../node/disk.ts';
import { noFollow, privateFileMode, privateFolderMode } from '../node/private-files.ts';

/**
 * The files of a folder store, as it needs them. Paths are relative, with `/` between their parts;
 * the empty one is the folder itself. What is written or created is durable only after the sync of
 * the file, or of the folder that holds the entry. Errors are those of the system.
 */
export interface FolderFiles {
  /** Creates the folder itself and those above it, durably. */
  makeRoot(): Promise<void>;
  /** Creates one folder; false if there is one. */
  makeFolder(folder: string): Promise<boolean>;
  /** Creates a file that does not exist, for writing. */
  create(file: string): Promise<WritableFile>;
  /** Gives a file a second name, if nothing has it; false if something does. */
  link(from: string, to: string): Promise<boolean>;
  /** Replaces `to` if it exists. */
  rename(from: string, to: string): Promise<void>;
  remove(file: string): Promise<void>;
  syncFolder(folder: string): Promise<void>;
  stat(place: string): Promise<FoundEntry | undefined>;
  /** Names in a folder, in ascending order; none if it does not exist. */
  list(folder: string): Promise<string[]>;
  read(file: string, from: number, to: number | undefined): AsyncIterable<Uint8Array>;
}

export interface WritableFile {
  write(bytes: Uint8Array): Promise<void>;
  sync(): Promise<void>;
  close(): Promise<void>;
}

export interface FoundEntry {
  readonly kind: 'file' | 'folder' | 'link' | 'other';
  readonly bytes: number;
  readonly modifiedMicros: number;
}

const readBytes = 256 * 1024;

/** The files of a folder of the machine. */
export class MachineFolderFiles implements FolderFiles {
  readonly #root: string;

  constructor(root: string) {
    this.#root = root;
  }

  makeRoot(): Promise<void> {
    return makeDirectoryDurably(this.#root);
  }

  async makeFolder(folder: string): Promise<boolean> {
    try {
      await fs.promises.mkdir(this.#path(folder), { mode: privateFolderMode });
      return true;
    } catch (error) {
      if (codeOf(error) === 'EEXIST') return false;
      throw error;
    }
  }

  async create(file: string): Promise<WritableFile> {
    const handle = await fs.promises.open(this.#path(file), 'wx', privateFileMode);
    return {
      write: (bytes) => writeAll(handle, bytes),
      sync: () => handle.sync(),
      close: () => handle.close(),
    };
  }

  async link(from: string, to: string): Promise<boolean> {
    try {
      await fs.promises.link(this.#path(from), this.#path(to));
      return true;
    } catch (error) {
      const code = codeOf(error) ?? '';
      if (code === 'EEXIST') return false;
      if (!withoutLinks.includes(code)) throw error;
    }
    // Some file systems have no links. Two that come here at once write the same object.
    if ((await this.stat(to)) !== undefined) return false;
    await this.rename(from, to);
    return true;
  }

  async rename(from: string, to: string): Promise<void> {
    await fs.promises.rename(this.#path(from), this.#path(to));
  }

  async remove(file: string): Promise<void> {
    await fs.promises.rm(this.#path(file), { force: true });
  }

  syncFolder(folder: string): Promise<void> {
    return syncDirectory(this.#path(folder));
  }

  async stat(place: string): Promise<FoundEntry | undefined> {
    try {
      const found = await fs.promises.lstat(this.#path(place));
      const { size, mtimeMs } = found;
      return { kind: kindOf(found), bytes: size, modifiedMicros: Math.floor(mtimeMs * 1000) };
    } catch (error) {
      if (isAbsence(error)) return undefined;
      throw error;
    }
  }

  async list(folder: string): Promise<string[]> {
    try {
      return (await fs.promises.readdir(this.#path(folder))).sort();
    } catch (error) {
      if (isAbsence(error)) return [];
      throw error;
    }
  }

  async *read(file: string, from: number, to: number | undefined): AsyncIterable<Uint8Array> {
    const flags = fs.constants.O_RDONLY | noFollow;
    const handle = await fs.promises.open(this.#path(file), flags);
    try {
      const end = to ?? (await handle.stat()).size;
      for (let at = from; at < end; ) {
        const piece = new Uint8Array(Math.min(readBytes, end - at));
        const { bytesRead } = await handle.read(piece, 0, piece.length, at);
        if (bytesRead === 0) return;
        at += bytesRead;
        yield piece.subarray(0, bytesRead);
      }
    } finally {
      await handle.close();
    }
  }

  #path(place: string): string {
    return place === '' ? this.#root : path.join(this.#root, ...place.split('/'));
  }
}

const withoutLinks = ['EPERM', 'ENOTSUP', 'EOPNOTSUPP', 'ENOSYS', 'EMLINK'];

async function writeAll(handle: fs.promises.FileHandle, bytes: Uint8Array): Promise<void> {
  for (let at = 0; at < bytes.length; ) {
    const { bytesWritten } = await handle.write(bytes, at, bytes.length - at);
    at += bytesWritten;
  }
}

function kindOf(found: fs.Stats): FoundEntry['kind'] {
  if (found.isFile()) return 'file';
  if (found.isDirectory()) return 'folder';
  return found.isSymbolicLink() ? 'link' : 'other';
}

function isAbsence(error: unknown): boolean {
  return ['ENOENT', 'ENOTDIR'].includes(codeOf(error) ?? '');
}

/** The code of an error of the system. */
export function codeOf(error: unknown): string | undefined {
  return error instanceof Error && 'code' in error ? String(error.code) : undefined;
}

import fs from 'node:fs';
import path from 'node:path';
import { limits } from '../../limits.ts';
import { readFileIfPresent, writeFileAtomically } from '../../node/atomic-file.ts';
import { syncDirectory } from '../../node/disk.ts';
import { noFollow, privateFileMode, privateFolderMode } from '../../node/private-files.ts';
import type { Draft, Shelf } from './shelf.ts';

let drafts = 0;

/**
 * The folder `static` of a database. It is made with its first entry, and its parent is not: a
 * database that was deleted meanwhile stays deleted.
 */
export class DiskShelf implements Shelf {
  readonly #folder: string;
  /** Names of drafts that are being written. */
  readonly #open = new Set<string>();

  constructor(folder: string) {
    this.#folder = folder;
  }

  async draft(): Promise<Draft> {
    await this.#makeFolder();
    drafts += 1;
    const name = `.${process.pid}-${drafts}.tmp`;
    this.#open.add(name);
    const place = path.join(this.#folder, name);
    const flags = fs.constants.O_RDWR | fs.constants.O_CREAT | fs.constants.O_EXCL | noFollow;
    const handle = await fs.promises.open(place, flags, privateFileMode).catch((error: unknown) => {
      this.#open.delete(name);
      throw error;
    });
    const end = async () => {
      this.#open.delete(name);
      await handle.close();
    };
    return {
      write: async (piece) => void (await handle.writeFile(piece)),
      pieces: () => piecesOf(handle),
      keepAs: async (kept) => {
        try {
          await handle.sync();
          await fs.promises.rename(place, path.join(this.#folder, kept));
        } finally {
          await end();
        }
      },
      drop: async () => {
        await end();
        await fs.promises.rm(place, { force: true });
      },
    };
  }

  read(name: string): Promise<Uint8Array | undefined> {
    return readFileIfPresent(path.join(this.#folder, name));
  }

  async size(name: string): Promise<number | undefined> {
    return (await this.#stat(name))?.size;
  }

  async slice(name: string, from: number, length: number): Promise<Uint8Array> {
    // No descriptor is kept between two pieces: a slow reader would hold it for long.
    const handle = await fs.promises.open(path.join(this.#folder, name), READ);
    try {
      const buffer = Buffer.allocUnsafeSlow(length);
      const { bytesRead } = await handle.read(buffer, 0, length, from);
      return buffer.subarray(0, bytesRead);
    } finally {
      await handle.close();
    }
  }

  async replace(name: string, content: string): Promise<void> {
    await this.#makeFolder();
    await writeFileAtomically(path.join(this.#folder, name), content);
  }

  async names(): Promise<readonly string[]> {
    try {
      return (await fs.promises.readdir(this.#folder)).filter((name) => !this.#open.has(name));
    } catch (error) {
      if (isAbsent(error)) return [];
      throw error;
    }
  }

  async writtenMillis(name: string): Promise<number> {
    return (await this.#stat(name))?.mtimeMs ?? 0;
  }

  async touch(name: string): Promise<void> {
    const now = new Date();
    await fs.promises.utimes(path.join(this.#folder, name), now, now);
  }

  async remove(names: readonly string[]): Promise<void> {
    for (const name of names) {
      await fs.promises.rm(path.join(this.#folder, name), { force: true });
    }
  }

  async settle(): Promise<void> {
    await syncDirectory(this.#folder);
  }

  async #stat(name: string): Promise<fs.Stats | undefined> {
    try {
      return await fs.promises.lstat(path.join(this.#folder, name));
    } catch (error) {
      if (isAbsent(error)) return undefined;
      throw error;
    }
  }

  async #makeFolder(): Promise<void> {
    try {
      await fs.promises.mkdir(this.#folder, { mode: privateFolderMode });
      await syncDirectory(path.dirname(this.#folder));
    } catch (error) {
      if (!(error instanceof Error && 'code' in error && error.code === 'EEXIST')) throw error;
    }
  }
}

const READ = fs.constants.O_RDONLY | noFollow;

async function* piecesOf(handle: fs.promises.FileHandle): AsyncGenerator<Uint8Array> {
  for (let at = 0; ; ) {
    const buffer = Buffer.allocUnsafeSlow(limits.sitePieceBytes);
    const { bytesRead } = await handle.read(buffer, 0, buffer.length, at);
    if (bytesRead === 0) return;
    at += bytesRead;
    yield buffer.subarray(0, bytesRead);
  }
}

function isAbsent(error: unknown): boolean {
  return error instanceof Error && 'code' in error && error.code === 'ENOENT';
}

import { randomBytes } from 'node:crypto';
import { assert } from '../assert.ts';
import { isNoSpace } from '../log/disk.ts';
import { toHex } from '../values/hex.ts';
import { checkSignal } from './backup-error.ts';
import { codeOf, type FolderFiles } from './folder-files.ts';
import {
  type GetOptions,
  isObjectName,
  type ListedObject,
  type ObjectBody,
  type ObjectHead,
  ObjectMissingError,
  type ObjectStore,
  StoreError,
  type StoreOptions,
} from './object-store.ts';

/** Where objects are written before they have their names. No object has a name that begins so. */
const uploads = '.uploads';

/**
 * Objects as files of a folder. An object is written beside the others, synced, and then linked to
 * its name, which fails if the name is taken; then the folders that hold new entries are synced,
 * the innermost first. Symbolic links are not followed, but for the folder itself.
 */
export class FolderStore implements ObjectStore {
  readonly place: string;
  readonly #files: FolderFiles;
  /** Folders that are there and durable. */
  readonly #known = new Set(['']);

  constructor(place: string, files: FolderFiles) {
    this.place = place;
    this.#files = files;
  }

  create(): Promise<void> {
    return this.#attempt('create', '', () => this.#files.makeRoot());
  }

  put(name: string, body: ObjectBody, options: StoreOptions = {}): Promise<'put' | 'there'> {
    return this.#attempt('write', name, async () => {
      if ((await this.#found(name)) !== undefined) return this.#there(name);
      return this.#written(body, options.signal, async (temporary) => {
        await this.#makeFolders(folderOf(name));
        if (!(await this.#files.link(temporary, name))) return this.#there(name);
        await this.#files.syncFolder(folderOf(name));
        return 'put';
      });
    });
  }

  async *get(name: string, options: GetOptions = {}): AsyncIterable<Uint8Array> {
    const { from = 0, to, signal } = options;
    const found = await this.#attempt('read', name, () => this.#found(name));
    if (found === undefined) throw new ObjectMissingError(this.place, name);
    try {
      for await (const piece of this.#files.read(name, from, to)) {
        checkSignal(signal);
        yield piece;
      }
    } catch (error) {
      throw this.#fault('read', name, error);
    }
  }

  head(name: string): Promise<ObjectHead | undefined> {
    return this.#attempt('read', name, () => this.#found(name));
  }

  async *list(prefix: string): AsyncIterable<ListedObject> {
    assert(prefix === '' || prefix.endsWith('/'), `a prefix does not end with a slash: ${prefix}`);
    yield* this.#listFolder(prefix.slice(0, -1));
  }

  delete(name: string): Promise<void> {
    return this.#attempt('delete', name, async () => {
      if ((await this.#found(name)) === undefined) return;
      await this.#files.remove(name);
      await this.#files.syncFolder(folderOf(name));
    });
  }

  replace(name: string, bytes: Uint8Array): Promise<void> {
    return this.#attempt('write', name, async () => {
      await this.#found(name);
      await this.#written(bytes, undefined, async (temporary) => {
        await this.#makeFolders(folderOf(name));
        await this.#files.rename(temporary, name);
        await this.#files.syncFolder(folderOf(name));
      });
    });
  }

  sweep(beforeMicros: number, isDry: boolean): Promise<number> {
    return this.#attempt('delete', uploads, async () => {
      let count = 0;
      for (const name of await this.#files.list(uploads)) {
        const file = `${uploads}/${name}`;
        const found = await this.#files.stat(file);
        if (found?.kind !== 'file' || found.modifiedMicros >= beforeMicros) continue;
        if (!isDry) await this.#files.remove(file);
        count++;
      }
      return count;
    });
  }

  /** Writes a body to a file without a name of its own, durably, and removes it after `use`. */
  async #written<T>(
    body: ObjectBody,
    signal: AbortSignal | undefined,
    use: (temporary: string) => Promise<T>,
  ): Promise<T> {
    await this.#makeFolders(uploads);
    const temporary = `${uploads}/${toHex(randomBytes(12))}.part`;
    const file = await this.#files.create(temporary);
    try {
      try {
        for await (const piece of body instanceof Uint8Array ? [body] : body) {
          checkSignal(signal);
          await file.write(piece);
        }
        await file.sync();
      } finally {
        await file.close();
      }
      checkSignal(signal);
      return await use(temporary);
    } finally {
      await this.#files.remove(temporary);
    }
  }

  /** An object that is there may have been linked by another run that has not synced it yet. */
  async #there(name: string): Promise<'there'> {
    await this.#makeFolders(folderOf(name));
    await this.#files.syncFolder(folderOf(name));
    return 'there';
  }

  /** Creates a folder and those that hold it, durably, even if another run has just created it. */
  async #makeFolders(folder: string): Promise<void> {
    if (this.#known.has(folder)) return;
    await this.#makeFolders(folderOf(folder));
    await this.#files.makeFolder(folder);
    const found = await this.#files.stat(folder);
    if (found?.kind !== 'folder') throw this.#notAFolder(folder);
    await this.#files.syncFolder(folderOf(folder));
    this.#known.add(folder);
  }

  /** The file of an object; throws if it, or a folder on the way, is a link. */
  async #found(name: string): Promise<ListedObject | undefined> {
    assert(isObjectName(name), `no name of an object: ${name}`);
    const parts = name.split('/');
    for (let length = 1; length < parts.length; length++) {
      const folder = parts.slice(0, length).join('/');
      const found = await this.#files.stat(folder);
      if (found === undefined) return undefined;
      if (found.kind !== 'folder') throw this.#notAFolder(folder);
    }
    const found = await this.#files.stat(name);
    if (found === undefined) return undefined;
    if (found.kind !== 'file') throw new StoreError(`${this.place}/${name} is not a regular file`);
    return { name, bytes: found.bytes, modifiedMicros: found.modifiedMicros };
  }

  async *#listFolder(folder: string): AsyncIterable<ListedObject> {
    const names = await this.#attempt('list', folder, () => this.#files.list(folder));
    for (const name of names) {
      const place = folder === '' ? name : `${folder}/${name}`;
      if (!isObjectName(place)) continue;
      const found = await this.#attempt('list', place, () => this.#files.stat(place));
      if (found === undefined) continue;
      if (found.kind === 'link') throw this.#notAFolder(place);
      if (found.kind === 'folder') yield* this.#listFolder(place);
      if (found.kind !== 'file') continue;
      yield { name: place, bytes: found.bytes, modifiedMicros: found.modifiedMicros };
    }
  }

  #notAFolder(folder: string): StoreError {
    const what = 'is a symbolic link, or not a folder; nothing is followed inside a repository';
    return new StoreError(`${this.place}/${folder} ${what}`);
  }

  async #attempt<T>(operation: string, name: string, action: () => Promise<T>): Promise<T> {
    try {
      return await action();
    } catch (error) {
      throw this.#fault(operation, name, error);
    }
  }

  /** What is not an error of the system comes from the body, or says already what is wrong. */
  #fault(operation: string, name: string, error: unknown): unknown {
    const code = codeOf(error);
    if (code === undefined || !/^E[A-Z0-9]+$/.test(code)) return error;
    if (error instanceof StoreError) return error;
    const file = name === '' ? this.place : `${this.place}/${name}`;
    const full = 'its disk is full; make room there, or choose another place';
    const why = isNoSpace(error) ? `${full} (${code})` : code;
    return new StoreError(`cannot ${operation} ${file}: ${why}`, { cause: error });
  }
}

function folderOf(name: string): string {
  return name.slice(0, Math.max(name.lastIndexOf('/'), 0));
}

import type { FolderFiles, FoundEntry, WritableFile } from '../../src/backup/folder-files.ts';
import type { Random } from '../../src/testing/random.ts';
import { PowerCut } from '../../src/testing/simulated-disk.ts';

interface Inode {
  bytes: Buffer;
  /** What a power cut leaves of it at least. */
  durable: Buffer;
}

type Entry = { readonly kind: 'file'; readonly inode: Inode } | { readonly kind: 'folder' };

interface Change {
  readonly place: string;
  /** `undefined`: the entry was removed. */
  readonly entry: Entry | undefined;
}

/**
 * Folders in memory that forget like real ones. A file has durable bytes, a folder durable entries;
 * after a power cut each change that no sync covers survives or is lost, but a folder whose entry is
 * lost takes all that is in it with it. Changes and syncs are counted, so that a run can be cut, or
 * fail, at any of them.
 */
export class SimulatedFolder implements FolderFiles {
  operationCount = 0;
  /** Names that were given by a link, in order. */
  readonly linked: string[] = [];
  readonly #entries = new Map<string, Entry>();
  readonly #durable = new Map<string, Entry>();
  readonly #pending: Change[] = [];
  #stopAt = Number.POSITIVE_INFINITY;
  #failAt: { readonly at: number; readonly code: string } | undefined;

  stopAt(operation: number): void {
    this.#stopAt = operation;
  }

  failAt(operation: number, code: string): void {
    this.#failAt = { at: operation, code };
  }

  /** The folder that is found after the power failed now. */
  afterCut(random: Random): SimulatedFolder {
    const kept = new Map(this.#durable);
    for (const { place, entry } of this.#pending) {
      if (random.chance(0.5)) continue;
      if (entry === undefined) kept.delete(place);
      else kept.set(place, entry);
    }
    const found = new SimulatedFolder();
    const inodes = new Map<Inode, Inode>();
    for (const [place, entry] of [...kept].sort(([one], [other]) => (one < other ? -1 : 1))) {
      if (parentOf(place) !== '' && found.#entries.get(parentOf(place))?.kind !== 'folder')
        continue;
      const survived = entry.kind === 'folder' ? entry : fileOf(entry.inode, inodes, random);
      found.#entries.set(place, survived);
      found.#durable.set(place, survived);
    }
    return found;
  }

  async makeRoot(): Promise<void> {}

  async makeFolder(folder: string): Promise<boolean> {
    this.#step();
    if (this.#entries.has(folder)) return false;
    this.#change(folder, { kind: 'folder' });
    return true;
  }

  async create(file: string): Promise<WritableFile> {
    this.#step();
    if (this.#entries.has(file)) throw systemError('EEXIST');
    const inode: Inode = { bytes: Buffer.alloc(0), durable: Buffer.alloc(0) };
    this.#change(file, { kind: 'file', inode });
    return {
      write: async (bytes) => {
        this.#step();
        inode.bytes = Buffer.concat([inode.bytes, bytes]);
      },
      sync: async () => {
        this.#step();
        inode.durable = inode.bytes;
      },
      close: async () => undefined,
    };
  }

  async link(from: string, to: string): Promise<boolean> {
    this.#step();
    if (this.#entries.has(to)) return false;
    this.#change(to, this.#file(from));
    this.linked.push(to);
    return true;
  }

  async rename(from: string, to: string): Promise<void> {
    this.#step();
    const entry = this.#file(from);
    this.#change(to, entry);
    this.#change(from, undefined);
  }

  async remove(file: string): Promise<void> {
    this.#step();
    if (this.#entries.has(file)) this.#change(file, undefined);
  }

  async syncFolder(folder: string): Promise<void> {
    this.#step();
    for (let at = 0; at < this.#pending.length; ) {
      const { place, entry } = this.#pending[at] as Change;
      if (parentOf(place) !== folder) {
        at++;
        continue;
      }
      this.#pending.splice(at, 1);
      if (entry === undefined) this.#durable.delete(place);
      else this.#durable.set(place, entry);
    }
  }

  async stat(place: string): Promise<FoundEntry | undefined> {
    if (place === '') return { kind: 'folder', bytes: 0, modifiedMicros: 0 };
    const entry = this.#entries.get(place);
    if (entry === undefined) return undefined;
    const bytes = entry.kind === 'file' ? entry.inode.bytes.length : 0;
    return { kind: entry.kind, bytes, modifiedMicros: 0 };
  }

  async list(folder: string): Promise<string[]> {
    const places = [...this.#entries.keys()].filter((place) => parentOf(place) === folder);
    return places.map((place) => place.slice(folder === '' ? 0 : folder.length + 1)).sort();
  }

  async *read(file: string, from: number, to: number | undefined): AsyncIterable<Uint8Array> {
    yield this.#file(file).inode.bytes.subarray(from, to);
  }

  #file(place: string): Extract<Entry, { kind: 'file' }> {
    const entry = this.#entries.get(place);
    if (entry?.kind !== 'file') throw systemError('ENOENT');
    return entry;
  }

  #change(place: string, entry: Entry | undefined): void {
    if (entry === undefined) this.#entries.delete(place);
    else this.#entries.set(place, entry);
    this.#pending.push({ place, entry });
  }

  #step(): void {
    this.operationCount++;
    if (this.operationCount >= this.#stopAt) throw new PowerCut();
    if (this.operationCount === this.#failAt?.at) throw systemError(this.#failAt.code);
  }
}

/** A file with its durable bytes and perhaps more of those that were written. */
function fileOf(inode: Inode, inodes: Map<Inode, Inode>, random: Random): Entry {
  let survived = inodes.get(inode);
  if (survived === undefined) {
    const { bytes, durable } = inode;
    const extra = bytes.length > durable.length ? random.below(bytes.length - durable.length) : 0;
    const left = bytes.subarray(0, durable.length + extra);
    survived = { bytes: left, durable: left };
    inodes.set(inode, survived);
  }
  return { kind: 'file', inode: survived };
}

function parentOf(place: string): string {
  return place.slice(0, Math.max(place.lastIndexOf('/'), 0));
}

function systemError(code: string): Error {
  return Object.assign(new Error(`${code}: simulated`), { code });
}

import { type Disk, DiskError, type DiskFile } from '../log/disk.ts';

/** A disk for databases that are meant to be forgotten: files are buffers, a sync does nothing. */
export class MemoryDisk implements Disk {
  readonly isLasting = false;
  readonly #files = new Map<string, MemoryFile>();

  /** Bytes of all buffers. */
  get allocatedBytes(): number {
    let total = 0;
    for (const file of this.#files.values()) total += file.allocatedBytes;
    return total;
  }

  list(): string[] {
    return [...this.#files.keys()].sort();
  }

  open(name: string, mode: 'existing' | 'create'): DiskFile {
    const known = this.#files.get(name);
    if (mode === 'existing') {
      if (known === undefined) throw new DiskError('open', name, new Error('no such file'));
      return known;
    }
    if (known !== undefined) throw new DiskError('create', name, new Error('file exists'));
    const file = new MemoryFile(name);
    this.#files.set(name, file);
    return file;
  }

  remove(name: string): void {
    if (!this.#files.delete(name)) throw new DiskError('remove', name, new Error('no such file'));
  }

  rename(from: string, to: string): void {
    const file = this.#files.get(from);
    if (file === undefined) throw new DiskError('rename', from, new Error('no such file'));
    this.#files.delete(from);
    this.#files.set(to, file);
    file.name = to;
  }

  syncDirectory(): Promise<void> {
    return Promise.resolve();
  }
}

const initialBytes = 16 * 1024;

class MemoryFile implements DiskFile {
  name: string;
  #bytes = new Uint8Array(initialBytes);
  #size = 0;

  constructor(name: string) {
    this.name = name;
  }

  get allocatedBytes(): number {
    return this.#bytes.length;
  }

  size(): number {
    return this.#size;
  }

  read(into: Uint8Array, position: number): number {
    const count = Math.max(0, Math.min(into.length, this.#size - position));
    into.set(this.#bytes.subarray(position, position + count));
    return count;
  }

  write(bytes: Uint8Array, position: number): void {
    this.allocate(position + bytes.length);
    this.#bytes.set(bytes, position);
  }

  truncate(size: number): void {
    if (size < this.#size) this.#bytes.fill(0, size, this.#size);
    else this.allocate(size);
    this.#size = size;
  }

  allocate(size: number): void {
    if (size > this.#bytes.length) {
      const larger = new Uint8Array(Math.max(size, 2 * this.#bytes.length));
      larger.set(this.#bytes.subarray(0, this.#size));
      this.#bytes = larger;
    }
    this.#size = Math.max(this.#size, size);
  }

  sync(): Promise<void> {
    return Promise.resolve();
  }

  isInPlace(): boolean {
    return true;
  }

  syncAtOnce(): boolean {
    return true;
  }

  close(): void {}
}

import { type Disk, DiskError, type DiskFile, type DiskSpace } from '../log/disk.ts';
import { gzipCodec } from './gzip.ts';

/** A disk for databases that are meant to be forgotten: files are buffers, a sync does nothing. */
export class MemoryDisk implements Disk {
  readonly isLasting = false;
  readonly codec = gzipCodec;
  readonly #files = new Map<string, MemoryContent>();

  /** Bytes of all buffers. */
  get allocatedBytes(): number {
    let total = 0;
    for (const file of this.#files.values()) total += file.allocatedBytes;
    return total;
  }

  list(): string[] {
    return [...this.#files.keys()].sort();
  }

  open(name: string, mode: 'existing' | 'create' | 'read'): DiskFile {
    const known = this.#files.get(name);
    if (mode !== 'create') {
      if (known === undefined) throw new DiskError('open', name, new Error('no such file'));
      return new MemoryFile(this, name, known, mode === 'read');
    }
    if (known !== undefined) throw new DiskError('create', name, new Error('file exists'));
    const content = new MemoryContent();
    this.#files.set(name, content);
    return new MemoryFile(this, name, content, false);
  }

  remove(name: string): void {
    if (!this.#files.delete(name)) throw new DiskError('remove', name, new Error('no such file'));
  }

  rename(from: string, to: string): void {
    const file = this.#files.get(from);
    if (file === undefined) throw new DiskError('rename', from, new Error('no such file'));
    this.#files.delete(from);
    this.#files.set(to, file);
  }

  link(name: string, into: Disk, as: string): void {
    const file = this.#files.get(name);
    const isPossible = file !== undefined && into instanceof MemoryDisk && !into.#files.has(as);
    if (!isPossible) throw new DiskError('link', name, new Error('no such file, or file exists'));
    into.#files.set(as, file);
  }

  space(): DiskSpace | undefined {
    return undefined;
  }

  syncDirectory(): Promise<void> {
    return Promise.resolve();
  }

  /** True if the name still stands for this content. */
  has(name: string, content: MemoryContent): boolean {
    return this.#files.get(name) === content;
  }
}

const initialBytes = 16 * 1024;

class MemoryContent {
  #bytes = new Uint8Array(initialBytes);
  #size = 0;

  get allocatedBytes(): number {
    return this.#bytes.length;
  }

  get size(): number {
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
}

class MemoryFile implements DiskFile {
  readonly name: string;
  readonly #disk: MemoryDisk;
  readonly #content: MemoryContent;
  readonly #isReadOnly: boolean;

  constructor(disk: MemoryDisk, name: string, content: MemoryContent, isReadOnly: boolean) {
    this.name = name;
    this.#disk = disk;
    this.#content = content;
    this.#isReadOnly = isReadOnly;
  }

  size(): number {
    return this.#content.size;
  }

  read(into: Uint8Array, position: number): number {
    return this.#content.read(into, position);
  }

  write(bytes: Uint8Array, position: number): void {
    this.#checkWritable('write');
    this.#content.write(bytes, position);
  }

  truncate(size: number): void {
    this.#checkWritable('truncate');
    this.#content.truncate(size);
  }

  allocate(size: number): void {
    this.#checkWritable('allocate');
    this.#content.allocate(size);
  }

  sync(): Promise<void> {
    return Promise.resolve();
  }

  isInPlace(): boolean {
    return this.#disk.has(this.name, this.#content);
  }

  syncAtOnce(): boolean {
    return true;
  }

  close(): void {}

  #checkWritable(operation: string): void {
    if (this.#isReadOnly) throw new DiskError(operation, this.name, new Error('only for reading'));
  }
}

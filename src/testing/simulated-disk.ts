import { assert } from '../assert.ts';
import { type Disk, DiskError, type DiskFile } from '../log/disk.ts';
import type { Random } from './random.ts';

/** The smallest piece a power cut leaves whole. */
const sectorBytes = 512;

export type DiskOperation =
  | 'create'
  | 'remove'
  | 'rename'
  | 'syncDirectory'
  | 'write'
  | 'truncate'
  | 'allocate'
  | 'sync';

const spaceOperations: ReadonlySet<DiskOperation> = new Set(['create', 'write', 'allocate']);

/** What every method throws once the power is off. */
export class PowerCut extends Error {
  override readonly name = 'PowerCut';
}

/**
 * A disk in memory that forgets like a real one. Each file has durable bytes and a list of changes
 * that no sync covers yet; the directory has the same for its entries. `crash` makes the disk that
 * is found after a power cut: each unsynced change, and each sector of a write separately, survives
 * or is lost.
 *
 * Changes of state are counted as operations, from 1, so that a run can be repeated with a power
 * cut, or an error, at any of them.
 */
export class SimulatedDisk implements Disk {
  /** False: a log on it keeps no mark of its durable end, like those of earlier versions. */
  isLasting = true;
  /** Operations done or attempted so far. */
  operationCount = 0;
  /** Operations per kind. */
  readonly counts = new Map<DiskOperation, number>();
  /** Awaited before a sync takes effect; a test can hold syncs back with it. */
  beforeSync: () => Promise<void> = () => Promise.resolve();
  /** True: operations that need space fail. */
  isFull = false;
  /** True: they fail, too, but with a fault of the device. */
  isFailing = false;
  /** True: a requested sync happens at once. */
  isQuick = false;
  /** Called before each operation; a test can take an `afterCut` or a `copy` in it. */
  beforeOperation: () => void = () => undefined;
  readonly #entries: Map<string, SimulatedInode>;
  readonly #durableEntries: Map<string, SimulatedInode>;
  #pendingEntries: EntryChange[] = [];
  #stopAt = Number.POSITIVE_INFINITY;
  #isOff = false;
  readonly #failures: { operation: DiskOperation; number: number; code: string }[] = [];
  #failure: { number: number; code: string } | undefined;

  /** Makes a disk with these files, all durable. */
  constructor(files: Iterable<readonly [string, Uint8Array]> = []) {
    this.#entries = new Map();
    for (const [name, bytes] of files) this.#entries.set(name, new SimulatedInode(bytes));
    this.#durableEntries = new Map(this.#entries);
  }

  /** Cuts the power instead of doing the operation of this number. */
  stopAt(operationNumber: number): void {
    this.#stopAt = operationNumber;
  }

  /** Makes the `number`-th operation of its kind fail. A failing write does its first half. */
  failAt(operation: DiskOperation, number: number, code: 'ENOSPC' | 'EIO'): void {
    this.#failures.push({ operation, number, code });
  }

  /**
   * Makes the operation of this number fail, of whatever kind it is; for `ENOSPC` only if it needs
   * space.
   */
  failAtOperation(operationNumber: number, code: 'ENOSPC' | 'EIO'): void {
    this.#failure = { number: operationNumber, code };
  }

  get isOff(): boolean {
    return this.#isOff;
  }

  /** The disk after power returns; this one can no longer be used. */
  crash(random: Random): SimulatedDisk {
    this.#isOff = true;
    return this.afterCut(random);
  }

  /** The disk that would be found if the power was cut now; this one stays on. */
  afterCut(random: Random): SimulatedDisk {
    // Most real losses are of a whole suffix or of everything; mixtures come from the rest.
    const keep = random.pick([0, 0.2, 0.5, 0.8, 1]);
    const entries = new Map(this.#durableEntries);
    const lost = new Set<string>();
    for (const change of this.#pendingEntries) change.survive(entries, lost, random.chance(keep));
    const files = [...entries].map(([name, inode]) => [name, inode.crash(random, keep)] as const);
    return new SimulatedDisk(files);
  }

  /**
   * The disk after the process was killed while the machine kept running: nothing written is lost,
   * and unsynced changes are still unsynced.
   */
  afterKill(): SimulatedDisk {
    this.#isOff = true;
    return this.copy();
  }

  /** A disk in the same state, as if the process was killed now; this one stays on. */
  copy(): SimulatedDisk {
    const disk = new SimulatedDisk();
    const inodes = [...this.#entries.values(), ...this.#durableEntries.values()];
    const copies = new Map(inodes.map((inode) => [inode, inode.copy()]));
    const copyOf = (inode: SimulatedInode) => copies.get(inode) ?? inode;
    for (const [name, inode] of this.#entries) disk.#entries.set(name, copyOf(inode));
    for (const [name, inode] of this.#durableEntries) disk.#durableEntries.set(name, copyOf(inode));
    disk.#pendingEntries = this.#pendingEntries.map((change) => change.copy(copyOf));
    return disk;
  }

  /** A copy of what a file holds now. */
  contentOf(name: string): Uint8Array {
    return this.#inode(name).bytes();
  }

  /** Simulates bit rot: flips one bit of the durable and the current content. */
  flipBit(name: string, position: number, bit: number): void {
    this.#inode(name).flipBit(position, bit);
  }

  list(): string[] {
    this.checkOn();
    return [...this.#entries.keys()].sort();
  }

  open(name: string, mode: 'existing' | 'create'): DiskFile {
    this.checkOn();
    const known = this.#entries.get(name);
    if (mode === 'existing') {
      if (known === undefined) throw new DiskError('open', name, new Error('ENOENT'));
      return new SimulatedFile(this, name, known);
    }
    this.operate('create', name);
    if (known !== undefined) throw new DiskError('create', name, new Error('EEXIST'));
    const inode = new SimulatedInode();
    this.#change({ kind: 'create', name, inode });
    return new SimulatedFile(this, name, inode);
  }

  remove(name: string): void {
    this.operate('remove', name);
    if (!this.#entries.has(name)) throw new DiskError('remove', name, new Error('ENOENT'));
    this.#change({ kind: 'remove', name });
  }

  rename(from: string, to: string): void {
    this.operate('rename', from);
    if (!this.#entries.has(from)) throw new DiskError('rename', from, new Error('ENOENT'));
    this.#change({ kind: 'rename', name: from, to });
  }

  async syncDirectory(): Promise<void> {
    const covered = this.#pendingEntries.length;
    this.operate('syncDirectory', '.');
    await this.beforeSync();
    this.checkOn();
    for (const change of this.#pendingEntries.splice(0, covered)) {
      change.apply(this.#durableEntries);
    }
  }

  /** Counts an operation, and throws if a fault is set for it. Used by the files of this disk. */
  operate(operation: DiskOperation, file: string): void {
    this.checkOn();
    this.beforeOperation();
    this.operationCount++;
    if (this.operationCount >= this.#stopAt) this.#isOff = true;
    this.checkOn();
    const number = (this.counts.get(operation) ?? 0) + 1;
    this.counts.set(operation, number);
    const failure = this.#failures.find(
      (each) => each.operation === operation && each.number === number,
    );
    const code = this.#faultOf(operation) ?? failure?.code ?? this.#numberedFault(operation);
    if (code === undefined) return;
    throw new DiskError(operation, file, Object.assign(new Error(code), { code }));
  }

  /** True if the name still stands for this content. */
  has(name: string, inode: SimulatedInode): boolean {
    return this.#entries.get(name) === inode;
  }

  #numberedFault(operation: DiskOperation): string | undefined {
    if (this.#failure?.number !== this.operationCount) return undefined;
    const { code } = this.#failure;
    return code === 'EIO' || spaceOperations.has(operation) ? code : undefined;
  }

  #faultOf(operation: DiskOperation): string | undefined {
    if (!spaceOperations.has(operation)) return undefined;
    if (this.isFull) return 'ENOSPC';
    return this.isFailing ? 'EIO' : undefined;
  }

  checkOn(): void {
    if (this.#isOff) throw new PowerCut('the power is off');
  }

  #change(description: EntryDescription): void {
    const change = new EntryChange(description);
    change.apply(this.#entries);
    this.#pendingEntries.push(change);
  }

  #inode(name: string): SimulatedInode {
    const inode = this.#entries.get(name);
    assert(inode !== undefined, `the simulated disk has no file ${name}`);
    return inode;
  }
}

type EntryDescription =
  | { readonly kind: 'create'; readonly name: string; readonly inode: SimulatedInode }
  | { readonly kind: 'remove'; readonly name: string }
  | { readonly kind: 'rename'; readonly name: string; readonly to: string };

class EntryChange {
  readonly #description: EntryDescription;

  constructor(description: EntryDescription) {
    this.#description = description;
  }

  copy(copyOf: (inode: SimulatedInode) => SimulatedInode): EntryChange {
    const change = this.#description;
    if (change.kind !== 'create') return this;
    return new EntryChange({ ...change, inode: copyOf(change.inode) });
  }

  apply(entries: Map<string, SimulatedInode>): void {
    const change = this.#description;
    if (change.kind === 'create') entries.set(change.name, change.inode);
    else {
      const inode = entries.get(change.name);
      entries.delete(change.name);
      if (change.kind === 'rename' && inode !== undefined) entries.set(change.to, inode);
    }
  }

  /**
   * Applies the change if it is `kept`. Changes of one name keep their order: once one is lost, all
   * later ones that touch the name are lost, too.
   */
  survive(entries: Map<string, SimulatedInode>, lost: Set<string>, kept: boolean): void {
    const change = this.#description;
    const names = change.kind === 'rename' ? [change.name, change.to] : [change.name];
    if (kept && !names.some((name) => lost.has(name))) this.apply(entries);
    else for (const name of names) lost.add(name);
  }
}

type ContentChange =
  | { readonly kind: 'write'; readonly position: number; readonly bytes: Uint8Array }
  | { readonly kind: 'truncate'; readonly size: number }
  | { readonly kind: 'allocate'; readonly size: number };

/** A file, whatever its name: durable content, current content, and the changes between them. */
class SimulatedInode {
  #durable: Content;
  #current: Content;
  #pending: ContentChange[] = [];

  constructor(bytes: Uint8Array = new Uint8Array(0)) {
    this.#durable = new Content(bytes);
    this.#current = new Content(bytes);
  }

  get size(): number {
    return this.#current.size;
  }

  copy(): SimulatedInode {
    const copy = new SimulatedInode();
    copy.#durable = new Content(this.#durable.bytes());
    copy.#current = new Content(this.#current.bytes());
    copy.#pending = [...this.#pending];
    return copy;
  }

  bytes(): Uint8Array {
    return this.#current.bytes();
  }

  read(into: Uint8Array, position: number): number {
    return this.#current.read(into, position);
  }

  change(change: ContentChange): void {
    this.#current.apply(change);
    this.#pending.push(change);
  }

  /** Number of changes that a sync begun now will cover. */
  get pendingCount(): number {
    return this.#pending.length;
  }

  settle(count: number): void {
    for (const change of this.#pending.splice(0, count)) this.#durable.apply(change);
  }

  crash(random: Random, keep: number): Uint8Array {
    const found = new Content(this.#durable.bytes());
    const isPrefix = random.chance(0.3);
    let isCut = false;
    for (const change of this.#pending) {
      for (const piece of inSectors(change)) {
        const isKept = random.chance(keep);
        if (isPrefix) isCut ||= !isKept;
        if (isPrefix ? !isCut : isKept) found.apply(piece);
      }
    }
    return found.bytes();
  }

  flipBit(position: number, bit: number): void {
    this.#durable.flipBit(position, bit);
    this.#current.flipBit(position, bit);
  }
}

/** The pieces of a change, each of which reaches the disk or not on its own. */
function* inSectors(change: ContentChange): Generator<ContentChange> {
  if (change.kind === 'truncate') yield change;
  else if (change.kind === 'allocate') {
    // Growing a file by zeros may stop half-way.
    yield { kind: 'allocate', size: Math.floor(change.size / 2 / sectorBytes) * sectorBytes };
    yield change;
  } else {
    const { position, bytes } = change;
    for (let start = 0; start < bytes.length; ) {
      const at = position + start;
      const end = Math.min(bytes.length, start + sectorBytes - (at % sectorBytes));
      yield { kind: 'write', position: at, bytes: bytes.subarray(start, end) };
      start = end;
    }
  }
}

/** Growable bytes. */
class Content {
  size: number;
  #bytes: Uint8Array;

  constructor(bytes: Uint8Array) {
    this.#bytes = bytes.slice();
    this.size = bytes.length;
  }

  bytes(): Uint8Array {
    return this.#bytes.slice(0, this.size);
  }

  read(into: Uint8Array, position: number): number {
    const count = Math.max(0, Math.min(into.length, this.size - position));
    into.set(this.#bytes.subarray(position, position + count));
    return count;
  }

  apply(change: ContentChange): void {
    if (change.kind === 'write') {
      this.#grow(change.position + change.bytes.length);
      this.#bytes.set(change.bytes, change.position);
    } else if (change.kind === 'allocate' || change.size > this.size) this.#grow(change.size);
    else {
      this.#bytes.fill(0, change.size, this.size);
      this.size = change.size;
    }
  }

  flipBit(position: number, bit: number): void {
    assert(position < this.size, `no byte at ${position} to flip a bit of`);
    this.#bytes[position] = (this.#bytes[position] ?? 0) ^ (1 << bit);
  }

  #grow(size: number): void {
    if (size > this.#bytes.length) {
      const larger = new Uint8Array(Math.max(size, 2 * this.#bytes.length));
      larger.set(this.#bytes);
      this.#bytes = larger;
    }
    this.size = Math.max(this.size, size);
  }
}

class SimulatedFile implements DiskFile {
  readonly name: string;
  readonly #disk: SimulatedDisk;
  readonly #inode: SimulatedInode;
  #isOpen = true;

  constructor(disk: SimulatedDisk, name: string, inode: SimulatedInode) {
    this.name = name;
    this.#disk = disk;
    this.#inode = inode;
  }

  size(): number {
    this.#check();
    return this.#inode.size;
  }

  read(into: Uint8Array, position: number): number {
    this.#check();
    return this.#inode.read(into, position);
  }

  write(bytes: Uint8Array, position: number): void {
    this.#check();
    try {
      this.#disk.operate('write', this.name);
    } catch (error) {
      const half = bytes.slice(0, bytes.length >>> 1);
      if (error instanceof DiskError) this.#inode.change({ kind: 'write', position, bytes: half });
      throw error;
    }
    this.#inode.change({ kind: 'write', position, bytes: bytes.slice() });
  }

  truncate(size: number): void {
    this.#check();
    this.#disk.operate('truncate', this.name);
    this.#inode.change({ kind: 'truncate', size });
  }

  allocate(size: number): void {
    this.#check();
    this.#disk.operate('allocate', this.name);
    this.#inode.change({ kind: 'allocate', size });
  }

  async sync(): Promise<void> {
    this.#check();
    const covered = this.#inode.pendingCount;
    this.#disk.operate('sync', this.name);
    await this.#disk.beforeSync();
    this.#disk.checkOn();
    this.#inode.settle(covered);
  }

  isInPlace(): boolean {
    this.#check();
    return this.#disk.has(this.name, this.#inode);
  }

  syncAtOnce(): boolean {
    this.#check();
    if (!this.#disk.isQuick) return false;
    this.#disk.operate('sync', this.name);
    this.#inode.settle(this.#inode.pendingCount);
    return true;
  }

  close(): void {
    this.#isOpen = false;
  }

  #check(): void {
    assert(this.#isOpen, `${this.name} is closed`);
    this.#disk.checkOn();
  }
}

import { assert } from '../assert.ts';
import { type Disk, DiskError, type DiskFile, type DiskSpace } from '../log/disk.ts';
import { gzipCodec } from '../node/gzip.ts';
import type { Random } from './random.ts';
import { SimulatedInode } from './simulated-file.ts';

export type DiskOperation =
  | 'create'
  | 'remove'
  | 'rename'
  | 'link'
  | 'syncDirectory'
  | 'write'
  | 'truncate'
  | 'allocate'
  | 'sync';

const spaceOperations: ReadonlySet<DiskOperation> = new Set([
  'create',
  'link',
  'write',
  'allocate',
]);

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
 *
 * It is one directory. `directory` gives others of the same machine: files can have names in
 * several, operations are counted together, and what befalls the machine is set on the first.
 */
export class SimulatedDisk implements Disk {
  /** False: a log on it keeps no mark of its durable end, like those of earlier versions. */
  isLasting = true;
  readonly codec = gzipCodec;
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
  /** Bytes that its files can take, as `space` reports; nothing fails beyond. */
  totalBytes = 1e12;
  readonly #main: SimulatedDisk;
  readonly #others = new Map<string, SimulatedDisk>();
  readonly #entries: Map<string, SimulatedInode>;
  readonly #durableEntries: Map<string, SimulatedInode>;
  #pendingEntries: EntryChange[] = [];
  #stopAt = Number.POSITIVE_INFINITY;
  #isOff = false;
  readonly #failures: { operation: DiskOperation; number: number; code: string }[] = [];
  #failure: { number: number; code: string } | undefined;

  /** Makes a disk with these files, all durable; `main`: as a further directory of its machine. */
  constructor(files: Iterable<readonly [string, Uint8Array]> = [], main?: SimulatedDisk) {
    this.#main = main ?? this;
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
    return this.#main.#isOff;
  }

  /** Another directory of the machine, empty at first; only of the first one. */
  directory(name: string): SimulatedDisk {
    assert(this.#main === this, 'directories are those of the first one');
    const known = this.#others.get(name) ?? new SimulatedDisk([], this);
    this.#others.set(name, known);
    return known;
  }

  /** The disk after power returns; this one can no longer be used. */
  crash(random: Random): SimulatedDisk {
    this.#main.#isOff = true;
    return this.afterCut(random);
  }

  /** The disk that would be found if the power was cut now; this one stays on. */
  afterCut(random: Random): SimulatedDisk {
    // Most real losses are of a whole suffix or of everything; mixtures come from the rest.
    const keep = random.pick([0, 0.2, 0.5, 0.8, 1]);
    const found = new Map<SimulatedInode, SimulatedInode>();
    const after = new SimulatedDisk();
    this.#survive(after, random, keep, found);
    for (const [name, disk] of this.#others) {
      disk.#survive(after.directory(name), random, keep, found);
    }
    return after;
  }

  /** Puts into `after` what survives of this directory; `found` has the files that are known. */
  #survive(
    after: SimulatedDisk,
    random: Random,
    keep: number,
    found: Map<SimulatedInode, SimulatedInode>,
  ): void {
    const entries = new Map(this.#durableEntries);
    const lost = new Set<string>();
    for (const change of this.#pendingEntries) change.survive(entries, lost, random.chance(keep));
    for (const [name, inode] of entries) {
      const known = found.get(inode) ?? inode.crash(random, keep);
      found.set(inode, known);
      after.#entries.set(name, known);
      after.#durableEntries.set(name, known);
    }
  }

  /**
   * The disk after the process was killed while the machine kept running: nothing written is lost,
   * and unsynced changes are still unsynced.
   */
  afterKill(): SimulatedDisk {
    this.#main.#isOff = true;
    return this.copy();
  }

  /** A disk in the same state, as if the process was killed now; this one stays on. */
  copy(): SimulatedDisk {
    const disk = new SimulatedDisk();
    const copies = new Map<SimulatedInode, SimulatedInode>();
    const copyOf = (inode: SimulatedInode): SimulatedInode => {
      const known = copies.get(inode) ?? inode.copy();
      copies.set(inode, known);
      return known;
    };
    this.#copyTo(disk, copyOf);
    for (const [name, other] of this.#others) other.#copyTo(disk.directory(name), copyOf);
    return disk;
  }

  #copyTo(disk: SimulatedDisk, copyOf: (inode: SimulatedInode) => SimulatedInode): void {
    for (const [name, inode] of this.#entries) disk.#entries.set(name, copyOf(inode));
    for (const [name, inode] of this.#durableEntries) disk.#durableEntries.set(name, copyOf(inode));
    disk.#pendingEntries = this.#pendingEntries.map((change) => change.copy(copyOf));
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

  open(name: string, mode: 'existing' | 'create' | 'read'): DiskFile {
    this.checkOn();
    const known = this.#entries.get(name);
    if (mode !== 'create') {
      if (known === undefined) throw new DiskError('open', name, new Error('ENOENT'));
      return new SimulatedFile(this, name, known, mode === 'read');
    }
    this.operate('create', name);
    if (known !== undefined) throw new DiskError('create', name, new Error('EEXIST'));
    const inode = new SimulatedInode();
    this.#change({ kind: 'create', name, inode });
    return new SimulatedFile(this, name, inode, false);
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

  link(name: string, into: Disk, as: string): void {
    this.operate('link', name);
    const inode = this.#entries.get(name);
    const isHere = into instanceof SimulatedDisk && into.#main === this.#main;
    if (inode === undefined) throw new DiskError('link', name, new Error('ENOENT'));
    if (!isHere) throw new DiskError('link', name, new Error('EXDEV'));
    if (into.#entries.has(as)) throw new DiskError('link', name, new Error('EEXIST'));
    into.#change({ kind: 'create', name: as, inode });
  }

  space(): DiskSpace {
    const main = this.#main;
    const disks = [main, ...main.#others.values()];
    const inodes = new Set(disks.flatMap((disk) => [...disk.#entries.values()]));
    const used = [...inodes].reduce((sum, { size }) => sum + size, 0);
    const freeBytes = main.isFull ? 0 : Math.max(main.totalBytes - used, 0);
    return { freeBytes, totalBytes: main.totalBytes };
  }

  async syncDirectory(): Promise<void> {
    const covered = this.#pendingEntries.length;
    this.operate('syncDirectory', '.');
    await this.#main.beforeSync();
    this.checkOn();
    for (const change of this.#pendingEntries.splice(0, covered)) {
      change.apply(this.#durableEntries);
    }
  }

  /** Counts an operation, and throws if a fault is set for it. Used by the files of this disk. */
  operate(operation: DiskOperation, file: string): void {
    if (this.#main !== this) {
      this.#main.operate(operation, file);
      return;
    }
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

  /** What a file of this disk awaits before its sync takes effect. */
  get syncDelay(): () => Promise<void> {
    return this.#main.beforeSync;
  }

  /** True if syncs happen at once. */
  get hasQuickSyncs(): boolean {
    return this.#main.isQuick;
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
    if (this.isOff) throw new PowerCut('the power is off');
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

class SimulatedFile implements DiskFile {
  readonly name: string;
  readonly #disk: SimulatedDisk;
  readonly #inode: SimulatedInode;
  readonly #isReadOnly: boolean;
  #isOpen = true;

  constructor(disk: SimulatedDisk, name: string, inode: SimulatedInode, isReadOnly: boolean) {
    this.name = name;
    this.#disk = disk;
    this.#inode = inode;
    this.#isReadOnly = isReadOnly;
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
    this.#checkWritable('write');
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
    this.#checkWritable('truncate');
    this.#disk.operate('truncate', this.name);
    this.#inode.change({ kind: 'truncate', size });
  }

  allocate(size: number): void {
    this.#checkWritable('allocate');
    this.#disk.operate('allocate', this.name);
    this.#inode.change({ kind: 'allocate', size });
  }

  async sync(): Promise<void> {
    this.#check();
    const covered = this.#inode.pendingCount;
    this.#disk.operate('sync', this.name);
    await this.#disk.syncDelay();
    this.#disk.checkOn();
    this.#inode.settle(covered);
  }

  isInPlace(): boolean {
    this.#check();
    return this.#disk.has(this.name, this.#inode);
  }

  syncAtOnce(): boolean {
    this.#check();
    if (!this.#disk.hasQuickSyncs) return false;
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
  #checkWritable(operation: string): void {
    this.#check();
    if (this.#isReadOnly) throw new DiskError(operation, this.name, new Error('EBADF'));
  }
}

import { type Disk, DiskError } from '../log/disk.ts';
import { type Floor, floorName, writeFloor } from '../log/floor.ts';
import { freeName } from '../log/free-name.ts';
import { isSamePoint } from '../log/history-point.ts';
import { isPacked, packedName, plainName, segmentSequence } from '../log/segment.ts';
import { commitOffset } from '../store/commit-offset.ts';
import type { DatabaseIdentity } from '../values/identity-roles.ts';
import { checkSnapshot } from './check-snapshot.ts';
import { type FoundFiles, type FoundSegment, findFiles, headerOf } from './files.ts';
import { IndexKeeper } from './index-keeper.ts';
import { packedParts, packSegment } from './pack-segment.ts';
import { type Pause, StoppedError } from './pause.ts';
import {
  type HistorySettings,
  type Hold,
  planForgetting,
  planRetention,
  type RetentionMoment,
  type RetentionPlan,
  type SnapshotFacts,
} from './retention.ts';
import { indexName, indexNames, indexParts } from './segment-index.ts';

export interface KeepOptions {
  readonly identity: DatabaseIdentity;
  readonly settings: HistorySettings;
  readonly nowMicros: bigint;
  readonly holds: readonly Hold[];
  /** Awaited after each piece of work, with the bytes that it wrote. */
  readonly pace: (bytes: number) => Promise<void>;
  /** True: the pass ends after the present operation. */
  readonly isStopped: () => boolean;
  /** Receives full sentences; `error`: about history that is lost, or may be. */
  readonly log: (message: string, level: 'warn' | 'error') => void;
  /** Gives up all that is before the newest snapshot, instead of what the settings say. */
  readonly forget?: boolean;
  /** Used instead of `limits.snapshotGapBytesMax`, for tests. */
  readonly gapBytesMax?: number;
}

/** What is there of a history, and what a pass has done. */
export interface HistoryReport {
  /** The smallest offset whose state can be read, and its T. */
  readonly floorOffset: number;
  readonly floorMicros: bigint;
  /** The last commit, within a second of it while the database serves. */
  readonly endOffset: number;
  readonly bytes: HistoryBytes;
  readonly segments: number;
  readonly snapshots: number;
  /** Segments and snapshots that were removed, and segments that were packed. */
  readonly deleted: number;
  readonly packed: number;
  /** Why the beginning was moved. */
  readonly reason?: string;
  /** Why nothing was deleted, although something was to be. */
  readonly refused?: string;
}

/** Bytes on disk, by kind. */
export interface HistoryBytes {
  /** The segment that is written to. */
  readonly active: number;
  /** Segments that a start from one of the two newest snapshots may need, and older ones. */
  readonly hot: number;
  readonly cold: number;
  readonly snapshots: number;
  readonly indexes: number;
  readonly other: number;
}

/**
 * One pass over the history of a database, which may serve meanwhile: removes what an interrupted
 * pass has left, deletes what the settings give up, packs segments that no start needs, and builds
 * missing indexes. After an interruption at any place the log opens with all its commits, and the
 * next pass goes on. Rejects with `DiskError`, or `LogDamageError` if `origin` is damaged.
 */
export async function keepHistory(disk: Disk, options: KeepOptions): Promise<HistoryReport> {
  const pass = new Pass(disk, options);
  await pass.run();
  return pass.report();
}

/** The same report, with nothing done. */
export function historyStatus(disk: Disk, identity: DatabaseIdentity): HistoryReport {
  return { ...factsOf(findFiles(disk, identity)), deleted: 0, packed: 0 };
}

class Pass {
  readonly #disk: Disk;
  readonly #options: KeepOptions;
  readonly #pause: Pause;
  /** Once in a pass is enough. */
  #reportsLowDisk = true;
  #deleted = 0;
  #packed = 0;
  #reason: string | undefined;
  #refused: string | undefined;

  constructor(disk: Disk, options: KeepOptions) {
    this.#disk = disk;
    this.#options = options;
    this.#pause = async (bytes) => {
      this.#checkStopped();
      await options.pace(bytes);
      this.#checkStopped();
    };
  }

  async run(): Promise<void> {
    try {
      await this.#pause(0);
      this.#disk.checkWriter?.(true);
      await this.#cleanUp();
      // Segments are packed before their bytes are counted.
      await this.#delete({ ...this.#options.settings, keepBytes: 0 });
      this.#reportsLowDisk = false;
      await this.#pack();
      if (this.#options.forget !== true) await this.#delete(this.#options.settings);
      await new IndexKeeper(this.#disk, this.#options, this.#pause).run();
    } catch (error) {
      if (!(error instanceof StoppedError)) throw error;
    }
  }

  report(): HistoryReport {
    return {
      ...factsOf(this.#files()),
      deleted: this.#deleted,
      packed: this.#packed,
      ...(this.#reason !== undefined && { reason: this.#reason }),
      ...(this.#refused !== undefined && { refused: this.#refused }),
    };
  }

  #files(): FoundFiles {
    return findFiles(this.#disk, this.#options.identity);
  }

  /** Removes what an interruption has left behind; none of it is ever read. */
  async #cleanUp(): Promise<void> {
    const names = this.#disk.list();
    const known = new Set(names);
    const isLeft = (name: string): boolean => {
      if (packedParts.test(name) || indexParts.test(name)) return true;
      if (name === `${floorName}.part`) return true;
      const isSegment = segmentSequence(name) !== undefined;
      if (isSegment && isPacked(name) && known.has(plainName(name))) return true;
      if (!indexNames.test(name)) return false;
      const segment = `${name.slice(0, -'.idx'.length)}.log`;
      return !known.has(segment) && !known.has(packedName(segment));
    };
    const left = names.filter(isLeft);
    for (const name of left) this.#disk.remove(name);
    if (left.length > 0) await this.#disk.syncDirectory();
    await this.#removeBelowFloor();
  }

  /** Files below the floor, which a pass that was interrupted has not removed any more. */
  async #removeBelowFloor(): Promise<void> {
    const files = this.#files();
    if (files.floor.kind !== 'valid') return;
    const { floor } = files.floor;
    const segments = files.segments.filter(({ sequence }) => sequence < floor.sequence);
    const snapshots = files.snapshots.filter(({ segment }) => segment < floor.sequence);
    if (segments.length === 0 && snapshots.length === 0) return;
    const base = files.snapshots.find(({ segment }) => segment >= floor.sequence);
    const first = files.segments.find(({ sequence }) => sequence === floor.sequence);
    if (base === undefined || first === undefined || !this.#isOfFloor(first, floor)) {
      this.#warn('Segments below the floor were kept: the log does not go on where it says.');
      return;
    }
    if (!(await this.#areWhole(files, [base]))) return;
    await this.#removeSnapshots(snapshots.map(({ name }) => name));
    await this.#removeSegments(segments.map(({ name }) => name));
  }

  #isOfFloor(segment: FoundSegment, floor: Floor): boolean {
    const header = headerOf(this.#disk, segment.name);
    if (header === undefined || header.epoch !== floor.epoch) return false;
    const start = { ...header, offset: header.firstOffset - 1 };
    return isSamePoint(start, { ...floor, offset: floor.firstOffset - 1 });
  }

  async #delete(settings: HistorySettings): Promise<void> {
    if (this.#refused !== undefined) return;
    const files = this.#files();
    const { forget } = this.#options;
    const moment = this.#moment();
    const isForgetting = forget === true;
    const plan = isForgetting
      ? planForgetting(files, moment)
      : planRetention(files, settings, moment);
    if (plan.isDiskLow && this.#reportsLowDisk) this.#reportLowDisk(plan);
    if (plan.snapshots.length === 0 && plan.beginning === undefined) return;
    if (!(await this.#areWhole(files, this.#relied(files, plan)))) return;
    const { beginning } = plan;
    if (beginning !== undefined) {
      if (!(await this.#moveFloor(files, plan))) return;
      this.#reason = beginning.reason;
    }
    await this.#removeSnapshots(plan.snapshots);
    await this.#removeSegments(plan.segments);
  }

  #moment(): RetentionMoment {
    const { nowMicros, holds, gapBytesMax } = this.#options;
    const space = this.#disk.space();
    const freeBytes = space?.freeBytes ?? Number.POSITIVE_INFINITY;
    const volumeBytes = space?.totalBytes ?? 0;
    const moment = { nowMicros, holds, freeBytes, volumeBytes };
    return gapBytesMax === undefined ? moment : { ...moment, gapBytesMax };
  }

  #reportLowDisk({ beginning }: RetentionPlan): void {
    const isShrunk = beginning?.reason === 'low disk';
    const text = isShrunk
      ? `The disk is nearly full: history before offset ${beginning.snapshot.offset} is given up.`
      : 'The disk is nearly full. No history is given up.';
    this.#options.log(text, 'error');
  }

  /** The snapshots that a deletion rests on: the ones around what goes. */
  #relied({ snapshots }: FoundFiles, plan: RetentionPlan): readonly SnapshotFacts[] {
    const gone = new Set(plan.snapshots);
    const stay = snapshots.filter(({ name }) => !gone.has(name));
    const relied = new Set<SnapshotFacts>();
    const rest = (offset: number): void => {
      const at = stay.findIndex((snapshot) => snapshot.offset >= offset);
      for (const one of stay.slice(at, at + 2)) relied.add(one);
    };
    if (plan.beginning !== undefined) rest(plan.beginning.snapshot.offset);
    for (const { name, offset } of snapshots) {
      if (!gone.has(name)) continue;
      const older = stay.findLast((snapshot) => snapshot.offset < offset);
      rest(older?.offset ?? offset);
    }
    return [...relied];
  }

  /** Reads snapshots again, all of each; sets those aside that fail. */
  async #areWhole(files: FoundFiles, snapshots: readonly SnapshotFacts[]): Promise<boolean> {
    const { lineage } = files;
    for (const { name } of snapshots) {
      const fault = await checkSnapshot(this.#disk, name, lineage, this.#pause);
      if (fault === undefined) continue;
      this.#refused = `the snapshot ${name} cannot be relied on: ${fault.reason}`;
      let text = `Nothing of the history was deleted: ${this.#refused}.`;
      if (fault.kind === 'damaged') {
        const kept = freeName(this.#disk, name, 'bad');
        this.#disk.checkWriter?.(true);
        this.#disk.rename(name, kept);
        await this.#disk.syncDirectory();
        text += ` It was set aside as ${kept}.`;
      }
      this.#options.log(text, 'error');
      return false;
    }
    return true;
  }

  /** Makes the new beginning durable. */
  async #moveFloor(files: FoundFiles, plan: RetentionPlan): Promise<boolean> {
    const { beginning } = plan;
    const first = files.segments.find(({ sequence }) => sequence === beginning?.snapshot.segment);
    const header = first === undefined ? undefined : headerOf(this.#disk, first.name);
    if (beginning === undefined || header === undefined) return false;
    const { epoch, sequence, position, chainLow, chainHigh, lastMicros: micros } = header;
    const floor: Floor = {
      ...{ epoch, sequence, position, chainLow, chainHigh, micros },
      firstOffset: commitOffset(header.firstOffset),
      snapshot: beginning.snapshot.name,
      at: this.#options.nowMicros,
      reason: beginning.reason,
    };
    await this.#pause(0);
    await this.#withRoom(plan.segments, () => writeFloor(this.#disk, floor));
    return true;
  }

  /** On a full disk the indexes of what goes are removed first: they make room for the floor. */
  async #withRoom(going: readonly string[], write: () => Promise<void>): Promise<void> {
    try {
      await write();
    } catch (error) {
      if (!(error instanceof DiskError && error.isForSpace)) throw error;
      const known = new Set(this.#disk.list());
      for (const name of going.map(indexName)) if (known.has(name)) this.#disk.remove(name);
      await this.#disk.syncDirectory();
      await write();
    }
  }

  async #removeSnapshots(names: readonly string[]): Promise<void> {
    for (const name of names) {
      await this.#pause(0);
      this.#disk.checkWriter?.(true);
      this.#disk.remove(name);
      await this.#disk.syncDirectory();
      this.#deleted++;
    }
  }

  /** The oldest goes first, and is durably gone before the next one. */
  async #removeSegments(names: readonly string[]): Promise<void> {
    for (const name of names) {
      await this.#pause(0);
      this.#disk.checkWriter?.(true);
      const known = new Set(this.#disk.list());
      this.#disk.remove(name);
      if (known.has(indexName(name))) this.#disk.remove(indexName(name));
      await this.#disk.syncDirectory();
      this.#deleted++;
    }
  }

  /** Packs what no start from one of the two newest snapshots needs, and nobody holds. */
  async #pack(): Promise<void> {
    const { segments, snapshots } = this.#files();
    const hot = snapshots.at(-2)?.segment ?? 0;
    const offsets = this.#options.holds.map(({ fromOffset }) => fromOffset);
    const held = Math.min(...offsets, Number.POSITIVE_INFINITY);
    for (const [index, segment] of segments.entries()) {
      const next = segments[index + 1];
      if (segment.isPacked || segment.sequence >= hot || next === undefined) continue;
      if (next.firstOffset - 1 > held) continue;
      await this.#packOne(segment.name);
    }
  }

  async #packOne(name: string): Promise<void> {
    await this.#pause(0);
    this.#disk.checkWriter?.(true);
    try {
      if (await packSegment(this.#disk, name, this.#pause)) this.#packed++;
      else this.#warn(`${name} was not packed: what was unpacked again was not the same.`);
      await this.#disk.syncDirectory();
    } catch (error) {
      if (!(error instanceof DiskError && error.isForSpace)) throw error;
      this.#warn(`${name} was not packed: the disk is full.`);
    }
  }

  #warn(text: string): void {
    this.#options.log(text, 'warn');
  }

  #checkStopped(): void {
    if (this.#options.isStopped()) throw new StoppedError('the pass was stopped');
  }
}

function factsOf(files: FoundFiles): Omit<HistoryReport, 'deleted' | 'packed'> {
  const { segments, snapshots, endOffset } = files;
  const isWhole = segments.length === 0 || segments[0]?.sequence === 1;
  const first = isWhole ? undefined : snapshots[0];
  return {
    floorOffset: first?.offset ?? (isWhole ? 1 : endOffset),
    floorMicros: first?.micros ?? 0n,
    endOffset,
    bytes: bytesOf(files),
    segments: segments.length,
    snapshots: snapshots.length,
  };
}

function bytesOf({ segments, snapshots, sizes }: FoundFiles): HistoryBytes {
  const hotSequence = snapshots.at(-2)?.segment ?? 0;
  const bytes = { active: 0, hot: 0, cold: 0, snapshots: 0, indexes: 0, other: 0 };
  const active = segments.at(-1)?.name;
  for (const [name, size] of sizes) {
    const sequence = segmentSequence(name);
    if (name === active) bytes.active += size;
    else if (sequence !== undefined) bytes[sequence < hotSequence ? 'cold' : 'hot'] += size;
    else if (snapshots.some((one) => one.name === name)) bytes.snapshots += size;
    else if (indexNames.test(name)) bytes.indexes += size;
    else bytes.other += size;
  }
  return bytes;
}

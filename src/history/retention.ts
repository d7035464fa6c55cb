import { limits } from '../limits.ts';
import type { FloorReason } from '../log/floor.ts';

/** What is kept of the past of one database. */
export interface HistorySettings {
  /** Commits younger than this stay. `everything`: nothing is deleted. */
  readonly keepMicros: bigint | 'everything';
  /** Bytes on disk of cold segments and old snapshots together; 0: no bound. */
  readonly keepBytes: number;
  /** At most so many commits; `undefined`: no bound. */
  readonly keepCommits: number | undefined;
  /** On a disk that is nearly full: give history up, or only report it. */
  readonly onLowDisk: 'shrink' | 'warn';
}

/** Keeps the commits after `fromOffset`, whatever the settings say, and what they are read with. */
export interface Hold {
  /** Who, for people. */
  readonly by: string;
  readonly fromOffset: number;
}

/** The files that a plan is about. */
export interface HistoryFiles {
  /** In order; the last one is written to. */
  readonly segments: readonly SegmentFacts[];
  /** Those that the log continues, the oldest first. */
  readonly snapshots: readonly SnapshotFacts[];
  /** Offset of the last commit. */
  readonly endOffset: number;
}

export interface SegmentFacts {
  readonly name: string;
  readonly sequence: number;
  readonly firstOffset: number;
  /** Bytes on disk, with what was derived from it. */
  readonly bytes: number;
}

export interface SnapshotFacts {
  readonly name: string;
  readonly offset: number;
  /** T of that commit. */
  readonly micros: bigint;
  /** Log position behind it, and the segment that has it. */
  readonly position: number;
  readonly segment: number;
  readonly bytes: number;
}

export interface RetentionMoment {
  readonly nowMicros: bigint;
  /** Of the disk; infinite if that is not known. */
  readonly freeBytes: number;
  readonly volumeBytes: number;
  readonly holds: readonly Hold[];
  /** Used instead of `limits.snapshotGapBytesMax`, for tests. */
  readonly gapBytesMax?: number;
}

/** What goes. Everything else stays. */
export interface RetentionPlan {
  /** Where the log begins afterwards; `undefined`: where it begins now. */
  readonly beginning: Beginning | undefined;
  /** Names of snapshots to remove: those before the beginning, then others; the oldest first. */
  readonly snapshots: readonly string[];
  /** Names of segments to remove, the oldest first. */
  readonly segments: readonly string[];
  /** True if too little of the disk is free, whether or not anything goes. */
  readonly isDiskLow: boolean;
}

export interface Beginning {
  /** The snapshot that takes the place of what goes. */
  readonly snapshot: SnapshotFacts;
  readonly reason: FloorReason;
}

/**
 * Decides what goes. History ends at snapshots: it can begin at each of those there are, up to the
 * older of the two newest, which a start may need. What is before the beginning is of no use.
 */
export function planRetention(
  files: HistoryFiles,
  settings: HistorySettings,
  moment: RetentionMoment,
): RetentionPlan {
  const planner = new Planner(files, settings, moment);
  planner.raiseByAge();
  planner.thin();
  planner.raiseByBounds();
  return planner.plan();
}

/** Gives up everything before the newest snapshot, whatever is configured; holds count. */
export function planForgetting(files: HistoryFiles, moment: RetentionMoment): RetentionPlan {
  const settings = { keepMicros: 'everything', keepBytes: 0, keepCommits: undefined } as const;
  const planner = new Planner(files, { ...settings, onLowDisk: 'warn' }, moment);
  planner.forget();
  return planner.plan();
}

/** Free space below this gives history up. */
export function isDiskLow({
  freeBytes,
  volumeBytes,
}: Pick<RetentionMoment, 'freeBytes' | 'volumeBytes'>): boolean {
  const share = volumeBytes * limits.historyFreeShareMin;
  return freeBytes < Math.max(limits.historyFreeBytesMin, share);
}

class Planner {
  readonly #files: HistoryFiles;
  readonly #settings: HistorySettings;
  readonly #moment: RetentionMoment;
  /** Index of the snapshot at which the log begins; -1: it begins with its first commit. */
  readonly #start: number;
  /** The highest index at which it may begin. */
  readonly #last: number;
  #floor: number;
  #reason: FloorReason | undefined;
  /** Indices of snapshots that go although the log does not begin behind them. */
  readonly #thinned = new Set<number>();

  constructor(files: HistoryFiles, settings: HistorySettings, moment: RetentionMoment) {
    this.#files = files;
    this.#settings = settings;
    this.#moment = moment;
    const isWhole = files.segments[0]?.sequence === 1 || files.snapshots.length === 0;
    this.#start = isWhole ? -1 : 0;
    this.#floor = this.#start;
    this.#last = Math.min(files.snapshots.length - 2, this.#heldIndex());
  }

  /** Commits that are old enough go, as far as history can begin at a snapshot behind them. */
  raiseByAge(): void {
    const { keepMicros } = this.#settings;
    if (keepMicros === 'everything') return;
    const since = this.#moment.nowMicros - keepMicros;
    for (let index = this.#last; index > this.#floor; index--) {
      if (this.#snapshot(index).micros > since) continue;
      this.#raise(index, 'age');
      return;
    }
  }

  /** Snapshots that only make reading the past quicker go when they are close, or take too much. */
  thin(): void {
    const { gapBytesMax = limits.snapshotGapBytesMax } = this.#moment;
    let before = this.#floor === -1 ? 0 : this.#snapshot(this.#floor).position;
    for (const index of this.#further()) {
      const after = this.#snapshot(index + 1).position;
      if (after - before <= gapBytesMax) this.#thinned.add(index);
      else before = this.#snapshot(index).position;
    }
    const { keepMicros, keepBytes } = this.#settings;
    if (keepMicros === 'everything' || keepBytes === 0) return;
    const bytesMax = keepBytes * limits.oldSnapshotsShareMax;
    for (let isLess = true; isLess; ) {
      isLess = false;
      const further = this.#further();
      for (let at = 0; at < further.length && this.#oldSnapshotBytes() > bytesMax; at += 2) {
        this.#thinned.add(further[at] as number);
        isLess = true;
      }
    }
  }

  /** The oldest goes while a bound is exceeded. */
  raiseByBounds(): void {
    if (this.#settings.keepMicros === 'everything') return;
    for (let index = this.#floor + 1; index <= this.#last; index++) {
      const reason = this.#thinned.has(index) ? undefined : this.#exceeded();
      if (reason !== undefined) this.#raise(index, reason);
    }
  }

  forget(): void {
    // What is held stays; all that is before it goes.
    const index = Math.min(this.#files.snapshots.length - 1, this.#heldIndex());
    if (index > this.#floor) this.#raise(index, 'forget');
  }

  plan(): RetentionPlan {
    const { segments, snapshots } = this.#files;
    const isRaised = this.#floor > this.#start;
    const older = snapshots.filter((_, index) => index < this.#floor);
    const others = snapshots.filter((_, index) => index > this.#floor && this.#thinned.has(index));
    const gone = isRaised ? this.#segmentsBelow(this.#floor) : [];
    const names = [...older, ...others].map(({ name }) => name);
    const low = isDiskLow(this.#moment);
    if (!isRaised || this.#reason === undefined || (gone.length === 0 && older.length === 0)) {
      return { beginning: undefined, snapshots: names, segments: [], isDiskLow: low };
    }
    const beginning = { snapshot: this.#snapshot(this.#floor), reason: this.#reason };
    const going = segments.slice(0, gone.length).map(({ name }) => name);
    return { beginning, snapshots: names, segments: going, isDiskLow: low };
  }

  /** Index of the newest snapshot from which all held commits can be read. */
  #heldIndex(): number {
    const offsets = this.#moment.holds.map(({ fromOffset }) => fromOffset);
    const from = offsets.reduce((least, each) => Math.min(least, each), Number.POSITIVE_INFINITY);
    return this.#files.snapshots.findLastIndex(({ offset }) => offset <= from);
  }

  /** Snapshots that are neither needed by a start, nor held, nor the beginning; not thinned. */
  #further(): number[] {
    const { snapshots } = this.#files;
    const end = Math.min(snapshots.length - 2, this.#heldIndex());
    const indices: number[] = [];
    for (let index = this.#floor + 1; index < end; index++) {
      if (!this.#thinned.has(index)) indices.push(index);
    }
    return indices;
  }

  #exceeded(): FloorReason | undefined {
    const { keepBytes, keepCommits, onLowDisk } = this.#settings;
    if (keepBytes > 0 && this.#oldBytes() > keepBytes) return 'bytes';
    const begin = this.#floor === -1 ? 0 : this.#snapshot(this.#floor).offset;
    if (keepCommits !== undefined && this.#files.endOffset - begin > keepCommits) return 'commits';
    const freeBytes = this.#moment.freeBytes + this.#freedBytes();
    const isLow = isDiskLow({ ...this.#moment, freeBytes });
    return isLow && onLowDisk === 'shrink' ? 'low disk' : undefined;
  }

  /** Bytes that history takes: cold segments, and snapshots besides the two newest. */
  #oldBytes(): number {
    const hot = this.#files.snapshots.at(-2)?.segment ?? 0;
    const first = this.#floor === -1 ? 0 : this.#snapshot(this.#floor).segment;
    const cold = this.#files.segments.filter(({ sequence }) => sequence >= first && sequence < hot);
    return sumOf(cold) + this.#oldSnapshotBytes();
  }

  #oldSnapshotBytes(): number {
    const { snapshots } = this.#files;
    const old = snapshots.filter((_, index) => {
      return index >= this.#floor && index < snapshots.length - 2 && !this.#thinned.has(index);
    });
    return sumOf(old);
  }

  #freedBytes(): number {
    const { snapshots } = this.#files;
    const gone = snapshots.filter((_, index) => index < this.#floor || this.#thinned.has(index));
    return sumOf(gone) + sumOf(this.#floor > this.#start ? this.#segmentsBelow(this.#floor) : []);
  }

  #segmentsBelow(index: number): readonly SegmentFacts[] {
    const { segment } = this.#snapshot(index);
    return this.#files.segments.filter(({ sequence }) => sequence < segment);
  }

  #raise(index: number, reason: FloorReason): void {
    this.#floor = index;
    this.#reason = reason;
  }

  #snapshot(index: number): SnapshotFacts {
    return this.#files.snapshots[index] as SnapshotFacts;
  }
}

function sumOf(files: readonly { readonly bytes: number }[]): number {
  return files.reduce((sum, { bytes }) => sum + bytes, 0);
}

import { BackupError } from './backup-error.ts';
import { type HeldWindow, segmentBehind, windowsOf } from './coverage.ts';
import type {
  DatabaseRecord,
  FileEntry,
  LineagePoint,
  LogPoint,
  SegmentEntry,
  SnapshotEntry,
} from './manifest.ts';

/** The position or time at which a restore stops; absent: the end. */
export type RestoreTarget =
  | { readonly kind: 'end' }
  /** The state after this commit; `epoch` if the position says which history it is of. */
  | { readonly kind: 'offset'; readonly offset: number; readonly epoch?: string | undefined }
  | { readonly kind: 'time'; readonly micros: number };

/** What a backup or an archive holds of a database. */
export interface Holding {
  readonly source: RestoreOrigin;
  readonly identity: string;
  readonly record: DatabaseRecord;
  readonly lineage: readonly LineagePoint[];
  readonly snapshots: readonly SnapshotEntry[];
  readonly segments: readonly SegmentEntry[];
  readonly files: readonly FileEntry[];
  readonly confirmedMicros: number;
  /** Why it is not all of the database; empty if it is. */
  readonly fault: string;
}

export type RestoreOrigin =
  | { readonly kind: 'backup'; readonly id: string; readonly timeMicros: number }
  /** `name`: the object that says how far it reaches. */
  | { readonly kind: 'archive'; readonly name: string; readonly timeMicros: number };

/** What is read to restore a database, and what comes of it. Nothing has been read yet. */
export interface RestorePlan {
  readonly source: RestoreOrigin;
  readonly identity: string;
  readonly record: DatabaseRecord;
  readonly target: RestoreTarget;
  /** The states between which the target lies: of the snapshot, and of the last segment read. */
  readonly from: LogPoint;
  readonly to: LogPoint;
  readonly base: SnapshotEntry | undefined;
  readonly segments: readonly SegmentEntry[];
  readonly files: readonly FileEntry[];
  readonly lineage: readonly LineagePoint[];
  /** Bytes that are fetched, and that are written. */
  readonly storedBytes: number;
  readonly bytes: number;
  /** Hash of the program that served when it was backed up. */
  readonly program: string;
  /** Why the backup is not all of the database; empty if it is. */
  readonly fault: string;
  /** Newer backups that are not all of the database, which `latest` passes over. */
  readonly passedOver: readonly PassedOver[];
}

export interface PassedOver {
  readonly id: string;
  readonly fault: string;
}

/** What of `holding` is of another database, as a sentence; `undefined`: nothing. */
export function foreignText({ identity, lineage, ...held }: Holding): string | undefined {
  const own = new Set([identity, ...lineage.map((place) => place.identity)]);
  const parts = [...held.snapshots, ...held.segments];
  const foreign =
    parts.find((one) => !own.has(one.identity) || !isBelow(one.name, one.identity)) ??
    held.files.find(({ name }) => !isBelow(name, identity));
  return foreign && `its entry of ${identity} names an object of another database, ${foreign.name}`;
}

function isBelow(name: string, identity: string): boolean {
  return name.startsWith(`objects/${identity}/`);
}

/**
 * Plans a restore from `holding`; `undefined` if it does not have the target, or names objects that
 * are not of its database.
 */
export function planFrom(holding: Holding, target: RestoreTarget): RestorePlan | undefined {
  if (foreignText(holding) !== undefined) return undefined;
  const window = windowsOf(holding).findLast((one) => holds(one, holding, target));
  if (window === undefined) return undefined;
  const base = basedOn(window, target);
  const segments = window.segments.filter(
    (segment, index) =>
      (base === undefined || segment.sequence >= base.sequence) &&
      (index === 0 || isBefore(segment, window.segments[index - 1], target)),
  );
  const from = base?.at ?? window.from;
  const { source, identity, record, files, lineage, fault } = holding;
  const reads = [...(base === undefined ? [] : [base]), ...segments, ...files];
  return {
    source,
    identity,
    record,
    target,
    from,
    to: segments.at(-1)?.to ?? from,
    base,
    segments,
    files,
    lineage,
    storedBytes: reads.reduce((sum, { storedBytes }) => sum + storedBytes, 0),
    bytes: reads.reduce((sum, { bytes }) => sum + bytes, 0),
    program: record.program,
    fault,
    passedOver: [],
  };
}

/** The snapshot to begin with, and the segment of the window in which it goes on. */
function basedOn({ snapshots, segments }: HeldWindow, target: RestoreTarget) {
  const base = snapshots.findLast(({ at }) => isUpTo(at, target));
  const behind = base === undefined ? undefined : segmentBehind(base, segments);
  return base === undefined || behind === undefined
    ? undefined
    : { ...base, sequence: behind.sequence };
}

function holds(window: HeldWindow, holding: Holding, target: RestoreTarget): boolean {
  switch (target.kind) {
    case 'end':
      return true;
    case 'offset': {
      const { offset, epoch } = target;
      // Before its first commit a database has no program.
      if (offset === 0) return false;
      if (offset < window.from.offset || offset > window.to.offset) return false;
      return epoch === undefined || epochAt(holding, window, offset) === epoch;
    }
    case 'time':
      return target.micros >= window.from.micros && target.micros <= window.untilMicros;
  }
}

/** The epoch in which an offset of a window was committed. */
function epochAt(holding: Holding, window: HeldWindow, offset: number): string {
  const stage = holding.lineage.find((place) => offset <= place.offset);
  return stage?.epoch ?? window.to.epoch;
}

function isUpTo(place: LogPoint, target: RestoreTarget): boolean {
  if (target.kind === 'end') return true;
  return target.kind === 'offset' ? place.offset <= target.offset : place.micros <= target.micros;
}

/** Whether the target needs something of a segment; the one before says what it begins with. */
function isBefore(
  segment: SegmentEntry,
  before: SegmentEntry | undefined,
  target: RestoreTarget,
): boolean {
  if (target.kind === 'end') return true;
  if (target.kind === 'offset') return segment.from.offset < target.offset;
  return Math.max(segment.from.micros, before?.to.micros ?? 0) <= target.micros;
}

/** The error when none of `holdings` has the target; says what they do have, and the gaps. */
export function outsideError(
  database: string,
  target: RestoreTarget,
  holdings: readonly Holding[],
): BackupError {
  const windows = holdings.flatMap(windowsOf).sort((one, other) => one.to.micros - other.to.micros);
  const from = windows.reduce((least, one) => earlier(least, one.from), windows[0]?.from);
  const to = windows.at(-1);
  if (from === undefined || to === undefined) {
    return new BackupError('backup.unknown', `the repository holds nothing of ${database}`);
  }
  const range = `${pointText(from, target)} to ${endText(to, target)}`;
  const text = `${targetText(target)} is outside of what the repository holds for ${database}`;
  const gaps = gapsOf(windows)
    .map(([start, end]) => `${endText(start, target)} to ${pointText(end.from, target)}`)
    .join(', ');
  const inside = gaps === '' ? '' : `, without ${gaps}`;
  const why = isBeforeFirst(from, target) ? '; it is before the first commit' : '';
  return new BackupError('backup.outside', `${text}: ${range}${inside}${why}`);
}

/** `from`: the first state that is held. */
function isBeforeFirst(from: LogPoint, target: RestoreTarget): boolean {
  if (from.offset > 1 || target.kind === 'end') return false;
  return target.kind === 'offset' ? target.offset < 1 : target.micros < from.micros;
}

/** Where nothing is held between two windows, of all that is held together. */
function gapsOf(windows: readonly HeldWindow[]): [HeldWindow, HeldWindow][] {
  const gaps: [HeldWindow, HeldWindow][] = [];
  const sorted = [...windows].sort((one, other) => one.from.micros - other.from.micros);
  let last = sorted[0];
  for (const window of sorted.slice(1)) {
    if (last === undefined) break;
    if (window.from.offset > last.to.offset) gaps.push([last, window]);
    if (window.to.offset >= last.to.offset) last = window;
  }
  return gaps;
}

function earlier(one: LogPoint | undefined, other: LogPoint): LogPoint {
  return one === undefined || other.micros < one.micros ? other : one;
}

function targetText(target: RestoreTarget): string {
  switch (target.kind) {
    case 'end':
      return 'the end';
    case 'offset':
      return target.epoch === undefined
        ? `offset ${target.offset}`
        : `position ${target.epoch}.${target.offset}`;
    case 'time':
      return rfc3339(target.micros);
  }
}

/** The time of the first commit may not be known. */
function pointText(point: LogPoint, target: RestoreTarget): string {
  if (target.kind === 'offset') return `offset ${point.offset}`;
  if (point.micros === 0) return 'the first commit';
  return rfc3339(point.micros);
}

function endText(window: HeldWindow, target: RestoreTarget): string {
  return target.kind === 'offset' ? `offset ${window.to.offset}` : rfc3339(window.untilMicros);
}

/** A time with its microseconds, where it has some. */
export function rfc3339(micros: number): string {
  const seconds = new Date(Math.floor(micros / 1_000_000) * 1000).toISOString().slice(0, 19);
  const fraction = String(micros % 1_000_000)
    .padStart(6, '0')
    .replace(/0+$/, '');
  return fraction === '' ? `${seconds}Z` : `${seconds}.${fraction}Z`;
}

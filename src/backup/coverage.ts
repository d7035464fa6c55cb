import type { LogPoint, SegmentEntry, SnapshotEntry } from './manifest.ts';

/** The log of one database as far as a backup or an archive has it. */
export interface HeldLog {
  readonly snapshots: readonly SnapshotEntry[];
  /** Whole segments, and tails, which are parts of one. */
  readonly segments: readonly SegmentEntry[];
  /** When the last of it was known to be the end of the log. */
  readonly confirmedMicros: number;
}

/** A part of a log without a gap, from the first state that can be restored to the last. */
export interface HeldWindow {
  readonly from: LogPoint;
  readonly to: LogPoint;
  /** Until when `to` was the state of the database. */
  readonly untilMicros: number;
  readonly snapshots: readonly SnapshotEntry[];
  readonly segments: readonly SegmentEntry[];
}

/**
 * The segment in which a log goes on behind a snapshot, or the first part of it that is held: the
 * one that the snapshot names, or, if that was sealed at its place, the next one.
 */
export function segmentBehind<Segment extends SegmentPlace>(
  { at, sequence }: Pick<SnapshotEntry, 'at' | 'sequence'>,
  segments: readonly Segment[],
): Segment | undefined {
  const named = segments.find((one) => one.sequence === sequence);
  if (named !== undefined) return named;
  return segments.find(({ sequence: next, from }) => {
    const isSame = from.position === at.position && from.chain === at.chain;
    return next === sequence + 1 && isSame && from.epoch === at.epoch;
  });
}

type SegmentPlace = Pick<SegmentEntry, 'from' | 'sequence'>;

/** The windows of a log, the oldest first. Between two of them is a gap. */
export function windowsOf({ snapshots, segments, confirmedMicros }: HeldLog): HeldWindow[] {
  const runs = runsOf(segments);
  return runs.flatMap((run, index) => {
    const isLast = index === runs.length - 1;
    const window = windowOf(run, snapshots, isLast ? confirmedMicros : 0);
    return window === undefined ? [] : [window];
  });
}

/** Segments one after another, as long as each begins where the one before ends. */
function runsOf(segments: readonly SegmentEntry[]): SegmentEntry[][] {
  const runs: SegmentEntry[][] = [];
  let run: SegmentEntry[] = [];
  const sorted = [...segments].sort((one, other) => one.from.position - other.from.position);
  for (const segment of sorted) {
    const before = run.at(-1);
    const isNext =
      before !== undefined &&
      before.to.position === segment.from.position &&
      before.to.chain === segment.from.chain;
    if (!isNext) {
      run = [];
      runs.push(run);
    }
    run.push(segment);
  }
  return runs;
}

/** `undefined`: there is no snapshot to begin with, so nothing of it can be restored. */
function windowOf(
  segments: readonly SegmentEntry[],
  snapshots: readonly SnapshotEntry[],
  confirmedMicros: number,
): HeldWindow | undefined {
  const first = segments[0];
  const to = segments.at(-1)?.to;
  if (first === undefined || to === undefined) return undefined;
  const inside = snapshots
    .filter((snapshot) => {
      const { at } = snapshot;
      const isHere = at.position >= first.from.position && at.position <= to.position;
      return isHere && segmentBehind(snapshot, segments) !== undefined;
    })
    .sort((one, other) => one.at.position - other.at.position);
  const from = first.from.position === 0 ? first.from : inside[0]?.at;
  if (from === undefined) return undefined;
  const untilMicros = Math.max(to.micros, confirmedMicros);
  return { from, to, untilMicros, snapshots: inside, segments };
}

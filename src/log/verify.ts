import { type CommitOffset, commitOffset } from '../store/commit-offset.ts';
import type { DatabaseIdentity } from '../values/identity-roles.ts';
import type { Disk } from './disk.ts';
import { readDurableMark } from './durable-mark.ts';
import type { TornTail } from './judge-break.ts';
import { LogDamageError, noSnapshotError } from './log-error.ts';
import { Lineage, readOrigin } from './origin.ts';
import type { LogRecord } from './record.ts';
import { goneError } from './recover.ts';
import { segmentSequence } from './segment.ts';
import { segmentNames } from './segment-reader.ts';
import { snapshotsEnd } from './settle-snapshots.ts';
import { snapshotOffset } from './snapshot.ts';
import {
  examineSnapshot,
  onlyChecked,
  type RefusedSnapshot,
  snapshotNames,
} from './snapshot-start.ts';
import { type WalkOptions, walkLog } from './walk.ts';

/** The result of `verifyLog`. All but `absent` can have records before a place that is named. */
export type LogReport =
  | { readonly kind: 'absent' }
  | { readonly kind: 'intact'; readonly contents: LogContents }
  /** The next start cuts this off; it was never durable. */
  | { readonly kind: 'torn'; readonly contents: LogContents; readonly tail: TornTail }
  /** `forked`: it holds commits of two histories. */
  | { readonly kind: 'damaged' | 'forked'; readonly error: LogDamageError };

export interface LogContents {
  readonly segmentCount: number;
  readonly recordCount: number;
  /** Bytes of all records. */
  readonly recordBytes: number;
  /** Offset of the last commit. */
  readonly offset: number;
  /** One half of the mark beside it is not valid; the next start writes it again. */
  readonly isMarkHalf: boolean;
}

/**
 * Reads a whole log and checks everything that recovery checks, without changing anything, from the
 * first record on: snapshots are not used.
 * `onRecord` can do more, for instance replay into a store; an error it throws counts as damage.
 */
export function verifyLog(
  disk: Disk,
  databaseIdentity: DatabaseIdentity,
  onRecord: (record: LogRecord) => void = () => undefined,
): LogReport {
  return report(disk, { databaseIdentity, onRecord, fromFloor: true });
}

/**
 * Reads what a start would read of a log, from the newest snapshot on that can be used, and reports
 * whether it would open.
 */
export function verifyStart(disk: Disk, databaseIdentity: DatabaseIdentity): LogReport {
  const onRecord = (): void => undefined;
  return report(disk, { databaseIdentity, onRecord, snapshots: onlyChecked });
}

function report(disk: Disk, options: WalkOptions): LogReport {
  try {
    const walked = walkLog(disk, options);
    if (walked.kind !== 'log') {
      const mark = readDurableMark(disk);
      const markedOffset = mark.kind === 'valid' ? mark.end.offset : 0;
      const durableOffset = Math.max(markedOffset, snapshotsEnd(disk));
      if (durableOffset === 0) return { kind: 'absent' };
      throw goneError(durableOffset);
    }
    const { log } = walked;
    const contents = {
      segmentCount: log.segments.length,
      recordCount: log.recordCount,
      recordBytes: log.position,
      offset: log.offset,
      isMarkHalf: log.isMarkHalf,
    };
    if (log.tail === undefined) return { kind: 'intact', contents };
    return { kind: 'torn', contents, tail: log.tail };
  } catch (error) {
    if (!(error instanceof LogDamageError)) throw error;
    return { kind: error.isForked ? 'forked' : 'damaged', error };
  }
}

/**
 * The report on a log that a start may not need all of: if it opens with every commit, from a
 * snapshot, what is damaged is only the past.
 */
export function withStart(
  report: LogReport,
  disk: Disk,
  databaseIdentity: DatabaseIdentity,
): LogReport {
  if (report.kind !== 'damaged' || snapshotNames(disk).length === 0) return report;
  const start = verifyStart(disk, databaseIdentity);
  if (start.kind !== 'intact') return report;
  const reason =
    'the past cannot be read from here on; a start does not need it, and has every commit up to ' +
    `${start.contents.offset} from a snapshot`;
  const advice = 'Restore the past from a backup, or delete it with `reducerdb retention forget`';
  const { place, cause } = report.error;
  return { kind: 'damaged', error: new LogDamageError(reason, place, { advice, cause }) };
}

/**
 * The report on a log with its snapshots in view: without one that is intact, a log that does not
 * begin with its first commit cannot be opened.
 */
export function withSnapshots(
  report: LogReport,
  disk: Disk,
  databaseIdentity: DatabaseIdentity,
  snapshots: readonly SnapshotReport[],
): LogReport {
  const [first] = segmentNames(disk);
  const isWhole = first === undefined || segmentSequence(first) === 1;
  const isIntact = report.kind === 'intact' || report.kind === 'torn';
  if (isWhole || !isIntact || snapshots.some(({ kind }) => kind === 'intact')) return report;
  return { kind: 'damaged', error: noSnapshotError(databaseIdentity, first) };
}

/** What was found about one snapshot beside a log. */
export interface SnapshotReport {
  readonly name: string;
  readonly offset: CommitOffset;
  /** `damaged`: a start would set it aside. `unreadable`: it would leave it. */
  readonly kind: 'intact' | 'damaged' | 'unreadable';
  /** Why it cannot be used; empty if it can. */
  readonly detail: string;
}

/**
 * Reads each snapshot beside a log whole, and checks that the log continues it. Changes nothing.
 * The oldest comes first.
 */
export function verifySnapshots(disk: Disk, databaseIdentity: DatabaseIdentity): SnapshotReport[] {
  const lineage = lineageOf(disk, databaseIdentity);
  const segments = segmentNames(disk);
  return snapshotNames(disk)
    .reverse()
    .map((name) => {
      const offset = snapshotOffset(name) ?? commitOffset(0);
      const refused = examined(disk, segments, name, lineage);
      if (refused === undefined) return { name, offset, kind: 'intact', detail: '' };
      const kind = refused.kind === 'unreadable' ? 'unreadable' : 'damaged';
      return { name, offset, kind, detail: refused.reason };
    });
}

/** Where its place in the log cannot be looked for, the report on the log says why. */
function examined(
  disk: Disk,
  segments: readonly string[],
  name: string,
  lineage: Lineage,
): RefusedSnapshot | undefined {
  try {
    return examineSnapshot(disk, segments, name, lineage);
  } catch (error) {
    if (!(error instanceof LogDamageError)) throw error;
    return { name, kind: 'unreadable', reason: error.message };
  }
}

/** The log is damaged without its origin; its own snapshots can still be read. */
function lineageOf(disk: Disk, databaseIdentity: DatabaseIdentity): Lineage {
  try {
    return new Lineage(databaseIdentity, readOrigin(disk));
  } catch (error) {
    if (!(error instanceof LogDamageError)) throw error;
    return new Lineage(databaseIdentity, undefined);
  }
}

import type { HistorySettings } from '../../history/retention.ts';
import { limits } from '../../limits.ts';
import type { HistoryFacts } from '../seats/history-task.ts';

/** What a database says of its log and its snapshots. */
export interface HistoryMarks {
  /** Offset of the newest snapshot, -1 if there is none. */
  readonly snapshotOffset: number;
  /** Bytes of the log since then. */
  readonly logBytes: number;
}

/** The last pass over the history of a database since it was opened. */
export interface LastPass {
  readonly marks: HistoryMarks;
  readonly settings: HistorySettings;
  readonly facts: HistoryFacts;
  /** Time since it ended. */
  readonly millis: number;
}

/**
 * Whether there may be something to do for a history: a snapshot was taken, a segment was
 * completed, the settings have changed, something has become old, or the disk is nearly full. What
 * is idle and small is never due.
 */
export function isPassDue(
  now: HistoryMarks,
  settings: HistorySettings,
  last: LastPass | undefined,
  isSpaceLow: boolean,
): boolean {
  // Nothing can go before there is a snapshot.
  if (now.snapshotOffset < 0) return false;
  if (last === undefined || isOther(settings, last.settings)) return true;
  if (now.snapshotOffset !== last.marks.snapshotOffset) return true;
  if (now.logBytes - last.marks.logBytes >= limits.segmentBytes) return true;
  const canShrink = last.facts.snapshots > 2 || last.facts.bytes.cold > 0;
  if (!canShrink || settings.keepMicros === 'everything') return false;
  return last.millis >= (isSpaceLow ? limits.historyLookMillis : limits.historyAgeMillis);
}

function isOther(one: HistorySettings, other: HistorySettings): boolean {
  return (
    one.keepMicros !== other.keepMicros ||
    one.keepBytes !== other.keepBytes ||
    one.keepCommits !== other.keepCommits ||
    one.onLowDisk !== other.onLowDisk
  );
}

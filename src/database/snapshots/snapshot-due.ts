import { limits } from '../../limits.ts';

/** The sizes that decide; a test has smaller ones. */
export interface SnapshotSizes {
  readonly logBytesMin: number;
  readonly logBytesMax: number;
  readonly heldBytesMin: number;
  /** What the next opening must gain for a stop to take one. */
  readonly replayMillisAtStop: number;
}

export const sizesOfLimits: SnapshotSizes = {
  logBytesMin: limits.snapshotLogBytesMin,
  logBytesMax: limits.snapshotLogBytesMax,
  heldBytesMin: limits.snapshotHeldBytesMin,
  replayMillisAtStop: limits.replayMillisAtStop,
};

/** What has happened since the last snapshot, or since the beginning if there is none. */
export interface SinceSnapshot {
  readonly hasCommits: boolean;
  /** Bytes of the records of the log. */
  readonly logBytes: number;
  /** Time since it was taken, and how long it kept the database. */
  readonly millis: number;
  readonly costMillis: number;
}

/** When one may be tried again, after one that came to nothing. */
export interface SnapshotDelay {
  /** Bytes of the log since the last snapshot. */
  readonly logBytes: number;
  /** Time until the next try. */
  readonly millis: number;
}

/**
 * Whether a snapshot is due by itself. Its cost is paid by the work since the last one, whatever
 * the sizes; so does an idle database pay, by waiting. From `logBytesMax` on it is due
 * whatever it costs, because opening must stay bounded.
 */
export function isSnapshotDue(
  since: SinceSnapshot,
  delay: SnapshotDelay,
  sizes: SnapshotSizes,
): boolean {
  return millisUntilDue(since, delay, sizes) === 0;
}

/** Time until one is due if nothing more is written; `undefined` if writing has to come first. */
export function millisUntilDue(
  { hasCommits, logBytes, millis, costMillis }: SinceSnapshot,
  delay: SnapshotDelay,
  { logBytesMin, logBytesMax }: SnapshotSizes,
): number | undefined {
  if (!hasCommits || logBytes < Math.max(logBytesMin, delay.logBytes)) return undefined;
  const isPaid = logBytes >= logBytesMax;
  const paying = isPaid ? 0 : costMillis / limits.snapshotCostShareMax - millis;
  return Math.max(0, paying, delay.millis);
}

/** Whether a clean stop, which has so much time left, takes one. */
export function isWorthAtStop(
  { hasCommits, logBytes }: SinceSnapshot,
  rowBytes: number,
  leftMillis: number,
  { replayMillisAtStop }: SnapshotSizes,
): boolean {
  const replayMillis = logBytes / limits.replayBytesPerMilli;
  const writeMillis = rowBytes / limits.snapshotBytesPerMilli;
  if (!hasCommits || replayMillis <= replayMillisAtStop) return false;
  return writeMillis <= leftMillis * limits.snapshotStopShareMax;
}

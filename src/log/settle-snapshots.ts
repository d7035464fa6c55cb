import { type Disk, DiskError } from './disk.ts';
import { freeName } from './free-name.ts';
import { snapshotOffset } from './snapshot.ts';
import { type RefusedSnapshot, snapshotNames } from './snapshot-start.ts';

/** Files that were being written: nothing reads them under these names. */
const unfinishedNames =
  /^(?:snapshot-\d{16}\.rdbs|commit-\d{8}-\d{16}\.(?:log\.gz|idx)|floor|origin)\.part$/;

/** The end of a log that was read, and the snapshots that were of no use for it. */
export interface SettledLog {
  readonly offset: number;
  readonly position: number;
  readonly refused: readonly RefusedSnapshot[];
  readonly damage: { readonly file: string; readonly position: number } | undefined;
}

/**
 * Sets aside the snapshots that are damaged or do not belong to the log, and removes what was left
 * of unfinished files. An error of the disk is only reported: the log is complete without them.
 */
export async function settleSnapshots(
  disk: Disk,
  log: SettledLog,
  warn: (message: string) => void,
): Promise<void> {
  reportDamage(log, warn);
  const unfinished = disk.list().filter((name) => unfinishedNames.test(name));
  let isChanged = unfinished.length > 0;
  for (const name of unfinished) tried(warn, () => disk.remove(name));
  for (const { name, kind, reason, position } of log.refused) {
    const what = `The snapshot ${name} was not used: ${reasonOf(log, reason, position)}`;
    const kept = freeName(disk, name, 'bad');
    const isAside = kind !== 'unreadable' && tried(warn, () => disk.rename(name, kept));
    isChanged ||= isAside;
    warn(isAside ? `${what}. It was set aside as ${kept}.` : `${what}. It was left as it is.`);
  }
  if (!isChanged) return;
  await disk.syncDirectory().catch((error: unknown) => {
    if (!(error instanceof DiskError)) throw error;
    warn(`${error.message}; it was to make the removal of useless snapshots durable.`);
  });
}

/** Reports the snapshots of a log that is only read. */
export function reportSnapshots(log: SettledLog, warn: (message: string) => void): void {
  reportDamage(log, warn);
  for (const { name, reason, position } of log.refused) {
    warn(`The snapshot ${name} was not used: ${reasonOf(log, reason, position)}.`);
  }
}

function reportDamage({ damage }: SettledLog, warn: (message: string) => void): void {
  if (damage === undefined) return;
  const { file, position } = damage;
  warn(
    `Records at position ${position} of ${file} are damaged. Nothing is lost: the snapshot that ` +
      'was used has what they say.',
  );
}

function reasonOf(log: SettledLog, reason: string, position: number | undefined): string {
  if (position === undefined) return reason;
  if (position > log.position) return `it is ahead of the log, which ends at offset ${log.offset}`;
  return 'its commits are not those of the log';
}

function tried(warn: (message: string) => void, change: () => void): boolean {
  try {
    change();
    return true;
  } catch (error) {
    if (!(error instanceof DiskError)) throw error;
    warn(`${error.message}.`);
    return false;
  }
}

/** The offset of the newest snapshot, which shows that a log was here; 0 if there is none. */
export function snapshotsEnd(disk: Disk): number {
  const [newest] = snapshotNames(disk);
  return newest === undefined ? 0 : (snapshotOffset(newest) ?? 0);
}

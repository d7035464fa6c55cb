import { BackupError, neededText } from '../../backup/backup-error.ts';
import type { DiskSpace } from '../../database/snapshots/snapshot-job.ts';
import { isDiskLow } from '../../history/retention.ts';
import { bytesText } from '../../values/bytes-text.ts';

/**
 * Throws `BackupError` `backup.noSpace` when the disk would be nearly full with so many bytes more:
 * other databases would lose their histories then. `undefined`: the system does not say.
 */
export function requireRoom(space: DiskSpace | undefined, neededBytes: number): void {
  if (space === undefined) return;
  const { freeBytes, totalBytes: volumeBytes } = space;
  if (!isDiskLow({ freeBytes: freeBytes - neededBytes, volumeBytes })) return;
  const text = neededText(neededBytes, freeBytes);
  const why = `the disk of the service would be nearly full (${bytesText(volumeBytes)})`;
  const advice = 'make room there, or have its operator do so; nothing was changed';
  throw new BackupError('backup.noSpace', `${text}, and ${why}: ${advice}`);
}

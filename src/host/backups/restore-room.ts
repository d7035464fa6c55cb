import fs from 'node:fs';
import path from 'node:path';
import { BackupError } from '../../backup/backup-error.ts';
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
  const text = `restoring needs ${neededBytes} bytes, ${freeBytes} bytes are free`;
  const why = `the disk of the service would be nearly full (${bytesText(volumeBytes)})`;
  const advice = 'make room there, or have its operator do so; nothing was changed';
  throw new BackupError('backup.noSpace', `${text}, and ${why}: ${advice}`);
}

/** Bytes of the files of a folder. */
export function folderBytes(folder: string): number {
  const sizes = fs.readdirSync(folder).map((name) => fs.lstatSync(path.join(folder, name)).size);
  return sizes.reduce((sum, size) => sum + size, 0);
}

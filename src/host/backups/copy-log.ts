import fs from 'node:fs';
import path from 'node:path';
import { present } from '../../assert.ts';
import { BackupError } from '../../backup/backup-error.ts';
import type { LineagePoint } from '../../backup/manifest.ts';
import { epoch } from '../../log/epoch.ts';
import { floorName } from '../../log/floor.ts';
import { chainFromHex } from '../../log/history-point.ts';
import { type OriginPlace, writeOrigin } from '../../log/origin.ts';
import { segmentSequence } from '../../log/segment.ts';
import { snapshotOffset } from '../../log/snapshot.ts';
import { MachineDisk, syncDirectory } from '../../node/disk.ts';
import { privateFolderMode } from '../../node/private-files.ts';
import { commitOffset } from '../../store/commit-offset.ts';
import { databaseIdentity } from '../../values/identity-roles.ts';
import { findLogEnd, lineageOf } from './log-end.ts';
import { refuseForeignFiles } from './own-files.ts';

/**
 * Copies a log that nobody has open into a new folder, with an `origin` that says where it ends:
 * the database that opens the copy goes on there, in an epoch of its own. It is durable when this
 * resolves.
 */
export async function copyLog(from: string, directory: string): Promise<LineagePoint> {
  refuseForeignFiles(from);
  const disk = new MachineDisk(from);
  const found = findLogEnd(disk);
  if (found === undefined || found.fault !== '') {
    const why = found?.fault ?? 'it has no segment that can be read';
    throw new BackupError('backup.source', `${from} cannot be restored: ${why}`);
  }
  const { fault: _, ...end } = found;
  await fs.promises.mkdir(directory, { mode: privateFolderMode });
  try {
    for (const name of disk.list().filter(belongsToLog)) {
      await copyFile(path.join(from, name), path.join(directory, name));
    }
    const before = lineageOf(disk);
    const isAtOrigin = before.at(-1)?.sequence === end.sequence;
    const lineage = (isAtOrigin ? before : [...before, end]).map(originPlace);
    await writeOrigin(new MachineDisk(directory), { lineage });
    await syncDirectory(path.dirname(directory));
    return end;
  } catch (error) {
    await fs.promises.rm(directory, { recursive: true, force: true });
    throw error;
  }
}

function belongsToLog(name: string): boolean {
  if (name === floorName) return true;
  return segmentSequence(name) !== undefined || snapshotOffset(name) !== undefined;
}

/** A copy shares its blocks where the file system can do that. */
async function copyFile(from: string, to: string): Promise<void> {
  const { COPYFILE_EXCL, COPYFILE_FICLONE } = fs.constants;
  await fs.promises.copyFile(from, to, COPYFILE_EXCL | COPYFILE_FICLONE);
  const handle = await fs.promises.open(to, 'r+');
  try {
    await handle.sync();
  } finally {
    await handle.close();
  }
}

function originPlace(point: LineagePoint): OriginPlace {
  return {
    databaseIdentity: databaseIdentity(BigInt(`0x${point.identity}`)),
    epoch: epoch(BigInt(`0x${point.epoch}`)),
    sequence: point.sequence,
    offset: commitOffset(point.offset),
    position: point.position,
    ...present(chainFromHex(point.chain), 'a chain hash'),
    micros: BigInt(point.micros),
  };
}

import { type Disk, DiskError } from '../log/disk.ts';
import { LogDamageError, SnapshotDamageError } from '../log/log-error.ts';
import type { Lineage } from '../log/origin.ts';
import { SegmentReader, segmentNames } from '../log/segment-reader.ts';
import { readOutline, snapshotBlocks } from '../log/snapshot-reader.ts';
import { placeInLog } from '../log/snapshot-start.ts';
import type { Pause } from './pause.ts';

/** Why a snapshot cannot be relied on. */
export interface SnapshotFault {
  /** `unreadable`: the machine cannot read it, so nothing is known about it. */
  readonly kind: 'damaged' | 'unreadable';
  readonly reason: string;
}

/**
 * Reads a snapshot again from its file, all of it, and checks that the log continues it; returns
 * what is wrong. Pauses after each block.
 */
export async function checkSnapshot(
  disk: Disk,
  name: string,
  lineage: Lineage,
  pause: Pause,
): Promise<SnapshotFault | undefined> {
  try {
    const file = disk.open(name, 'read');
    try {
      const reader = new SegmentReader(file);
      const outline = readOutline(reader, ...lineage.identities);
      if (placeInLog(disk, segmentNames(disk), lineage, outline.place) === undefined) {
        return { kind: 'damaged', reason: 'the log does not have its place' };
      }
      for (const _ of snapshotBlocks(reader, outline)) await pause(0);
      return undefined;
    } finally {
      file.close();
    }
  } catch (error) {
    if (error instanceof DiskError) return { kind: 'unreadable', reason: error.message };
    if (error instanceof LogDamageError) return { kind: 'unreadable', reason: error.message };
    if (!(error instanceof SnapshotDamageError)) throw error;
    const kind = error.isLater ? 'unreadable' : 'damaged';
    return { kind, reason: `${error.reason}, at position ${error.position}` };
  }
}

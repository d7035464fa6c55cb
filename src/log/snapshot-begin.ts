import { commitOffset } from '../store/commit-offset.ts';
import type { Disk } from './disk.ts';
import { writeFloor } from './floor.ts';
import { LogDamageError } from './log-error.ts';
import { createSegment } from './recover.ts';
import { readSegmentHeader } from './segment.ts';
import { withReader } from './segment-reader.ts';
import { readSnapshotHeader, snapshotName } from './snapshot.ts';

/** A snapshot that was fetched: the name of its file beside the log, which nothing reads yet. */
export interface FetchedSnapshot {
  readonly file: string;
}

/** What a snapshot is called while it is fetched. */
export const fetchedName = 'snapshot-fetched.part';

/**
 * Makes a log that goes on where a snapshot is, in a folder that has none, with the salt and the
 * epoch of the log whose first segment has `segmentHeader`. It is durable when this resolves; what
 * a crash leaves has no segment.
 */
export async function beginAtSnapshot(
  disk: Disk,
  { segmentHeader }: { readonly segmentHeader: Uint8Array },
  { file }: FetchedSnapshot,
): Promise<void> {
  const place = withReader(disk, file, (reader) => readSnapshotHeader(reader.header()));
  const first = readSegmentHeader(segmentHeader);
  if (place.kind !== 'valid' || first.kind !== 'valid') {
    throw new LogDamageError('the snapshot that was fetched is none', {
      ...{ file, position: 0, offset: 0 },
    });
  }
  const { offset, position, chainLow, chainHigh, lastMicros, segment, epoch } = place.header.place;
  disk.checkWriter?.(true);
  const name = snapshotName(offset);
  disk.rename(file, name);
  const begun = { sequence: segment, firstOffset: commitOffset(offset + 1), position };
  await writeFloor(disk, {
    ...{ ...begun, epoch, chainLow, chainHigh, micros: lastMicros, snapshot: name },
    ...{ at: place.header.place.begunMicros, reason: 'bytes' },
  });
  const created = createSegment(disk, {
    ...{ ...first.header, epoch, sequence: segment, firstOffset: offset + 1, position },
    ...{ durablePosition: position, chainLow, chainHigh, lastMicros, hasMark: disk.isLasting },
    ...{ isAfterOrigin: false, hasRuns: false },
  });
  try {
    await created.sync();
  } finally {
    created.close();
  }
  await disk.syncDirectory();
}

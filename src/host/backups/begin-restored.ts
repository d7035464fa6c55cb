import { rm } from 'node:fs/promises';
import { present } from '../../assert.ts';
import { snapshotOfLog } from '../../database/snapshots/snapshot-of-log.ts';
import { chainOf, type LogPoint } from '../../log/log-point.ts';
import { readOrigin, writeOrigin } from '../../log/origin.ts';
import { segmentNames, withReader } from '../../log/segment-reader.ts';
import { snapshotName } from '../../log/snapshot.ts';
import { beginAtSnapshot } from '../../log/snapshot-begin.ts';
import { MachineClock } from '../../node/clock.ts';
import { MachineDisk } from '../../node/disk.ts';
import { MachineEntropy } from '../../node/entropy.ts';
import type { DatabaseIdentity } from '../../values/identity-roles.ts';

/** A restored log that is to be one of a cluster. */
export interface RestoredLog {
  readonly identity: DatabaseIdentity;
  /** The folder with what was restored; it is removed. */
  readonly from: string;
  /** The folder of the log, which is there, and has none. */
  readonly directory: string;
}

/** How the log of a cluster begins that was restored. */
export interface BegunLog {
  /** The header of its first segment, encoded. */
  readonly segmentHeader: Uint8Array;
  /** Name of the snapshot at which it begins, and the place of that. */
  readonly snapshot: string;
  readonly point: LogPoint;
}

/**
 * Makes the log of a member of a cluster from a restored one: the segments of that can have several
 * salts, and its beginning can be gone, so the log begins at a snapshot of all of it, in an epoch
 * of its own. `origin` says what it has replaced. It is durable when this resolves.
 */
export async function beginRestored({ identity, from, directory }: RestoredLog): Promise<BegunLog> {
  const restored = new MachineDisk(from);
  const disk = new MachineDisk(directory);
  const entropy = new MachineEntropy();
  const around = { entropy, clock: new MachineClock(), full: undefined, warn: () => undefined };
  const salt = (): number => {
    const bytes = new Uint8Array(4);
    entropy.fill(bytes);
    return new DataView(bytes.buffer).getInt32(0);
  };
  const place = await snapshotOfLog({ disk: restored, identity, ...around }, { disk, salt });
  const snapshot = snapshotName(place.offset);
  const own = present(segmentNames(restored).at(-1), 'a log that was opened has a segment');
  await beginAtSnapshot(disk, { segmentHeader: headerIn(restored, own) }, { file: snapshot });
  const origin = readOrigin(restored);
  if (origin !== undefined) await writeOrigin(disk, origin);
  await disk.syncDirectory();
  await rm(from, { recursive: true, force: true });
  const { offset, position, chainLow, chainHigh } = place;
  const first = present(segmentNames(disk)[0], 'a log that begins has a segment');
  const point = { offset, position, chain: chainOf(chainLow, chainHigh) };
  return { segmentHeader: headerIn(disk, first), snapshot, point };
}

function headerIn(disk: MachineDisk, name: string): Uint8Array {
  return withReader(disk, name, (reader) => reader.header().slice());
}

import { createHash } from 'node:crypto';
import type { LocalSnapshot } from '../host/replication/host-cluster.ts';
import type { FetchedSnapshot } from '../log/snapshot-begin.ts';
import { fetchedName } from '../log/snapshot-begin.ts';
import { MachineDisk } from '../node/disk.ts';
import type { LogName } from '../shared-log/log-name.ts';
import type { SnapshotStore } from '../shared-log/snapshot-store.ts';
import { StoredSnapshots } from '../shared-log/stored-snapshots.ts';
import { partsOf } from './local-snapshot.ts';

/** The snapshots of a log in a store that hosts share. */
export function snapshotsIn(store: SnapshotStore, log: LogName): StoredSnapshots {
  return new StoredSnapshots(store, log, (bytes) =>
    createHash('sha256').update(bytes).digest('hex'),
  );
}

/** What a host does with the place that all hosts have for snapshots, and for static files. */
export function storedWith(store: SnapshotStore) {
  const hasSnapshots = (log: LogName) => snapshotsIn(store, log).hasAny();
  const both = { fetchSnapshot: fetcherOf(store), storeSnapshot: storerOf(store) };
  return { ...both, hasSnapshots, siteFiles: store };
}

/** Stores snapshots that lie beside whichever log. */
export function storerOf(store: SnapshotStore) {
  return (log: LogName, { directory, name, point, seq }: LocalSnapshot) =>
    snapshotsIn(store, log).add({ ...point, seq }, partsOf(new MachineDisk(directory), name));
}

/** Fetches snapshots of whichever log. */
export function fetcherOf(store: SnapshotStore) {
  return (log: LogName, position: number, directory: string) =>
    fetchSnapshot(snapshotsIn(store, log), position, directory);
}

/**
 * Puts the newest snapshot that covers a log position beside a log, under a name that nothing reads
 * yet; it is durable there. `undefined`: there is none. Rejects when it cannot be read.
 */
export async function fetchSnapshot(
  snapshots: StoredSnapshots,
  position: number,
  directory: string,
): Promise<FetchedSnapshot | undefined> {
  const [found] = (await snapshots.all()).filter((one) => one.position >= position);
  if (found === undefined) return undefined;
  return writeFetched(directory, snapshots.read(found));
}

/** Writes the pieces of a snapshot beside a log, durably, under a name that nothing reads yet. */
export async function writeFetched(
  directory: string,
  pieces: AsyncIterable<Uint8Array>,
): Promise<FetchedSnapshot> {
  const disk = new MachineDisk(directory);
  if (disk.list().includes(fetchedName)) disk.remove(fetchedName);
  const file = disk.open(fetchedName, 'create');
  try {
    let at = 0;
    for await (const bytes of pieces) {
      file.write(bytes, at);
      at += bytes.length;
    }
    await file.sync();
  } finally {
    file.close();
  }
  return { file: fetchedName };
}

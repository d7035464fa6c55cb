import { limits } from '../limits.ts';
import { withReader } from '../log/segment-reader.ts';
import { readSnapshotHeader, type SnapshotPlace } from '../log/snapshot.ts';
import { snapshotNames } from '../log/snapshot-start.ts';
import type { MachineDisk } from '../node/disk.ts';

/** The newest snapshot beside a local log; `undefined`: there is none that can be read. */
export function newestSnapshot(
  disk: MachineDisk,
): { readonly name: string; readonly place: SnapshotPlace } | undefined {
  const [name] = snapshotNames(disk);
  if (name === undefined) return undefined;
  const reading = withReader(disk, name, (reader) => readSnapshotHeader(reader.header()));
  return reading.kind === 'valid' ? { name, place: reading.header.place } : undefined;
}

/** Its bytes, in the pieces that hosts share. */
export function* partsOf(disk: MachineDisk, name: string): Generator<Uint8Array> {
  const file = disk.open(name, 'read');
  try {
    const size = file.size();
    for (let at = 0; at < size; at += limits.snapshotPartBytes) {
      const part = new Uint8Array(Math.min(limits.snapshotPartBytes, size - at));
      file.read(part, at);
      yield part;
    }
  } finally {
    file.close();
  }
}

import { limits } from '../limits.ts';
import { MemoryDisk } from '../node/memory-disk.ts';
import { tableId } from '../schema/ids.ts';
import { commitOffset } from '../store/commit-offset.ts';
import { Random } from '../testing/random.ts';
import { databaseIdentity } from '../values/identity-roles.ts';
import { RecordHash } from './checksum.ts';
import { epoch } from './epoch.ts';
import { withReader } from './segment-reader.ts';
import type { SnapshotBlock, SnapshotPlace } from './snapshot.ts';
import { readOutline, readSnapshot } from './snapshot-reader.ts';
import { SnapshotWriter } from './snapshot-writer.ts';

/**
 * The cost of the file of a snapshot without a device: framing and hashing blocks of rows, and
 * checking all of them again. The baseline is to hash the same bytes. `scale` 1 is a snapshot of
 * 128 MiB.
 */
export async function benchmarks(scale: number) {
  const count = Math.max(1, Math.ceil(128 * scale));
  const bytes = new Random(1).bytes(limits.snapshotBlockBytes);
  const disk = new MemoryDisk();
  const bare = hashed(bytes, count);
  const begin = performance.now();
  const name = await write(disk, bytes, count);
  const written = performance.now();
  const rows = withReader(disk, name, (reader) => {
    let found = 0;
    readSnapshot(reader, readOutline(reader, place.databaseIdentity), (block) => {
      if (block.kind === 'rows') found += block.rows.count;
    });
    return found;
  });
  const read = performance.now() - written;
  const per = (millis: number) => (millis * 1000) / count;
  const baseline = per(bare);
  return [
    { name: `write a MiB (${count} MiB)`, unit: 'µs', value: per(written - begin), baseline },
    { name: `check a MiB (${rows} rows)`, unit: 'µs', value: per(read), baseline },
  ];
}

const place: SnapshotPlace = {
  databaseIdentity: databaseIdentity(1n),
  epoch: epoch(2n),
  offset: commitOffset(3),
  position: 4096,
  chainLow: 1,
  chainHigh: 2,
  lastMicros: 0n,
  begunMicros: 0n,
  segment: 1,
};

const first: readonly SnapshotBlock[] = [
  {
    kind: 'schema',
    schema: {
      programKind: 'js',
      catalog: new Uint8Array(9),
      definition: new Uint8Array(9),
      programBytes: 0,
      publishedMicros: 0n,
      offset: commitOffset(1),
    },
  },
  { kind: 'marks', sequences: [] },
];

async function write(disk: MemoryDisk, bytes: Uint8Array, count: number): Promise<string> {
  const writer = SnapshotWriter.begin(disk, place, 7);
  for (const block of first) await writer.add(block);
  const rows = { bytes, count: 20_000 };
  for (let added = 0; added < count; added++) {
    await writer.add({ kind: 'rows', tableId: tableId(1), rows });
  }
  return (await writer.finish(Promise.resolve())).name;
}

/** Milliseconds for nothing but the hash. */
function hashed(bytes: Uint8Array, count: number): number {
  const words = new Int32Array(bytes.buffer, bytes.byteOffset, bytes.length >>> 2);
  const hash = new RecordHash();
  const begin = performance.now();
  for (let round = 0; round < count; round++) hash.overRecord(words, 0, words.length, round);
  return performance.now() - begin;
}

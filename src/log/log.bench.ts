import { MemoryDisk } from '../node/memory-disk.ts';
import { tableId } from '../schema/ids.ts';
import { commitOffset } from '../store/commit-offset.ts';
import { Random } from '../testing/random.ts';
import { connectionNumber, noConnection } from '../values/connection-number.ts';
import { callerIdentity, databaseIdentity } from '../values/identity-roles.ts';
import { crc32c, RecordHash } from './checksum.ts';
import { CommitLog } from './commit-log.ts';
import { epoch } from './epoch.ts';

/**
 * The cost of the log without a device: appending small commits and writing them in turns, and
 * reading them back. `scale` 1 is a run of about two seconds.
 */
export async function benchmarks(scale: number) {
  return [...hashing(scale), ...(await appending(scale))];
}

interface Measure {
  readonly name: string;
  readonly unit: string;
  readonly value: number;
}

/** Bytes of a record of a transfer: two rows updated, and its inputs. */
const smallBytes = 256;

function hashing(scale: number): Measure[] {
  const bytes = new Random(1).bytes(smallBytes * 1024);
  const words = new Int32Array(bytes.buffer);
  const hash = new RecordHash();
  const rounds = Math.ceil(1000 * scale);
  let sum = 0;
  const begin = performance.now();
  for (let round = 0; round < rounds; round++) {
    for (let at = 0; at < words.length; at += smallBytes / 4) {
      hash.overRecord(words, at, at + smallBytes / 4, round);
      sum ^= hash.crc ^ hash.chainLow;
    }
  }
  const nanos = ((performance.now() - begin) * 1e6) / (rounds * 1024);
  const name = `hash a record of ${smallBytes} bytes (sum ${sum ^ crc32c(bytes, 0, 9)})`;
  return [{ name, unit: 'ns', value: nanos }];
}

async function appending(scale: number): Promise<Measure[]> {
  const disk = new MemoryDisk();
  const options = {
    databaseIdentity: databaseIdentity(1n),
    create: true,
    salt: 7,
    epoch: epoch(5n),
    onRecord: ignore,
    warn: ignore,
  };
  const log = await CommitLog.open(disk, options);
  const count = Math.ceil(1_000_000 * scale);
  const commits = makeCommits();
  const begin = performance.now();
  for (let offset = 1; offset <= count; offset++) {
    const commit = commits[offset & 63] as (typeof commits)[number];
    commit.changes.offset = commitOffset(offset);
    log.appendCommit(commit.changes, commit.inputs);
    if (offset % 256 === 0) log.write();
  }
  log.write();
  const appendMicros = ((performance.now() - begin) * 1000) / count;
  await log.close();
  const bytes = disk.list().reduce((sum, name) => sum + disk.open(name, 'existing').size(), 0);
  let found = 0;
  const reading = performance.now();
  const again = await CommitLog.open(disk, { ...options, onRecord: () => found++ });
  const readMicros = ((performance.now() - reading) * 1000) / count;
  await again.close();
  const name = `${Math.round(bytes / count)} bytes, ${found} records`;
  return [
    { name: `append and write a small commit (${name})`, unit: 'µs', value: appendMicros },
    { name: `recover a small commit (${name})`, unit: 'µs', value: readMicros },
  ];
}

function ignore(): void {}

function makeCommits() {
  const random = new Random(2);
  const callers = Array.from({ length: 8 }, () => callerIdentity(random.bigint(256)));
  const connections = Array.from({ length: 8 }, () => connectionNumber(random.bigint(128)));
  return Array.from({ length: 64 }, (_, index) => ({
    changes: {
      offset: commitOffset(0),
      tables: [
        {
          tableId: tableId(4096),
          inserts: { bytes: random.bytes(32), count: 2 },
          deletes: { bytes: random.bytes(32), count: 2 },
          truncated: false,
        },
      ],
      sequences: [],
    },
    inputs: {
      reducer: 'transfer',
      caller: callers[index % 8] ?? callerIdentity(0n),
      connectionId: connections[index % 8] ?? noConnection,
      timestampMicros: 1_750_000_000_000_000n + BigInt(index),
      seed: random.bytes(32),
      args: random.bytes(12),
    },
  }));
}

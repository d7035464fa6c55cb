/**
 * What a backup into a folder takes, and a restore from it, for a log of transfers in segments of 64
 * MiB. Bars: a backup is at least half as fast as the same copy through gzip, which takes most of
 * its time; a backup of what is there already costs next to nothing. A plain copy of the files is
 * shown beside it. `scale` 1 is a log of 256 MiB.
 */
import { mkdirSync, mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { promisify } from 'node:util';
import zlib from 'node:zlib';
import { newIdentity } from '../src/backup/encryption.ts';
import { fetchRestore } from '../src/backup/fetch.ts';
import { finishBackup } from '../src/backup/finish-backup.ts';
import { MachineFolderFiles } from '../src/backup/folder-files.ts';
import { FolderStore } from '../src/backup/folder-store.ts';
import { planRestore } from '../src/backup/holdings.ts';
import { localSource } from '../src/backup/local-source.ts';
import type { LogPoint } from '../src/backup/manifest.ts';
import { evenPieces } from '../src/backup/object-body.ts';
import { initRepository, openRepository, type Repository } from '../src/backup/repository.ts';
import { shipDatabase } from '../src/backup/ship.ts';
import { CommitLog } from '../src/log/commit-log.ts';
import { epoch } from '../src/log/epoch.ts';
import { chainToHex } from '../src/log/history-point.ts';
import { MachineDisk } from '../src/node/disk.ts';
import { tableId } from '../src/schema/ids.ts';
import { commitOffset } from '../src/store/commit-offset.ts';
import { Random } from '../src/testing/random.ts';
import { connectionNumber } from '../src/values/connection-number.ts';
import { bigintToHex } from '../src/values/hex.ts';
import { callerIdentity, databaseIdentity } from '../src/values/identity-roles.ts';

interface Figure {
  readonly name: string;
  readonly unit: string;
  readonly value: number;
  readonly baseline?: number;
  readonly ratio?: number;
  readonly bar?: string;
}

const mebibyte = 1024 * 1024;
const identity = databaseIdentity(7n);

export async function benchmarks(scale: number): Promise<Figure[]> {
  const folder = mkdtempSync(path.join(tmpdir(), 'reducerdb-bench-'));
  try {
    const directory = path.join(folder, 'log');
    mkdirSync(directory);
    const { end, bytes } = await writeLog(directory, 256 * mebibyte * scale);
    const megabytes = bytes / 1_000_000;
    const rate = async (work: () => Promise<void>): Promise<number> => {
      const began = performance.now();
      await work();
      return megabytes / ((performance.now() - began) / 1000);
    };
    const plain = await repositoryIn(path.join(folder, 'plain'));
    const { identity: key, recipient } = await newIdentity();
    const encrypted = await repositoryIn(path.join(folder, 'encrypted'), [recipient], [key]);
    // Once before it counts: the files are in memory, and the code is compiled.
    await copy(directory, path.join(folder, 'warm'), false);
    const copied = await rate(() => copy(directory, path.join(folder, 'copy'), false));
    const packed = await rate(() => copy(directory, path.join(folder, 'packed'), true));
    const first = await rate(() => backUp(plain, directory, end));
    const again = await rate(() => backUp(plain, directory, end));
    const sealed = await rate(() => backUp(encrypted, directory, end));
    const restored = await rate(() => restore(plain, path.join(folder, 'restored')));
    const opened = await rate(() => restore(encrypted, path.join(folder, 'opened')));
    return [
      figure('backup, the same copy through gzip as baseline', first, packed, 'at least 0.5'),
      figure('backup, a plain copy as baseline', first, copied),
      figure('backup of what is there', again, copied, 'at least 10'),
      figure('encrypted backup, the backup as baseline', sealed, first),
      figure('restore, a plain copy as baseline', restored, copied),
      figure('restore of an encrypted backup, the restore as baseline', opened, restored),
    ];
  } finally {
    rmSync(folder, { recursive: true, force: true });
  }
}

function figure(name: string, value: number, baseline: number, bar?: string): Figure {
  const rest = { unit: 'MB/s of log', value, baseline, ratio: value / baseline };
  return bar === undefined ? { name, ...rest } : { name, ...rest, bar };
}

/** A log of transfers: two rows of 28 bytes go and two come, with the request that did it. */
async function writeLog(
  directory: string,
  bytes: number,
): Promise<{ end: LogPoint; bytes: number }> {
  const log = await CommitLog.open(new MachineDisk(directory), {
    databaseIdentity: identity,
    create: true,
    salt: 5,
    epoch: epoch(9n),
    onRecord: () => undefined,
    warn: () => undefined,
  });
  const random = new Random(1);
  const caller = callerIdentity(random.bigint(256));
  const rows = () => ({ bytes: rowsOf(random), count: 2 });
  for (let offset = 1; log.bytes < bytes || offset < 100; offset++) {
    const tables = [{ tableId: tableId(1), inserts: rows(), deletes: rows(), truncated: false }];
    log.appendCommit(
      { offset: commitOffset(offset), tables, sequences: [] },
      {
        reducer: 'transfer',
        caller,
        connectionId: connectionNumber(3n),
        timestampMicros: 1_700_000_000_000_000n + BigInt(offset * 50),
        seed: random.bytes(32),
        args: random.bytes(12),
      },
    );
    if (offset % 500 === 0) log.write();
  }
  await log.sync();
  const place = log.snapshotPlace(0n);
  log.abandon();
  const end = {
    epoch: bigintToHex(place.epoch, 16),
    offset: place.offset,
    position: place.position,
    chain: chainToHex(place),
    micros: Number(place.lastMicros),
  };
  return { end, bytes: place.position };
}

/** Accounts among 10,000, with balances that vary in their low bytes. */
function rowsOf(random: Random): Uint8Array {
  const bytes = new Uint8Array(56);
  const view = new DataView(bytes.buffer);
  for (const at of [0, 28]) {
    view.setUint32(at, random.below(10_000), true);
    view.setBigInt64(at + 4, BigInt(random.below(1_000_000)), true);
    view.setBigInt64(at + 12, BigInt(random.below(1_000_000_000)), true);
  }
  return bytes;
}

async function repositoryIn(
  folder: string,
  recipients: readonly string[] = [],
  identities: readonly string[] = [],
): Promise<Repository> {
  mkdirSync(folder);
  const store = new FolderStore(folder, new MachineFolderFiles(folder));
  await initRepository(store, { recipients, nowMicros: 1 });
  return openRepository(store, { identities });
}

async function backUp(repository: Repository, directory: string, end: LogPoint): Promise<void> {
  const record = {
    names: ['bench'],
    owner: '',
    roles: [],
    lock: null,
    settings: {},
    program: '',
    more: {},
  };
  const source = await localSource({
    identity: bigintToHex(identity, 64),
    record,
    directory,
    end,
    lineage: [],
    files: [],
  });
  const { entry } = await shipDatabase(repository, source);
  const nowMicros = Date.now() * 1000;
  const parts = { databases: [entry], files: [], isWhole: false, program: 'bench', nowMicros };
  await finishBackup(repository, parts);
}

async function restore(repository: Repository, directory: string): Promise<void> {
  const plan = await planRestore(repository, { database: 'bench', backup: 'latest' });
  await fetchRestore(repository, plan, directory);
}

const gzip = promisify(zlib.gzip) as (
  bytes: Uint8Array,
  options: zlib.ZlibOptions,
) => Promise<Buffer>;

/** Copies the files of a log durably, with nothing else, or with gzip, a MiB at a time. */
async function copy(from: string, to: string, isPacked: boolean): Promise<void> {
  mkdirSync(to);
  const source = new MachineFolderFiles(from);
  const target = new MachineFolderFiles(to);
  for (const name of await source.list('')) {
    const file = await target.create(name);
    for await (const piece of evenPieces(source.read(name, 0, undefined), mebibyte)) {
      await file.write(isPacked ? await gzip(piece, { level: 1 }) : piece);
    }
    await file.sync();
    await file.close();
  }
  await target.syncFolder('');
}

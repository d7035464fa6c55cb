import path from 'node:path';
import { expect, it } from 'vitest';
import { appendRandom } from '../../test/simulation/log-fixture.ts';
import { openWithSnapshots } from '../../test/simulation/snapshot-fixture.ts';
import {
  archiveSource,
  BackupStory,
  commitsOf,
  restoredRecords,
  storyIdentity,
  storyRecord,
  storyRepository,
  withFolder,
} from '../../test/support/backup-story.ts';
import { MemoryStore } from '../../test/support/memory-store.ts';
import { type S3Faults, S3Server, s3Keys } from '../../test/support/s3-server.ts';
import { packSegment } from '../history/pack-segment.ts';
import type { CommitLog } from '../log/commit-log.ts';
import { epoch } from '../log/epoch.ts';
import { chainToHex } from '../log/history-point.ts';
import { readOrigin } from '../log/origin.ts';
import { MachineDisk } from '../node/disk.ts';
import { bigintToHex } from '../values/hex.ts';
import { databaseIdentity } from '../values/identity-roles.ts';
import { DatabaseArchive } from './archive.ts';
import { fetchRestore } from './fetch.ts';
import { finishBackup } from './finish-backup.ts';
import { planRestore } from './holdings.ts';
import { listBackups } from './list.ts';
import { localSource } from './local-source.ts';
import { openRepository, type Repository } from './repository.ts';
import { openStore } from './repository-place.ts';
import { shipDatabase } from './ship.ts';
import { verifyBackup } from './verify.ts';

const noPause = () => Promise.resolve();

it('[history 5.5] a backup restores to the records at its end', async () => {
  const story = await BackupStory.begin(1);
  const repository = await storyRepository(new MemoryStore());
  await story.work(10);
  await story.snapshot();
  await story.work(5);
  const manifest = await story.backup(repository, 2_000_000_000_000);
  const records = [...story.records];
  await story.work(2);
  await withFolder(async (folder) => {
    const plan = await planRestore(repository, { database: 'story', backup: 'latest' });
    const directory = path.join(folder, 'restored');
    const { at } = await fetchRestore(repository, plan, directory);
    expect(at.offset).toBe(manifest.databases[0]?.end.offset);
    expect(await restoredRecords(directory)).toEqual(records);
  });
});

it('[history 5.25] a restore at a position has the records up to exactly that commit', async () => {
  const story = await BackupStory.begin(2);
  const repository = await storyRepository(new MemoryStore());
  await story.work(6);
  await story.snapshot();
  await story.work(6);
  await story.snapshot();
  await story.work(3);
  const { end } = story;
  await story.backup(repository, 2_000_000_000_000, { withHistory: true });
  await withFolder(async (folder) => {
    for (let offset = 1; offset <= end.offset; offset++) {
      const at = { kind: 'offset', offset } as const;
      const plan = await planRestore(repository, { database: 'story', backup: 'latest', at });
      const directory = path.join(folder, String(offset));
      const fetched = await fetchRestore(repository, plan, directory);
      expect(fetched.at.offset).toBe(offset);
      const found = await restoredRecords(directory);
      expect(commitsOf(found)).toEqual(story.commitsUpTo(offset));
    }
  });
});

/** What a log on a machine's disk holds, as the source of a backup. */
async function sourceIn(directory: string, log: CommitLog, identity: bigint) {
  const place = log.snapshotPlace(0n);
  const end = {
    epoch: bigintToHex(place.epoch, 16),
    offset: place.offset,
    position: place.position,
    chain: chainToHex(place),
    micros: Number(place.lastMicros),
  };
  const lineage = (readOrigin(new MachineDisk(directory))?.lineage ?? []).map((point) => ({
    identity: bigintToHex(point.databaseIdentity, 64),
    epoch: bigintToHex(point.epoch, 16),
    sequence: point.sequence,
    offset: Number(point.offset),
    position: point.position,
    chain: chainToHex(point),
    micros: Number(point.micros),
  }));
  const record = { ...storyRecord, names: [`copy-${identity}`] };
  const database = { identity: bigintToHex(identity, 64), record, directory, end, lineage };
  return localSource({ ...database, files: [] });
}

/** Restores, and opens the result as a database of its own that goes on. */
async function goneOn(
  repository: Repository,
  request: Parameters<typeof planRestore>[1],
  directory: string,
  own: bigint,
) {
  const plan = await planRestore(repository, request);
  const fetched = await fetchRestore(repository, plan, directory);
  const opened = await openWithSnapshots(new MachineDisk(directory), {
    databaseIdentity: databaseIdentity(own),
    create: false,
    salt: Number(own),
    epoch: epoch(own),
    segmentBytes: 1500,
  });
  const added = appendRandom(opened.log, Number(own), 12);
  await opened.log.sync();
  return { fetched, log: opened.log, records: [...opened.found, ...added] };
}

it.each([
  ['the end', undefined],
  ['a commit inside of it', 20],
])('[history 5.4, 5.22] a copy restored to %s is backed up and restored in turn', (_, offset) =>
  withFolder(async (folder) => {
    const story = await BackupStory.begin(3);
    const store = new MemoryStore();
    const repository = await storyRepository(store);
    await story.work(5);
    await story.snapshot();
    await story.work(6);
    await story.backup(repository, 2_000_000_000_000, { withHistory: true });
    const at = offset === undefined ? undefined : ({ kind: 'offset', offset } as const);
    const request = { database: 'story', backup: 'latest', at };
    const first = await goneOn(repository, request, path.join(folder, 'one'), 500n);
    let source = await sourceIn(path.join(folder, 'one'), first.log, 500n);
    const sent = store.written.length;
    const { entry, newObjects } = await shipDatabase(repository, source, { withHistory: true });
    const parts = { databases: [entry], files: [], isWhole: false, program: 'test' };
    await finishBackup(repository, { ...parts, nowMicros: 2_000_001_000_000 });
    await first.log.close();
    // Whole segments of the first database are there already; only the last one may be cut.
    const old = store.written.slice(sent).filter((name) => name.includes(`/${storyIdentity}/`));
    expect(old.length).toBeLessThanOrEqual(offset === undefined ? 0 : 1);
    expect(newObjects).toBeGreaterThan(0);

    const again = { database: 'copy-500', backup: 'latest' };
    const second = await goneOn(repository, again, path.join(folder, 'two'), 600n);
    expect(second.records.slice(0, first.records.length)).toEqual(first.records);
    expect(second.fetched.lineage.length).toBe(2);
    source = await sourceIn(path.join(folder, 'two'), second.log, 600n);
    const shipped = await shipDatabase(repository, source, { withHistory: true });
    const more = { ...parts, databases: [shipped.entry] };
    await finishBackup(repository, { ...more, nowMicros: 2_000_002_000_000 });
    await second.log.close();

    // A commit of the first database is still held by the last one.
    const early = { kind: 'offset', offset: 15 } as const;
    const of = { database: 'copy-600', backup: 'latest', at: early };
    const third = await goneOn(repository, of, path.join(folder, 'three'), 700n);
    expect(third.fetched.lineage.length).toBe(1);
    expect(third.fetched.at.identity).toBe(storyIdentity);
    await third.log.close();
    expect(commitsOf(third.records).slice(0, 15)).toEqual(story.commitsUpTo(15));
  }),
);

it('[history 5.3, 5.5] a segment that was packed is the object that it was before', async () => {
  const story = await BackupStory.begin(4);
  const store = new MemoryStore();
  const repository = await storyRepository(store);
  await story.work(10);
  const [first, second] = story.segmentNames();
  for (const name of [first, second]) await packSegment(story.disk, String(name), noPause);
  expect(story.segmentNames().filter((name) => name.endsWith('.gz')).length).toBe(2);
  await story.backup(repository, 2_000_000_000_000);
  const other = await storyRepository(new MemoryStore());
  const plain = await BackupStory.begin(4);
  await plain.work(10);
  await plain.backup(other, 2_000_000_000_000);
  for (const [name, bytes] of (other.store as MemoryStore).objects) {
    if (name.startsWith('objects/')) expect(store.objects.get(name)).toEqual(bytes);
  }
  await withFolder(async (folder) => {
    const plan = await planRestore(repository, { database: 'story', backup: 'latest' });
    await fetchRestore(repository, plan, path.join(folder, 'log'));
    expect(await restoredRecords(path.join(folder, 'log'))).toEqual(story.records);
  });
});

const tempers: readonly (readonly [string, S3Faults])[] = [
  ['honours conditions', {}],
  ['ignores conditions', { conditions: 'ignored' }],
  ['answers 304', { conditions: 'not-modified' }],
  ['is busy now and then', { busy: 2 }],
  ['cuts answers', { cuts: { count: 3, bytes: 100 } }],
];

it.each(tempers)(
  '[history 5.1, 5.3] backup and restore with a store that %s',
  async (_, faults) => {
    const server = await S3Server.start();
    try {
      const place = { kind: 's3', bucket: 'bucket', prefix: 'backups/x' } as const;
      const store = await openStore(place, { endpoint: server.endpoint }, () => s3Keys);
      const repository = await storyRepository(store);
      const story = await BackupStory.begin(5);
      await story.work(4);
      await story.snapshot();
      server.faults = faults;
      await story.work(4);
      await story.backup(repository, 2_000_000_000_000);
      await story.work(1);
      await story.backup(await openRepository(store), 2_000_001_000_000);
      const archive = new DatabaseArchive(repository, 'cd'.repeat(16));
      await archive.pass(archiveSource(story), { nowMicros: 2_000_002_000_000 });
      for (const backup of ['latest', (await listBackups(repository))[0]?.id ?? '']) {
        await withFolder(async (folder) => {
          const plan = await planRestore(repository, { database: 'story', backup });
          await fetchRestore(repository, plan, path.join(folder, 'log'));
          expect(await restoredRecords(path.join(folder, 'log'))).toEqual(story.records);
        });
      }
      const options = { depth: 'read', nowMicros: 2_000_003_000_000 } as const;
      expect((await verifyBackup(repository, 'latest', options)).faults).toEqual([]);
    } finally {
      await server.stop();
    }
  },
);

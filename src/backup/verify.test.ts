import path from 'node:path';
import { describe, expect, it } from 'vitest';
import {
  archiveSource,
  BackupStory,
  restoredRecords,
  storyIdentity,
  storyRecord,
  storyRepository,
  withFolder,
} from '../../test/support/backup-story.ts';
import { MemoryStore } from '../../test/support/memory-store.ts';
import { limits } from '../limits.ts';
import { DatabaseArchive } from './archive.ts';
import { fetchRestore } from './fetch.ts';
import { finishBackup } from './finish-backup.ts';
import { findBackup, planRestore } from './holdings.ts';
import { listBackups, listedArchives } from './list.ts';
import { type DatabaseEntry, type Manifest, objectsOf } from './manifest.ts';
import { manifestName } from './object-names.ts';
import { type PrunePolicy, pruneBackups } from './prune.ts';
import type { Repository } from './repository.ts';
import type { RestorePlan } from './restore-plan.ts';
import { shipDatabase } from './ship.ts';
import { type VerifyDepth, verifyBackup } from './verify.ts';

const second = 1_000_000;
const day = 86_400 * second;
const start = 1_800_000_000 * second;

async function begin(seed: number) {
  const story = await BackupStory.begin(seed);
  const store = new MemoryStore();
  const repository = await storyRepository(store);
  await story.work(4);
  return { story, store, repository };
}

/** Restores a plan and compares it with the records of a story. */
function replayed(repository: Repository, records: readonly string[]) {
  return (plan: RestorePlan): Promise<void> =>
    withFolder(async (folder) => {
      const directory = path.join(folder, 'log');
      await fetchRestore(repository, plan, directory);
      expect(await restoredRecords(directory)).toEqual(records);
    });
}

describe('a check', () => {
  it('[history 5.18] finds that what is named leads to no state, or not to the end', async () => {
    const { story, repository } = await begin(21);
    await story.snapshot();
    await story.work(4);
    const { databases } = await story.backup(repository, start);
    const entry = databases[0] as DatabaseEntry;
    const [first, ...rest] = entry.segments;
    expect([first?.sequence, rest.length > 0]).toEqual([entry.snapshots[0]?.sequence, true]);
    const parts = { files: [], isWhole: false, program: 'test', nowMicros: start + second };
    const faultsOf = async (change: Partial<DatabaseEntry>, depth: VerifyDepth) => {
      const { id } = await finishBackup(repository, {
        ...parts,
        databases: [{ ...entry, ...change }],
      });
      return (await verifyBackup(repository, id, { depth, nowMicros: start })).faults;
    };
    const text = `database ${storyIdentity} cannot be restored up to offset ${story.end.offset}`;
    for (const depth of ['present', 'read'] as const) {
      expect(await faultsOf({}, depth)).toEqual([]);
      expect(await faultsOf({ segments: rest }, depth)).toContain(
        `${text}: the objects that the backup names lead to no state`,
      );
      expect(await faultsOf({ segments: entry.segments.slice(0, -1) }, depth)).toEqual([
        expect.stringMatching(`^${text}: .* lead to offset \\d+ only$`),
      ]);
    }
    const long = entry.segments.map((one) => ({ ...one, bytes: Number.MAX_SAFE_INTEGER }));
    expect(await faultsOf({ segments: long }, 'read')).toEqual(
      long.map(({ name }) => expect.stringContaining(`object ${name} is damaged: `)),
    );
  });

  it('[history 5.18] finds each object that is missing or shorter', async () => {
    const { story, store, repository } = await begin(1);
    const manifest = await story.backup(repository, start);
    const options = { depth: 'present', nowMicros: start } as const;
    const before = store.objects.size;
    expect(await verifyBackup(repository, manifest.id, options)).toMatchObject({
      depth: 'present',
      objects: objectsOf(manifest).length,
      faults: [],
    });
    expect(store.objects.size).toBe(before);
    for (const { name } of objectsOf(manifest)) {
      const bytes = store.objects.get(name) ?? new Uint8Array(0);
      store.objects.delete(name);
      const missing = await verifyBackup(repository, 'latest', options);
      expect(missing.faults).toEqual([`object ${name} is missing`]);
      store.objects.set(name, bytes.subarray(1));
      const shorter = await verifyBackup(repository, 'latest', options);
      const text = `has ${bytes.length - 1} bytes, expected ${bytes.length}`;
      expect(shorter.faults).toEqual([`object ${name} is damaged: it ${text}`]);
      store.objects.set(name, bytes);
    }
  });

  it('[history 5.18] that fails takes back the mark, and names a backup to use', async () => {
    const { story, store, repository } = await begin(1);
    const first = await story.backup(repository, start);
    await story.work(4);
    const later = await story.backup(repository, start + day);
    const options = { depth: 'read', nowMicros: start + day } as const;
    expect((await verifyBackup(repository, later.id, options)).faults).toEqual([]);
    const listed = () => listBackups(repository).then(([newest]) => newest?.readMicros);
    expect(await listed()).toBe(start + day);
    const known = new Set(objectsOf(first).map(({ name }) => name));
    const own = objectsOf(later).find(({ name }) => !known.has(name));
    store.objects.delete(own?.name ?? '');
    const failed = await verifyBackup(repository, later.id, { ...options, depth: 'present' });
    expect(failed).toMatchObject({ faults: [expect.any(String)], wholeBefore: first.id });
    expect(await listed()).toBeUndefined();
  });

  it('[history 5.6, 5.18] never passes a backup that is not all of a database', async () => {
    const { story, repository } = await begin(1);
    const [entry] = (await story.backup(repository, start)).databases;
    if (entry === undefined) throw new Error('a backup has the database');
    const databases = [{ ...entry, fault: 'it cannot serve' }];
    const parts = { databases, files: [], isWhole: false, program: 'test', nowMicros: start + day };
    const { id } = await finishBackup(repository, parts);
    const report = await verifyBackup(repository, id, { depth: 'read', nowMicros: start + day });
    expect(report.faults).toEqual([expect.stringContaining('only: it cannot serve')]);
    expect((await listBackups(repository))[0]?.readMicros).toBeUndefined();
  });

  it('[history 5.18, I10] that reads finds a flipped bit in any object', async () => {
    const { story, store, repository } = await begin(2);
    await story.snapshot();
    await story.work(2);
    const manifest = await story.backup(repository, start, { withHistory: true });
    const options = { depth: 'read', nowMicros: start + second } as const;
    for (const { name, storedHash } of objectsOf(manifest)) {
      const bytes = store.objects.get(name) ?? new Uint8Array(0);
      for (let at = 3; at < bytes.length; at += Math.ceil(bytes.length / 9)) {
        const flipped = Uint8Array.from(bytes);
        flipped[at] = (flipped[at] ?? 0) ^ 2;
        store.objects.set(name, flipped);
        const { faults } = await verifyBackup(repository, manifest.id, options);
        expect(faults).toEqual([
          expect.stringMatching(`object ${name} is damaged: SHA-256 .* expected ${storedHash}`),
        ]);
      }
      store.objects.set(name, bytes);
    }
    expect((await listBackups(repository))[0]?.readMicros).toBeUndefined();
    expect((await verifyBackup(repository, manifest.id, options)).faults).toEqual([]);
    const [listed] = await listBackups(repository);
    expect(listed).toMatchObject({ readMicros: start + second, testedMicros: undefined });
  });

  it('[history 5.18] makes a backup tested only if it was replayed', async () => {
    const { story, repository } = await begin(3);
    await story.snapshot();
    await story.work(2);
    const manifest = await story.backup(repository, start);
    const options = { depth: 'deep', nowMicros: start + second } as const;
    const failing = () => Promise.reject(new Error('it does not open'));
    const failed = await verifyBackup(repository, manifest.id, { ...options, replay: failing });
    expect(failed.faults).toEqual([
      `database ${storyIdentity} cannot be replayed: it does not open`,
    ]);
    expect((await listBackups(repository))[0]?.testedMicros).toBeUndefined();
    const replay = replayed(repository, story.records);
    const passed = await verifyBackup(repository, manifest.id, { ...options, replay });
    expect(passed.faults).toEqual([]);
    expect((await listBackups(repository))[0]?.testedMicros).toBe(start + second);
  });
});

describe('a list', () => {
  it('[history 5.17] has times, ends and what each backup added', async () => {
    const { story, store, repository } = await begin(4);
    const first = await story.backup(repository, start);
    const firstEnd = story.end;
    await story.work(3);
    await story.backup(repository, start + day);
    const listed = await listBackups(repository);
    expect(listed.map(({ timeMicros }) => timeMicros)).toEqual([start + day, start]);
    expect(listed[1]).toMatchObject({
      id: first.id,
      databases: [{ identity: storyIdentity, names: ['story'], end: firstEnd, fault: '' }],
    });
    expect(listed[1]?.newBytes).toBe(listed[1]?.totalBytes);
    const all = [...store.objects].filter(([name]) => name.startsWith('objects/'));
    const stored = all.reduce((sum, [, bytes]) => sum + bytes.length, 0);
    expect(listed.reduce((sum, { newBytes }) => sum + newBytes, 0)).toBe(stored);
    expect(listed[0]?.newBytes).toBeLessThan(listed[0]?.totalBytes ?? 0);
    store.objects.set(manifestName(start, first.id), Buffer.from('{"sha256":"x"}'));
    expect((await listBackups(repository))[1]?.fault).toContain('is damaged');
  });

  it('[history 5.17] has the time that an archive covers', async () => {
    const { story, repository } = await begin(5);
    const archive = new DatabaseArchive(repository, 'aa'.repeat(16));
    await archive.pass(archiveSource(story), { nowMicros: start });
    const [listed] = await listedArchives(repository);
    expect(listed).toMatchObject({ identity: storyIdentity, names: ['story'], line: 1 });
    expect(listed?.windows).toMatchObject([
      { from: { offset: 0 }, to: { offset: story.end.offset }, untilMicros: start },
    ]);
  });
});

it('[history 5.20] an id can be cut short as long as one backup alone begins so', async () => {
  const { store, repository } = await begin(11);
  const ids = ['aa1100000000', 'aa2200000000', 'bb0000000000'];
  for (const [at, id] of ids.entries()) {
    store.objects.set(manifestName(start + at * day, id), Buffer.from('{}'));
  }
  expect(await findBackup(repository, 'b')).toMatchObject({ id: ids[2] });
  expect(await findBackup(repository, 'aa1')).toMatchObject({ id: ids[0] });
  expect(await findBackup(repository, 'latest')).toMatchObject({ id: ids[2] });
  await expect(findBackup(repository, 'aa')).rejects.toThrow(
    'several backups begin with aa: aa2200000000, aa1100000000',
  );
  for (const none of ['aa11000000000', 'cc', '']) {
    await expect(findBackup(repository, none)).rejects.toThrow(`holds no backup ${none}`);
  }
});

/** Backups of one database at these times, each with objects of its own. */
async function backupsAt(story: BackupStory, repository: Repository, times: readonly number[]) {
  const made: Manifest[] = [];
  for (const micros of times) {
    await story.work(1);
    await story.snapshot();
    made.push(await story.backup(repository, micros));
  }
  return made;
}

describe('prune', () => {
  const now = start + 400 * day;

  async function remaining(repository: Repository): Promise<number[]> {
    return (await repository.manifests()).map(({ timeMicros }) => timeMicros);
  }

  const prune = (repository: Repository, policy: PrunePolicy, isDry = false) =>
    pruneBackups(repository, policy, { nowMicros: now, isDry });

  it('[history 5.19] keeps the last ones, and says first what it would do', async () => {
    const { story, store, repository } = await begin(6);
    const made = await backupsAt(story, repository, [start, start + day, start + 2 * day]);
    const before = [...store.objects.keys()];
    const preview = await prune(repository, { keepLast: 1 }, true);
    expect([...store.objects.keys()]).toEqual(before);
    const done = await prune(repository, { keepLast: 1 });
    expect(done).toEqual(preview);
    expect(done.removed.map(({ id }) => id)).toEqual([made[1]?.id, made[0]?.id]);
    expect(done.kept.map(({ id }) => id)).toEqual([made[2]?.id]);
    expect(done.objectCount).toBeGreaterThan(0);
    expect(await remaining(repository)).toEqual([start + 2 * day]);
    const kept = made[2];
    const names = kept === undefined ? [] : objectsOf(kept).map(({ name }) => name);
    const objects = [...store.objects.keys()].filter((name) => name.startsWith('objects/'));
    expect(objects.sort()).toEqual(names.sort());
    expect(
      await verifyBackup(repository, 'latest', { depth: 'read', nowMicros: now }),
    ).toMatchObject({ faults: [] });
  });

  it('[history 5.19] keeps one of each day, week and month', async () => {
    const { story, repository } = await begin(7);
    const monday = 1_799_625_600 * second;
    const times = [0, 1, 6, 7, 8, 8.5, 40].map((days) => monday + days * day);
    await backupsAt(story, repository, times);
    const keeps = async (policy: PrunePolicy) => {
      const { removed } = await prune(repository, policy, true);
      const gone = new Set(removed.map(({ timeMicros }) => timeMicros));
      return times.filter((time) => !gone.has(time)).map((time) => (time - monday) / day);
    };
    expect(await keeps({ keepDaily: 3 })).toEqual([7, 8.5, 40]);
    expect(await keeps({ keepWeekly: 3 })).toEqual([6, 8.5, 40]);
    expect(await keeps({ keepMonthly: 2 })).toEqual([8.5, 40]);
    expect(await keeps({ keepLast: 2, keepWeekly: 3 })).toEqual([6, 8.5, 40]);
    const olderThanMicros = now - monday - 6.5 * day;
    expect(await keeps({ olderThanMicros })).toEqual([7, 8, 8.5, 40]);
  });

  it('[history 5.19] keeps the last backup of a database unless forced', async () => {
    const { story, repository } = await begin(8);
    const [first] = await backupsAt(story, repository, [start]);
    const { entry } = await shipDatabase(repository, await story.source());
    const other = { ...entry, identity: 'ee'.repeat(32), record: { ...storyRecord, names: ['b'] } };
    const parts = { databases: [other], files: [], isWhole: false, program: 'test' };
    await finishBackup(repository, { ...parts, nowMicros: start + day });
    expect((await prune(repository, { keepLast: 0 })).removed).toEqual([]);
    const forced = await prune(repository, { keepLast: 0, isForced: true }, true);
    expect(forced.removed.map(({ timeMicros }) => timeMicros)).toEqual([start + day, start]);
    expect(first).toBeDefined();
    await expect(prune(repository, {})).rejects.toThrow('say what to keep: --keep-last');
  });

  it('[history 5.9, 5.19] leaves young objects alone, and what an archive needs', async () => {
    const { story, store, repository } = await begin(9);
    await shipDatabase(repository, await story.source());
    const archive = new DatabaseArchive(repository, 'aa'.repeat(16));
    await archive.pass(archiveSource(story), { nowMicros: start });
    await backupsAt(story, repository, [start, start + day]);
    store.modifiedMicros = now - limits.backupUnnamedMillisMin * 1000;
    expect((await prune(repository, { keepLast: 1 })).objectCount).toBe(0);
    store.modifiedMicros = now - limits.backupUnnamedMillisMin * 1000 - 1;
    expect((await prune(repository, { keepLast: 1 })).objectCount).toBeGreaterThan(0);
    await withFolder(async (folder) => {
      const at = { kind: 'offset', offset: 6 } as const;
      const plan = await planRestore(repository, { database: 'story', backup: 'latest', at });
      expect(plan.source.kind).toBe('archive');
      await fetchRestore(repository, plan, path.join(folder, 'log'));
    });
  });

  it('[history 5.19] removes no object while a manifest or an archive cannot be read', async () => {
    const { story, store, repository } = await begin(10);
    const made = await backupsAt(story, repository, [start, start + day, start + 2 * day]);
    const name = manifestName(start + day, String(made[1]?.id));
    const whole = store.objects.get(name) ?? new Uint8Array(0);
    store.objects.set(name, whole.subarray(1));
    const report = await prune(repository, { keepLast: 1 });
    expect(report).toMatchObject({ objectCount: 0, removed: [{ timeMicros: start }] });
    expect(report.faults).toEqual([expect.stringContaining(`manifest ${name} is damaged`)]);
    store.objects.set(name, whole);
    store.objects.set(`archive/${storyIdentity}/${'0'.repeat(16)}.json`, Buffer.from('{}'));
    expect((await prune(repository, { keepLast: 1 })).objectCount).toBe(0);
  });
});

import { mkdir, readdir } from 'node:fs/promises';
import path from 'node:path';
import { expect, it, vi } from 'vitest';
import {
  BackupStory,
  commitsOf,
  restoredRecords,
  storyRepository,
  withFolder,
} from '../../test/support/backup-story.ts';
import { MemoryStore } from '../../test/support/memory-store.ts';
import { limits } from '../limits.ts';
import { notEmptyError } from './backup-error.ts';
import { sealedJson } from './checked-json.ts';
import { fetchFiles, fetchRestore } from './fetch.ts';
import { finishBackup } from './finish-backup.ts';
import { MachineFolderFiles } from './folder-files.ts';
import { planRestore } from './holdings.ts';
import { listBackups } from './list.ts';
import { objectsOf } from './manifest.ts';
import { initRepository, openRepository, type Repository } from './repository.ts';
import { rfc3339 } from './restore-plan.ts';
import { shipFiles } from './ship.ts';
import { verifyBackup } from './verify.ts';

const latest = { database: 'story', backup: 'latest' } as const;

/** Two backups of one story, the second with all of its history. */
async function twice(seed: number) {
  const story = await BackupStory.begin(seed);
  const store = new MemoryStore();
  const repository = await storyRepository(store);
  await story.work(4);
  await story.snapshot();
  await story.work(3);
  const first = await story.backup(repository, 1_800_000_000_000_000);
  await story.work(4);
  await story.snapshot();
  await story.work(3);
  const second = await story.backup(repository, 1_800_000_100_000_000, { withHistory: true });
  return { story, store, repository, first, second };
}

async function restore(repository: Repository, at?: Parameters<typeof planRestore>[1]['at']) {
  return withFolder(async (folder) => {
    const plan = await planRestore(repository, { ...latest, at });
    const directory = path.join(folder, 'log');
    try {
      await fetchRestore(repository, plan, directory);
    } catch (error) {
      expect(await readdir(folder)).toEqual([]);
      throw error;
    }
    return restoredRecords(directory);
  });
}

it('[history 5.27] a place without a repository is named', async () => {
  const store = new MemoryStore();
  await expect(openRepository(store)).rejects.toThrow(
    'memory is no backup repository: reducerdb-repository.json is missing',
  );
  await initRepository(store, { nowMicros: 1 });
  await expect(initRepository(store, { nowMicros: 2 })).rejects.toThrow(
    'memory is a backup repository already',
  );
});

it('[history 5.27] a repository of a newer version, or a damaged one, is refused', async () => {
  const store = new MemoryStore();
  await initRepository(store, { nowMicros: 1 });
  const name = 'reducerdb-repository.json';
  const text = Buffer.from(store.objects.get(name) ?? []).toString();
  store.objects.set(name, Buffer.from(text.replace('"version": 1', '"version": 2')));
  await expect(openRepository(store)).rejects.toThrow(
    'this repository has version 2; this program reads version 1',
  );
  store.objects.set(name, Buffer.from(text.slice(0, -5)));
  await expect(openRepository(store)).rejects.toThrow(`${name} is damaged: it is not JSON`);
});

it('[history 5.27, I6] a restore without any one of its objects names it', async () => {
  const { store, repository, first, second } = await twice(1);
  const entry = second.databases[0];
  const plan = await planRestore(repository, latest);
  const needed = [plan.base, ...plan.segments].map((object) => object?.name);
  for (const object of needed) {
    const copy = store.copy();
    copy.objects.delete(String(object));
    const damaged = await openRepository(copy);
    await expect(restore(damaged)).rejects.toThrow(
      `backup ${second.id} cannot be restored: object ${object} is missing; ` +
        `the newest whole one is ${first.id}`,
    );
  }
  expect(entry?.segments.length).toBeGreaterThan(needed.length - 1);
});

it('[history 5.27, I6, I10] a restore with any byte of an object flipped names it', async () => {
  const { store, repository, second } = await twice(2);
  const plan = await planRestore(repository, latest);
  for (const object of [plan.base, ...plan.segments]) {
    if (object === undefined) continue;
    const whole = store.objects.get(object.name) ?? new Uint8Array(0);
    const step = Math.max(1, Math.floor(whole.length / 12));
    for (let at = 0; at < whole.length; at += step) {
      const copy = store.copy();
      const flipped = Uint8Array.from(whole);
      flipped[at] = (flipped[at] ?? 0) ^ 0x10;
      copy.objects.set(object.name, flipped);
      await expect(restore(await openRepository(copy)), `byte ${at}`).rejects.toThrow(
        new RegExp(
          `backup ${second.id} cannot be restored: object ${object.name} is damaged: ` +
            `SHA-256 [0-9a-f]{64}, expected ${object.storedHash}; `,
        ),
      );
    }
  }
});

it('[history 5.27] a damaged manifest is named, with a backup that can be used', async () => {
  const { story, store, repository, first } = await twice(3);
  const [newest] = await repository.manifests();
  const name = String(newest?.name);
  store.objects.set(name, Buffer.from('{}'));
  const id = String(newest?.id);
  const why = `manifest ${name} is damaged: it does not end with its SHA-256`;
  await expect(planRestore(repository, { ...latest, backup: id })).rejects.toThrow(
    `backup ${id} cannot be restored: ${why}; the newest whole one is ${first.id}`,
  );
  // It may be of any database.
  const plan = await planRestore(repository, latest);
  expect(plan).toMatchObject({ source: { id: first.id }, passedOver: [{ id, fault: why }] });
  expect(plan.to.offset).toBeLessThan(story.end.offset);
});

it('[history 5.27] a position or a time outside is refused with what is there', async () => {
  const { story, repository } = await twice(4);
  const { end } = story;
  const from = 'offset 0 to offset';
  await expect(restore(repository, { kind: 'offset', offset: end.offset + 1 })).rejects.toThrow(
    `offset ${end.offset + 1} is outside of what the repository holds for story: ` +
      `${from} ${end.offset}`,
  );
  const epoch = 'ff'.repeat(8);
  await expect(restore(repository, { kind: 'offset', offset: 3, epoch })).rejects.toThrow(
    `position ${epoch}.3 is outside of what the repository holds for story`,
  );
  const late = 1_900_000_000_000_000;
  await expect(restore(repository, { kind: 'time', micros: late })).rejects.toThrow(
    `${rfc3339(late)} is outside of what the repository holds for story: ` +
      `${rfc3339(story.times.get(1) ?? 0)} to ${rfc3339(1_800_000_100_000_000)}`,
  );
});

it('[history 1.2, 5.25] a restore to a time has the largest commit up to it', async () => {
  const { story, repository } = await twice(5);
  for (let offset = 1; offset <= story.end.offset; offset += 4) {
    const micros = story.times.get(offset) ?? 0;
    let last = offset;
    while (story.times.get(last + 1) === micros) last++;
    const found = await restore(repository, { kind: 'time', micros });
    expect(commitsOf(found)).toEqual(story.commitsUpTo(last));
    let earlier = offset;
    while (story.times.get(earlier) === micros) earlier--;
    if (earlier === 0) continue;
    const before = await restore(repository, { kind: 'time', micros: micros - 1 });
    expect(commitsOf(before)).toEqual(story.commitsUpTo(earlier));
  }
});

it('[history 5.25] there is nothing to restore before the first commit', async () => {
  const { story, repository } = await twice(5);
  const micros = (story.times.get(1) ?? 0) - 1;
  for (const at of [
    { kind: 'offset', offset: 0 },
    { kind: 'time', micros },
  ] as const) {
    await expect(restore(repository, at)).rejects.toThrow(
      'is outside of what the repository holds',
    );
    const dry = planRestore(repository, { ...latest, at });
    await expect(dry).rejects.toThrow(/: [^1].*; it is before the first commit$/);
    await expect(dry).rejects.not.toThrow('1970');
  }
  const first = { kind: 'time', micros: micros + 1 } as const;
  const plan = await planRestore(repository, { ...latest, at: first });
  expect(plan.from.micros).toBe(micros + 1);
});

it('[history 5.6, 5.20] latest passes over a backup that is not all of the database', async () => {
  const { story, repository, first, second } = await twice(5);
  const [entry] = first.databases;
  if (entry === undefined) throw new Error('a backup has the database');
  const faulty = { ...entry, fault: 'it cannot serve' };
  const parts = { databases: [faulty], files: [], isWhole: false, program: 'test' };
  const nowMicros = 1_800_000_200_000_000;
  const { id } = await finishBackup(repository, { ...parts, nowMicros });
  const plan = await planRestore(repository, latest);
  expect(plan.source).toMatchObject({ id: second.id });
  expect(plan.to.offset).toBe(story.end.offset);
  expect(plan.passedOver).toEqual([{ id, fault: 'it cannot serve' }]);
  expect(await planRestore(repository, { ...latest, backup: id })).toMatchObject({
    fault: 'it cannot serve',
    passedOver: [],
  });
  const nothing = { ...parts, databases: [{ ...entry, segments: [], snapshots: [] }] };
  const newest = await finishBackup(repository, { ...nothing, nowMicros: nowMicros + 1_000_000 });
  expect((await planRestore(repository, latest)).passedOver).toEqual([
    { id: newest.id, fault: 'nothing of it can be restored' },
    { id, fault: 'it cannot serve' },
  ]);
});

it('[history 5.27] what is not held is unknown', async () => {
  const { repository } = await twice(6);
  await expect(planRestore(repository, { ...latest, database: 'other' })).rejects.toThrow(
    'memory holds no database other',
  );
  await expect(planRestore(repository, { ...latest, backup: '00'.repeat(6) })).rejects.toThrow(
    `memory holds no backup ${'00'.repeat(6)}; see reducerdb backup list`,
  );
});

it('[history 5.27] no space is found before the first byte', async () => {
  const { repository } = await twice(7);
  const plan = await planRestore(repository, latest);
  await withFolder(async (folder) => {
    const directory = path.join(folder, 'log');
    const freeBytes = plan.bytes - 1;
    await expect(fetchRestore(repository, plan, directory, { freeBytes })).rejects.toThrow(
      `restoring needs ${plan.bytes} bytes, ${freeBytes} bytes are free`,
    );
    expect(await readdir(folder)).toEqual([]);
  });
  expect(notEmptyError('/data').message).toBe(
    '/data is not empty; restore a host into an empty folder',
  );
});

it('[history 5.27] a disk that fills up is named, and nothing is left', async () => {
  const { repository } = await twice(7);
  const plan = await planRestore(repository, latest);
  const create = vi.spyOn(MachineFolderFiles.prototype, 'create').mockResolvedValue({
    write: () => Promise.reject(Object.assign(new Error('ENOSPC'), { code: 'ENOSPC' })),
    sync: async () => undefined,
    close: async () => undefined,
  });
  try {
    await withFolder(async (folder) => {
      await expect(fetchRestore(repository, plan, path.join(folder, 'log'))).rejects.toThrow(
        new RegExp(
          `restoring needs ${plan.bytes} bytes, \\d+ bytes are free: make room in ${folder}`,
        ),
      );
      expect(await readdir(folder)).toEqual([]);
    });
  } finally {
    create.mockRestore();
  }
});

it('[history 5.22] a restore never goes into a directory that is there', async () => {
  const { repository } = await twice(8);
  const plan = await planRestore(repository, latest);
  await withFolder(async (folder) => {
    const directory = path.join(folder, 'log');
    await mkdir(directory);
    await expect(fetchRestore(repository, plan, directory)).rejects.toThrow('EEXIST');
    expect(await readdir(folder)).toEqual(['log']);
  });
});

it('[history 5.22] a signal ends a restore, and nothing is left', async () => {
  const { repository } = await twice(9);
  const plan = await planRestore(repository, latest);
  const stop = new AbortController();
  const { signal } = stop;
  const onProgress = () => stop.abort();
  await withFolder(async (folder) => {
    const directory = path.join(folder, 'log');
    await expect(fetchRestore(repository, plan, directory, { signal, onProgress })).rejects.toThrow(
      'it was cancelled',
    );
    expect(await readdir(folder)).toEqual([]);
  });
});

it('[history 5.27] a segment that a later version wrote is refused as such', async () => {
  const { store, second } = await twice(10);
  const [name] = [...store.objects.keys()].filter((each) => each.startsWith('backups/'));
  expect(name).toBeDefined();
  store.objects.set(String(name), sealedJson({ version: 9 }));
  await expect(restore(await openRepository(store))).resolves.toBeDefined();
  for (const each of store.objects.keys()) {
    if (each.startsWith('backups/')) store.objects.set(each, sealedJson({ version: 9 }));
  }
  await expect(restore(await openRepository(store))).rejects.toThrow(
    'the manifest was written by a newer reducerdb',
  );
  expect(objectsOf(second).length).toBeGreaterThan(0);
});

it('[history 5.4] files beside the log come back with their paths', async () => {
  const repository = await storyRepository(new MemoryStore());
  const contents = new Map([
    ['static/aa', 'one'],
    ['deploys/2/program.js', 'two'],
  ]);
  const { createHash } = await import('node:crypto');
  const files = [...contents].map(([place, text]) => ({
    kind: 'file' as const,
    path: place,
    bytes: text.length,
    hash: createHash('sha256').update(text).digest('hex'),
  }));
  const entries = await shipFiles(repository, files, async function* (file) {
    yield Buffer.from(contents.get(file.path) ?? '');
  });
  const source = { kind: 'backup', id: '0', timeMicros: 0 } as const;
  await withFolder(async (folder) => {
    await fetchFiles(repository, { source, files: entries }, folder);
    expect((await readdir(folder, { recursive: true })).sort()).toEqual([
      'deploys',
      'deploys/2',
      'deploys/2/program.js',
      'static',
      'static/aa',
    ]);
  });
});

it('[history 5.4, 5.24] objects of another database are not taken for those of one', async () => {
  const story = await BackupStory.begin(31);
  await story.work(4);
  const store = new MemoryStore();
  const repository = await storyRepository(store);
  const [entry] = (await story.backup(repository, 1_000_000)).databases;
  if (entry === undefined) throw new Error('a backup has the database');
  const identity = 'ab'.repeat(32);
  const parts = { files: [], isWhole: false, program: 'test', nowMicros: 2_000_000 };
  const stolen = { ...entry, identity, record: { ...entry.record, names: ['mine'] } };
  const { id } = await finishBackup(repository, { ...parts, databases: [stolen] });
  await expect(planRestore(repository, { database: 'mine', backup: id })).rejects.toThrow(
    `its entry of ${identity} names an object of another database, objects/`,
  );
  const checked = await verifyBackup(repository, id, { depth: 'deep', nowMicros: 3_000_000 });
  expect(checked.faults).toEqual([expect.stringContaining('an object of another database')]);
  const place = { ...entry.end, identity: entry.identity, sequence: 1 };
  const heir = { ...stolen, lineage: [place] };
  const own = await finishBackup(repository, { ...parts, databases: [heir] });
  const plan = await planRestore(repository, { database: 'mine', backup: own.id });
  expect(plan.to.offset).toBe(story.end.offset);
});

it('[history 5.20] a manifest or archive that cannot be read blocks no database', async () => {
  const story = await BackupStory.begin(32);
  await story.work(4);
  const store = new MemoryStore();
  const repository = await storyRepository(store);
  await story.backup(repository, 1_000_000);
  const large = new Uint8Array(Math.max(limits.manifestBytesMax, limits.archiveStateBytesMax) + 1);
  const names = [
    'backups/20300101T000000.000Z-0123456789ab.json',
    `archive/${'cd'.repeat(32)}/0123456789abcdef.json`,
  ];
  for (const name of names) await store.put(name, large);
  const plan = await planRestore(repository, { database: 'story', backup: 'latest' });
  expect(plan.to.offset).toBe(story.end.offset);
  expect(plan.passedOver.map(({ fault }) => fault)).toEqual([
    expect.stringContaining('is larger than'),
    expect.stringContaining('is larger than'),
  ]);
  expect((await listBackups(repository)).map(({ fault }) => fault !== '')).toEqual([true, false]);
  await story.work(1);
  await story.backup(repository, 2_000_000);
  await expect(planRestore(repository, { database: 'no', backup: 'latest' })).rejects.toThrow(
    'is larger than',
  );
});

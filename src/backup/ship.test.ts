import { writeFile } from 'node:fs/promises';
import path from 'node:path';
import { gunzipSync } from 'node:zlib';
import { describe, expect, it } from 'vitest';
import {
  BackupStory,
  restoredRecords,
  storyIdentity,
  storyRecord,
  storyRepository,
  withFolder,
} from '../../test/support/backup-story.ts';
import { Killed, MemoryStore } from '../../test/support/memory-store.ts';
import { segmentSequence } from '../log/segment.ts';
import { MachineDisk } from '../node/disk.ts';
import { BackupError } from './backup-error.ts';
import { fetchFiles, fetchRestore } from './fetch.ts';
import { planRestore } from './holdings.ts';
import { localSource } from './local-source.ts';
import { objectsOf } from './manifest.ts';
import { openRepository, type Repository } from './repository.ts';
import { type ShipProgress, shipDatabase } from './ship.ts';
import { verifyBackup } from './verify.ts';

async function begin(seed: number) {
  const story = await BackupStory.begin(seed);
  const store = new MemoryStore();
  const repository = await storyRepository(store);
  await story.work(6);
  await story.snapshot();
  await story.work(4);
  return { story, store, repository };
}

async function restored(repository: Repository): Promise<readonly string[]> {
  const plan = await planRestore(repository, { database: 'story', backup: 'latest' });
  return withFolder(async (folder) => {
    await fetchRestore(repository, plan, path.join(folder, 'log'));
    return restoredRecords(path.join(folder, 'log'));
  });
}

describe('shipping', () => {
  it('[history 5.5] takes the newest snapshot and what follows, or all history', async () => {
    const { story, repository } = await begin(1);
    const files = story.disk.list();
    const short = (await story.backup(repository, 1_000_000)).databases[0];
    const long = (await story.backup(repository, 2_000_000, { withHistory: true })).databases[0];
    expect(short?.snapshots.length).toBe(1);
    const base = short?.snapshots[0];
    expect(short?.segments.every(({ sequence }) => sequence >= (base?.sequence ?? 0))).toBe(true);
    expect(long?.segments.length).toBe(story.segmentNames().length);
    expect(long?.segments.length).toBeGreaterThan(short?.segments.length ?? 0);
    expect(long?.snapshots.length).toBe(files.filter((name) => name.endsWith('.rdbs')).length);
  });

  it('[history 5.5] stores files of the log as they are, up to the end of the backup', async () => {
    const { story, store, repository } = await begin(2);
    const manifest = await story.backup(repository, 1_000_000, { withHistory: true });
    const contents = story.segmentNames().map((name) => story.disk.contentOf(name));
    manifest.databases[0]?.segments.forEach(({ name, bytes }, index) => {
      const content = gunzipSync(store.objects.get(name) ?? Buffer.alloc(0));
      const file = contents[index] ?? new Uint8Array(0);
      expect(content.length).toBe(bytes);
      expect(Buffer.compare(content, file.subarray(0, bytes))).toBe(0);
      expect(file.subarray(bytes).every((byte) => byte === 0)).toBe(true);
    });
  });

  it('[history 5.3, 5.4] a commit later it sends one segment and a manifest', async () => {
    const { story, store, repository } = await begin(3);
    await story.backup(repository, 1_000_000);
    const sent = store.written.length;
    await story.work(1);
    await story.backup(repository, 2_000_000);
    const written = store.written.slice(sent);
    expect(written.filter((name) => name.includes('/commit-')).length).toBeLessThanOrEqual(2);
    expect(written.filter((name) => !name.includes('/commit-')).length).toBe(1);
    expect(await restored(repository)).toEqual(story.records);
  });

  it('[history 5.9] killed at each operation and resumed, it sends no object twice', async () => {
    const { story, store: start } = await begin(4);
    const whole = start.copy();
    await story.backup(await openRepository(whole), 1_000_000);
    const names = [...whole.objects.keys()].filter((name) => name.startsWith('objects/')).sort();
    let isKilled = true;
    for (let at = 2; isKilled; at++) {
      const store = start.copy();
      store.stopAt(at);
      isKilled = await openRepository(store)
        .then((repository) => story.backup(repository, 1_000_000))
        .then(
          () => false,
          (error: unknown) => {
            if (!(error instanceof Killed)) throw error;
            return true;
          },
        );
      const resumed = store.copy();
      const { newObjects } = await shipAgain(story, resumed);
      const left = [...store.objects.keys()].filter((name) => name.startsWith('objects/')).length;
      expect(newObjects).toBe(names.length - left);
      for (const name of names) {
        expect(Buffer.compare(bytesOf(resumed, name), bytesOf(whole, name))).toBe(0);
      }
    }
  });

  it('[history 5.3, 5.4] goes by the snapshot that is stored, not by one taken again', async () => {
    const { story, repository } = await begin(8);
    await story.snapshot();
    await story.log.roll();
    await story.backup(repository, 1_000_000);
    // As an earlier version did: another file of the same name, in which the log goes on later.
    await story.snapshot();
    for (let time = 2; time < 5; time++) {
      const { id } = await story.backup(repository, time * 1_000_000);
      const options = { depth: 'read', nowMicros: time * 1_000_000 } as const;
      expect((await verifyBackup(repository, id, options)).faults).toEqual([]);
      expect(await restored(repository)).toEqual(story.records);
      await story.work(1);
    }
    // What is before the snapshot was forgotten.
    const base = (await story.source()).objects.findLast(({ kind }) => kind === 'snapshot');
    const sequence = base?.sequence ?? 0;
    for (const name of story.segmentNames()) {
      if ((segmentSequence(name) ?? 0) < sequence) story.disk.remove(name);
    }
    const { databases } = await story.backup(repository, 5_000_000);
    expect(databases[0]?.segments[0]?.sequence).toBe(sequence);
    expect(await restored(repository)).toEqual(story.records);
  });

  it('[history 5.9] two backups at once into one repository are both whole', async () => {
    const { story, repository } = await begin(5);
    await Promise.all([1, 2, 3].map((at) => story.backup(repository, at * 1_000_000)));
    expect((await repository.manifests()).length).toBe(3);
    expect(await restored(repository)).toEqual(story.records);
  });

  it('[history 5.9] copies of a data folder that have diverged are distinguished', async () => {
    const { story, repository } = await begin(6);
    const copy = await story.copy(60);
    await story.work(20);
    await copy.work(20);
    await story.backup(repository, 1_000_000, { withHistory: true });
    const before = await restored(repository);
    let isRefused = false;
    for (let round = 0; round < 30 && !isRefused; round++) {
      await copy.work(1);
      isRefused = await copy.backup(repository, 2_000_000 + round).then(
        () => false,
        (error: unknown) => {
          expect(String(error)).toContain('memory holds other content under the name objects/');
          return true;
        },
      );
      if (!isRefused) expect(await restored(repository)).toEqual(copy.records);
    }
    expect(before).toEqual(story.records);
  });

  it('[history 5.9] what a run has left is compared with the content', async () => {
    const { story, store, repository } = await begin(7);
    await shipDatabase(repository, await story.source());
    const names = [...store.objects.keys()].filter((name) => name.startsWith('objects/'));
    const name = String(names.find((each) => each.includes('/commit-')));
    const bytes = Uint8Array.from(bytesOf(store, name));
    bytes[bytes.length - 12] = (bytes[bytes.length - 12] ?? 0) ^ 1;
    store.objects.set(name, bytes);
    await expect(story.backup(repository, 1_000_000)).rejects.toThrow(
      `memory holds other content under the name ${name}`,
    );
    expect(await repository.manifests()).toEqual([]);
  });

  it('[history 5.5, I10] a flipped bit in a file of the log ends the backup', async () => {
    const { story, store } = await begin(8);
    const source = await story.source();
    for (const object of source.objects) {
      const step = Math.ceil(object.bytes / 25);
      for (let at = 0; at < object.bytes; at += step) {
        const damaged = {
          ...source,
          read: (each: Parameters<typeof source.read>[0]) =>
            each === object ? flippedAt(source.read(each), at) : source.read(each),
        };
        const copy = store.copy();
        const repository = await openRepository(copy);
        const shipping = shipDatabase(repository, damaged, { withHistory: true });
        await expect(shipping, `${object.file} at ${at}`).rejects.toThrow(BackupError);
        expect(copy.objects.has(repository.objectName(object.base))).toBe(false);
      }
    }
  });

  it('[history 5.5] a missing segment is named', async () => {
    const { story, repository } = await begin(9);
    const [, second] = story.segmentNames();
    story.disk.remove(String(second));
    await expect(story.backup(repository, 1, { withHistory: true })).rejects.toThrow(
      'cannot be backed up: segment 2 is missing',
    );
  });

  it('[history 5.26] progress grows to the whole, and a signal ends it', async () => {
    const { story, repository } = await begin(10);
    const seen: ShipProgress[] = [];
    await story.backup(repository, 1_000_000, { onProgress: (one) => seen.push(one) });
    const last = seen.at(-1);
    expect(last?.objectsDone).toBe(last?.objectsTotal);
    expect(last?.bytesDone).toBe(last?.bytesTotal);
    expect(seen.every(({ bytesDone }, at) => bytesDone >= (seen[at - 1]?.bytesDone ?? 0))).toBe(
      true,
    );
    const stop = new AbortController();
    await story.work(3);
    const { signal } = stop;
    const onProgress = () => stop.abort();
    await expect(story.backup(repository, 2, { signal, onProgress })).rejects.toThrow(
      'it was cancelled',
    );
    expect((await repository.manifests()).length).toBe(1);
  });
});

it('[history 5.4] files of a database are shipped once, whatever they are called', () =>
  withFolder(async (folder) => {
    const { story, store, repository } = await begin(11);
    const disk = new MachineDisk(folder);
    for (const name of story.disk.list()) {
      const file = disk.open(name, 'create');
      file.write(story.disk.contentOf(name), 0);
      file.close();
    }
    for (const name of ['one', 'two']) await writeFile(path.join(folder, `${name}.kept`), 'same');
    const files = ['one', 'two'].map((name) => {
      return { path: `deploys/${name}`, file: path.join(folder, `${name}.kept`) };
    });
    const { end } = story;
    const database = { identity: storyIdentity, record: storyRecord, end, lineage: [], files };
    const source = await localSource({ ...database, directory: folder });
    const { entry } = await shipDatabase(repository, source);
    expect(entry.files.map((file) => file.path)).toEqual(['deploys/one', 'deploys/two']);
    expect(new Set(entry.files.map(({ name }) => name)).size).toBe(1);
    expect([...store.objects.keys()].filter((name) => name.includes('/files/')).length).toBe(1);
    const backup = { kind: 'backup', id: '0', timeMicros: 0 } as const;
    await fetchFiles(repository, { source: backup, files: entry.files }, folder);
    expect(objectsOf({ databases: [entry], files: [] }).length).toBeGreaterThan(2);
  }));

async function shipAgain(story: BackupStory, store: MemoryStore) {
  return shipDatabase(await openRepository(store), await story.source());
}

function bytesOf(store: MemoryStore, name: string): Uint8Array {
  return store.objects.get(name) ?? new Uint8Array(0);
}

async function* flippedAt(
  content: AsyncIterable<Uint8Array>,
  position: number,
): AsyncIterable<Uint8Array> {
  let at = 0;
  for await (const piece of content) {
    const copy = Uint8Array.from(piece);
    const index = position - at;
    if (index >= 0 && index < copy.length) copy[index] = (copy[index] ?? 0) ^ 8;
    at += copy.length;
    yield copy;
  }
}

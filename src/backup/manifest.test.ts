import { expect, it } from 'vitest';
import { BackupStory, storyRepository } from '../../test/support/backup-story.ts';
import { MemoryStore } from '../../test/support/memory-store.ts';
import { BackupError } from './backup-error.ts';
import { JsonFault, type JsonObject, openSealedJson, sealedJson } from './checked-json.ts';
import { finishBackup } from './finish-backup.ts';
import { encodeManifest, objectsOf, readManifest } from './manifest.ts';

async function backedUp() {
  const story = await BackupStory.begin(3);
  const store = new MemoryStore();
  const repository = await storyRepository(store);
  await story.work(8);
  await story.snapshot();
  await story.work(3);
  const manifest = await story.backup(repository, 1_700_000_000_123_456);
  return { story, store, repository, manifest };
}

it('[history 5.4] a manifest names objects with their hashes, and is written last', async () => {
  const { store, manifest } = await backedUp();
  expect(store.written.at(-1)).toBe(`backups/20231114T221320.123Z-${manifest.id}.json`);
  const names = objectsOf(manifest).map(({ name }) => name);
  expect(store.written.slice(1, -1).sort()).toEqual(names.sort());
  for (const { name, storedBytes } of objectsOf(manifest)) {
    expect(store.objects.get(name)?.length).toBe(storedBytes);
  }
  expect(readManifest(encodeManifest(manifest))).toEqual(manifest);
});

it('[history 5.4] a manifest with any byte changed is refused', async () => {
  const { manifest } = await backedUp();
  const bytes = encodeManifest(manifest);
  for (let at = 0; at < bytes.length; at++) {
    const flipped = Uint8Array.from(bytes);
    flipped[at] = (flipped[at] ?? 0) ^ 1;
    expect(() => readManifest(flipped), `byte ${at}`).toThrow();
  }
  for (let length = 0; length < bytes.length; length += 7) {
    expect(() => readManifest(bytes.subarray(0, length)), `${length} bytes`).toThrow();
  }
});

it('[history 5.4] a manifest is read strictly, although its SHA-256 is right', async () => {
  const { manifest } = await backedUp();
  const members = openSealedJson(encodeManifest(manifest));
  const refused = (change: JsonObject, text: RegExp): void => {
    const bytes = sealedJson({ ...members, ...change });
    expect(() => readManifest(bytes)).toThrow(JsonFault);
    expect(() => readManifest(bytes)).toThrow(text);
  };
  refused({ extra: 1 }, /manifest has a member "extra", which is not known/);
  refused({ id: 'AB'.repeat(6) }, /manifest.id is not 12 lower-case hexadecimal digits/);
  refused({ timeMicros: -1 }, /manifest.timeMicros is not a whole number/);
  refused({ timeMicros: 1.5 }, /manifest.timeMicros is not a whole number/);
  refused({ isWhole: 'yes' }, /manifest.isWhole is not true or false/);
  refused({ databases: {} }, /manifest.databases is not a list/);
  const file = { name: 'objects/host/aa.gz', storedBytes: 1, bytes: 1 };
  const hashes = { storedHash: '0'.repeat(64), hash: '0'.repeat(64) };
  const withPath = (path: string) => ({ files: [{ ...file, ...hashes, path }] });
  refused(withPath('../keys'), /files\[0\].path leads out of the folder/);
  refused(withPath('/etc/passwd'), /files\[0\].path leads out of the folder/);
  for (const path of ['log-1/floor', 'replaced-2/origin', 'databases/a/log-1/x', 'registry/x']) {
    refused(withPath(path), /files\[0\].path leads out of the folder or into a log/);
  }
  refused(withPath('a//b'), /files\[0\].path leads out of the folder/);
  const named = { ...file, ...hashes, path: 'a', name: '../a' };
  refused({ files: [named] }, /"..\/a" is not a name of an object/);
});

it('[history 5.4] a later version is named as such', async () => {
  const { manifest } = await backedUp();
  const bytes = sealedJson({ ...openSealedJson(encodeManifest(manifest)), version: 2 });
  expect(() => readManifest(bytes)).toThrow(BackupError);
  expect(() => readManifest(bytes)).toThrow('the manifest was written by a newer reducerdb');
});

it('[history 5.4] no manifest is written that names an object which is not there', async () => {
  const { store, repository, manifest } = await backedUp();
  const name = String(objectsOf(manifest)[0]?.name);
  store.objects.delete(name);
  const before = store.objects.size;
  const parts = { databases: manifest.databases, files: [], isWhole: false, program: 'test' };
  await expect(finishBackup(repository, { ...parts, nowMicros: 1 })).rejects.toThrow(
    `memory: object ${name} is missing; run the backup again`,
  );
  expect(store.objects.size).toBe(before);
});

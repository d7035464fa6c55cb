import { mkdir, writeFile } from 'node:fs/promises';
import path from 'node:path';
import { expect, it } from 'vitest';
import {
  BackupStory,
  storyIdentity,
  storyRecord,
  storyRepository,
  withFolder,
} from '../../../test/support/backup-story.ts';
import { MemoryStore } from '../../../test/support/memory-store.ts';
import { newIdentity } from '../../backup/encryption.ts';
import { listBackups } from '../../backup/list.ts';
import { bigintToHex } from '../../values/hex.ts';
import type { BackedUpDatabase, CreateWork } from './backup-messages.ts';
import { createBackup } from './create-backup.ts';

it('[history 5.10, 5.11] nothing is written for recipients that are not named', async () => {
  const [own, other] = [await newIdentity(), await newIdentity()];
  const store = new MemoryStore();
  const repository = await storyRepository(store, { recipients: [other.recipient] });
  const written = store.written.length;
  const work: CreateWork = {
    ...{ kind: 'create', databases: [], files: [], isWhole: true },
    ...{ withHistory: false, program: 'test' },
    hasKeys: false,
  };
  const around = { signal: new AbortController().signal, report: () => undefined };
  const create = (recipients: string[], hasKeys: boolean) =>
    createBackup(repository, { ...work, hasKeys }, { ...around, recipients });
  const others = `it encrypts to ${other.recipient}, it does not encrypt to ${own.recipient}`;
  await expect(create([own.recipient], false)).rejects.toThrow(others);
  await expect(create([], true)).rejects.toThrow('only backed up to recipients that config.toml');
  expect(store.written.length).toBe(written);
  await create([other.recipient], true);
  expect(store.written.length).toBe(written + 1);
});

it('[history 5.6] a database that cannot be read is named, and the others are there', async () => {
  const story = await BackupStory.begin(1);
  await story.work(4);
  await withFolder(async (folder) => {
    const directory = path.join(folder, 'log');
    await mkdir(directory);
    for (const name of story.disk.list()) {
      const file = story.disk.open(name, 'read');
      const bytes = new Uint8Array(1_000_000);
      await writeFile(path.join(directory, name), bytes.subarray(0, file.read(bytes, 0)));
    }
    const rest = { record: storyRecord, files: [], isForeign: false };
    const whole: BackedUpDatabase = {
      ...{ ...rest, identity: storyIdentity, directory },
      end: { kind: 'sealed', at: story.end },
    };
    const opening: BackedUpDatabase = {
      ...{ ...rest, identity: bigintToHex(8n, 64), directory: path.join(folder, 'none') },
      end: { kind: 'files', fault: 'it was still opening' },
    };
    const behind: BackedUpDatabase = {
      ...{ ...rest, identity: bigintToHex(9n, 64), directory },
      end: { kind: 'offset', offset: 1_000 },
    };
    const work: CreateWork = {
      ...{ kind: 'create', databases: [opening, behind, whole], files: [], hasKeys: false },
      ...{ isWhole: true, withHistory: false, program: 'test' },
    };
    const repository = await storyRepository(new MemoryStore());
    const running = {
      recipients: [],
      signal: new AbortController().signal,
      report: () => undefined,
    };
    const created = await createBackup(repository, work, running);
    const faults = created.databases.map(({ fault }) => fault);
    expect(faults).toEqual([
      expect.stringContaining('it was still opening; '),
      expect.stringContaining('holds no log that can be read'),
      '',
    ]);
    expect(created.databases[2]?.end.offset).toBe(story.end.offset);
    const [listed] = await listBackups(repository);
    expect(listed?.databases.map(({ fault }) => fault)).toEqual(faults);
    await expect(createBackup(repository, { ...work, isWhole: false }, running)).rejects.toThrow(
      'story: its files cannot be read',
    );
  });
});

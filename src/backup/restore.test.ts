import path from 'node:path';
import { expect, it } from 'vitest';
import {
  BackupStory,
  commitsOf,
  restoredRecords,
  storyRepository,
  withFolder,
} from '../../test/support/backup-story.ts';
import { MemoryStore } from '../../test/support/memory-store.ts';
import { fetchRestore } from './fetch.ts';
import { planRestore } from './holdings.ts';

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
    for (let offset = 0; offset <= end.offset; offset++) {
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

import { expect, it } from 'vitest';
import { BackupStory, storyRepository } from '../../../test/support/backup-story.ts';
import { MemoryStore } from '../../../test/support/memory-store.ts';
import { verifyBackup } from '../../backup/verify.ts';
import { replayPlan } from './replay-plan.ts';

it('[history 5.18] a deep check replays the records, not only their checksums', async () => {
  // The records of a story are whole, and in order, but lead to no state of a database.
  const story = await BackupStory.begin(1);
  await story.work(4);
  const repository = await storyRepository(new MemoryStore());
  const nowMicros = 1_800_000_000_000_000;
  const { id } = await story.backup(repository, nowMicros);
  const check = (depth: 'read' | 'deep') =>
    verifyBackup(repository, id, {
      ...{ depth, nowMicros },
      replay: (plan) => replayPlan(repository, plan),
    });
  expect((await check('read')).faults).toEqual([]);
  expect((await check('deep')).faults).toEqual([
    expect.stringMatching(/cannot be replayed: \S+: /),
  ]);
});

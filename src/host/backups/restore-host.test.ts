import { readdirSync } from 'node:fs';
import path from 'node:path';
import { expect, it } from 'vitest';
import {
  BackupStory,
  restoredRecords,
  storyIdentity,
  storyRecord,
  storyRepository,
  withFolder,
} from '../../../test/support/backup-story.ts';
import { MemoryStore } from '../../../test/support/memory-store.ts';
import { finishBackup } from '../../backup/finish-backup.ts';
import { shipDatabase } from '../../backup/ship.ts';
import { bigintToHex } from '../../values/hex.ts';
import { planHost, restoreHost } from './restore-host.ts';

it('[history 5.6, 5.20] one that cannot be restored is named, others are there', async () => {
  const story = await BackupStory.begin(1);
  await story.work(2);
  await story.snapshot();
  await story.work(2);
  const repository = await storyRepository(new MemoryStore());
  const shipped = await shipDatabase(repository, await story.source());
  const record = { ...storyRecord, more: { generation: 1 } };
  const whole = { ...shipped.entry, record };
  const identity = bigintToHex(8n, 64);
  const none = { snapshots: [], segments: [] };
  const bad = { ...whole, identity, record: { ...record, names: ['bad'] }, ...none };
  const third = bigintToHex(9n, 64);
  const foreign = { ...whole, identity: third, record: { ...record, names: ['foreign'] } };
  const parts = {
    databases: [bad, foreign, whole],
    files: [],
    program: 'test',
    nowMicros: 1_000_000,
  };
  await finishBackup(repository, { ...parts, isWhole: true });
  await withFolder(async (folder) => {
    const directory = path.join(folder, 'host');
    const order = { backup: 'latest', directory, runsSchedules: true, show: () => undefined };
    const plan = await planHost(repository, order);
    const leftOut = [
      { identity, names: ['bad'], reason: expect.stringContaining('no state') },
      { identity: third, names: ['foreign'], reason: expect.stringContaining('another database') },
    ];
    expect(plan.leftOut).toEqual(leftOut);
    expect(await restoreHost(repository, plan, order)).toEqual(leftOut);
    expect(readdirSync(path.join(directory, 'databases'))).toEqual([storyIdentity]);
    const log = path.join(directory, 'databases', storyIdentity, 'log-1');
    expect(await restoredRecords(log)).toEqual(story.records);
  });
});

it('[history 5.6, 5.20] plans what a backup of a host has, and refuses a place', async () => {
  const story = await BackupStory.begin(1);
  await story.work(4);
  const repository = await storyRepository(new MemoryStore());
  const [entry] = (await story.backup(repository, 1_800_000_000_000_000)).databases;
  if (entry === undefined) throw new Error('a backup has the database');
  const whole = { ...entry, record: { ...entry.record, more: { generation: 1 } } };
  const nothing = { ...whole, snapshots: [], segments: [], fault: 'it was still opening' };
  const parts = { databases: [whole, nothing], files: [], isWhole: true, program: 'test' };
  await finishBackup(repository, { ...parts, nowMicros: 1_800_000_100_000_000 });
  await withFolder(async (folder) => {
    const order = { backup: 'latest', directory: path.join(folder, 'host') };
    const { plans, manifest } = await planHost(repository, order);
    expect(plans.map(({ plan }) => plan.to.offset)).toEqual([story.end.offset]);
    expect(manifest.databases.map(({ fault }) => fault)).toEqual(['', 'it was still opening']);
    await expect(planHost(repository, { ...order, at: '5' })).rejects.toThrow(
      'a whole host is restored as it was when it was backed up, without --at',
    );
  });
});

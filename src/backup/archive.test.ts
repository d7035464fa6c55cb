import path from 'node:path';
import { describe, expect, it } from 'vitest';
import {
  archiveSource,
  BackupStory,
  commitsOf,
  restoredRecords,
  storyIdentity,
  storyRepository,
  withFolder,
} from '../../test/support/backup-story.ts';
import { MemoryStore } from '../../test/support/memory-store.ts';
import { limits } from '../limits.ts';
import { Random } from '../testing/random.ts';
import { DatabaseArchive } from './archive.ts';
import { type ArchiveState, listArchives, readArchiveState } from './archive-state.ts';
import { fetchRestore } from './fetch.ts';
import { planRestore } from './holdings.ts';
import { openRepository, type Repository } from './repository.ts';

const host = 'aa'.repeat(16);

async function begin(seed: number) {
  const story = await BackupStory.begin(seed);
  const store = new MemoryStore();
  const repository = await storyRepository(store);
  return { story, store, repository, archive: new DatabaseArchive(repository, host) };
}

let now = 2_000_000_000_000_000;

function pass(archive: DatabaseArchive, story: BackupStory) {
  now += 10_000_000;
  return archive.pass(archiveSource(story), { nowMicros: now });
}

async function restored(repository: Repository, offset?: number) {
  const at = offset === undefined ? undefined : ({ kind: 'offset', offset } as const);
  const plan = await planRestore(repository, { database: 'story', backup: 'latest', at });
  return withFolder(async (folder) => {
    const directory = path.join(folder, 'log');
    const fetched = await fetchRestore(repository, plan, directory);
    return { at: fetched.at, records: await restoredRecords(directory) };
  });
}

async function states(repository: Repository): Promise<ArchiveState[]> {
  const found: ArchiveState[] = [];
  for (const name of await listArchives(repository, storyIdentity)) {
    const state = await readArchiveState(repository, name);
    if (state !== undefined) found.push(state);
  }
  return found;
}

describe('an archive', () => {
  it('[history 5.12] reaches the durable end after each pass, and restores to it', async () => {
    const { story, store, repository, archive } = await begin(1);
    for (let round = 0; round < 40; round++) {
      await story.work(1);
      if (round === 20) await story.snapshot();
      const report = await pass(archive, story);
      expect(report.end).toEqual(story.end);
      expect(report.lagBytes).toBe(0);
      if (round % 8 === 7) {
        const { at, records } = await restored(repository);
        expect(at.offset).toBe(story.end.offset);
        expect(records).toEqual(story.records);
      }
    }
    const [state] = await states(repository);
    const sequences = state?.tails.map(({ sequence }) => sequence) ?? [];
    expect(new Set(sequences).size).toBeLessThanOrEqual(1);
    const names = [...store.objects.keys()].filter((name) => name.includes('/tail-'));
    expect(names.sort()).toEqual(state?.tails.map(({ name }) => name).sort());
  });

  it('[history 5.12] restores each commit that it has', async () => {
    const { story, repository, archive } = await begin(2);
    for (let round = 0; round < 8; round++) {
      await story.work(1);
      await pass(archive, story);
    }
    for (let offset = 1; offset <= story.end.offset; offset += 3) {
      const { at, records } = await restored(repository, offset);
      expect(at.offset).toBe(offset);
      expect(commitsOf(records)).toEqual(story.commitsUpTo(offset));
    }
  });

  it('[history 1.2, 5.12, 5.25] restores the commit of any time, tails included', async () => {
    const { story, repository, archive } = await begin(12);
    for (let round = 0; round < 10; round++) {
      await story.work(1);
      if (round === 4) await story.snapshot();
      await pass(archive, story);
    }
    const random = new Random(12);
    const first = story.times.get(1) ?? 0;
    const last = story.times.get(story.end.offset) ?? 0;
    for (let count = 0; count < 12; count++) {
      const micros = first + random.below(last - first + 10_000_000);
      let expected = 0;
      for (const [offset, time] of story.times) if (time <= micros) expected = offset;
      const at = { kind: 'time', micros } as const;
      const plan = await planRestore(repository, { database: 'story', backup: 'latest', at });
      await withFolder(async (folder) => {
        const directory = path.join(folder, 'log');
        expect((await fetchRestore(repository, plan, directory)).at.offset).toBe(expected);
        const records = await restoredRecords(directory);
        expect(commitsOf(records)).toEqual(story.commitsUpTo(expected));
      });
    }
  });

  it('[history 5.12] joins many tails of a segment into one', async () => {
    const story = await BackupStory.begin(3, 1_000_000);
    const store = new MemoryStore();
    const repository = await storyRepository(store);
    const archive = new DatabaseArchive(repository, host);
    let most = 0;
    for (let round = 0; round < limits.archiveTailsMax + 8; round++) {
      await story.work(1);
      await pass(archive, story);
      const [state] = await states(repository);
      most = Math.max(most, state?.tails.length ?? 0);
    }
    expect(most).toBe(limits.archiveTailsMax);
    expect((await states(repository))[0]?.tails.length).toBe(8);
    expect((await restored(repository)).records).toEqual(story.records);
  });

  it('[history 5.12] asks nothing for a database without commits, but now and then', async () => {
    const { story, store, repository, archive } = await begin(4);
    await story.work(3);
    await pass(archive, story);
    const before = store.operationCount;
    for (let round = 0; round < 5; round++) {
      expect((await pass(archive, story)).end).toEqual(story.end);
    }
    expect(store.operationCount).toBe(before);
    now += limits.archiveConfirmMillis * 1000;
    await pass(archive, story);
    const [state] = await states(repository);
    expect(state?.confirmedMicros).toBe(now);
    expect(state?.end).toEqual(story.end);
  });

  it('[history 5.22] is restored although passes delete what a plan names', async () => {
    const { story, repository, archive } = await begin(13);
    for (let round = 0; round < 4; round++) {
      await story.work(1);
      await pass(archive, story);
    }
    for (let round = 0; round < 3; round++) {
      const offset = story.end.offset;
      const ends = { kind: 'end' } as const;
      for (const at of [ends, { kind: 'offset', offset } as const]) {
        const plan = await planRestore(repository, { database: 'story', backup: 'latest', at });
        // The segment is sealed between the plan and the fetch, and its tails are deleted.
        await story.work(6);
        await pass(archive, story);
        await withFolder(async (folder) => {
          const directory = path.join(folder, 'log');
          const fetched = await fetchRestore(repository, plan, directory);
          const expected = at.kind === 'end' ? story.end.offset : offset;
          expect(fetched.at.offset).toBe(expected);
          const records = await restoredRecords(directory);
          expect(commitsOf(records)).toEqual(story.commitsUpTo(expected));
        });
      }
      await story.work(1);
      await pass(archive, story);
    }
  });

  it('[history 5.22] is restored although a pass comes in the middle of the fetch', async () => {
    const { story, store, repository, archive } = await begin(14);
    await story.work(12);
    await pass(archive, story);
    await story.work(1);
    await pass(archive, story);
    const plan = await planRestore(repository, { database: 'story', backup: 'latest' });
    let isPassed = false;
    const changing = Object.create(store, {
      get: {
        value: async function* (name: string) {
          if (!isPassed && name.includes('/tail-')) {
            isPassed = true;
            await story.work(8);
            await pass(archive, story);
          }
          yield* store.get(name);
        },
      },
    }) as typeof store;
    await withFolder(async (folder) => {
      const directory = path.join(folder, 'log');
      const { at } = await fetchRestore(await openRepository(changing), plan, directory);
      expect(isPassed).toBe(true);
      expect(at.offset).toBe(story.end.offset);
      expect(await restoredRecords(directory)).toEqual(story.records);
    });
  });

  it('[history 5.13] begins with a snapshot, and takes another one when it is due', async () => {
    const { story, repository, archive } = await begin(5);
    await story.work(5);
    await story.snapshot();
    await story.work(2);
    await pass(archive, story);
    const [state] = await states(repository);
    expect(state?.snapshots.length).toBe(1);
    const base = state?.snapshots[0]?.at.position ?? 0;
    expect(state?.segments.filter(({ to }) => to.position < base)).toEqual([]);
    await story.snapshot();
    const { needsSnapshot } = await pass(archive, story);
    expect(needsSnapshot).toBe(false);
    expect((await states(repository))[0]?.snapshots.length).toBe(1);
    story.laterMicros += limits.archiveBaseMillisMax * 1000 + 1;
    await story.work(1);
    expect((await pass(archive, story)).needsSnapshot).toBe(false);
    expect((await states(repository))[0]?.snapshots.length).toBe(2);
    expect((await restored(repository)).records).toEqual(story.records);
  });

  it('[history 5.14] has a gap where the log was deleted, which a restore names', async () => {
    const { story, repository, archive } = await begin(6);
    await story.work(3);
    await pass(archive, story);
    const first = story.end;
    expect(archive.holdFrom(first)).toBe(first.offset + 1);
    await story.work(12);
    expect(archive.holdFrom(story.end)).toBe(first.offset + 1);
    expect(archive.holdFrom(story.end, 100)).toBeUndefined();
    const deleted = story.segmentNames().slice(0, -1);
    for (const name of deleted) story.disk.remove(name);
    expect((await pass(archive, story)).needsSnapshot).toBe(true);
    await story.work(4);
    await story.snapshot();
    const at = story.end.offset;
    await story.work(4);
    const report = await pass(archive, story);
    expect(report.gap).toEqual({ after: first.offset, until: at });
    expect((await restored(repository)).records).toEqual(story.records);
    expect((await restored(repository, first.offset)).at.offset).toBe(first.offset);
    await expect(restored(repository, first.offset + 1)).rejects.toThrow(
      `offset ${first.offset + 1} is outside of what the repository holds for story: ` +
        `offset 0 to offset ${story.end.offset}, without offset ${first.offset} to offset ${at}`,
    );
  });

  it('[history 5.15] an old copy of a data folder gets a line of its own', async () => {
    const { story, repository, archive } = await begin(7);
    await story.work(5);
    await pass(archive, story);
    const copy = await story.copy(70);
    await story.work(5);
    await pass(archive, story);
    const records = [...story.records];
    await copy.work(7);
    const ofCopy = new DatabaseArchive(repository, host);
    const report = await pass(ofCopy, copy);
    expect(report).toMatchObject({ line: 2, isNewLine: true });
    await copy.work(7);
    expect(await pass(ofCopy, copy)).toMatchObject({ line: 2, isNewLine: false });
    const all = await states(repository);
    expect(all.map(({ line }) => line).sort()).toEqual([1, 2]);
    // The living one goes on in its line, also after a restart.
    await story.work(1);
    const again = await pass(new DatabaseArchive(repository, host), story);
    expect(again).toMatchObject({ line: 1, isNewLine: false, end: story.end });
    const offset = all.find(({ line }) => line === 1)?.end.offset ?? 0;
    const found = await restored(repository, offset);
    expect(commitsOf(found.records)).toEqual(commitsOf(records));
  });

  it('[history 5.15] a log that has lost its end goes on in a line of its own', async () => {
    const { story, repository, archive } = await begin(8);
    await story.work(5);
    const earlier = await story.copy(80);
    await story.work(1);
    await pass(archive, story);
    const report = await pass(archive, earlier);
    expect(report).toMatchObject({ line: 2, isNewLine: true, end: earlier.end });
    expect((await states(repository)).length).toBe(2);
  });

  it('[history 5.16] a second service stops when another one is further', async () => {
    const { story, repository, archive } = await begin(9);
    await story.work(3);
    const copy = await story.copy(90);
    await story.work(3);
    await pass(archive, story);
    await copy.work(1);
    const other = new DatabaseArchive(repository, 'bb'.repeat(16));
    await expect(pass(other, copy)).rejects.toThrow(
      `another service, ${host}, has archived database ${storyIdentity} up to offset`,
    );
    expect((await states(repository)).length).toBe(1);
    await story.work(1);
    expect((await pass(archive, story)).end).toEqual(story.end);
  });

  it('[history 5.16] of two services, the one that is behind stops', async () => {
    const { story, repository, archive } = await begin(10);
    await story.work(3);
    const copy = await story.copy(100);
    await pass(archive, story);
    await copy.work(2);
    const other = new DatabaseArchive(repository, 'bb'.repeat(16));
    expect((await pass(other, copy)).line).toBe(1);
    await story.work(1);
    await expect(pass(archive, story)).rejects.toThrow('another service');
  });

  it('[history 5.16] a restored host does not write into the archive of a living one', async () => {
    const { story, repository, archive } = await begin(15);
    await story.work(3);
    await pass(archive, story);
    const left = { ...story.end, identity: storyIdentity, sequence: 1 };
    const copy = await story.copy(110);
    await copy.work(2);
    const other = new DatabaseArchive(repository, 'bb'.repeat(16));
    const restoredPass = (nowMicros: number) => {
      const source = archiveSource(copy);
      const end = { ...source.end, epoch: 'ee'.repeat(8) };
      return other.pass({ ...source, end, lineage: [left] }, { nowMicros });
    };
    // The living one has said a moment ago that it is up to date.
    await expect(restoredPass(now)).rejects.toThrow('name another repository under [archive] here');
    const later = now + 2 * limits.archiveConfirmMillis * 1000;
    // It has gone on behind the place at which the copy was restored.
    await story.work(1);
    await pass(archive, story);
    await expect(restoredPass(later * 2)).rejects.toThrow(`another service, ${host}, has archived`);
    expect((await states(repository)).length).toBe(1);
    // One that ended where the copy begins is followed.
    left.position = story.end.position;
    expect((await restoredPass(later * 2)).line).toBe(1);
    expect((await states(repository)).length).toBe(2);
  });

  it('[history 1.3, 5.12] never reaches further than what is durable', async () => {
    const { story, archive } = await begin(11);
    await story.work(4);
    const durable = story.end;
    story.append(5);
    story.log.write();
    const report = await archive.pass(archiveSource(story, durable), { nowMicros: now });
    expect(report.end).toEqual(durable);
  });
});

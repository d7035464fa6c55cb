import { describe, expect, it } from 'vitest';
import {
  clientsIn,
  createTiny,
  namesIn,
  openTiny,
  putName,
  tinyDatabase,
} from '../../test/support/tiny-database.ts';
import { AssertionError } from '../assert.ts';
import { limits } from '../limits.ts';
import { MemoryDisk } from '../node/memory-disk.ts';
import { Random } from '../testing/random.ts';
import { SimulatedDisk } from '../testing/simulated-disk.ts';
import { TestClock } from '../testing/test-clock.ts';
import { Refusal } from './outcome.ts';

const settled = () => new Promise((resolve) => setTimeout(resolve, 20));

async function tinyOn(disk: SimulatedDisk, reports: string[] = []) {
  const database = tinyDatabase(disk, createTiny, undefined, reports);
  await database.started();
  return database;
}

/** A disk that gets the writes of turns only, without the mark that follows each second. */
function diskOfTurns(): SimulatedDisk {
  const disk = new SimulatedDisk();
  disk.isLasting = false;
  return disk;
}

/** Blocks the syncs of a disk until `release` is called. */
function holdSyncs(disk: SimulatedDisk): { release: () => void } {
  let release = (): void => undefined;
  const gate = new Promise<void>((resolve) => {
    release = resolve;
  });
  disk.beforeSync = () => gate;
  return { release };
}

describe('a turn', () => {
  it('[durability 2.2] is one write and one sync, however many calls it has', async () => {
    const disk = diskOfTurns();
    const database = await tinyOn(disk);
    const before = { ...Object.fromEntries(disk.counts) };
    await Promise.all(Array.from({ length: 100 }, (_, at) => putName(database, `n${at}`)));
    expect((disk.counts.get('sync') ?? 0) - (before.sync ?? 0)).toBe(1);
    expect((disk.counts.get('write') ?? 0) - (before.write ?? 0)).toBe(1);
    await database.close();
  });

  it('[durability 2.2, P5] is taken while a sync is in flight; the next covers all', async () => {
    const disk = new SimulatedDisk();
    const database = await tinyOn(disk);
    const { release } = holdSyncs(disk);
    const confirmed: string[] = [];
    const put = async (name: string, isConfirmed: boolean) => {
      await putName(database, name, isConfirmed);
      confirmed.push(name);
    };
    const first = put('held', true);
    await settled();
    const syncs = disk.counts.get('sync') ?? 0;
    for (const name of ['a', 'b', 'c']) await put(name, false);
    const later = put('held too', true);
    await settled();
    expect(confirmed).toEqual(['a', 'b', 'c']);
    expect(database.statistics().offset).toBeGreaterThan(database.statistics().durableOffset);
    release();
    await Promise.all([first, later]);
    expect(confirmed).toEqual(['a', 'b', 'c', 'held', 'held too']);
    expect((disk.counts.get('sync') ?? 0) - syncs).toBeLessThanOrEqual(2);
    await settled();
    expect(database.statistics().durableOffset).toBe(database.statistics().offset);
    await database.close();
  });

  it('[durability 2.2] with one waiting caller is synced at once by a quick disk', async () => {
    const disk = new SimulatedDisk();
    const database = await tinyOn(disk);
    // A background sync would never end.
    const { release } = holdSyncs(disk);
    disk.isQuick = true;
    await putName(database, 'waits', true);
    expect(database.statistics().durableOffset).toBe(database.statistics().offset);
    const before = disk.counts.get('sync') ?? 0;
    await putName(database, 'does not wait', false);
    await settled();
    expect((disk.counts.get('sync') ?? 0) - before).toBe(1);
    expect(database.statistics().durableOffset).toBe(database.statistics().offset);
    release();
    await database.close();
    const names = await namesIn(tinyDatabase(disk.afterKill(), openTiny));
    expect(names.map(({ name }) => name)).toEqual(['waits', 'does not wait']);
  });

  it('[durability 2.2] is part of a long queue, so that its work is synced meanwhile', async () => {
    const disk = diskOfTurns();
    const database = await tinyOn(disk);
    const count = 2 * limits.turnsOfQueue * limits.callsPerTurnMin;
    const turnsOf = async (callCount: number) => {
      const before = disk.counts.get('write') ?? 0;
      const calls = Array.from({ length: callCount }, (_, at) => putName(database, `n${at}`));
      await Promise.all(calls);
      return (disk.counts.get('write') ?? 0) - before;
    };
    expect(await turnsOf(limits.callsPerTurnMin)).toBe(1);
    const turns = await turnsOf(count);
    expect(turns).toBeGreaterThanOrEqual(limits.turnsOfQueue);
    expect(turns).toBeLessThanOrEqual(count / limits.callsPerTurnMin);
    await database.close();
  });

  it('[durability W1] holds an aborted call too: it may tell of sequence values', async () => {
    const disk = new SimulatedDisk();
    const database = await tinyOn(disk);
    const { release } = holdSyncs(disk);
    let isAnswered = false;
    const wasted = putName(database, 'waste').then((outcome) => {
      isAnswered = true;
      return outcome;
    });
    await settled();
    expect(isAnswered).toBe(false);
    release();
    expect(await wasted).toMatchObject({ error: { message: 'wasted' } });
    const killed = disk.afterKill();
    const again = tinyDatabase(killed, openTiny);
    await putName(again, 'a');
    expect(await namesIn(again)).toEqual([{ name: 'a', number: 2n }]);
    await again.close();
  });

  it('reads are answered at once when all they saw is durable', async () => {
    const disk = new SimulatedDisk();
    const database = await tinyOn(disk);
    await putName(database, 'a');
    expect(await namesIn(database)).toHaveLength(1);
    await database.close();
    await expect(namesIn(database)).rejects.toMatchObject({ body: { code: 'database.stopped' } });
  });

  it('[durability D8] refuses at once when the queue is full, and goes on', async () => {
    const database = tinyDatabase(new MemoryDisk(), createTiny);
    await database.started();
    const calls = Array.from({ length: limits.callQueueMax + 10 }, (_, at) =>
      putName(database, `n${at}`, false),
    );
    const outcomes = await Promise.allSettled(calls);
    const refused = outcomes.filter(({ status }) => status === 'rejected');
    expect(refused).toHaveLength(10);
    expect(refused[0]).toMatchObject({ reason: { body: { code: 'database.overloaded' } } });
    expect(await putName(database, 'after')).toMatchObject({ kind: 'committed' });
    await database.close();
  });
});

it('[durability P6, W4] a database that was just made is there after a power cut', async () => {
  for (let seed = 0; seed < 20; seed++) {
    const disk = new SimulatedDisk();
    await tinyOn(disk);
    const again = tinyDatabase(disk.crash(new Random(seed)), openTiny);
    expect(await namesIn(again)).toEqual([]);
    await again.close();
  }
});

describe('a database that stops by itself', () => {
  it('[style errors] opens again after a bug; the others in its turn are run again', async () => {
    const disk = new SimulatedDisk();
    const reports: string[] = [];
    const database = await tinyOn(disk, reports);
    await putName(database, 'before');
    const outcomes = await Promise.allSettled([
      putName(database, 'a'),
      putName(database, 'bug'),
      putName(database, 'b'),
    ]);
    expect(outcomes).toMatchObject([
      { status: 'fulfilled', value: { kind: 'committed' } },
      { status: 'rejected', reason: { body: { code: 'database.stopped' } } },
      { status: 'fulfilled', value: { kind: 'committed' } },
    ]);
    expect((await namesIn(database)).map(({ name }) => name)).toEqual(['before', 'a', 'b']);
    expect(await clientsIn(database)).toBe(0);
    expect(reports).toEqual(['is reopened: a bug of ours']);
    expect(database.statistics().restarts).toBe(1);
    await database.close();
  });

  it.each([false, true])('[durability 2.3] does not serve after a failed sync', async (isQuick) => {
    const disk = new SimulatedDisk();
    disk.isQuick = isQuick;
    const database = await tinyOn(disk);
    await putName(database, 'before');
    disk.failAt('sync', (disk.counts.get('sync') ?? 0) + 1, 'EIO');
    await expect(putName(database, 'a')).rejects.toMatchObject({ body: { code: 'database.lost' } });
    await expect(putName(database, 'b')).rejects.toMatchObject({
      body: { code: 'database.broken', message: expect.stringContaining('the database stopped: ') },
    });
    expect(database.statistics().state).toBe('broken');
  });

  it('[durability 2.3] opens again after a failed write, whose turn is lost', async () => {
    const disk = new SimulatedDisk();
    const database = await tinyOn(disk);
    await putName(database, 'before');
    disk.failAt('write', (disk.counts.get('write') ?? 0) + 1, 'EIO');
    const failed = await putName(database, 'a').catch((error: unknown) => error);
    expect(failed).toBeInstanceOf(Refusal);
    expect(failed).toMatchObject({ body: { code: 'database.lost' } });
    expect(await putName(database, 'b')).toMatchObject({ kind: 'committed' });
    const names = (await namesIn(database)).map(({ name }) => name);
    expect(names).toEqual(expect.arrayContaining(['before', 'b']));
    await database.close();
  });

  it('is broken when it cannot be opened again and again', async () => {
    const disk = new SimulatedDisk();
    await (await tinyOn(disk)).close();
    const reports: string[] = [];
    const beforeLoad = () => {
      throw new AssertionError('never loads');
    };
    const again = tinyDatabase(disk, openTiny, undefined, reports, { beforeLoad });
    await expect(putName(again, 'a')).rejects.toMatchObject({
      body: { code: 'database.broken', message: 'error starting database: never loads' },
    });
    expect(reports).toEqual([
      'is reopened: never loads',
      'is reopened: never loads',
      'no longer serves: never loads',
    ]);
    expect(again.statistics()).toMatchObject({ state: 'broken', restarts: 2 });
    await again.close();
  });

  it('[durability 2.3] is tried again, by a request, after its disk had failed', async () => {
    const disk = new SimulatedDisk();
    const clock = new TestClock();
    const reports: string[] = [];
    const database = tinyDatabase(disk, createTiny, undefined, reports, { clock });
    await database.started();
    await putName(database, 'before');
    disk.isFailing = true;
    const lost = { body: { code: 'database.lost' } };
    await expect(putName(database, 'lost')).rejects.toMatchObject(lost);
    const broken = {
      body: { code: 'database.broken', message: expect.stringContaining('EIO') },
    };
    const refused = (name: string) => expect(putName(database, name)).rejects.toMatchObject(broken);
    await refused('while it is reopened');
    expect(database.statistics().state).toBe('broken');
    const { restarts } = database.statistics();
    await refused('at once');
    expect(database.statistics().restarts).toBe(restarts);

    clock.advance(limits.reopenMillisMin);
    await refused('still failing');
    expect(database.statistics().restarts).toBe(restarts + 1);
    disk.isFailing = false;
    clock.advance(limits.reopenMillisMin);
    await refused('sooner than twice the delay');
    clock.advance(limits.reopenMillisMin);
    const [one, other] = await Promise.all([putName(database, 'a'), putName(database, 'b')]);
    expect([one.kind, other.kind]).toEqual(['committed', 'committed']);
    expect((await namesIn(database)).map(({ name }) => name)).toEqual(
      expect.arrayContaining(['before', 'a', 'b']),
    );
    expect(database.statistics()).toMatchObject({ state: 'serving', restarts: restarts + 2 });
    expect(reports).toContain('is reopened: the reason it did not serve may be gone');

    disk.isFailing = true;
    await expect(putName(database, 'lost')).rejects.toMatchObject(lost);
    await refused('broken');
    disk.isFailing = false;
    clock.advance(limits.reopenMillisMin);
    await database.close();
    await refused('closed');
  });

  it('loses nothing when only the note of a clean stop cannot be written', async () => {
    const disk = new SimulatedDisk();
    const reports: string[] = [];
    const database = await tinyOn(disk, reports);
    await putName(database, 'a');
    disk.failAt('write', (disk.counts.get('write') ?? 0) + 1, 'ENOSPC');
    await database.close();
    expect(reports).toEqual([expect.stringContaining('ended with an error')]);
    const again = tinyDatabase(disk, openTiny);
    expect(await namesIn(again)).toHaveLength(1);
    await again.close();
  });
});

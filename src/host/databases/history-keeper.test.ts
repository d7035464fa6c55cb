import { describe, expect, it } from 'vitest';
import { Refusal } from '../../database/outcome.ts';
import { noSnapshotFigures } from '../../database/snapshots/snapshot-outcome.ts';
import { limits } from '../../limits.ts';
import type { ReportLine } from '../../node/report-line.ts';
import { databaseIdentity } from '../../values/identity-roles.ts';
import type { ReplacedLog } from '../registry/database-files.ts';
import { settingsInForce } from '../registry/history-choice.ts';
import type { HistoryAnswer, HistoryFacts, HistoryTask } from '../seats/history-task.ts';
import { nothingMeasured } from '../seats/seat.ts';
import type { DatabaseStatistics } from '../supervision/database-statistics.ts';
import { HistoryHolds } from './history-holds.ts';
import { HistoryKeeper } from './history-keeper.ts';

const identity = databaseIdentity(7n);
const gibibyte = 1024 ** 3;

const bytes = { active: 9, hot: 0, cold: 0, snapshots: 5, indexes: 0, other: 0 };
const quiet: HistoryFacts = {
  epoch: '00000000000000aa',
  originOffset: 0,
  floorOffset: 0,
  floorMicros: 0,
  endOffset: 20,
  goneBytes: 0,
  bytes,
  segments: 1,
  snapshots: 1,
  deleted: 0,
  packed: 0,
  held: [],
  lines: [],
};

function setUp() {
  let now = 0;
  const clock = { nowMicros: () => BigInt(now) * 1_000n, monotonicMillis: () => now };
  const holds = new HistoryHolds(clock);
  const lines: ReportLine[] = [];
  const tasks: HistoryTask[] = [];
  const world = {
    settings: settingsInForce({}),
    freeBytes: 100 * gibibyte,
    state: 'serving' as DatabaseStatistics['state'],
    snapshotOffset: 10,
    logBytes: 1_000,
    databases: [identity],
    replaced: [] as ReplacedLog[],
    /** What is free once a replaced log is gone. */
    freedBytes: 0,
    answer: (): HistoryAnswer => ({ kind: 'done', facts: quiet }),
  };
  const handle = {
    statistics: () =>
      ({
        state: world.state,
        used: nothingMeasured.used,
        snapshots: { ...noSnapshotFigures, ...pickedOf(world) },
      }) as DatabaseStatistics,
    history: async (task: HistoryTask) => {
      tasks.push(task);
      return world.answer();
    },
  };
  const keeper = new HistoryKeeper({
    ...{ holds, clock },
    files: {
      replaced: () => world.replaced,
      replacedBytes: () => world.replaced.reduce((sum, one) => sum + one.bytes, 0),
      removeReplaced: async (_, number) => {
        world.replaced = world.replaced.filter((one) => one.number !== number);
        world.freeBytes += world.freedBytes;
      },
    },
    databases: () => world.databases.map((one) => ({ identity: one, handle })),
    settingsOf: () => world.settings,
    space: () => ({ freeBytes: world.freeBytes, totalBytes: 200 * gibibyte }),
    report: (line) => lines.push(line),
  });
  /** Looks, after a time; the tasks that were given then. */
  const look = async (millis: number = limits.historyLookMillis) => {
    now += millis;
    tasks.length = 0;
    await keeper.look();
    return [...tasks];
  };
  return { keeper, holds, world, lines, look };
}

function pickedOf({ snapshotOffset, logBytes }: { snapshotOffset: number; logBytes: number }) {
  return { offset: snapshotOffset, logBytes };
}

describe('[history 3.8] a pass over a history', () => {
  it('is made once a database has a snapshot, and not again while it is idle', async () => {
    const { world, look, holds } = setUp();
    world.snapshotOffset = -1;
    expect(await look()).toEqual([]);
    world.snapshotOffset = 10;
    holds.add(identity, { by: 'backup', fromOffset: 4 });
    const kept = { kind: 'keep', settings: world.settings };
    expect(await look()).toEqual([{ ...kept, holds: [{ by: 'backup', fromOffset: 4 }] }]);
    for (let hour = 0; hour < 24; hour++) expect(await look(3_600_000)).toEqual([]);
  });

  it('follows a snapshot, a completed segment and other settings', async () => {
    const { world, look } = setUp();
    await look();
    world.snapshotOffset = 20;
    expect(await look()).toHaveLength(1);
    world.logBytes += limits.segmentBytes - 1;
    expect(await look()).toHaveLength(0);
    world.logBytes += 1;
    expect(await look()).toHaveLength(1);
    world.settings = settingsInForce({ keepCommits: 4 });
    expect(await look()).toHaveLength(1);
    expect(await look()).toHaveLength(0);
  });

  it('is made for age every few minutes while there is something that can go', async () => {
    const { world, look } = setUp();
    const facts = { ...quiet, snapshots: 3 };
    world.answer = () => ({ kind: 'done', facts });
    await look();
    expect(await look(limits.historyAgeMillis - 1)).toHaveLength(0);
    expect(await look(1)).toHaveLength(1);
    world.settings = settingsInForce({ keepMicros: 'everything' });
    expect(await look()).toHaveLength(1);
    expect(await look(limits.historyAgeMillis)).toHaveLength(0);
  });

  it('[history 3.10] is not made while a database does not serve', async () => {
    const { world, look, lines } = setUp();
    world.state = 'opening';
    expect(await look()).toEqual([]);
    world.state = 'serving';
    world.answer = () => ({ kind: 'stopped' });
    expect(await look()).toHaveLength(1);
    world.answer = () => {
      throw new Refusal({ code: 'database.stopped', message: 'stopped' });
    };
    expect(await look()).toHaveLength(1);
    expect(lines).toEqual([]);
  });

  it('[living 6.6] wakes a database that sleeps once a day, one after the other', async () => {
    const { world, look } = setUp();
    const facts = { ...quiet, snapshots: 3 };
    world.answer = () => ({ kind: 'done', facts });
    world.state = 'asleep';
    expect(await look(limits.historyAsleepMillis)).toHaveLength(0);
    world.databases = [identity, databaseIdentity(8n)];
    world.state = 'serving';
    expect(await look()).toHaveLength(2);
    world.state = 'asleep';
    expect(await look(limits.historyAsleepMillis - 1)).toHaveLength(0);
    expect([(await look(1)).length, (await look()).length, (await look()).length]).toEqual([
      1, 1, 0,
    ]);
    world.freeBytes = 9 * gibibyte;
    expect([(await look()).length, (await look()).length]).toEqual([1, 1]);
    // Nothing of it can go.
    world.answer = () => ({ kind: 'done', facts: quiet });
    await look(limits.historyAsleepMillis);
    await look();
    expect(await look(limits.historyAsleepMillis)).toHaveLength(0);
  });

  it('that fails is reported, and tried again after growing delays', async () => {
    const { world, look, lines } = setUp();
    world.answer = () => ({ kind: 'failed', message: 'no space' });
    expect(await look()).toHaveLength(1);
    expect(await look(limits.historyRetryMillisMin - 1)).toHaveLength(0);
    expect(await look(1)).toHaveLength(1);
    expect(await look(limits.historyRetryMillisMin)).toHaveLength(0);
    expect(await look(limits.historyRetryMillisMin)).toHaveLength(1);
    expect(lines).toHaveLength(3);
    expect(lines[0]).toMatchObject({
      level: 'warn',
      message: expect.stringContaining('could not be deleted: no space'),
    });
  });

  it('says what it deleted and why, and why it did not', async () => {
    const { keeper, world, look, lines } = setUp();
    const facts: HistoryFacts = { ...quiet, floorOffset: 10, deleted: 4, reason: 'bytes' };
    world.answer = () => ({ kind: 'done', facts });
    await look();
    expect(lines[0]).toMatchObject({
      level: 'info',
      message: expect.stringContaining('begins at offset 10 now; 4 files were deleted (bytes)'),
    });
    expect(keeper.known(identity)).toMatchObject({ facts, shrunk: new Map([['bytes', 1]]) });
    const damaged = { level: 'error', message: 'Nothing was deleted.' } as const;
    world.snapshotOffset += 1;
    world.answer = () => ({ kind: 'done', facts: { ...quiet, lines: [damaged] } });
    await look();
    expect(lines[1]).toMatchObject({
      level: 'error',
      message: expect.stringContaining(': Nothing was deleted.'),
    });
    world.databases = [];
    await look();
    expect(keeper.known(identity)).toBeUndefined();
  });
});

describe('[history 3.12] a disk that is nearly full', () => {
  it('is reported once an hour, and has histories looked at each time', async () => {
    const { world, look, lines } = setUp();
    const facts = { ...quiet, snapshots: 3 };
    world.answer = () => ({ kind: 'done', facts });
    await look();
    world.freeBytes = 9 * gibibyte;
    expect(await look()).toHaveLength(1);
    expect(await look()).toHaveLength(1);
    expect(lines).toHaveLength(1);
    expect(lines[0]).toMatchObject({ level: 'error' });
    expect(lines[0]?.message).toContain('is nearly full: 9 GiB are free, less than 10 GiB');
    await look(limits.historySpaceReportMillis);
    expect(lines).toHaveLength(2);
    world.settings = settingsInForce({ onLowDisk: 'warn' });
    await look();
    expect(await look()).toHaveLength(0);
  });

  it('[history 5.24] takes replaced logs first, the oldest before others', async () => {
    const { world, look, lines } = setUp();
    world.answer = () => ({ kind: 'done', facts: { ...quiet, snapshots: 3 } });
    await look();
    const log = (number: number) => ({ number, replacedMillis: 10 - number, bytes: gibibyte });
    world.replaced = [log(1), log(2), log(3)];
    world.freeBytes = 9 * gibibyte;
    world.freedBytes = gibibyte / 2;
    expect(await look()).toHaveLength(0);
    expect(world.replaced).toEqual([log(1)]);
    expect(lines.map(({ level }) => level)).toEqual(['error', 'error', 'error']);
    expect(lines[1]?.message).toContain('the log replaced-3, of 1 GiB, was removed');
    world.settings = settingsInForce({ onLowDisk: 'warn' });
    world.freeBytes = 9 * gibibyte;
    await look();
    expect(world.replaced).toHaveLength(1);
    world.settings = settingsInForce({});
    world.freedBytes = 0;
    expect(await look()).toHaveLength(1);
    expect(world.replaced).toHaveLength(0);
  });

  it('makes each step an error in the service log, the same words once an hour', async () => {
    const { world, look, lines } = setUp();
    const facts: HistoryFacts = { ...quiet, snapshots: 3 };
    const line = { level: 'error', message: 'It is nearly full.' } as const;
    world.answer = () => ({ kind: 'done', facts: { ...facts, lines: [line] } });
    world.freeBytes = gibibyte;
    await look();
    expect(lines.map(({ level }) => level)).toEqual(['error', 'error']);
    expect(lines[1]?.message).toContain(': It is nearly full.');
    expect(await look()).toHaveLength(1);
    expect(lines).toHaveLength(2);
    const other = { ...line, message: 'Commits before 10 are given up.' };
    world.answer = () => ({ kind: 'done', facts: { ...facts, lines: [other] } });
    await look();
    expect(lines).toHaveLength(3);
  });
});

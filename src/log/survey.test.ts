import { describe, expect, it } from 'vitest';
import { openLog } from '../../test/simulation/log-fixture.ts';
import { tableId } from '../schema/ids.ts';
import { commitOffset } from '../store/commit-offset.ts';
import { Random } from '../testing/random.ts';
import { PowerCut, SimulatedDisk } from '../testing/simulated-disk.ts';
import { connectionNumber } from '../values/connection-number.ts';
import { callerIdentity, databaseIdentity } from '../values/identity-roles.ts';
import { acceptLoss } from './accept-loss.ts';
import type { CommitLog } from './commit-log.ts';
import { decodeInputs } from './decode-record.ts';
import { durableMarkName, readDurableMark } from './durable-mark.ts';
import { decideKeep, pendingKeep } from './keep-plan.ts';
import { asideReportName, finishKeep, setAside } from './keep-tail.ts';
import { LogDamageError } from './log-error.ts';
import { isCommitRecord, type LogRecord } from './record.ts';
import { type LogSurvey, placesOf, planOf, surveyLog } from './survey.ts';
import { verifyLog } from './verify.ts';

const identity = databaseIdentity(77n);
const smallBytes = 2048;

/** A commit with a unique name and a given size; these tests ignore the changes. */
function append(log: CommitLog, name: string, bytes = 0): void {
  const offset = commitOffset(log.offset + 1);
  const inserts = { count: 2, bytes: new Uint8Array(8) };
  const deletes = { count: 1, bytes: new Uint8Array(4) };
  const tables = [{ tableId: tableId(3), truncated: false, inserts, deletes }];
  log.appendCommit(
    { offset, tables, sequences: [] },
    {
      reducer: name,
      caller: callerIdentity(0n),
      connectionId: connectionNumber(0n),
      timestampMicros: BigInt(offset) * 1_000_000n,
      seed: new Uint8Array(0),
      args: new Uint8Array(bytes),
    },
  );
}

async function write(log: CommitLog, prefix: string, count: number, bytes = 0): Promise<void> {
  for (let number = 1; number <= count; number++) {
    append(log, `${prefix}${number}`, bytes);
    await log.sync();
  }
}

function nameOf(record: LogRecord): string {
  return isCommitRecord(record) ? decodeInputs(record.inputs).reducer : record.kind;
}

async function namesIn(disk: SimulatedDisk): Promise<string[]> {
  const names: string[] = [];
  const onRecord = (record: LogRecord) => void names.push(nameOf(record));
  const { log, warnings } = await openLog(disk, { create: false, onRecord });
  expect(warnings).toEqual([]);
  log.abandon();
  return names;
}

/** Compares buffers at once, because `toEqual` looks at each byte. */
function expectSame(one: Uint8Array, other: Uint8Array): void {
  expect(Buffer.compare(one, other)).toBe(0);
}

function copyOf(disk: SimulatedDisk): SimulatedDisk {
  return new SimulatedDisk(disk.list().map((name) => [name, disk.contentOf(name)]));
}

function names(prefix: string, count: number, from = 1): string[] {
  return Array.from({ length: count }, (_, index) => `${prefix}${index + from}`);
}

/** Two services that have opened one log after `x1` to `x3`; nothing keeps them apart. */
async function twoWriters(segmentBytes = smallBytes) {
  const disk = new SimulatedDisk();
  const { log: first } = await openLog(disk, { segmentBytes });
  await write(first, 'x', 3, 100);
  const { log: second } = await openLog(disk, { segmentBytes });
  return { disk, first, second };
}

/** The second one has no room left in the segment and starts another; the first one still has. */
async function forkedAtSegment() {
  const { disk, first, second } = await twoWriters();
  await write(second, 'b', 4, 1300);
  await write(first, 'a', 3);
  first.abandon();
  second.abandon();
  return disk;
}

/** Each overwrites what the other has written. */
async function forkedInSegment() {
  const { disk, first, second } = await twoWriters(1 << 16);
  await write(second, 'b', 6, 120);
  await write(first, 'a', 5);
  first.abandon();
  second.abandon();
  return disk;
}

async function keep(disk: SimulatedDisk, number: number | 'common', aside = new SimulatedDisk()) {
  const survey = surveyLog(disk, identity);
  const tail = survey.tails.find((one) => one.number === number);
  const plan = planOf(survey, tail, String(number), 'aside');
  await setAside(disk, aside, plan, '{}');
  await decideKeep(disk, plan);
  await finishKeep(disk, plan);
  return aside;
}

/** A short summary of the tails. */
function shape({ tails }: LogSurvey) {
  return tails.map(({ number, isWhole, figures }) => {
    return [number, isWhole, figures.firstOffset, figures.lastOffset, figures.commits];
  });
}

async function expectForked(disk: SimulatedDisk, words: string): Promise<void> {
  const operations = disk.operationCount;
  const report = verifyLog(disk, identity);
  if (report.kind !== 'forked') throw new Error(`verify says ${report.kind}`);
  expect(report.error.message).toContain('forked history: ');
  expect(report.error.message).toContain(words);
  expect(report.error.message).toContain(`reducerdb repair ${'4d'.padStart(64, '0')}`);
  await expect(openLog(disk, { create: false })).rejects.toThrow(report.error.message);
  await expect(
    acceptLoss(disk, { databaseIdentity: identity, offset: 3, warn: () => undefined }),
  ).rejects.toThrow('forked history');
  expect(disk.operationCount).toBe(operations);
}

describe('a log that two services wrote to', () => {
  it('[durability 5.2] has two whole tails where one of them had begun a segment', async () => {
    const disk = await forkedAtSegment();
    await expectForked(disk, 'a segment does not continue the one before it');
    const survey = surveyLog(disk, identity);
    expect(survey).toMatchObject({ isForked: true, isPartingKnown: true });
    expect(survey.common.figures).toEqual({
      commits: 3,
      rowsInserted: 6,
      rowsDeleted: 3,
      firstOffset: 1,
      lastOffset: 3,
      firstMicros: 1_000_000,
      lastMicros: 3_000_000,
    });
    expect(shape(survey)).toEqual([
      [1, true, 4, 6, 3],
      [2, true, 4, 7, 4],
    ]);
    const [one, two] = survey.tails.map((tail) => placesOf(tail).map(({ name }) => name));
    expect(one).toEqual(['commit-00000001-0000000000000001.log']);
    expect(two?.length).toBeGreaterThan(1);
    expect(two?.[0]).toBe('commit-00000002-0000000000000004.log');
  });

  it.each([
    [1, [...names('x', 3), ...names('a', 3)]],
    [2, [...names('x', 3), ...names('b', 4)]],
    ['common', names('x', 3)],
  ] as const)('[durability 5.2] opens with what is kept of it: %s', async (kept, expected) => {
    const disk = await forkedAtSegment();
    const before = new Map(disk.list().map((name) => [name, disk.contentOf(name)]));
    const aside = await keep(disk, kept);
    expect(verifyLog(disk, identity)).toMatchObject({ kind: 'intact' });
    expect(await namesIn(copyOf(disk))).toEqual(expected);
    expect(readDurableMark(disk)).toMatchObject({ end: { offset: expected.length } });
    // Every file that has changed is in the folder, as it was before.
    for (const [name, bytes] of before) {
      const now = disk.list().includes(name) ? disk.contentOf(name) : new Uint8Array(0);
      const end = bytes.findLastIndex((byte) => byte !== 0) + 1;
      if (now.length < end || name === durableMarkName) expectSame(aside.contentOf(name), bytes);
    }
    expect(aside.list()).toContain(asideReportName);
    // The log continues, and opens once more.
    const { log } = await openLog(disk, { create: false, segmentBytes: smallBytes });
    await write(log, 'c', 3, 700);
    await log.close();
    expect(await namesIn(disk)).toEqual([...expected, ...names('c', 3)]);
  });

  it('[durability 5.2] has one whole tail where they wrote over each other', async () => {
    const disk = await forkedInSegment();
    await expectForked(disk, 'was given to two commits');
    const survey = surveyLog(disk, identity);
    expect(survey).toMatchObject({ isForked: true, isPartingKnown: false });
    const [one, ...others] = survey.tails;
    expect(one).toMatchObject({ number: 1, isWhole: true, figures: { lastOffset: 8 } });
    expect(others.length).toBeGreaterThan(0);
    expect(others.every(({ isWhole }) => !isWhole)).toBe(true);
    expect(others.at(-1)?.figures.lastOffset).toBe(9);
    await keep(disk, 1);
    expect(await namesIn(disk)).toEqual([...names('x', 3), ...names('a', 5)]);
  });

  it('[durability 5.2] is forked where each began segments of its own', async () => {
    const { disk, first, second } = await twoWriters();
    await write(second, 'b', 5, 900);
    await write(first, 'a', 3, 50);
    await write(first, 'A', 3, 1000);
    const numbers = disk.list().filter((name) => name.startsWith('commit-00000002-'));
    expect(numbers).toHaveLength(2);
    first.abandon();
    second.abandon();
    expect(verifyLog(disk, identity).kind).toBe('forked');
    const survey = surveyLog(disk, identity);
    const whole = survey.tails.filter(({ isWhole }) => isWhole);
    expect(whole[0]?.figures.lastOffset).toBe(9);
    await keep(disk, 1);
    expect(await namesIn(disk)).toEqual([...names('x', 3), ...names('a', 3), ...names('A', 3)]);
  });

  it('[durability 5.2] is not cut as a torn tail where nothing says it was durable', async () => {
    const { disk, first, second } = await twoWriters(1 << 16);
    for (const name of names('b', 6)) append(second, name, 100);
    second.write();
    await write(first, 'a', 4, 10);
    first.abandon();
    second.abandon();
    disk.remove(durableMarkName);
    await expectForked(disk, 'was given to two commits');
  });

  it('[durability 5.2] shows a record that follows another one', async () => {
    const { disk, first, second } = await twoWriters(1 << 16);
    await write(first, 'a', 4, 8);
    append(second, 'b1', 8);
    await second.sync();
    first.abandon();
    second.abandon();
    await expectForked(disk, 'a record follows another one');
    const survey = surveyLog(disk, identity);
    // The record before `a2` was another one, so the histories diverged before `b1`.
    expect(survey.common.figures.lastOffset).toBe(3);
    expect(shape(survey)).toEqual([
      [1, true, 4, 4, 1],
      [2, false, 5, 7, 3],
    ]);
  });
});

describe('a repair that is interrupted', () => {
  it.each([1, 2, 'common'] as const)(
    '[durability 5.2] at any operation leaves the log alone, or is finished by another: keep %s',
    async (kept) => {
      const forked = await forkedAtSegment();
      const whole = copyOf(forked);
      const asideOperations = (await keep(whole, kept)).operationCount;
      const expected = await namesIn(copyOf(whole));
      let decided = 0;
      const cuts = [
        ...Array.from({ length: whole.operationCount }, (_, index) => [index + 1, 0] as const),
        ...Array.from({ length: asideOperations }, (_, index) => [0, index + 1] as const),
      ];
      for (const [cut, asideCut] of cuts) {
        // Towards the end, removed entries must not outlive the plan, which is one outcome of many.
        const outcomes = cut > whole.operationCount - 2 ? 40 : 2;
        for (let seed = 1; seed <= outcomes; seed++) {
          const disk = copyOf(forked);
          const aside = new SimulatedDisk();
          if (cut > 0) disk.stopAt(cut);
          else aside.stopAt(asideCut);
          await expect(keep(disk, kept, aside)).rejects.toThrow(PowerCut);
          const random = new Random(cut * 1009 + asideCut * 31 + seed);
          const found = seed === 1 ? disk.afterKill() : disk.crash(random);
          const kind = await goOn(found, aside.crash(random), forked, kept);
          if (kind === 'decided') decided++;
          expect(await namesIn(found)).toEqual(expected);
        }
      }
      expect(decided).toBeGreaterThan(5);
    },
  );

  /** Runs it again, as the command does. */
  async function goOn(
    disk: SimulatedDisk,
    aside: SimulatedDisk,
    forked: SimulatedDisk,
    kept: number | 'common',
  ): Promise<'asBefore' | 'decided' | 'done'> {
    const plan = pendingKeep(disk);
    if (plan !== undefined) {
      await expect(openLog(disk, { create: false })).rejects.toThrow('its repair was interrupted');
      expect(verifyLog(disk, identity).kind).toBe('damaged');
      expect(aside.list()).toContain(asideReportName);
      for (const name of aside.list()) {
        if (name !== asideReportName) expectSame(aside.contentOf(name), forked.contentOf(name));
      }
      await finishKeep(disk, plan);
      return 'decided';
    }
    if (verifyLog(disk, identity).kind === 'intact') return 'done';
    for (const name of forked.list()) expectSame(disk.contentOf(name), forked.contentOf(name));
    await keep(disk, kept);
    return 'asBefore';
  }
});

describe('a log that is damaged, with commits behind', () => {
  async function damaged(hasMark: boolean) {
    const disk = new SimulatedDisk();
    disk.isLasting = hasMark;
    const { log } = await openLog(disk, { segmentBytes: 1 << 20 });
    await write(log, 'x', 8, 50);
    log.abandon();
    const [name = ''] = disk.list();
    disk.flipBit(name, 700, 2);
    return disk;
  }

  it.each([true, false])(
    '[durability 5.2] is not forked, and shows what is behind: %s',
    async (hasMark) => {
      const disk = await damaged(hasMark);
      expect(verifyLog(disk, identity).kind).toBe('damaged');
      const survey = surveyLog(disk, identity);
      expect(survey).toMatchObject({ isForked: false, isPartingKnown: true });
      const end = survey.common.figures.lastOffset;
      expect(end).toBeGreaterThan(0);
      expect(shape(survey)).toEqual([[1, false, end + 2, 8, 8 - end - 1]]);
    },
  );

  it('[durability 5.2] can be accepted, with what is lost, also without a mark', async () => {
    for (const hasMark of [true, false]) {
      const disk = await damaged(hasMark);
      const { lastOffset: offset } = surveyLog(disk, identity).common.figures;
      const warnings: string[] = [];
      const warn = (text: string) => void warnings.push(text);
      const outcome = await acceptLoss(disk, { databaseIdentity: identity, offset, warn });
      expect(outcome).toMatchObject({ kind: 'accepted', missing: 8 - offset });
      expect(warnings.join()).toContain('given up');
      expect(verifyLog(disk, identity).kind).toBe('intact');
      expect(disk.list().some((name) => name.endsWith('.torn-1'))).toBe(true);
    }
  });
});

it('a survey needs the beginning of the log, and segments of one log', async () => {
  const disk = await forkedAtSegment();
  const [first = '', ...others] = disk.list().filter((name) => name.endsWith('.log'));
  const without = new SimulatedDisk(others.map((name) => [name, disk.contentOf(name)]));
  expect(() => surveyLog(without, identity)).toThrow('the beginning of the log is gone');
  expect(() => surveyLog(disk, databaseIdentity(78n))).toThrow('it belongs to another database');
  const other = new SimulatedDisk();
  const { log } = await openLog(other, { segmentBytes: smallBytes, salt: 5 });
  await write(log, 'y', 6, 900);
  const foreign = other.list()[1] ?? '';
  const mixed = new SimulatedDisk([
    [first, disk.contentOf(first)],
    [foreign, other.contentOf(foreign)],
  ]);
  expect(() => surveyLog(mixed, identity)).toThrow(LogDamageError);
});

import { describe, expect, it } from 'vitest';
import { openWithSnapshots } from '../../test/simulation/snapshot-fixture.ts';
import { HistoryLab, labIdentity } from '../../test/support/history-lab.ts';
import { readFloor } from '../log/floor.ts';
import { goneBytes } from '../log/gone-bytes.ts';
import { packedName, segmentSequence } from '../log/segment.ts';
import { segmentNames } from '../log/segment-reader.ts';
import { verifyLog, verifySnapshots } from '../log/verify.ts';
import { SimulatedDisk } from '../testing/simulated-disk.ts';
import { verifyDeeply } from './deep-verify.ts';
import { headerOf } from './files.ts';
import { historyStatus, keepHistory } from './keep.ts';
import type { HistorySettings } from './retention.ts';
import { indexName, indexNames } from './segment-index.ts';

const everything: HistorySettings = {
  keepMicros: 'everything',
  keepBytes: 0,
  keepCommits: undefined,
  onLowDisk: 'warn',
};
const nothing: HistorySettings = { ...everything, keepMicros: 0n };

/** A log with a snapshot after each of some parts. */
async function story(seed = 1, parts = 4): Promise<HistoryLab> {
  const lab = await HistoryLab.open(seed);
  for (let part = 0; part < parts; part++) {
    await lab.work(20);
    await lab.snapshot();
  }
  await lab.work(7);
  return lab;
}

function numbersOf(disk: SimulatedDisk): number[] {
  return segmentNames(disk).map((name) => segmentSequence(name) ?? 0);
}

/** The place of one of the snapshots: the segment in which the log goes on. */
function segmentOf(lab: HistoryLab, snapshot: string): number {
  const offset = Number(snapshot.slice('snapshot-'.length, -'.rdbs'.length));
  const starts = segmentNames(lab.disk).map((name) => Number(name.slice(16, 32)));
  const at = starts.findLastIndex((first) => first <= offset);
  return numbersOf(lab.disk)[at] ?? 0;
}

async function expectOpens(lab: HistoryLab): Promise<void> {
  expect(verifyLog(lab.disk, labIdentity).kind).toBe('intact');
  expect(verifyDeeply(lab.disk, labIdentity)).toEqual([]);
  const { log } = await openWithSnapshots(lab.changed(), { create: false, segmentBytes: 2000 });
  expect(log.offset).toBe(lab.log.offset);
}

describe('a pass over a history', () => {
  it('[history 3.1, 3.3, 3.4, 3.5] leaves two snapshots, and the log behind them', async () => {
    const lab = await story();
    const [older = '', newer = ''] = lab.snapshots.slice(-2);
    const first = segmentOf(lab, older);
    const report = await lab.keep();
    expect(report).toMatchObject({ reason: 'age', snapshots: 2, packed: 0 });
    expect(report.floorOffset).toBe(Number(older.slice(9, 25)));
    expect(report.endOffset).toBe(lab.log.offset);
    expect(numbersOf(lab.disk)[0]).toBe(first);
    expect(readFloor(lab.disk)).toMatchObject({
      floor: { sequence: first, snapshot: older, reason: 'age', at: lab.micros },
    });
    const left = lab.disk.list().filter((name) => name.endsWith('.rdbs'));
    expect(left).toEqual([older, newer]);
    expect(lab.problems).toEqual([]);
    await expectOpens(lab);
    // Nothing is left to do.
    const operations = lab.disk.operationCount;
    expect(await lab.keep()).toMatchObject({ deleted: 0, packed: 0 });
    expect(lab.disk.operationCount).toBe(operations);
  });

  it('[history 3.2] keeps all commits that are young enough, or all of them', async () => {
    const lab = await story();
    const whole = numbersOf(lab.disk);
    const report = await lab.keep({ settings: everything });
    expect(report).toMatchObject({ floorOffset: 1, snapshots: 4 });
    expect(numbersOf(lab.disk)).toEqual(whole);
    // Snapshots that are close to others go all the same.
    const thinned = await lab.keep({ settings: everything, gapBytesMax: 1 << 30 });
    expect(thinned).toMatchObject({ floorOffset: 1, snapshots: 2 });
    expect(numbersOf(lab.disk)).toEqual(whole);
    const keepMicros = lab.micros - 1n;
    await lab.keep({ settings: { ...nothing, keepMicros } });
    expect(numbersOf(lab.disk)).toEqual(whole);
    await expectOpens(lab);
  });

  it('[history 3.6] packs what no start needs, and reads the same from it', async () => {
    const lab = await story();
    const hot = segmentOf(lab, lab.snapshots.at(-2) ?? '');
    const before = historyStatus(lab.disk, labIdentity);
    const report = await lab.keep({ settings: everything });
    expect(report.packed).toBe(hot - 1);
    for (const name of segmentNames(lab.disk)) {
      expect(name.endsWith('.gz')).toBe((segmentSequence(name) ?? 0) < hot);
    }
    expect(report.bytes.cold).toBeLessThan(before.bytes.cold);
    expect(report.bytes.hot).toBe(before.bytes.hot);
    await expectOpens(lab);
  });

  it('[history 3.6] removes a packed segment beside the segment, and parts', async () => {
    const lab = await story();
    const [name = ''] = segmentNames(lab.disk);
    const junk = [packedName(name), `${packedName(name)}.part`, 'floor.part'];
    junk.push(`${indexName(name)}.part`, 'commit-00000099-0000000000000099.idx');
    const left = lab.changed(Object.fromEntries(junk.map((each) => [each, new Uint8Array(50)])));
    const part = 'snapshot-0000000000000999.rdbs.part';
    left.open(part, 'create').close();
    const report = await keepHistory(left, optionsOf(lab, everything));
    expect(report.packed).toBeGreaterThan(0);
    const names = left.list();
    expect(junk.filter((each) => names.includes(each))).toEqual([packedName(name)]);
    // A snapshot may be being written.
    expect(names).toContain(part);
    expect(verifyLog(left, labIdentity).kind).toBe('intact');
  });

  it('[history 3.2] sets a rotten snapshot aside, and deletes nothing', async () => {
    for (const which of [-1, -2]) {
      const lab = await story();
      const name = lab.snapshots.at(which) ?? '';
      lab.disk.flipBit(name, 200, 2);
      const before = numbersOf(lab.disk);
      const report = await lab.keep();
      expect(report).toMatchObject({ deleted: 0 });
      expect(report.refused).toContain(`the snapshot ${name} cannot be relied on: `);
      expect(lab.problems[0]).toMatch(/^error: Nothing of the history was deleted: .*\.bad-1\.$/);
      expect(numbersOf(lab.disk)).toEqual(before);
      expect(lab.disk.list()).toContain(`${name}.bad-1`);
      await expectOpens(lab);
      // What is left of them is enough for the next one, which then goes on.
      const next = await lab.keep();
      expect(next.deleted).toBeGreaterThan(0);
      expect(verifySnapshots(lab.disk, labIdentity)).toHaveLength(2);
      await expectOpens(lab);
    }
  });

  it('[history 3.1] deletes nothing with one snapshot that is valid', async () => {
    const lab = await story(1, 2);
    const name = lab.snapshots[0] ?? '';
    // Its ends are right, so only reading all of it shows that it is rotten.
    lab.disk.flipBit(name, 200, 2);
    const before = numbersOf(lab.disk);
    await lab.keep();
    await lab.keep();
    expect(numbersOf(lab.disk)).toEqual(before);
    await expectOpens(lab);
  });

  it('[history 3.7] keeps what is held, in one piece', async () => {
    const lab = await story();
    const second = lab.snapshots[1] ?? '';
    const fromOffset = Number(second.slice(9, 25)) + 3;
    const report = await lab.keep({ holds: [{ by: 'backup', fromOffset }] });
    expect(report.floorOffset).toBe(Number(second.slice(9, 25)));
    const held = segmentNames(lab.disk).filter((name) => Number(name.slice(16, 32)) > fromOffset);
    expect(held.filter((name) => name.endsWith('.gz'))).toEqual([]);
    const [, ...snapshots] = lab.snapshots;
    const left = lab.disk.list().filter((name) => name.endsWith('.rdbs'));
    expect(left).toEqual(snapshots);
    await expectOpens(lab);
    const none = await lab.keep({ holds: [{ by: 'archive', fromOffset: 0 }] });
    expect(none).toMatchObject({ deleted: 0 });
  });

  it('[history 3.21] forgets all that is before the newest snapshot', async () => {
    const lab = await story();
    await lab.keep({ settings: everything });
    const newest = lab.snapshots.at(-1) ?? '';
    const held = await lab.keep({ forget: true, holds: [{ by: 'backup', fromOffset: 5 }] });
    expect(held.deleted).toBe(0);
    const partly = await lab.keep({ forget: true, holds: [{ by: 'archive', fromOffset: 30 }] });
    expect(partly.reason).toBe('forget');
    expect(partly.floorOffset).toBeGreaterThan(5);
    expect(partly.floorOffset).toBeLessThanOrEqual(30);
    const report = await lab.keep({ forget: true });
    expect(report).toMatchObject({ reason: 'forget', snapshots: 1 });
    expect(report.floorOffset).toBe(Number(newest.slice(9, 25)));
    expect(numbersOf(lab.disk)[0]).toBe(segmentOf(lab, newest));
    await expectOpens(lab);
    lab.disk.flipBit(newest, 300, 1);
    await lab.work(30);
    expect((await lab.keep({ forget: true })).deleted).toBe(0);
  });

  it('[history 2.2, 3.21] forgets up to where a segment was sealed', async () => {
    const lab = await story();
    const newest = await lab.snapshot();
    const segment = segmentOf(lab, newest);
    await lab.log.roll();
    const report = await lab.keep({ forget: true });
    expect(report).toMatchObject({ reason: 'forget', snapshots: 1 });
    expect(report.floorOffset).toBe(Number(newest.slice(9, 25)));
    expect(numbersOf(lab.disk)).toEqual([segment + 1]);
    await lab.work(5);
    await expectOpens(lab);
  });

  it('[history 3.2] gives history up when the disk is nearly full, or only says so', async () => {
    const gibibyte = 1024 ** 3;
    for (const onLowDisk of ['shrink', 'warn'] as const) {
      const lab = await story();
      lab.disk.totalBytes = gibibyte;
      const settings = { ...nothing, keepMicros: 1n << 60n, onLowDisk };
      const report = await lab.keep({ settings });
      const isShrunk = onLowDisk === 'shrink';
      expect(report.reason).toBe(isShrunk ? 'low disk' : undefined);
      const offset = Number(lab.snapshots.at(-2)?.slice(9, 25));
      expect(lab.problems).toEqual([
        isShrunk
          ? `error: The disk is nearly full: history before offset ${offset} is given up.`
          : 'error: The disk is nearly full. No history is given up.',
      ]);
      await expectOpens(lab);
    }
  });

  it('[history 3.3] makes room for the floor on a full disk', async () => {
    const lab = await story();
    await lab.keep({ settings: everything });
    const indexes = lab.disk.list().filter((name) => indexNames.test(name));
    const full = lab.changed();
    full.isFull = true;
    full.beforeOperation = () => {
      const left = full.list().filter((name) => indexNames.test(name));
      if (left.length < indexes.length) full.isFull = false;
    };
    const report = await keepHistory(full, optionsOf(lab, nothing));
    expect(report.deleted).toBeGreaterThan(0);
    expect(verifyLog(full, labIdentity).kind).toBe('intact');
  });

  it('[history 3.3] ends after the present operation when it is stopped', async () => {
    const counts = new Set<number>();
    for (let stop = 0; stop < 60; stop++) {
      const lab = await story();
      let left = stop;
      await lab.keep({ isStopped: () => left-- <= 0 });
      counts.add(numbersOf(lab.disk).length);
      await expectOpens(lab);
      const rest = await lab.keep();
      expect(rest.snapshots).toBe(2);
      await expectOpens(lab);
    }
    expect(counts.size).toBeGreaterThan(4);
  });

  it('[history I8] keeps the bytes within the bound, whatever is written', async () => {
    const lab = await HistoryLab.open(4, 1000);
    const keepBytes = 12_000;
    let largest = 0;
    for (let round = 0; round < 40; round++) {
      await lab.work(12);
      await lab.snapshot();
      const settings = { ...nothing, keepMicros: 1n << 60n, keepBytes };
      const { bytes, snapshots, segments } = await lab.keep({ settings });
      const sizes = lab.disk.list().map((name) => lab.disk.contentOf(name).length);
      const total = sizes.reduce((sum, size) => sum + size, 0);
      const snapshotBytes = bytes.snapshots / snapshots;
      const hot = bytes.hot + bytes.active;
      const bound = keepBytes + hot + 3 * 66_000 + 3 * snapshotBytes + bytes.indexes;
      expect(total).toBeLessThanOrEqual(bound);
      expect(bytes.cold + (snapshots - 2) * snapshotBytes).toBeLessThanOrEqual(keepBytes);
      largest = Math.max(largest, segments);
    }
    expect(numbersOf(lab.disk)[0]).toBeGreaterThan(5);
    expect(largest).toBeGreaterThan(5);
    await expectOpens(lab);
  });

  it('[history 3.3] removes what an interrupted one has left below the floor', async () => {
    const lab = await story();
    const before = lab.changed();
    await lab.keep();
    const floor = lab.disk.contentOf('floor');
    const half = new SimulatedDisk([
      ...before.list().map((name) => [name, before.contentOf(name)] as const),
      ['floor', floor],
    ]);
    half.remove(segmentNames(half)[0] ?? '');
    const report = await keepHistory(half, optionsOf(lab, everything));
    expect(report.deleted).toBeGreaterThan(0);
    expect(numbersOf(half)).toEqual(numbersOf(lab.disk));
    // The floor of another log says nothing about this one.
    const foreign = new SimulatedDisk([
      ...before.list().map((name) => [name, before.contentOf(name)] as const),
      ['floor', (await floorOfOther()).contentOf('floor')],
    ]);
    const kept = await keepHistory(foreign, optionsOf(lab, everything));
    expect(kept.deleted).toBe(0);
    expect(lab.problems.at(-1)).toContain('below the floor were kept');
    expect(numbersOf(foreign)[0]).toBe(1);
  });
});

async function floorOfOther(): Promise<SimulatedDisk> {
  const other = await story(9);
  await other.keep();
  return other.disk;
}

function optionsOf(lab: HistoryLab, settings: HistorySettings) {
  lab.problems = [];
  return {
    identity: labIdentity,
    settings,
    nowMicros: lab.micros,
    holds: [],
    pace: () => Promise.resolve(),
    isStopped: () => false,
    log: (message: string) => lab.problems.push(message),
    gapBytesMax: 0,
  };
}

describe('the bytes of a log that count', () => {
  it.each([
    ['packed', everything],
    ['deleted', nothing],
  ])('are those on the disk after segments were %s', async (_, settings) => {
    const lab = await story();
    const before = goneOf(lab);
    expect(before).toBe(0);
    await lab.keep({ settings });
    const gone = goneOf(lab);
    expect(gone).toBeGreaterThan(lab.log.bytes / 4);
    const onDisk = segmentNames(lab.disk).reduce((sum, name) => sum + sizeOf(lab.disk, name), 0);
    // The last segment has reserved space, and each has a header.
    const reserved = sizeOf(lab.disk, segmentNames(lab.disk).at(-1) ?? '');
    expect(lab.log.bytes - gone).toBeLessThanOrEqual(onDisk);
    expect(lab.log.bytes - gone).toBeGreaterThanOrEqual(onDisk - reserved);
    // An opening finds the same.
    const { log } = await openWithSnapshots(lab.changed(), { create: false, segmentBytes: 2000 });
    expect(log.goneBytes).toBe(gone);
  });
});

function goneOf({ disk }: HistoryLab): number {
  const active = headerOf(disk, segmentNames(disk).at(-1) ?? '');
  if (active === undefined) throw new Error('the last segment has a header');
  return goneBytes(disk, active);
}

function sizeOf(disk: SimulatedDisk, name: string): number {
  return disk.contentOf(name).length;
}

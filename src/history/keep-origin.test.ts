import { describe, expect, it } from 'vitest';
import { appendRandom, openLog } from '../../test/simulation/log-fixture.ts';
import { openWithSnapshots, snapshotOf } from '../../test/simulation/snapshot-fixture.ts';
import { epoch } from '../log/epoch.ts';
import { readFloor } from '../log/floor.ts';
import { writeOrigin } from '../log/origin.ts';
import { segmentSequence } from '../log/segment.ts';
import { segmentNames } from '../log/segment-reader.ts';
import { verifyLog } from '../log/verify.ts';
import { SimulatedDisk } from '../testing/simulated-disk.ts';
import { databaseIdentity } from '../values/identity-roles.ts';
import { keepHistory } from './keep.ts';
import type { HistorySettings } from './retention.ts';

const parent = databaseIdentity(77n);
const child = databaseIdentity(78n);
const options = { databaseIdentity: child, salt: 5, epoch: epoch(6n), segmentBytes: 1500 };

const everything: HistorySettings = {
  keepMicros: 'everything',
  keepBytes: 0,
  keepCommits: undefined,
  onLowDisk: 'warn',
};

/** A fork whose first segments have names in both folders, with two snapshots of its own. */
async function forked() {
  const disk = new SimulatedDisk();
  const fork = disk.directory('fork');
  const { log } = await openLog(disk, { segmentBytes: 1500 });
  const records: string[] = [];
  for (let turn = 0; turn < 12; turn++) {
    records.push(...appendRandom(log, turn, 3));
    await log.sync();
  }
  const { segment: sequence, lastMicros: micros, begunMicros: _, ...place } = log.snapshotPlace(1n);
  const shared = records.slice();
  // Records behind the place are those of the parent alone.
  appendRandom(log, 50, 2);
  await log.close();
  const linked = segmentNames(disk).filter((name) => (segmentSequence(name) ?? 0) <= sequence);
  for (const name of linked) disk.link(name, fork, name);
  await writeOrigin(fork, { lineage: [{ ...place, sequence, micros }] });
  const { log: own } = await openWithSnapshots(fork, { ...options, create: false });
  const all = shared;
  for (let part = 0; part < 2; part++) {
    for (let turn = 0; turn < 8; turn++) {
      all.push(...appendRandom(own, 100 * part + turn, 3));
      await own.sync();
    }
    await snapshotOf(fork, own, all, part);
  }
  await own.close();
  return { disk, fork, all, sequence };
}

function keep(disk: SimulatedDisk, settings: HistorySettings) {
  const problems: string[] = [];
  const report = keepHistory(disk, {
    ...{ identity: child, settings, nowMicros: 1n << 52n, holds: [] },
    pace: () => Promise.resolve(),
    isStopped: () => false,
    log: (message) => problems.push(message),
  });
  return report.then((found) => ({ ...found, problems }));
}

describe('a pass over a history with an origin', () => {
  it('[history 3.3, 3.6] packs and deletes its own names, never the files', async () => {
    const { disk, fork, all, sequence } = await forked();
    const before = new Map(disk.list().map((name) => [name, disk.contentOf(name)]));
    const packed = await keep(fork, everything);
    expect(packed.packed).toBeGreaterThanOrEqual(sequence);
    expect(packed.problems).toEqual([]);
    expect(verifyLog(fork, child).kind).toBe('intact');
    expect((await openWithSnapshots(fork, { ...options, create: false })).found).toEqual(all);
    const deleted = await keep(fork, { ...everything, keepMicros: 0n });
    expect(deleted.problems).toEqual([]);
    expect(segmentSequence(segmentNames(fork)[0] ?? '')).toBeGreaterThan(sequence);
    expect(readFloor(fork)).toMatchObject({ floor: { epoch: epoch(6n) } });
    expect(verifyLog(fork, child).kind).toBe('intact');
    expect((await openWithSnapshots(fork, { ...options, create: false })).found).toEqual(all);
    for (const [name, bytes] of before) expect(disk.contentOf(name)).toEqual(bytes);
    expect(verifyLog(disk, parent).kind).toBe('intact');
  });
});

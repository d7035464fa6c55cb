import { describe, expect, it } from 'vitest';
import { appendRandom, openLog } from '../../test/simulation/log-fixture.ts';
import { openWithSnapshots, snapshotOf } from '../../test/simulation/snapshot-fixture.ts';
import { commitOffset } from '../store/commit-offset.ts';
import { Random } from '../testing/random.ts';
import { SimulatedDisk } from '../testing/simulated-disk.ts';
import { databaseIdentity } from '../values/identity-roles.ts';
import { type Floor, floorName, readFloor, writeFloor } from './floor.ts';
import { readSegmentHeader, segmentHeaderBytes, segmentSequence } from './segment.ts';
import { writeSmallFile } from './small-file.ts';
import { verifyLog } from './verify.ts';

const identity = databaseIdentity(77n);

function segmentsOf(disk: SimulatedDisk): string[] {
  return disk.list().filter((name) => segmentSequence(name) !== undefined);
}

/** A stopped log with two snapshots, whose segments before that of the older one are gone. */
async function floored() {
  const disk = new SimulatedDisk();
  const { log } = await openLog(disk, { segmentBytes: 1500 });
  const records: string[] = [];
  const names: string[] = [];
  const places: number[] = [];
  for (let part = 0; part < 3; part++) {
    for (let turn = 0; turn < 4; turn++) {
      records.push(...appendRandom(log, part * 100 + turn, 3));
      await log.sync();
    }
    if (part === 2) continue;
    places.push(log.snapshotPlace(1n).segment);
    names.push((await snapshotOf(disk, log, records, part)).name);
  }
  await log.close();
  const [first = 0] = places;
  const name = segmentsOf(disk).find((one) => segmentSequence(one) === first) ?? '';
  const floor = floorAt(disk, name, names[0] ?? '');
  await writeFloor(disk, floor);
  const removed = segmentsOf(disk).filter((one) => one < name);
  for (const one of removed) disk.remove(one);
  await disk.syncDirectory();
  return { disk, records, names, floor, removed };
}

function floorAt(disk: SimulatedDisk, segment: string, snapshot: string): Floor {
  const reading = readSegmentHeader(disk.contentOf(segment).subarray(0, segmentHeaderBytes));
  if (reading.kind !== 'valid') throw new Error('no header');
  const { epoch, sequence, firstOffset, position, chainLow, chainHigh, lastMicros } =
    reading.header;
  const place = { sequence, firstOffset: commitOffset(firstOffset), position };
  const end = { chainLow, chainHigh, micros: lastMicros };
  return { epoch, ...place, ...end, snapshot, at: 1_764_000_000_000_000n, reason: 'age' };
}

/** Another disk with some files changed; `undefined` removes one. */
function changed(
  disk: SimulatedDisk,
  changes: Readonly<Record<string, Uint8Array | undefined>>,
): SimulatedDisk {
  const files = new Map(disk.list().map((name) => [name, disk.contentOf(name)]));
  for (const [name, bytes] of Object.entries(changes)) {
    if (bytes === undefined) files.delete(name);
    else files.set(name, bytes);
  }
  return new SimulatedDisk(files);
}

function reasonOf(disk: SimulatedDisk): string | undefined {
  const report = verifyLog(disk, identity);
  return report.kind === 'damaged' ? report.error.reason : undefined;
}

describe('the floor of a log', () => {
  it('[history 3.4] is read as written, and not at all if a bit of it is flipped', async () => {
    const { disk, floor } = await floored();
    expect(readFloor(disk)).toEqual({ kind: 'valid', floor });
    const bytes = disk.contentOf(floorName);
    expect(new TextDecoder().decode(bytes)).toMatch(/^\{"version":1,.*\}\ncrc32c [0-9a-f]{8}\n$/);
    for (let at = 0; at < bytes.length * 8; at++) {
      const rotten = changed(disk, {});
      rotten.flipBit(floorName, at >> 3, at & 7);
      expect(readFloor(rotten).kind).toBe('damaged');
    }
    for (let length = 0; length < bytes.length; length++) {
      const cut = changed(disk, { [floorName]: bytes.slice(0, length) });
      expect(readFloor(cut).kind).toBe('damaged');
    }
  });

  it('[history 3.3, 3.4] is the old one or the new one after a power cut', async () => {
    const { disk, floor } = await floored();
    const next = { ...floor, sequence: floor.sequence + 1 };
    const outcomes = new Set<number>();
    for (let stop = 1; stop < 6; stop++) {
      for (let seed = 0; seed < 8; seed++) {
        const copy = changed(disk, {});
        copy.stopAt(stop);
        await writeFloor(copy, next).catch(() => undefined);
        const reading = readFloor(copy.crash(new Random(seed)));
        outcomes.add(reading.kind === 'valid' ? reading.floor.sequence : 0);
      }
    }
    expect([...outcomes].sort()).toEqual([floor.sequence, next.sequence]);
    await writeFloor(disk, next);
    expect(readFloor(disk.crash(new Random(1)))).toMatchObject({ floor: next });
  });

  it('[history R2, 3.20] lets a log without its first segments open and be verified', async () => {
    const { disk, records, removed } = await floored();
    expect(removed.length).toBeGreaterThan(1);
    const operations = disk.operationCount;
    expect(verifyLog(disk, identity)).toMatchObject({ kind: 'intact' });
    expect(disk.operationCount).toBe(operations);
    const opened = await openWithSnapshots(changed(disk, {}), { create: false });
    expect(opened).toMatchObject({ found: records, warnings: [] });
  });

  it('[history R2] is not needed by a start that has a snapshot', async () => {
    const { disk, records, names } = await floored();
    for (const bytes of [undefined, new Uint8Array(30).fill(7)]) {
      for (const gone of names) {
        const some = changed(disk, { [floorName]: bytes, [gone]: undefined });
        expect((await openWithSnapshots(some, { create: false })).found).toEqual(records);
      }
    }
  });

  it('[history R4] refuses a log without a snapshot, and changes nothing', async () => {
    const { disk, names, floor } = await floored();
    const gone = Object.fromEntries(names.map((name) => [name, undefined]));
    const id = '4d'.padStart(64, '0');
    const text = `no snapshot of database ${id} can be read, and its log begins at offset `;
    const rotten = Object.fromEntries(names.map((name) => [name, new Uint8Array(300)]));
    for (const missing of [gone, rotten, { ...rotten, [floorName]: undefined }]) {
      const some = changed(disk, missing);
      await expect(openWithSnapshots(some, { create: false })).rejects.toThrow(
        text + floor.firstOffset,
      );
      expect(some.operationCount).toBe(0);
    }
    await expect(openLog(changed(disk, {}), { create: false })).rejects.toThrow(text);
  });

  it('[history 3.20] is found out by verify if the log does not continue it', async () => {
    const { disk, floor } = await floored();
    const reason = 'it does not continue the log whose end is in `floor`';
    for (const wrong of [
      { ...floor, chainLow: floor.chainLow ^ 1 },
      { ...floor, chainHigh: floor.chainHigh ^ 1 },
      { ...floor, position: floor.position + 8 },
      { ...floor, firstOffset: commitOffset(floor.firstOffset + 1) },
      { ...floor, epoch: (floor.epoch ^ 1n) as Floor['epoch'] },
    ]) {
      const some = changed(disk, {});
      await writeFloor(some, wrong);
      expect(reasonOf(some)).toBe(reason);
    }
    const rotten = changed(disk, { [floorName]: new Uint8Array(30) });
    expect(reasonOf(rotten)).toBe('it ends without a checksum');
  });

  it('[history 3.20] shows which segments are missing above it', async () => {
    const { disk, floor } = await floored();
    const [first = '', second = ''] = segmentsOf(disk);
    expect(reasonOf(changed(disk, { [first]: undefined }))).toBe(
      `segment ${floor.sequence} is missing`,
    );
    expect(reasonOf(changed(disk, { [second]: undefined }))).toContain(
      `segment ${floor.sequence + 1} is missing`,
    );
    const all = Object.fromEntries(segmentsOf(disk).map((name) => [name, undefined]));
    expect(reasonOf(changed(disk, all))).toContain('the log is gone');
    expect(reasonOf(changed(disk, { [floorName]: undefined }))).toBe('segment 1 is missing');
  });

  it('[history 3.3] ignores segments below it that an interrupted pass left', async () => {
    const { disk, records, removed } = await floored();
    const last = removed.at(-1) ?? '';
    const noise = changed(disk, { [last]: new Uint8Array(300) });
    expect(verifyLog(noise, identity)).toMatchObject({ kind: 'intact' });
    expect((await openWithSnapshots(noise, { create: false })).found).toEqual(records);
  });

  it('[history 3.4] that a later version wrote is left alone', async () => {
    const { disk } = await floored();
    const text = new TextDecoder().decode(disk.contentOf(floorName));
    await writeSmallFile(disk, floorName, { ...JSON.parse(text.split('\n')[0] ?? ''), version: 2 });
    expect(readFloor(disk)).toMatchObject({ kind: 'later' });
    expect(reasonOf(disk)).toBe('it has version 2, this program reads version 1');
  });
});

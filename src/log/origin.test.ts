import { describe, expect, it } from 'vitest';
import { appendRandom, openLog } from '../../test/simulation/log-fixture.ts';
import { openWithSnapshots, snapshotOf } from '../../test/simulation/snapshot-fixture.ts';
import { Random } from '../testing/random.ts';
import { PowerCut, SimulatedDisk } from '../testing/simulated-disk.ts';
import { type DatabaseIdentity, databaseIdentity } from '../values/identity-roles.ts';
import { acceptLoss } from './accept-loss.ts';
import { DiskError } from './disk.ts';
import { durableMarkName, readDurableMark } from './durable-mark.ts';
import { epoch } from './epoch.ts';
import { LogDamageError } from './log-error.ts';
import { type Origin, originName, readOrigin, writeOrigin } from './origin.ts';
import { readSegmentHeader, segmentHeaderBytes, segmentSequence } from './segment.ts';
import type { SnapshotPlace } from './snapshot.ts';
import { verifyLog, verifySnapshots } from './verify.ts';

const parent = databaseIdentity(77n);
const child = databaseIdentity(78n);
const childOptions = { databaseIdentity: child, salt: 5, epoch: epoch(6n), segmentBytes: 1500 };

function segmentsOf(disk: SimulatedDisk): string[] {
  return disk.list().filter((name) => segmentSequence(name) !== undefined);
}

function filesOf(disk: SimulatedDisk): Map<string, Uint8Array> {
  return new Map(disk.list().map((name) => [name, disk.contentOf(name)]));
}

function originAt(place: SnapshotPlace, before: Origin['lineage'] = []): Origin {
  const { segment: sequence, lastMicros: micros, begunMicros: _, ...rest } = place;
  return { lineage: [...before, { ...rest, sequence, micros }] };
}

/** The folder of a fork: the files of a log up to a place, behind which it has more records. */
async function forked(withSnapshot: boolean) {
  const disk = new SimulatedDisk();
  const { log } = await openLog(disk, { segmentBytes: 1500 });
  const records: string[] = [];
  const more = async (seed: number) => {
    records.push(...appendRandom(log, seed, 3));
    await log.sync();
  };
  for (let turn = 0; turn < 5; turn++) await more(turn);
  const since = log.snapshotPlace(1n).segment;
  const snapshot = await snapshotOf(disk, log, records);
  for (let turn = 5; turn < 10; turn++) await more(turn);
  const place = log.snapshotPlace(1n);
  const shared = records.slice();
  for (let turn = 10; turn < 20; turn++) await more(turn);
  await log.close();
  const files = [...filesOf(disk)].filter(([name]) => {
    const sequence = segmentSequence(name);
    if (sequence === undefined) return withSnapshot && name === snapshot.name;
    const isSince = !withSnapshot || sequence >= since;
    return isSince && sequence <= place.segment;
  });
  const fork = new SimulatedDisk(files);
  const origin = originAt(place);
  await writeOrigin(fork, origin);
  return { fork, shared, origin, place, linked: new Map(files) };
}

function copyOf(disk: SimulatedDisk, without: readonly string[] = []): SimulatedDisk {
  return new SimulatedDisk([...filesOf(disk)].filter(([name]) => !without.includes(name)));
}

function open(disk: SimulatedDisk, identity: DatabaseIdentity = child) {
  const options = { ...childOptions, create: false, databaseIdentity: identity };
  return openWithSnapshots(disk, options);
}

async function damageOf(disk: SimulatedDisk): Promise<string> {
  const operations = disk.operationCount;
  const error = await open(disk).catch((failure: unknown) => failure);
  if (!(error instanceof LogDamageError)) throw new Error(`not refused: ${String(error)}`);
  expect(disk.operationCount).toBe(operations);
  return error.message;
}

describe('a log with an origin', () => {
  it.each([true, false])(
    '[history 1.5, R2] goes on behind its place, in a segment of its own; a snapshot: %s',
    async (withSnapshot) => {
      const { fork, shared, place, linked } = await forked(withSnapshot);
      const { log, found, warnings } = await open(fork);
      expect(found).toEqual(shared);
      expect(warnings).toEqual([]);
      expect(log.offset).toBe(place.offset);
      expect(log.durableOffset).toBe(place.offset);
      const own = segmentsOf(fork).at(-1) ?? '';
      const reading = readSegmentHeader(fork.contentOf(own).subarray(0, segmentHeaderBytes));
      expect(reading).toMatchObject({
        header: {
          ...{
            databaseIdentity: child,
            salt: 5,
            epoch: epoch(6n),
            isAfterOrigin: true,
            hasRuns: false,
          },
          ...{ sequence: place.segment + 1, firstOffset: place.offset + 1 },
          ...{ position: place.position, chainLow: place.chainLow, chainHigh: place.chainHigh },
          lastMicros: place.lastMicros,
        },
      });
      const records = [...shared, ...appendRandom(log, 50, 30)];
      await log.sync();
      expect(log.snapshotPlace(1n)).toMatchObject({ databaseIdentity: child, epoch: epoch(6n) });
      await log.close();
      for (const [name, bytes] of linked) expect(fork.contentOf(name)).toEqual(bytes);
      expect(verifyLog(fork, child)).toMatchObject({ kind: 'intact' });
      const again = await open(fork.afterKill());
      expect(again.found).toEqual(records);
      expect(again.warnings).toEqual([]);
    },
  );

  it('[history R2] uses its own snapshots, and those of the other log', async () => {
    const { fork, shared } = await forked(true);
    const { log } = await open(fork);
    const records = [...shared, ...appendRandom(log, 50, 9)];
    await log.sync();
    const place = log.snapshotPlace(1n);
    const { name } = await snapshotOf(fork, log, records);
    records.push(...appendRandom(log, 51, 9));
    await log.close();
    expect(verifySnapshots(fork, child).map(({ kind }) => kind)).toEqual(['intact', 'intact']);
    const newest = await open(copyOf(fork));
    expect(newest).toMatchObject({ found: records, place: { offset: place.offset } });
    const older = await open(copyOf(fork, [name]));
    expect(older).toMatchObject({ found: records, place: { databaseIdentity: parent } });
    expect(verifyLog(fork, child)).toMatchObject({ kind: 'intact' });
  });

  it('[history 1.5] goes on in a third one, and does not change the first two', async () => {
    const { fork, shared, origin } = await forked(false);
    const { log } = await open(fork);
    const records = [...shared, ...appendRandom(log, 50, 20)];
    await log.sync();
    const place = log.snapshotPlace(1n);
    appendRandom(log, 51, 5);
    await log.close();
    const third = new SimulatedDisk(
      [...filesOf(fork)].filter(([name]) => (segmentSequence(name) ?? 99) <= place.segment),
    );
    await writeOrigin(third, originAt(place, origin.lineage));
    const identity = databaseIdentity(79n);
    const options = { databaseIdentity: identity, salt: 8, epoch: epoch(9n), create: false };
    const opened = await openWithSnapshots(third, options);
    expect(opened.found).toEqual(records);
    const all = [...records, ...appendRandom(opened.log, 52, 5)];
    await opened.log.close();
    expect((await openWithSnapshots(third, options)).found).toEqual(all);
    expect(verifyLog(third, identity)).toMatchObject({ kind: 'intact' });
  });

  it('[history 1.1, 1.5] of the same database, in another epoch, distinguishes it', async () => {
    const { fork, shared } = await forked(true);
    const { log } = await open(fork, parent);
    const records = [...shared, ...appendRandom(log, 50, 5)];
    await log.close();
    expect((await open(copyOf(fork), parent)).found).toEqual(records);
    const without = copyOf(fork, [originName]);
    await expect(open(without, parent)).rejects.toThrow('`origin` does not say that another log');
  });

  it('[history R2, 2.4] is the same after an interruption of its first opening', async () => {
    const { fork, shared, linked } = await forked(true);
    let cuts = 0;
    for (let at = 1; at < 12; at++) {
      for (const how of ['kill', 'powerCut', 'EIO', 'ENOSPC'] as const) {
        for (let seed = 0; seed < 2; seed++) {
          const disk = copyOf(fork);
          if (how === 'EIO' || how === 'ENOSPC') disk.failAtOperation(at, how);
          else disk.stopAt(at);
          await open(disk).catch((error: unknown) => {
            if (!(error instanceof DiskError || error instanceof PowerCut)) throw error;
          });
          cuts++;
          const after = how === 'kill' ? disk.afterKill() : disk.crash(new Random(seed));
          const { log, found } = await open(after);
          expect(found).toEqual(shared);
          const more = appendRandom(log, seed, 4);
          await log.sync();
          expect((await open(after.crash(new Random(seed)))).found).toEqual([...shared, ...more]);
          for (const [name, bytes] of linked) expect(after.contentOf(name)).toEqual(bytes);
        }
      }
    }
    expect(cuts).toBeGreaterThan(80);
  });

  it('[history R2] is refused if its first part is damaged or missing', async () => {
    const { fork, origin } = await forked(false);
    const { log } = await open(fork);
    appendRandom(log, 50, 5);
    await log.close();
    const [first = '', second = ''] = segmentsOf(fork);
    expect(await damageOf(copyOf(fork, [first]))).toContain('no snapshot of database');
    expect(await damageOf(copyOf(fork, [second]))).toContain('segment 2 is missing');
    const own = segmentsOf(fork).at(-1) ?? '';
    expect(await damageOf(copyOf(fork, [own]))).toContain('commits are missing');
    const rotten = copyOf(fork);
    rotten.flipBit(second, segmentHeaderBytes + 40, 1);
    expect(await damageOf(rotten)).toContain('the checksum of a record');
    const accepted = { databaseIdentity: child, offset: 3, warn: () => undefined };
    await expect(acceptLoss(rotten, accepted)).rejects.toThrow(LogDamageError);
    const [entry] = origin.lineage;
    if (entry === undefined) throw new Error('no place');
    for (const wrong of [
      { ...entry, chainLow: entry.chainLow ^ 1 },
      { ...entry, offset: (entry.offset + 1) as typeof entry.offset },
      { ...entry, epoch: epoch(3n) },
      { ...entry, databaseIdentity: databaseIdentity(3n) },
      { ...entry, position: entry.position - 8 },
    ]) {
      const disk = copyOf(fork, [originName]);
      await writeOrigin(disk, { lineage: [wrong] });
      await damageOf(disk);
    }
    expect(await damageOf(copyOf(fork, [originName]))).toContain('belongs to another database');
  });

  it('[history R4] is refused without a snapshot if its first commits are gone', async () => {
    const { fork } = await forked(true);
    const { log } = await open(fork);
    await log.close();
    const names = fork.list().filter((name) => name.startsWith('snapshot-'));
    const [first = ''] = segmentsOf(fork);
    expect(segmentSequence(first)).toBeGreaterThan(1);
    expect(await damageOf(copyOf(fork, names))).toContain('no snapshot of database');
  });

  it('[history R1] keeps a mark of its own part alone', async () => {
    const { fork, place } = await forked(true);
    const { log } = await open(fork);
    expect(readDurableMark(fork)).toMatchObject({ salt: 5, end: { position: place.position } });
    appendRandom(log, 50, 5);
    await log.close();
    expect(await damageOf(copyOf(fork, [durableMarkName]))).toContain('`durable` is missing');
  });
});

describe('the file `origin`', () => {
  it('[history R1] is read as it was written, or refused if a bit of it is flipped', async () => {
    const { fork, origin } = await forked(true);
    expect(readOrigin(fork)).toEqual(origin);
    const bytes = fork.contentOf(originName);
    for (let at = 0; at < bytes.length * 8; at++) {
      const disk = copyOf(fork);
      disk.flipBit(originName, at >> 3, at & 7);
      expect(() => readOrigin(disk)).toThrow(LogDamageError);
    }
    const rotten = copyOf(fork);
    rotten.flipBit(originName, 20, 1);
    expect(await damageOf(rotten)).toContain('its checksum does not match (origin, position 0');
    expect(verifyLog(rotten, child)).toMatchObject({ kind: 'damaged' });
  });

  it('[history R1] names places in their order, at least one', async () => {
    const { origin } = await forked(true);
    const [entry] = origin.lineage;
    if (entry === undefined) throw new Error('no place');
    for (const lineage of [[], [entry, entry], [{ ...entry, sequence: 0 }]]) {
      const disk = new SimulatedDisk();
      await writeOrigin(disk, { lineage });
      expect(() => readOrigin(disk)).toThrow('it does not say where the log comes from');
    }
    expect(readOrigin(new SimulatedDisk())).toBeUndefined();
  });
});

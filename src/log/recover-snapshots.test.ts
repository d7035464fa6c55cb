import { describe, expect, it } from 'vitest';
import { appendRandom, openLog } from '../../test/simulation/log-fixture.ts';
import {
  Collector,
  type OpenedWithSnapshots,
  openWithSnapshots,
  snapshotOf,
  writeSnapshot,
} from '../../test/simulation/snapshot-fixture.ts';
import { commitOffset } from '../store/commit-offset.ts';
import { SimulatedDisk } from '../testing/simulated-disk.ts';
import { databaseIdentity } from '../values/identity-roles.ts';
import { acceptLoss } from './accept-loss.ts';
import { crc32c } from './checksum.ts';
import { DiskError } from './disk.ts';
import { epoch } from './epoch.ts';
import { LogDamageError } from './log-error.ts';
import { segmentHeaderBytes, segmentSequence } from './segment.ts';
import { type SnapshotPlace, snapshotOffset } from './snapshot.ts';
import { verifyLog, verifySnapshots, verifyStart } from './verify.ts';

const identity = databaseIdentity(77n);

interface Story {
  readonly disk: SimulatedDisk;
  /** All records, as text. */
  readonly records: readonly string[];
  /** Names of the snapshots, oldest first, and how many records each stands for. */
  readonly snapshots: readonly string[];
  readonly counts: readonly number[];
}

/** A stopped log of several segments, with a snapshot after each part but the last. */
async function story(parts = 3, segmentBytes = 1500): Promise<Story> {
  const disk = new SimulatedDisk();
  const { log } = await openLog(disk, { segmentBytes });
  const records: string[] = [];
  const snapshots: string[] = [];
  const counts: number[] = [];
  for (let part = 0; part < parts; part++) {
    for (let turn = 0; turn < 4; turn++) {
      records.push(...appendRandom(log, part * 100 + turn, 3));
      await log.sync();
    }
    if (part === parts - 1) continue;
    snapshots.push((await snapshotOf(disk, log, records, part)).name);
    counts.push(records.length);
  }
  await log.close();
  return { disk, records, snapshots, counts };
}

function present<T>(value: T | undefined): T {
  if (value === undefined) throw new Error('missing');
  return value;
}

function segmentsOf(disk: SimulatedDisk): string[] {
  return disk.list().filter((name) => segmentSequence(name) !== undefined);
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

async function reopened(disk: SimulatedDisk): Promise<OpenedWithSnapshots> {
  const opened = await openWithSnapshots(disk, { create: false, segmentBytes: 1500 });
  opened.log.abandon();
  return opened;
}

function flipped(bytes: Uint8Array, position: number): Uint8Array {
  const copy = bytes.slice();
  copy[position] = (copy[position] ?? 0) ^ 1;
  return copy;
}

describe('a log with snapshots', () => {
  it('[history 2.31] is the same from the newest one, from another, and without any', async () => {
    const { disk, records, snapshots, counts } = await story();
    const [older, newer] = snapshots;
    const newest = await reopened(disk);
    expect(newest).toMatchObject({ found: records, restored: counts[1], warnings: [] });
    const second = await reopened(changed(disk, { [present(newer)]: undefined }));
    expect(second).toMatchObject({ found: records, restored: counts[0], warnings: [] });
    const gone = { [present(newer)]: undefined, [present(older)]: undefined };
    const none = await reopened(changed(disk, gone));
    expect(none).toMatchObject({ found: records, restored: 0, warnings: [] });
  });

  it('[history 2.2, 2.31] needs no segment that was sealed at its place', async () => {
    const disk = new SimulatedDisk();
    const { log } = await openLog(disk, { segmentBytes: 1500 });
    const records = appendRandom(log, 1, 3);
    await log.sync();
    await snapshotOf(disk, log, records, 1);
    await log.roll();
    const empty = changed(disk, { [present(segmentsOf(disk)[0])]: undefined });
    expect(await reopened(empty)).toMatchObject({ found: records, restored: 3, warnings: [] });
    records.push(...appendRandom(log, 2, 3));
    await log.sync();
    await log.close();
    const [first = '', second = ''] = segmentsOf(disk);
    expect(await reopened(disk)).toMatchObject({ found: records, restored: 3, warnings: [] });
    const rest = changed(disk, { [first]: undefined });
    expect(verifySnapshots(rest, identity)).toMatchObject([{ kind: 'intact' }]);
    expect(await reopened(rest)).toMatchObject({ found: records, restored: 3, warnings: [] });
    const none = changed(disk, { [first]: undefined, [second]: undefined });
    expect(verifySnapshots(none, identity)).toMatchObject([{ kind: 'damaged' }]);
  });

  it('[history 1.2, 1.5] continues with offset, time, chain and epoch of the whole', async () => {
    const { disk, snapshots } = await story();
    const [older, newer] = snapshots;
    const gone = { [present(newer)]: undefined, [present(older)]: undefined };
    const places = [];
    for (const each of [disk, changed(disk, gone)]) {
      const { log } = await openWithSnapshots(each, { segmentBytes: 1500 });
      appendRandom(log, 5, 60);
      await log.sync();
      places.push(log.snapshotPlace(1n));
      await log.close();
    }
    expect(places[0]).toEqual(places[1]);
    const again = await reopened(changed(disk, {}));
    const whole = await openLog(changed(disk, gone));
    expect(again.found).toEqual(whole.found);
  });

  it('[history R5] is not read before the segment of the snapshot', async () => {
    const { disk, records, counts } = await story();
    const { place } = await reopened(disk);
    const earlier = segmentsOf(disk).slice(0, present(place).segment - 1);
    expect(earlier.length).toBeGreaterThan(1);
    const without = changed(disk, Object.fromEntries(earlier.map((name) => [name, undefined])));
    expect(await reopened(without)).toMatchObject({ found: records, restored: counts[1] });
    const noise = earlier.map((name) => [name, new Uint8Array(300).fill(7)]);
    expect((await reopened(changed(disk, Object.fromEntries(noise)))).found).toEqual(records);
  });

  it('[history R2] uses the newest one when nothing follows it, too', async () => {
    const disk = new SimulatedDisk();
    const { log } = await openLog(disk);
    const records = appendRandom(log, 1, 20);
    await snapshotOf(disk, log, records);
    const opened = await reopened(disk.afterKill());
    expect(opened).toMatchObject({ found: records, restored: 20, warnings: [] });
  });

  it('[history 2.5] removes what was left of an unfinished one', async () => {
    const { disk, records } = await story();
    const parts = [
      'snapshot-0000000000000099.rdbs.part',
      'commit-00000001-0000000000000001.log.gz.part',
      'commit-00000001-0000000000000001.idx.part',
      'floor.part',
    ];
    const left = changed(
      disk,
      Object.fromEntries(parts.map((part) => [part, new Uint8Array(200)])),
    );
    expect(await reopened(left)).toMatchObject({ found: records, warnings: [] });
    for (const part of parts) expect(left.list()).not.toContain(part);
  });
});

describe('a snapshot that is damaged', () => {
  it('[history R3, 2.30, durability D5] is set aside, and the older one is used', async () => {
    const { disk, records, snapshots, counts } = await story();
    const newer = present(snapshots[1]);
    const bytes = disk.contentOf(newer);
    for (let position = 0; position < bytes.length; position += 61) {
      const rotten = changed(disk, { [newer]: flipped(bytes, position) });
      const opened = await reopened(rotten);
      expect(opened).toMatchObject({ found: records, restored: counts[0] });
      expect(opened.warnings).toHaveLength(1);
      expect(opened.warnings[0]).toContain(`It was set aside as ${newer}.bad-1`);
      expect(rotten.list()).toContain(`${newer}.bad-1`);
      expect(rotten.list()).not.toContain(newer);
      expect((await reopened(rotten)).warnings).toEqual([]);
    }
  });

  it('[history 2.20] shows nothing before its footer was checked', async () => {
    const { disk, snapshots } = await story();
    const newer = present(snapshots[1]);
    const bytes = disk.contentOf(newer);
    const collector = new Collector();
    // Among the last rows: all before them has been handed over by then.
    const rotten = changed(disk, { [newer]: flipped(bytes, bytes.length - 300) });
    const { log } = await openLog(rotten, { create: false, snapshots: collector });
    log.abandon();
    expect(collector).toMatchObject({ begun: 2, abandoned: 1 });
    expect(collector.place?.offset).toBe(snapshotOffset(present(snapshots[0])));
  });

  it('[history R4] like all others, leaves the whole log', async () => {
    const { disk, records, snapshots } = await story();
    const rotten = changed(
      disk,
      Object.fromEntries(snapshots.map((name) => [name, disk.contentOf(name).slice(0, 400)])),
    );
    const opened = await reopened(rotten);
    expect(opened).toMatchObject({ found: records, restored: 0 });
    expect(opened.warnings).toHaveLength(2);
  });

  it('[history R4] is the end where the log does not begin at 1', async () => {
    const { disk, snapshots } = await story();
    const [first = '', second = ''] = segmentsOf(disk);
    const changes = Object.fromEntries(
      snapshots.map((name) => [name, disk.contentOf(name).slice(0, 400)]),
    );
    const rotten = changed(disk, { ...changes, [first]: undefined });
    const before = rotten.operationCount;
    const offset = Number(/-(\d+)\.log$/.exec(second)?.[1]);
    const what = `no snapshot of database ${'0'.repeat(62)}4d can be read`;
    await expect(reopened(rotten)).rejects.toThrow(
      `${what}, and its log begins at offset ${offset}`,
    );
    expect(rotten.operationCount).toBe(before);
  });

  it('[history R2, R3] of another database, or with another name, is set aside', async () => {
    const { disk, records, snapshots } = await story();
    const newer = present(snapshots[1]);
    const bytes = disk.contentOf(newer);
    const other = new SimulatedDisk();
    const stranger = await openLog(other, { databaseIdentity: databaseIdentity(78n) });
    const foreign = await snapshotOf(other, stranger.log, appendRandom(stranger.log, 1, 9));
    const cases: [file: string, bytes: Uint8Array, text: string][] = [
      [foreign.name, other.contentOf(foreign.name), 'it belongs to another database'],
      ['snapshot-0000000000009999.rdbs', bytes, 'not of that in its name'],
    ];
    for (const [file, content, text] of cases) {
      const mixed = changed(disk, { [file]: content });
      const opened = await reopened(mixed);
      expect(opened.found).toEqual(records);
      if (file > newer) expect(opened.warnings.join()).toContain(text);
      const [report] = verifySnapshots(changed(disk, { [file]: content }), identity).filter(
        ({ name }) => name === file,
      );
      expect(report).toMatchObject({ kind: 'damaged', detail: expect.stringContaining(text) });
    }
  });

  it('[history R3] that the machine cannot read stays, and the older one is used', async () => {
    const { disk, records, snapshots, counts } = await story();
    const newer = present(snapshots[1]);
    const failing = changed(disk, {});
    const open = failing.open.bind(failing);
    failing.open = (name, mode) => {
      if (name === newer) throw new DiskError('open', name, new Error('EIO'));
      return open(name, mode);
    };
    const opened = await reopened(failing);
    expect(opened).toMatchObject({ found: records, restored: counts[0] });
    expect(opened.warnings[0]).toContain('It was left as it is');
    expect(failing.list()).toContain(newer);
  });

  it('[history R3] is left when a later version wrote it', async () => {
    const { disk, records, snapshots, counts } = await story();
    const newer = present(snapshots[1]);
    const bytes = disk.contentOf(newer);
    const view = new DataView(bytes.buffer);
    view.setUint32(8, 2, true);
    view.setUint32(124, crc32c(bytes, 0, 124), true);
    const later = changed(disk, { [newer]: bytes });
    const opened = await reopened(later);
    expect(opened).toMatchObject({ found: records, restored: counts[0] });
    expect(opened.warnings[0]).toContain('version 2');
    expect(later.list()).toContain(newer);
    expect(verifySnapshots(later, identity).map(({ kind }) => kind)).toEqual([
      'intact',
      'unreadable',
    ]);
  });

  it('[history R3] is not touched while the log is only read', async () => {
    const { disk, records, snapshots } = await story();
    const newer = present(snapshots[1]);
    const part = 'snapshot-0000000000000099.rdbs.part';
    const bytes = flipped(disk.contentOf(newer), 200);
    const full = changed(disk, { [newer]: bytes, [part]: new Uint8Array(8) });
    const names = full.list();
    const opened = await openWithSnapshots(full, { create: false, isReadOnly: true });
    expect(opened.found).toEqual(records);
    expect(opened.warnings[0]).toContain(newer);
    opened.log.abandon();
    expect(full.list()).toEqual(names);
    expect(full.counts.get('rename')).toBeUndefined();
  });
});

describe('a log whose snapshots know more', () => {
  it('[history R6] sets aside those that are ahead of its end', async () => {
    const { disk, snapshots, counts, records } = await story();
    const [older = '', newer = ''] = snapshots;
    // A disk that lied: it forgot segments, and the mark.
    const { place } = await reopened(changed(disk, { [newer]: undefined }));
    const later = segmentsOf(disk).slice(present(place).segment);
    const cut = changed(disk, Object.fromEntries(later.map((name) => [name, undefined])));
    const lying = changed(cut, { durable: undefined });
    await expect(reopened(lying)).rejects.toThrow('`durable` is missing');
    const warnings: string[] = [];
    const accepted = await acceptLoss(lying, {
      databaseIdentity: identity,
      offset: offsetOf(lying),
      warn: (message) => warnings.push(message),
    });
    expect(accepted.kind).toBe('accepted');
    expect(warnings.join()).toContain(`The snapshot ${newer} was not used`);
    expect(warnings.join()).toContain('ahead of the log, which ends at offset');
    const opened = await reopened(lying);
    expect(opened).toMatchObject({ restored: counts[0], warnings: [] });
    expect(opened.found).toEqual(records.slice(0, opened.found.length));
    expect(lying.list()).toContain(`${newer}.bad-1`);
    expect(lying.list()).toContain(older);
  });

  it('[history R2] sets aside those of other commits than its own', async () => {
    const { disk, records, snapshots } = await story();
    const newer = present(snapshots[1]);
    const other = new SimulatedDisk();
    const { log } = await openLog(other, { segmentBytes: 1500 });
    const strange: string[] = [];
    while (log.offset < Number(snapshotOffset(newer))) strange.push(...appendRandom(log, 77, 1));
    const { name } = await snapshotOf(other, log, strange);
    expect(name).toBe(newer);
    const mixed = changed(disk, { [newer]: other.contentOf(newer) });
    const report = verifySnapshots(mixed, identity).find((one) => one.name === newer);
    expect(report).toMatchObject({ kind: 'damaged' });
    const opened = await reopened(mixed);
    expect(opened.found).toEqual(records);
    expect(opened.warnings.join()).toMatch(/its commits are not those of the log|ahead of the log/);
  });

  it.each<[string, (place: SnapshotPlace) => Partial<SnapshotPlace>]>([
    ['chain hash', ({ chainLow }) => ({ chainLow: chainLow ^ 1 })],
    ['epoch', ({ epoch: one }) => ({ epoch: epoch(one + 1n) })],
    ['segment', ({ segment }) => ({ segment: segment + 1 })],
    ['log position', ({ position }) => ({ position: position + 8 })],
    ['offset', ({ offset }) => ({ offset: commitOffset(offset + 1) })],
  ])('[history R2, R3] sets aside those with another %s', async (_, change) => {
    for (const isLast of [false, true]) {
      const disk = new SimulatedDisk();
      const { log } = await openLog(disk, { segmentBytes: 1 << 20 });
      const records = appendRandom(log, 1, 20);
      log.write();
      const place = log.snapshotPlace(1n);
      if (!isLast) records.push(...appendRandom(log, 2, 5));
      const content = { place: { ...place, ...change(place) }, salt: 3, records: [] };
      const { name } = await writeSnapshot(disk, content, () => log.sync());
      log.abandon();
      expect(verifySnapshots(disk, identity)).toMatchObject([{ kind: 'damaged' }]);
      const opened = await reopened(disk);
      expect(opened).toMatchObject({ found: records, restored: 0, place: undefined });
      expect(opened.warnings).toHaveLength(1);
      expect(disk.list()).toContain(`${name}.bad-1`);
    }
  });

  it('[history R4] is gone when only they are left', async () => {
    const { disk, snapshots } = await story();
    const rest = changed(disk, {
      durable: undefined,
      ...Object.fromEntries(segmentsOf(disk).map((name) => [name, undefined])),
    });
    const text = `offset ${snapshotOffset(present(snapshots[1]))} is known to be durable`;
    await expect(openWithSnapshots(rest, { create: true })).rejects.toThrow(text);
    expect(verifyLog(rest, identity)).toMatchObject({ kind: 'damaged' });
  });
});

describe('damage of a log with snapshots', () => {
  it('[history R5, durability D4] behind the snapshot is judged as without it', async () => {
    const { disk, records, snapshots, counts } = await story();
    const last = present(segmentsOf(disk).at(-1));
    const bytes = disk.contentOf(last);
    let refused = 0;
    for (let position = 0; position < bytes.length; position += 17) {
      const rotten = changed(disk, { [last]: flipped(bytes, position) });
      const whole = changed(rotten, Object.fromEntries(snapshots.map((name) => [name, undefined])));
      const outcome = await outcomeOf(rotten);
      expect(outcome).toEqual(await outcomeOf(whole));
      if (outcome === 'damaged') refused++;
      else expect(outcome).toEqual(records);
    }
    expect(refused).toBeGreaterThan(8);
    expect(counts[1]).toBeGreaterThan(0);
  });

  it('[history R5] before the snapshot is found by verify, and refused by acceptLoss', async () => {
    const { disk, records } = await story();
    const first = present(segmentsOf(disk)[0]);
    const rotten = changed(disk, { [first]: flipped(disk.contentOf(first), 200) });
    expect(verifyLog(rotten, identity)).toMatchObject({ kind: 'damaged' });
    expect(verifyStart(rotten, identity)).toMatchObject({ kind: 'intact' });
    const accepted = await acceptLoss(rotten, {
      databaseIdentity: identity,
      offset: 0,
      warn: () => undefined,
    });
    expect(accepted).toMatchObject({
      kind: 'refused',
      message: expect.stringContaining('is complete'),
    });
    expect((await reopened(rotten)).found).toEqual(records);
  });

  it('[history R5] in the segment of the snapshot, before its place, loses nothing', async () => {
    const disk = new SimulatedDisk();
    const { log } = await openLog(disk, { segmentBytes: 1 << 20 });
    const records = appendRandom(log, 1, 20);
    log.write();
    const { position } = log.snapshotPlace(1n);
    await snapshotOf(disk, log, records);
    records.push(...appendRandom(log, 2, 5));
    await log.close();
    const [name = ''] = segmentsOf(disk);
    const bytes = disk.contentOf(name);
    for (let at = segmentHeaderBytes; at < segmentHeaderBytes + position; at += 23) {
      const rotten = changed(disk, { [name]: flipped(bytes, at) });
      expect(verifyLog(rotten, identity)).toMatchObject({ kind: 'damaged' });
      expect(verifySnapshots(rotten, identity)).toMatchObject([{ kind: 'intact' }]);
      const opened = await reopened(rotten);
      expect(opened).toMatchObject({ found: records, restored: 20 });
      expect(opened.warnings).toEqual([expect.stringContaining(`of ${name} are damaged`)]);
    }
  });

  it('[history R5] as a torn tail behind it is cut off, and the log goes on', async () => {
    const disk = new SimulatedDisk();
    disk.isLasting = false;
    const { log } = await openLog(disk, { segmentBytes: 4000 });
    const records = appendRandom(log, 1, 10);
    await snapshotOf(disk, log, records);
    const more = appendRandom(log, 2, 10);
    log.write();
    const last = present(segmentsOf(disk).at(-1));
    const bytes = disk.contentOf(last);
    const end = bytes.findLastIndex((byte) => byte !== 0);
    const torn = changed(disk, { [last]: flipped(bytes, end - 3) });
    torn.isLasting = false;
    const opened = await openWithSnapshots(torn, { segmentBytes: 4000 });
    expect(opened.restored).toBe(10);
    expect(opened.found.length).toBeLessThan(20);
    expect(opened.found).toEqual([...records, ...more].slice(0, opened.found.length));
    expect(opened.warnings[0]).toContain('Cut off');
    const added = appendRandom(opened.log, 3, 10);
    await opened.log.close();
    expect((await reopened(torn)).found).toEqual([...opened.found, ...added]);
  });

  it('[durability 5.2] two segments of one number before the snapshot are a fork', async () => {
    const { disk } = await story();
    const [, second = ''] = segmentsOf(disk);
    const twin = second.replace(/-(\d{16})\.log$/, '-0000000000000099.log');
    const forked = changed(disk, { [twin]: disk.contentOf(second) });
    await expect(reopened(forked)).rejects.toThrow('two segments have the number 2');
  });
});

/** The records of a log that opens; `damaged` if it does not. */
async function outcomeOf(disk: SimulatedDisk): Promise<readonly string[] | 'damaged'> {
  try {
    return (await reopened(disk)).found;
  } catch (error) {
    if (error instanceof LogDamageError) return 'damaged';
    throw error;
  }
}

/** The offset at which a log ends. */
function offsetOf(disk: SimulatedDisk): number {
  const report = verifyLog(disk, identity);
  if (report.kind !== 'damaged') throw new Error(report.kind);
  return report.error.place.offset - 1;
}

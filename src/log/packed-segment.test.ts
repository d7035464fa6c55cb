import { gunzipSync } from 'node:zlib';
import { describe, expect, it } from 'vitest';
import { appendRandom, openLog } from '../../test/simulation/log-fixture.ts';
import { openWithSnapshots, snapshotOf } from '../../test/simulation/snapshot-fixture.ts';
import { gzipCodec } from '../node/gzip.ts';
import { Random } from '../testing/random.ts';
import { SimulatedDisk } from '../testing/simulated-disk.ts';
import { databaseIdentity } from '../values/identity-roles.ts';
import { acceptLoss } from './accept-loss.ts';
import { decideKeep } from './keep-plan.ts';
import { finishKeep, setAside } from './keep-tail.ts';
import { LogDamageError } from './log-error.ts';
import { packedPieceBytes, packMember } from './packed-segment.ts';
import { packedName, segmentSequence } from './segment.ts';
import { segmentNames, withReader } from './segment-reader.ts';
import { planOf, surveyLog } from './survey.ts';
import { verifyLog } from './verify.ts';

const identity = databaseIdentity(77n);

function packed(bytes: Uint8Array): Uint8Array {
  const members: Uint8Array[] = [];
  for (let at = 0; at < bytes.length; at += packedPieceBytes) {
    members.push(packMember(gzipCodec, bytes.subarray(at, at + packedPieceBytes)));
  }
  return Uint8Array.from(Buffer.concat(members));
}

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

/** A stopped log whose first segments are packed; a snapshot is behind them. */
async function story(count = 2) {
  const disk = new SimulatedDisk();
  const { log } = await openLog(disk, { segmentBytes: 1500 });
  const records: string[] = [];
  for (let turn = 0; turn < 12; turn++) {
    records.push(...appendRandom(log, turn, 3));
    await log.sync();
  }
  await snapshotOf(disk, log, records);
  await log.close();
  const names = segmentNames(disk).slice(0, count);
  const changes = names.flatMap((name) => [
    [name, undefined] as const,
    [packedName(name), packed(disk.contentOf(name))] as const,
  ]);
  return { disk: changed(disk, Object.fromEntries(changes)), plain: disk, records, names };
}

describe('a packed segment', () => {
  it('[history 3.6] is what any gzip tool unpacks, and reads as the segment', () => {
    const random = new Random(5);
    for (const size of [1, 200, packedPieceBytes, packedPieceBytes + 8, 3 * packedPieceBytes]) {
      const bytes = random.bytes(size).map((byte) => byte % 7);
      const name = 'commit-00000001-0000000000000001.log.gz';
      const disk = new SimulatedDisk([[name, packed(bytes)]]);
      expect(Buffer.compare(gunzipSync(disk.contentOf(name)), bytes)).toBe(0);
      withReader(disk, name, (reader) => {
        expect(reader.size).toBe(size);
        const found = Buffer.concat([...reader.pieces(0, size)]);
        expect(found.equals(bytes)).toBe(true);
      });
    }
  });

  it('[history 3.6, 2.31] gives the same records; a start from a snapshot skips it', async () => {
    const { disk, records, names } = await story();
    expect(verifyLog(disk, identity)).toMatchObject({
      kind: 'intact',
      contents: { recordCount: records.length + 1 },
    });
    expect((await openLog(changed(disk, {}), { create: false })).found).toEqual(records);
    const noise = Object.fromEntries(names.map((name) => [packedName(name), new Uint8Array(9)]));
    const opened = await openWithSnapshots(changed(disk, noise), { create: false });
    expect(opened.found).toEqual(records);
  });

  it('[history 3.6] does not count beside the segment itself', async () => {
    const { disk, plain, records, names } = await story();
    const [first = ''] = names;
    const both = changed(disk, { [first]: plain.contentOf(first) });
    both.flipBit(packedName(first), 40, 1);
    expect(segmentNames(both)).toEqual([first, ...segmentNames(disk).slice(1)]);
    expect(verifyLog(both, identity).kind).toBe('intact');
    expect((await openLog(both, { create: false })).found).toEqual(records);
  });

  it('[history I10] is damaged whichever bit is flipped, and wherever it is cut', async () => {
    const { disk, names } = await story(1);
    const name = packedName(names[0] ?? '');
    const bytes = disk.contentOf(name);
    for (let at = 0; at < bytes.length; at++) {
      const rotten = changed(disk, {});
      rotten.flipBit(name, at, at % 8);
      const report = verifyLog(rotten, identity);
      expect(report.kind === 'damaged' && report.error.place.file).toBe(name);
      const cut = changed(disk, { [name]: bytes.slice(0, at) });
      expect(verifyLog(cut, identity).kind).toBe('damaged');
    }
    // The bits behind the end of the compressed data, which unpacking does not look at.
    for (let bit = 0; bit < 8 * 12; bit++) {
      const rotten = changed(disk, {});
      rotten.flipBit(name, bytes.length - 1 - (bit >> 3), bit & 7);
      expect(verifyLog(rotten, identity).kind).toBe('damaged');
    }
  });

  it('[history 3.20] that is missing is named, also as the last one', async () => {
    const { disk, plain, names } = await story(2);
    const second = packedName(names[1] ?? '');
    const report = verifyLog(changed(disk, { [second]: undefined }), identity);
    expect(report.kind === 'damaged' && report.error.reason).toContain('segment 2 is missing');
    const later = segmentNames(plain).slice(2);
    const gone = Object.fromEntries([...later, 'durable'].map((name) => [name, undefined]));
    const short = verifyLog(changed(disk, gone), identity);
    expect(short.kind === 'damaged' && short.error.reason).toBe('segment 3 is missing');
  });

  it('[durability 5.3] is never cut, whatever loss is accepted', async () => {
    const { disk, names, plain } = await story(1);
    const name = names[0] ?? '';
    const snapshots = disk.list().filter((file) => file.startsWith('snapshot-'));
    const bytes = plain.contentOf(name).slice();
    bytes[400] = (bytes[400] ?? 0) ^ 1;
    const gone = Object.fromEntries(snapshots.map((file) => [file, undefined]));
    const rotten = changed(disk, { ...gone, [packedName(name)]: packed(bytes) });
    for (const offset of [1, 2, 3]) {
      const accepted = { databaseIdentity: identity, offset, warn: () => undefined };
      await expect(acceptLoss(rotten, accepted)).rejects.toThrow(LogDamageError);
    }
    expect(rotten.operationCount).toBe(0);
  });

  it('[durability 5.2] stays in a repair of a log that is forked behind it', async () => {
    const { disk, plain, names } = await story(1);
    const { log: first } = await openLog(plain, { segmentBytes: 1 << 16 });
    const { log: second } = await openLog(plain, { segmentBytes: 1500 });
    appendRandom(second, 70, 20);
    await second.sync();
    appendRandom(first, 71, 8);
    await first.sync();
    const files = plain.list().map((name) => [name, plain.contentOf(name)] as const);
    const forked = changed(disk, Object.fromEntries(files));
    const name = names[0] ?? '';
    const packedFirst = changed(forked, { [name]: undefined });
    expect(verifyLog(packedFirst, identity).kind).toBe('forked');
    const survey = surveyLog(packedFirst, identity);
    const plan = planOf(survey, undefined, 'common', 'aside');
    await setAside(packedFirst, new SimulatedDisk(), plan, '{}');
    await decideKeep(packedFirst, plan);
    await finishKeep(packedFirst, plan);
    expect(verifyLog(packedFirst, identity).kind).toBe('intact');
    const kept = segmentNames(packedFirst).map((file) => segmentSequence(file));
    expect(kept[0]).toBe(1);
    expect(segmentNames(packedFirst)[0]).toBe(packedName(name));
  });
});

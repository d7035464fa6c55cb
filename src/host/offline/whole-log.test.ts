import { mkdtempSync, rmSync } from 'node:fs';
import os from 'node:os';
import path from 'node:path';
import { afterEach, beforeEach, expect, it } from 'vitest';
import { appendRandom, openLog } from '../../../test/simulation/log-fixture.ts';
import { packSegment } from '../../history/pack-segment.ts';
import { chainOf } from '../../log/log-point.ts';
import { readSegmentHeader } from '../../log/segment.ts';
import { segmentNames } from '../../log/segment-reader.ts';
import { MachineDisk } from '../../node/disk.ts';
import { databaseIdentity, ownerIdentity } from '../../values/identity-roles.ts';
import { NotWholeError, WholeLog } from './whole-log.ts';

const database = {
  ...{ identity: databaseIdentity(77n), owner: ownerIdentity(4n), generation: 1 },
};
let folder: string;

beforeEach(() => {
  folder = mkdtempSync(path.join(os.tmpdir(), 'reducerdb-whole-'));
});
afterEach(() => rmSync(folder, { recursive: true, force: true }));

/** All that it has, and where each write ends. */
function contentOf(log: WholeLog) {
  const { segmentHeader } = log.beginning;
  const reading = readSegmentHeader(segmentHeader);
  if (reading.kind !== 'valid') throw new Error('a log begins with a header');
  const { position, chainLow, chainHigh, firstOffset } = reading.header;
  const start = { position, chain: chainOf(chainLow, chainHigh), offset: firstOffset - 1 };
  const writes = [...log.writesBehind(start)];
  return {
    bytes: Buffer.concat(writes.map(({ records }) => records)),
    segments: writes.flatMap(({ segment }) => (segment === undefined ? [] : [segment])),
    ends: writes.map(({ end }) => end),
  };
}

it('[replication 16.3] a log is read whole, also where its segments are packed', async () => {
  const disk = new MachineDisk(folder);
  const { log } = await openLog(disk, { segmentBytes: 1_500 });
  for (let turn = 0; turn < 12; turn++) {
    appendRandom(log, turn, 3);
    await log.sync();
  }
  await log.close();
  const plain = WholeLog.open(folder, database);
  const before = contentOf(plain);
  expect(before.segments.length).toBeGreaterThan(2);
  expect(before.ends.at(-1)).toEqual(plain.end);
  plain.close();

  for (const name of segmentNames(disk).slice(0, 2)) {
    expect(await packSegment(disk, name, async () => undefined)).toBe(true);
  }
  const packed = WholeLog.open(folder, database);
  expect(contentOf(packed)).toEqual(before);
  for (const { position, chain } of before.ends) expect(packed.chainAt(position)).toBe(chain);
  packed.close();

  disk.remove(segmentNames(disk)[0] ?? '');
  const open = () => WholeLog.open(folder, database);
  expect(open).toThrow(NotWholeError);
  expect(open).toThrow('the beginning of its log was deleted');
});

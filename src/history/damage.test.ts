import { beforeAll, describe, expect, it } from 'vitest';
import { HistoryLab, labIdentity, startOn, stateOf } from '../../test/support/history-lab.ts';
import { durableMarkName } from '../log/durable-mark.ts';
import { floorName } from '../log/floor.ts';
import { LogDamageError } from '../log/log-error.ts';
import { segmentNames } from '../log/segment-reader.ts';
import { snapshotOffset } from '../log/snapshot.ts';
import { verifyLog, verifySnapshots, withSnapshots, withStart } from '../log/verify.ts';
import { Random } from '../testing/random.ts';
import type { SimulatedDisk } from '../testing/simulated-disk.ts';
import { indexName } from './segment-index.ts';
import { filesSetAside, historyExtent, verifyFloor, verifyIndexes } from './verify-history.ts';

/**
 * A stopped database with a floor: cold segments that are packed, hot ones, three snapshots, and
 * indexes. Each of its files is damaged in each way; a start then has all rows, or refuses; and
 * `verify` has found what is wrong.
 */
interface Scene {
  readonly lab: HistoryLab;
  readonly state: string;
  readonly files: Readonly<Record<FileKind, string>>;
}

const fileKinds = [
  'packed',
  'hot',
  'active',
  'oldest snapshot',
  'newest snapshot',
  'floor',
  'index',
  'mark',
] as const;
type FileKind = (typeof fileKinds)[number];

let scene: Scene;
let other: Scene;

beforeAll(async () => {
  scene = await makeScene(11);
  other = await makeScene(12);
});

async function makeScene(seed: number): Promise<Scene> {
  const lab = await HistoryLab.open(seed);
  const never = { keepBytes: 0, keepCommits: undefined, onLowDisk: 'warn' } as const;
  for (let part = 0; part < 5; part++) {
    await lab.work(25);
    await lab.snapshot();
    // The first two parts are given up, and nothing else.
    if (part === 3) await lab.keep();
    await lab.keep({ settings: { ...never, keepMicros: 'everything' } });
  }
  await lab.work(9);
  const state = stateOf(lab.store);
  await lab.log.close();
  const names = segmentNames(lab.disk);
  const snapshots = lab.disk.list().filter((name) => snapshotOffset(name) !== undefined);
  const packed = names.filter((name) => name.endsWith('.gz'));
  expect([packed.length > 1, snapshots.length]).toEqual([true, 3]);
  const files = {
    packed: packed[1] ?? '',
    hot: names.at(-2) ?? '',
    active: names.at(-1) ?? '',
    'oldest snapshot': snapshots[0] ?? '',
    'newest snapshot': snapshots.at(-1) ?? '',
    floor: floorName,
    index: indexName(packed[1] ?? ''),
    mark: durableMarkName,
  };
  return { lab, state, files };
}

/** Everything that `verify` says is wrong, with the file. */
function findings(disk: SimulatedDisk): string[] {
  const operations = disk.operationCount;
  const snapshots = verifySnapshots(disk, labIdentity);
  const report = withSnapshots(verifyLog(disk, labIdentity), disk, labIdentity, snapshots);
  const faults = [
    ...('error' in report ? [`${report.kind}: ${report.error.message}`] : []),
    ...(report.kind === 'torn' ? [`torn: ${report.tail.place.file}`] : []),
    ...('contents' in report && report.contents.isMarkHalf ? [durableMarkName] : []),
    ...snapshots.filter(({ kind }) => kind !== 'intact').map(({ name }) => name),
    ...[...verifyFloor(disk), ...verifyIndexes(disk)].map(({ name }) => name),
  ];
  expect(disk.operationCount).toBe(operations);
  return faults;
}

/** True if a start has all rows, false if it refuses; nothing else may happen. */
async function starts(disk: SimulatedDisk): Promise<boolean> {
  try {
    const { store } = await startOn(disk);
    expect(stateOf(store)).toBe(scene.state);
    return true;
  } catch (error) {
    if (!(error instanceof LogDamageError)) throw error;
    return false;
  }
}

/** Which of these files a start cannot do without. */
const isNeeded: Readonly<Record<FileKind, boolean>> = {
  packed: false,
  hot: true,
  active: true,
  'oldest snapshot': false,
  'newest snapshot': false,
  floor: false,
  index: false,
  mark: true,
};

describe('a database with a history, damaged', () => {
  it('[history I10, 3.20] by nothing, is intact', async () => {
    expect(findings(scene.lab.disk)).toEqual([]);
    expect(await starts(scene.lab.changed())).toBe(true);
  });

  it.each(fileKinds)('[history I10, 2.30] by a flipped bit: %s', async (kind) => {
    const name = scene.files[kind];
    const length = scene.lab.disk.contentOf(name).findLastIndex((byte) => byte !== 0) + 1;
    const random = new Random(5);
    const count = Math.min(length, 120);
    let refused = 0;
    for (let at = 0; at < count; at++) {
      const disk = scene.lab.changed();
      disk.flipBit(name, Math.floor((at * length) / count), random.below(8));
      const bytes = disk.contentOf(name);
      const found = findings(disk);
      // Of the mark, either half is enough; the space between them means nothing.
      if (kind !== 'mark' && kind !== 'active') expect(found).not.toEqual([]);
      if (!(await starts(disk))) {
        refused++;
        expect(disk.contentOf(name)).toEqual(bytes);
        expect(found[0]).toMatch(/^(damaged|forked): /);
      }
    }
    if (!isNeeded[kind]) expect(refused).toBe(0);
    // Its records before the place of the newest snapshot are not needed.
    if (kind === 'hot') expect(refused).toBeGreaterThan(0);
  });

  it('[history 3.20] in its past alone, misses no commit', () => {
    const { lab, files } = scene;
    for (const name of [files.packed, segmentNames(lab.disk)[0] ?? '']) {
      const disk = lab.changed();
      disk.flipBit(name, 200, 1);
      const report = withStart(verifyLog(disk, labIdentity), disk, labIdentity);
      const text = report.kind === 'damaged' ? report.error.message : report.kind;
      expect(text).toContain(`has every commit up to ${lab.store.offset} from a snapshot`);
      expect(text).toContain(name);
      expect(text).not.toContain('missing');
    }
    // What a start needs is reported as before.
    const disk = lab.changed();
    disk.flipBit(files.active, 200, 1);
    const report = verifyLog(disk, labIdentity);
    expect(report.kind).toBe('damaged');
    expect(withStart(report, disk, labIdentity)).toBe(report);
  });

  it('[history I10, 3.20] by packed segments that are none, also beside a snapshot', async () => {
    const packed = segmentNames(scene.lab.disk).filter((name) => name.endsWith('.gz'));
    for (const name of packed) {
      const damaged = scene.lab.changed({ [name]: new Uint8Array(100).fill(7) });
      const found = findings(damaged);
      expect(found[0]).toMatch(/^damaged: /);
      expect(found[0]).toContain(name);
      // What is known of the snapshots does not end with the first that the segment is needed for.
      const snapshots = verifySnapshots(damaged, labIdentity);
      expect(snapshots).toHaveLength(3);
      for (const { kind, detail } of snapshots) {
        if (kind !== 'intact') expect([kind, detail.includes(name)]).toEqual(['unreadable', true]);
      }
      expect(() => historyExtent(damaged, labIdentity)).not.toThrow();
    }
  });

  it.each(fileKinds)('[history I10, 2.30] by being cut: %s', async (kind) => {
    const name = scene.files[kind];
    const all = scene.lab.disk.contentOf(name);
    const bytes = all.subarray(0, all.findLastIndex((byte) => byte !== 0) + 1);
    for (const share of [0, 0.1, 0.5, 0.9, 0.999]) {
      const disk = scene.lab.changed({ [name]: bytes.slice(0, Math.floor(bytes.length * share)) });
      // A half of the mark that is behind the end of the file was not written yet.
      const isEnough = kind === 'mark' && share >= 0.5;
      if (!isEnough) expect(findings(disk), `cut to ${share}`).not.toEqual([]);
      const isStarting = await starts(disk);
      if (!isNeeded[kind]) expect(isStarting).toBe(true);
    }
  });

  it.each(fileKinds)('[history 3.20, 2.30] by being gone: %s', async (kind) => {
    const name = scene.files[kind];
    const disk = scene.lab.changed({ [name]: undefined });
    const found = findings(disk);
    const isStarting = await starts(disk);
    if (kind === 'packed') expect(found[0]).toMatch(/damaged: segment \d+ is missing/);
    if (kind === 'hot') expect(found[0]).toMatch(/damaged: segment \d+ is missing/);
    if (kind === 'floor') expect(found[0]).toContain('segment 1 is missing');
    if (kind === 'oldest snapshot') expect(found).toEqual([name]);
    // Nothing says that there was a newer one, and an index is derived.
    if (kind === 'newest snapshot' || kind === 'index') expect(found).toEqual([]);
    else expect(found).not.toEqual([]);
    expect(isStarting).toBe(!isNeeded[kind]);
  });

  it.each(fileKinds)('[history I10, 2.30] by the file of another database: %s', async (kind) => {
    const name = scene.files[kind];
    const bytes = other.lab.disk.contentOf(other.files[kind]);
    const disk = scene.lab.changed({ [name]: bytes });
    if (Buffer.compare(bytes, scene.lab.disk.contentOf(name)) === 0) return;
    const found = findings(disk);
    const isStarting = await starts(disk);
    expect(found).not.toEqual([]);
    if (!isNeeded[kind]) expect(isStarting).toBe(true);
  });

  it.each([
    ['packed', 'hot'],
    ['oldest snapshot', 'newest snapshot'],
    ['hot', 'active'],
  ] as const)('[history I10, 2.30] by two files that are swapped: %s and %s', async (one, two) => {
    const [first, second] = [scene.files[one], scene.files[two]];
    const disk = scene.lab.changed({
      [first]: scene.lab.disk.contentOf(second),
      [second]: scene.lab.disk.contentOf(first),
    });
    expect(findings(disk)).not.toEqual([]);
    await starts(disk);
  });

  it('[history R4, 3.20] by the loss of all its snapshots', async () => {
    const names = scene.lab.disk.list().filter((name) => snapshotOffset(name) !== undefined);
    const gone = scene.lab.changed(Object.fromEntries(names.map((name) => [name, undefined])));
    const text = `no snapshot of database ${'4d'.padStart(64, '0')} can be read`;
    expect(findings(gone)[0]).toContain(text);
    await expect(startOn(gone)).rejects.toThrow(text);
  });

  it('[history R3, 3.20] lists what a start has set aside, which is no fault', async () => {
    const name = scene.files['newest snapshot'];
    const disk = scene.lab.changed();
    disk.flipBit(name, 300, 1);
    const { warnings } = await startOn(disk);
    expect(warnings[0]).toContain(name);
    expect(findings(disk)).toEqual([]);
    expect(filesSetAside(disk)).toMatchObject([{ name: `${name}.bad-1`, kind: 'aside' }]);
  });
});

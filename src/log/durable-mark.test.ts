import { describe, expect, it } from 'vitest';
import { appendRandom, openLog } from '../../test/simulation/log-fixture.ts';
import { Random } from '../testing/random.ts';
import { SimulatedDisk } from '../testing/simulated-disk.ts';
import { databaseIdentity } from '../values/identity-roles.ts';
import { acceptLoss } from './accept-loss.ts';
import { crc32c } from './checksum.ts';
import { durableMarkName, readDurableMark } from './durable-mark.ts';
import { LogDamageError } from './log-error.ts';
import { verifyLog } from './verify.ts';

const turnCount = 8;
const turnRecords = 3;

type Files = ReadonlyMap<string, Uint8Array>;

/** A log of several segments after a clean stop, or as a killed process leaves it. */
async function story(end: 'stopped' | 'killed') {
  const disk = new SimulatedDisk();
  const { log } = await openLog(disk, { segmentBytes: 3000 });
  const appended: string[] = [];
  for (let turn = 0; turn < turnCount; turn++) {
    appended.push(...appendRandom(log, 300 + turn, turnRecords));
    await log.sync();
  }
  if (end === 'stopped') await log.close();
  const files: Files = new Map(disk.list().map((name) => [name, disk.contentOf(name)]));
  return { files, appended, offset: log.offset, segments: segmentsOf(files) };
}

function segmentsOf(files: Files): string[] {
  return [...files.keys()].filter((name) => name.endsWith('.log'));
}

function without(files: Files, ...names: readonly string[]): SimulatedDisk {
  return new SimulatedDisk([...files].filter(([name]) => !names.includes(name)));
}

/** The files, with one cut to a part of its content, not counting the zeros at its end. */
function cut(files: Files, name: string, part: number): SimulatedDisk {
  const bytes = files.get(name) ?? new Uint8Array(0);
  const length = bytes.findLastIndex((byte) => byte !== 0) + 1;
  return new SimulatedDisk([...files, [name, bytes.slice(0, Math.floor(length * part))]]);
}

/** The error of a refused log, which was not touched. */
async function damageOf(disk: SimulatedDisk): Promise<string> {
  const refusal = await openLog(disk, { create: false }).then(
    () => new Error('it was opened'),
    (error: unknown) => error,
  );
  if (!(refusal instanceof LogDamageError)) throw refusal;
  expect(disk.operationCount).toBe(0);
  const report = verifyLog(disk, databaseIdentity(77n));
  expect(report.kind === 'damaged' && report.error.message).toBe(refusal.message);
  return refusal.message;
}

function endOf(disk: SimulatedDisk) {
  const mark = readDurableMark(disk);
  return mark.kind === 'valid' ? mark.end : undefined;
}

describe('a log that lacks its end', () => {
  it.each(['stopped', 'killed'] as const)('[P10] is refused, %s: a last segment', async (end) => {
    const { files, segments, offset } = await story(end);
    expect(segments.length).toBeGreaterThan(2);
    const last = segments.at(-1) ?? '';
    const kept = Number(/-(\d{16})\.log$/.exec(last)?.[1]) - 1;
    const message = await damageOf(without(files, last));
    const lost = offset - kept;
    const missing = lost === 1 ? '1 commit is missing' : `${lost} commits are missing`;
    expect(message).toContain(`it ends at offset ${kept}, but ${offset} was durable: ${missing}`);
    const target = 77n.toString(16).padStart(64, '0');
    expect(message).toContain(`reducerdb start --accept-loss-after ${target}:${kept}`);
  });

  it.each(['stopped', 'killed'] as const)('[P10] is refused, %s: any file cut', async (end) => {
    const { files, segments, offset } = await story(end);
    for (const part of [0, 0.1, 0.5, 0.8]) {
      const message = await damageOf(cut(files, segments.at(-1) ?? '', part));
      expect(message).toContain(`but ${offset} was durable`);
    }
  });

  it('[durability P10, D9] is refused when only the record of the clean stop is gone', async () => {
    const { files, segments } = await story('stopped');
    const message = await damageOf(cut(files, segments.at(-1) ?? '', 0.999));
    expect(message).toContain('with no commit missing, but records that were durable are');
  });

  it('[durability P10] is refused without a segment, also by who would make a log', async () => {
    const { files, segments, offset } = await story('stopped');
    const none = without(files, ...segments);
    expect(await damageOf(none)).toContain(`offset ${offset} is known to be durable`);
    await expect(openLog(none, { create: true })).rejects.toThrow('the log is gone');
    const blank = new SimulatedDisk([
      ...[...files].filter(([name]) => !segments.includes(name)),
      [segments[0] ?? '', new Uint8Array(64)],
    ]);
    expect(await damageOf(blank)).toContain('the log is gone');
  });
});

describe('the mark itself', () => {
  it('[durability P10] is exact after a clean stop and after an undelayed sync', async () => {
    for (const end of ['stopped', 'killed'] as const) {
      const { files, appended, offset } = await story(end);
      const disk = new SimulatedDisk(files);
      expect(endOf(disk)?.offset).toBe(offset);
      expect((await openLog(disk)).found).toEqual(appended);
    }
  });

  it('is written a little later, once for many syncs, and at each rotation', async () => {
    const disk = new SimulatedDisk();
    const due: (() => void)[] = [];
    const { log } = await openLog(disk, {
      segmentBytes: 1 << 20,
      later: (work) => void due.push(work),
    });
    const writes = () => disk.counts.get('write') ?? 0;
    const syncs = () => disk.counts.get('sync') ?? 0;
    const before = { writes: writes(), syncs: syncs() };
    for (let turn = 0; turn < 20; turn++) {
      appendRandom(log, turn, 2);
      await log.sync();
    }
    // One write and one sync per turn: the mark has added none.
    expect({ writes: writes(), syncs: syncs() }).toEqual({
      writes: before.writes + 20,
      syncs: before.syncs + 20,
    });
    expect(due).toHaveLength(1);
    expect(endOf(disk)?.offset).toBe(0);
    due.pop()?.();
    expect(endOf(disk)?.offset).toBe(log.durableOffset);
    expect(writes()).toBe(before.writes + 21);
    appendRandom(log, 99, 2);
    await log.sync();
    expect(due).toHaveLength(1);

    const rotating = new SimulatedDisk();
    const small = await openLog(rotating, { segmentBytes: 600, later: () => undefined });
    for (let turn = 0; turn < 6; turn++) {
      appendRandom(small.log, turn, 2);
      await small.log.sync();
    }
    expect(rotating.list().length).toBeGreaterThan(3);
    expect(endOf(rotating)?.offset).toBe(small.log.durableOffset);
  });

  it('[durability P10] gone, spoilt or of another log is damage, where one was kept', async () => {
    const { files, offset } = await story('stopped');
    const other = (await story('killed')).files;
    expect(await damageOf(without(files, durableMarkName))).toContain('`durable` is missing');
    const zeros = new SimulatedDisk([...files, [durableMarkName, new Uint8Array(64)]]);
    expect(await damageOf(zeros)).toContain('`durable` is missing');
    for (let position = 0; position < 64; position++) {
      const disk = new SimulatedDisk(files);
      for (const half of [0, 512]) disk.flipBit(durableMarkName, half + position, position % 8);
      const message = await damageOf(disk);
      expect(message).toContain('`durable`, which says where the log ends, is not valid');
      expect(message).toContain(`--accept-loss-after ${'0'.repeat(62)}4d:${offset}`);
    }
    const stranger = new SimulatedDisk();
    const { log } = await openLog(stranger, { salt: 5 });
    await log.close();
    const bytes = stranger.contentOf(durableMarkName);
    const mixed = new SimulatedDisk([...other, [durableMarkName, bytes]]);
    expect(await damageOf(mixed)).toContain('belongs to another log');
  });

  it('needs one valid half, and reports the other', async () => {
    const { files, appended } = await story('stopped');
    for (const at of [3, 20, 62, 512 + 3, 512 + 20, 512 + 62]) {
      const disk = new SimulatedDisk(files);
      disk.flipBit(durableMarkName, at, 5);
      expect(verifyLog(disk, databaseIdentity(77n))).toMatchObject({
        contents: { isMarkHalf: true },
      });
      const { log, found, warnings } = await openLog(disk);
      expect(found).toEqual(appended);
      expect(warnings.join()).toContain('half of the file `durable` was not valid');
      await log.close();
      expect(verifyLog(disk, databaseIdentity(77n))).toMatchObject({
        contents: { isMarkHalf: false },
      });
    }
  });

  it('is made for a log of an earlier version, which had none', async () => {
    const old = new SimulatedDisk();
    old.isLasting = false;
    const { log } = await openLog(old);
    const appended = appendRandom(log, 1, 9);
    await log.close();
    expect(old.list()).not.toContain(durableMarkName);
    const disk = new SimulatedDisk(old.list().map((name) => [name, old.contentOf(name)]));
    const again = await openLog(disk, { create: false });
    expect(again.found).toEqual(appended);
    expect(endOf(disk)?.offset).toBe(again.log.offset);
  });
});

describe('accepting a loss', () => {
  const accept = (disk: SimulatedDisk, offset: number, warn = (_: string) => {}) =>
    acceptLoss(disk, { databaseIdentity: databaseIdentity(77n), offset, warn });

  it('keeps what the log holds, sets the rest aside, and goes on', async () => {
    const { files, segments, appended, offset } = await story('stopped');
    const disk = cut(files, segments.at(-2) ?? '', 0.5);
    const message = await damageOf(disk);
    const kept = Number(/it ends at offset (\d+)/.exec(message)?.[1]);
    for (const wrong of [kept - 1, kept + 1, offset]) {
      const refused = await accept(disk, wrong);
      const text = `its log ends at offset ${kept}, not ${wrong}`;
      expect(refused).toEqual({ kind: 'refused', message: text });
    }
    expect(disk.operationCount).toBe(0);
    const warnings: string[] = [];
    const done = await accept(disk, kept, (text) => warnings.push(text));
    expect(done).toMatchObject({ kind: 'accepted', missing: offset - kept });
    expect(warnings.join()).toContain('given up');
    expect(disk.list()).toContain(`${segments.at(-1)}.torn-1`);
    const { log, found } = await openLog(disk, { create: false });
    expect(log.offset).toBe(kept);
    expect(found).toEqual(appended.slice(0, found.length));
    const more = appendRandom(log, 7, 4);
    await log.close();
    expect((await openLog(disk, { create: false })).found).toEqual([...found, ...more]);
  });

  it('is refused where nothing is lost, or nothing is left', async () => {
    const { files, segments, offset } = await story('stopped');
    const whole = await accept(new SimulatedDisk(files), offset);
    expect(whole).toMatchObject({
      kind: 'refused',
      message: expect.stringContaining('is complete'),
    });
    const none = await accept(without(files, ...segments), 0);
    expect(none).toMatchObject({ kind: 'refused', message: expect.stringContaining('is gone') });
  });

  it('is refused where a later version has kept a mark', async () => {
    const { files, offset } = await story('stopped');
    const bytes = (files.get(durableMarkName) ?? new Uint8Array(0)).slice();
    const view = new DataView(bytes.buffer);
    for (const half of [0, 512]) {
      view.setUint32(half + 8, 2, true);
      view.setUint32(half + 60, crc32c(bytes.subarray(half), 0, 60), true);
    }
    const disk = new SimulatedDisk([...files, [durableMarkName, bytes]]);
    const message = await damageOf(disk);
    expect(message).toContain('`durable` has version 2, this program reads version 1');
    expect(message).toContain('Start the version that wrote it');
    expect(await accept(disk, offset)).toMatchObject({ kind: 'refused' });
    expect(disk.operationCount).toBe(0);
  });

  it('can be repeated when the power goes in the middle of it', async () => {
    const { files, segments } = await story('stopped');
    const message = await damageOf(cut(files, segments.at(-2) ?? '', 0.5));
    const kept = Number(/it ends at offset (\d+)/.exec(message)?.[1]);
    const whole = cut(files, segments.at(-2) ?? '', 0.5);
    await accept(whole, kept);
    for (let operation = 1; operation <= whole.operationCount; operation++) {
      for (let seed = 0; seed < 4; seed++) {
        const disk = cut(files, segments.at(-2) ?? '', 0.5);
        disk.stopAt(operation);
        await expect(accept(disk, kept)).rejects.toThrow('the power is off');
        const after = disk.crash(new Random(seed));
        await accept(after, kept);
        expect((await openLog(after, { create: false })).log.offset).toBe(kept);
      }
    }
  });
});

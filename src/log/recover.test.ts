import { describe, expect, it } from 'vitest';
import { appendRandom, openLog } from '../../test/simulation/log-fixture.ts';
import { LaterVersionError } from '../schema/later-version.ts';
import { Random } from '../testing/random.ts';
import { SimulatedDisk } from '../testing/simulated-disk.ts';
import { databaseIdentity } from '../values/identity-roles.ts';
import { crc32c } from './checksum.ts';
import { durableMarkName } from './durable-mark.ts';
import { LogDamageError } from './log-error.ts';
import { segmentHeaderBytes } from './segment.ts';
import { type LogReport, verifyLog } from './verify.ts';

const first = 'commit-00000001-0000000000000001.log';

/** The files of a log at the end of one kind of run, and the records they hold. */
interface Story {
  readonly files: ReadonlyMap<string, Uint8Array>;
  readonly appended: readonly string[];
  /** Records that later records say were durable. */
  readonly witnessedCount: number;
}

/**
 * Turns of three records each, synced; a segment holds a few turns. `stopped`: a clean stop.
 * Without a mark only the log itself proves what was durable, as in earlier versions.
 */
async function story(
  turns: number,
  end: 'stopped' | 'killed',
  segmentBytes = 2000,
  hasMark = false,
) {
  const disk = new SimulatedDisk();
  disk.isLasting = hasMark;
  const { log } = await openLog(disk, { segmentBytes });
  const appended: string[] = [];
  let witnessedCount = 0;
  for (let turn = 0; turn < turns; turn++) {
    witnessedCount = appended.length;
    appended.push(...appendRandom(log, 100 + turn, 3));
    await log.sync();
  }
  if (end === 'stopped') {
    await log.close();
    witnessedCount = appended.length;
  }
  const files = new Map(disk.list().map((name) => [name, disk.contentOf(name)]));
  return { files, appended, witnessedCount } satisfies Story;
}

function diskOf(files: ReadonlyMap<string, Uint8Array>): SimulatedDisk {
  const disk = new SimulatedDisk(files);
  disk.isLasting = files.has(durableMarkName);
  return disk;
}

function segmentsOf(disk: SimulatedDisk): string[] {
  return disk.list().filter((name) => name !== durableMarkName);
}

/** Opens a changed log; returns `damage` if it was refused, in which case nothing was touched. */
async function reopen(disk: SimulatedDisk) {
  const operations = disk.operationCount;
  try {
    return { kind: 'opened' as const, ...(await openLog(disk, { create: false })) };
  } catch (error) {
    if (!(error instanceof LogDamageError)) throw error;
    expect(disk.operationCount).toBe(operations);
    return { kind: 'damage' as const, error };
  }
}

function withFile(files: ReadonlyMap<string, Uint8Array>, name: string, bytes: Uint8Array) {
  return diskOf(new Map([...files, [name, bytes]]));
}

function present<T>(value: T | undefined): T {
  if (value === undefined) throw new Error('missing');
  return value;
}

/** Positions of the records in a segment, and the position after the last. */
function positionsOf(bytes: Uint8Array): number[] {
  const view = new DataView(bytes.buffer, bytes.byteOffset, bytes.length);
  const positions = [segmentHeaderBytes];
  for (let at = segmentHeaderBytes; at < bytes.length && bytes[at + 15] !== 0; ) {
    at += Math.ceil((32 + view.getUint32(at, true)) / 8) * 8;
    positions.push(at);
  }
  return positions;
}

describe('a flipped bit', () => {
  it('[durability P10, D4] anywhere in a stopped log is damage, or nothing is lost', async () => {
    const { files, appended } = await story(4, 'stopped', 900);
    let refused = 0;
    for (const [name, bytes] of files) {
      for (let position = 0; position < bytes.length; position++) {
        const disk = diskOf(files);
        disk.flipBit(name, position, position % 8);
        const result = await reopen(disk);
        if (result.kind === 'damage') refused++;
        else expect(result.found).toEqual(appended);
      }
    }
    expect(files.size).toBeGreaterThan(2);
    expect(refused).toBeGreaterThan(500);
  });

  it('[durability P10] in a killed log loses at most what nothing proves durable', async () => {
    const { files, appended, witnessedCount } = await story(4, 'killed', 900);
    const lost = new Set<boolean>();
    for (const [name, bytes] of files) {
      for (let position = 0; position < bytes.length; position++) {
        const disk = diskOf(files);
        disk.flipBit(name, position, (position * 5) % 8);
        const result = await reopen(disk);
        if (result.kind === 'damage') continue;
        expect(result.found.length).toBeGreaterThanOrEqual(witnessedCount);
        expect(result.found).toEqual(appended.slice(0, result.found.length));
        const isLost = result.found.length < appended.length;
        if (isLost) expect(result.warnings).not.toEqual([]);
        lost.add(isLost);
      }
    }
    expect([...lost].sort()).toEqual([false, true]);
  });

  it('names file, position and offset', async () => {
    const { files } = await story(5, 'stopped', 1 << 20);
    const positions = positionsOf(present(files.get(first)));
    const disk = diskOf(files);
    disk.flipBit(first, present(positions[4]) + 40, 3);
    const result = await reopen(disk);
    expect(result.kind === 'damage' && result.error.place).toMatchObject({
      file: first,
      position: positions[4],
    });
    expect(result.kind === 'damage' && result.error.message).toMatch(
      /^log is damaged: .*checksum.* \(commit-0+1-0+1\.log, position \d+, offset \d+\)\. .*repair/,
    );
  });
});

describe('the tail of the last segment', () => {
  it('[durability 5.1] cut at any length is what was before, the rest is kept', async () => {
    const { files, appended } = await story(2, 'killed', 1 << 20);
    const bytes = present(files.get(first));
    const end = present(positionsOf(bytes).at(-1));
    for (let length = segmentHeaderBytes; length < end; length += 7) {
      const disk = withFile(files, first, bytes.slice(0, length));
      const result = await reopen(disk);
      if (result.kind === 'damage') {
        // The second turn says that the first was durable.
        expect(length).toBeLessThan(end);
        continue;
      }
      expect(result.found).toEqual(appended.slice(0, result.found.length));
      await result.log.close();
    }
  });

  it('[durability 5.1, D4] torn is saved, cut and told; the log goes on there', async () => {
    const { files, appended } = await story(2, 'killed', 1 << 20);
    const bytes = present(files.get(first)).slice();
    const positions = positionsOf(bytes);
    const last = present(positions.at(-2));
    const end = present(positions.at(-1));
    bytes.fill(0, end - 9, end);
    const disk = withFile(files, first, bytes);
    const result = await reopen(disk);
    if (result.kind === 'damage') throw result.error;
    expect(result.found).toEqual(appended.slice(0, -1));
    expect(result.warnings).toHaveLength(1);
    expect(result.warnings[0]).toContain(`at position ${last} of ${first}: the checksum`);
    const saved = disk.contentOf(`${first}.torn-1`);
    expect(saved).toEqual(bytes.slice(last, last + saved.length));
    expect(saved.length).toBeGreaterThan(31);
    expect(disk.contentOf(first)).toHaveLength(last);
    const more = appendRandom(result.log, 9, 2);
    await result.log.sync();
    const again = await openLog(disk.afterKill());
    expect(again.found).toEqual([...appended.slice(0, -1), ...more]);
    expect(again.warnings).toEqual([]);
  });

  it.each(['write', 'sync'] as const)(
    '[durability 5.1] that cannot be saved stays, and what was saved of it does not: %s',
    async (operation) => {
      const { files, appended } = await story(2, 'killed', 1 << 20);
      const bytes = present(files.get(first)).slice();
      bytes.fill(0, present(positionsOf(bytes).at(-1)) - 9);
      const disk = withFile(files, first, bytes);
      for (const attempt of [1, 2]) {
        disk.failAt(operation, (disk.counts.get(operation) ?? 0) + 1, 'ENOSPC');
        await expect(openLog(disk), `attempt ${attempt}`).rejects.toThrow(
          `disk: ${operation} of ${first}.torn-1 failed`,
        );
        expect(disk.list()).toEqual([first]);
      }
      expect(disk.contentOf(first)).toEqual(bytes);
      expect((await openLog(disk)).found).toEqual(appended.slice(0, -1));
      expect(disk.list()).toEqual([first, `${first}.torn-1`]);
    },
  );

  it('[durability 5.1] of zeros is space reserved: the log goes on before it', async () => {
    const { files, appended } = await story(2, 'killed', 1 << 20);
    const bytes = present(files.get(first));
    const end = present(positionsOf(bytes).at(-1));
    for (const length of [end, end + 1, end + 8, end + 31, end + 32, end + 5000]) {
      const longer = new Uint8Array(length);
      longer.set(bytes.subarray(0, end));
      const result = await reopen(withFile(files, first, longer));
      if (result.kind === 'damage') throw result.error;
      expect(result.found).toEqual(appended);
      expect(result.warnings).toEqual([]);
    }
  });

  it('[durability 5.1] broken, with records behind it that were not durable, is cut', async () => {
    const disk = new SimulatedDisk();
    const { log } = await openLog(disk, { segmentBytes: 1 << 20 });
    const durable = appendRandom(log, 1, 3);
    await log.sync();
    appendRandom(log, 2, 8);
    log.write();
    const bytes = disk.contentOf(first);
    const broken = present(positionsOf(bytes)[4]);
    bytes.fill(0, broken, broken + 20);
    const mark = disk.contentOf(durableMarkName);
    const found = await reopen(
      diskOf(
        new Map([
          [first, bytes],
          [durableMarkName, mark],
        ]),
      ),
    );
    if (found.kind === 'damage') throw found.error;
    expect(found.found.slice(0, 3)).toEqual(durable);
    expect(found.found).toHaveLength(4);
    expect(found.warnings.join()).toContain('6 whole records behind position');
  });

  it('[durability 5.2, W2] broken, before a record made after a sync, is damage', async () => {
    const { files } = await story(3, 'killed', 1 << 20);
    const positions = positionsOf(present(files.get(first)));
    for (const index of [0, 3, 5]) {
      const disk = diskOf(files);
      disk.flipBit(first, present(positions[index]) + 33, 0);
      const result = await reopen(disk);
      expect(result.kind === 'damage' && result.error.reason).toContain('had been durable');
    }
  });

  it('[durability 5.1] with a segment that has no content is dropped with a warning', async () => {
    const { files, appended } = await story(8, 'stopped');
    const next = `commit-${String(files.size + 1).padStart(8, '0')}-0000000000000099.log`;
    for (const length of [0, 100, 128, 5000]) {
      const disk = withFile(files, next, new Uint8Array(length));
      const result = await reopen(disk);
      if (result.kind === 'damage') throw result.error;
      expect(result.found).toEqual(appended);
      expect(result.warnings[0]).toContain(`${next} was never durable`);
      expect(disk.list()).toContain(`${next}.torn-1`);
      expect(disk.list()).not.toContain(next);
      await result.log.close();
    }
  });

  it('[durability 5.1] whose first record is torn falls back to the segment before', async () => {
    const disk = new SimulatedDisk();
    const { log } = await openLog(disk, { segmentBytes: 1000 });
    const appended = appendRandom(log, 1, 4);
    await log.sync();
    while (segmentsOf(disk).length === 1) {
      const more = appendRandom(log, 5, 2);
      log.write();
      if (segmentsOf(disk).length === 1) appended.push(...more);
    }
    const files = new Map(disk.list().map((name) => [name, disk.contentOf(name)]));
    const second = present(segmentsOf(disk)[1]);
    const torn = diskOf(files);
    torn.flipBit(second, segmentHeaderBytes + 35, 1);
    const result = await reopen(torn);
    if (result.kind === 'damage') throw result.error;
    expect(result.found).toEqual(appended);
    expect(result.warnings).not.toEqual([]);
    const more = appendRandom(result.log, 6, 3);
    await result.log.close();
    const again = await openLog(torn);
    expect(again.found).toEqual([...appended, ...more]);
  });
});

describe('a log that is not what it was', () => {
  it('[durability 5.2] with a segment missing or two exchanged is damage', async () => {
    const { files } = await story(12, 'stopped');
    const names = [...files.keys()];
    expect(names.length).toBeGreaterThan(3);
    for (const missing of names.slice(0, -1)) {
      const rest = new Map([...files].filter(([name]) => name !== missing));
      expect((await reopen(diskOf(rest))).kind).toBe('damage');
    }
    const [, second, third] = names as [string, string, string];
    const exchanged = new Map(files);
    exchanged.set(second, present(files.get(third)));
    exchanged.set(third, present(files.get(second)));
    expect((await reopen(diskOf(exchanged))).kind).toBe('damage');
  });

  it('[durability 5.2] with a segment twice, or one of another history, is damage', async () => {
    const { files } = await story(6, 'stopped');
    const names = [...files.keys()];
    const second = present(names[1]);
    const twice = 'commit-00000002-0000000000009999.log';
    const result = await reopen(withFile(files, twice, present(files.get(second))));
    expect(result.kind === 'damage' && result.error.reason).toContain('two segments');
    const other = new SimulatedDisk();
    const { log } = await openLog(other, { segmentBytes: 2000 });
    for (let turn = 0; turn < 6; turn++) {
      appendRandom(log, 900 + turn, 3);
      await log.sync();
    }
    const foreign = present(other.list()[1]);
    const mixed = new Map([...files].filter(([name]) => name === first));
    mixed.set(foreign, other.contentOf(foreign));
    expect((await reopen(diskOf(mixed))).kind).toBe('damage');
  });

  it('[durability 5.2] of another database is damage that names it', async () => {
    const { files } = await story(1, 'stopped');
    await expect(
      openLog(diskOf(files), { databaseIdentity: databaseIdentity(78n) }),
    ).rejects.toThrow(`it belongs to another database, ${(77).toString(16).padStart(64, '0')}`);
  });

  it('[durability 5.1] of an unknown version is refused', async () => {
    const { files } = await story(1, 'stopped');
    const bytes = present(files.get(first)).slice();
    bytes[8] = 3;
    const view = new DataView(bytes.buffer);
    view.setUint32(124, crc32c(bytes, 0, 124), true);
    const result = await reopen(withFile(files, first, bytes));
    expect(result.kind === 'damage' && result.error.reason).toContain('version 3');
  });

  it('[durability 5.1] with flags of a later version is refused', async () => {
    const { files } = await story(1, 'stopped');
    const bytes = present(files.get(first)).slice();
    const view = new DataView(bytes.buffer);
    view.setUint32(104, 8, true);
    view.setUint32(124, crc32c(bytes, 0, 124), true);
    const result = await reopen(withFile(files, first, bytes));
    expect(result.kind === 'damage' && result.error.reason).toContain('the flags 8');
  });

  it('that is gone is damage, unless a new one is wanted and no old one was there', async () => {
    expect((await reopen(new SimulatedDisk())).kind).toBe('damage');
    const remains = new SimulatedDisk([[`${first}.torn-1`, new Uint8Array(3)]]);
    await expect(openLog(remains)).rejects.toThrow('the log is gone');
    const unborn = new SimulatedDisk([[first, new Uint8Array(128)]]);
    const { log } = await openLog(unborn);
    expect(log.offset).toBe(0);
  });

  it('[durability 5.1] whose creation failed within its header is created again', async () => {
    let found = 0;
    for (let seed = 0; seed < 60; seed++) {
      const disk = new SimulatedDisk();
      // The first write is that of the mark.
      disk.failAt('write', 2, 'EIO');
      await expect(openLog(disk)).rejects.toThrow('write of commit-');
      // The removal of what was written of it is forgotten.
      const after = disk.crash(new Random(seed));
      if (!after.list().includes(first) || after.contentOf(first).length === 0) continue;
      found++;
      expect(after.contentOf(first)).toHaveLength(64);
      expect(verifyLog(after, databaseIdentity(77n))).toEqual({ kind: 'absent' });
      const { log } = await openLog(after);
      const appended = appendRandom(log, 3, 2);
      await log.close();
      expect((await openLog(after)).found).toEqual(appended);
    }
    expect(found).toBeGreaterThan(0);
  });

  it('[durability 5.3] that is cut within its first header is damage', async () => {
    const { files } = await story(2, 'stopped', 1 << 20, true);
    const cut = present(files.get(first)).slice(0, 100);
    const marked = await reopen(withFile(files, first, cut));
    expect(marked.kind === 'damage' && marked.error.reason).toContain('the log is gone');
    for (const [at, value] of [
      [0, 1],
      [8, 1],
    ] as const) {
      const other = cut.slice();
      other[at] = value;
      expect((await reopen(new SimulatedDisk([[first, other]]))).kind).toBe('damage');
    }
  });

  it('[durability 5.3] whose record cannot be replayed is damage, place and cause', async () => {
    const { files } = await story(2, 'stopped');
    const cause = new Error('no such row');
    const onRecord = () => {
      throw cause;
    };
    const failure = await openLog(diskOf(files), { onRecord }).catch((error: unknown) => error);
    expect(failure).toBeInstanceOf(LogDamageError);
    expect(failure).toMatchObject({ cause, place: { file: first, position: segmentHeaderBytes } });
  });

  it('[durability 5.1] that a later version has written to is not called damaged', async () => {
    const { files } = await story(2, 'stopped');
    const onRecord = () => {
      throw new LaterVersionError('its schema has version 9');
    };
    const failure = await openLog(diskOf(files), { onRecord }).catch((error: unknown) => error);
    expect(failure).toMatchObject({ isLater: true });
    expect(String(failure)).toContain(
      `a later version of reducerdb has written to the log: its schema has version 9 (${first}, `,
    );
  });
});

describe('verify', () => {
  it('tells intact, torn and damaged logs apart and changes nothing', async () => {
    const { files, appended } = await story(5, 'killed');
    const check = (disk: SimulatedDisk): LogReport => {
      const report = verifyLog(disk, databaseIdentity(77n));
      expect(disk.operationCount).toBe(0);
      return report;
    };
    expect(check(new SimulatedDisk())).toEqual({ kind: 'absent' });
    expect(check(diskOf(files))).toMatchObject({
      kind: 'intact',
      contents: { segmentCount: files.size, recordCount: appended.length },
    });
    const name = present([...files.keys()].at(-1));
    const end = present(positionsOf(present(files.get(name))).at(-1));
    const torn = diskOf(files);
    torn.flipBit(name, end - 1, 0);
    expect(check(torn)).toMatchObject({
      kind: 'torn',
      contents: { recordCount: appended.length - 1 },
      tail: { place: { file: name } },
    });
    const damaged = diskOf(files);
    damaged.flipBit(first, 200, 0);
    expect(check(damaged)).toMatchObject({ kind: 'damaged' });
  });
});

describe('recovery', () => {
  it('[durability W9] makes what it found durable before it reports it', async () => {
    const disk = new SimulatedDisk();
    const { log } = await openLog(disk, { segmentBytes: 700 });
    const written: string[] = [];
    for (let round = 0; round < 6; round++) {
      written.push(...appendRandom(log, round, 2));
      log.write();
    }
    const killed = disk.afterKill();
    const { log: next } = await openLog(killed);
    expect(next.durableOffset).toBe(next.offset);
    for (let seed = 0; seed < 20; seed++) {
      const { found } = await openLog(killed.crash(new Random(seed)));
      expect(found).toEqual(written);
    }
  });
});

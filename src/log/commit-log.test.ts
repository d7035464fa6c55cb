import { describe, expect, it } from 'vitest';
import { appendRandom, openLog } from '../../test/simulation/log-fixture.ts';
import { randomRecord } from '../../test/simulation/log-records.ts';
import { MemoryDisk } from '../node/memory-disk.ts';
import { tableId } from '../schema/ids.ts';
import { commitOffset } from '../store/commit-offset.ts';
import { Random } from '../testing/random.ts';
import { SimulatedDisk } from '../testing/simulated-disk.ts';
import { LogBrokenError } from './log-error.ts';

describe('a commit log', () => {
  it('[durability P3, P7] gives back what was appended, after a clean stop', async () => {
    const disk = new MemoryDisk();
    const first = await openLog(disk);
    const appended = appendRandom(first.log, 1, 200);
    await first.log.close();
    const second = await openLog(disk, { create: false });
    expect(second.found).toEqual(appended);
    expect(second.warnings).toEqual([]);
    expect(second.log.offset).toBe(first.log.offset);
    appended.push(...appendRandom(second.log, 2, 20));
    await second.log.close();
    const third = await openLog(disk);
    expect(third.found).toEqual(appended);
  });

  it('counts offsets over commits and schema changes, not over marks', async () => {
    const { log } = await openLog(new MemoryDisk());
    const commit = someCommit(1);
    log.appendCommit(commit.changes, commit.inputs);
    log.appendMarks([{ id: 4096, value: 12n }]);
    expect(log.offset).toBe(1);
    const schema = {
      catalog: new Uint8Array(3),
      definition: new Uint8Array(4),
      programKind: 'js' as const,
      program: new Uint8Array(5),
      defaults: [],
    };
    log.appendSchema(commitOffset(2), schema, undefined, commit.inputs);
    expect(log.offset).toBe(2);
    expect(() => log.appendCommit(someCommit(4).changes, commit.inputs)).toThrow('offset 4');
    log.appendCommit(someCommit(3).changes, commit.inputs);
    await log.sync();
    expect(log.durableOffset).toBe(3);
  });

  it('[durability P8] loses nothing that was written when the process is killed', async () => {
    const disk = new SimulatedDisk();
    const { log } = await openLog(disk);
    const written = appendRandom(log, 1, 30);
    log.write();
    appendRandom(log, 2, 3);
    const { found, warnings } = await openLog(disk.afterKill());
    expect(found).toEqual(written);
    expect(warnings).toEqual([]);
  });

  it('writes all that was appended with one write, and nothing if nothing was', async () => {
    const disk = new SimulatedDisk();
    const { log } = await openLog(disk, { segmentBytes: 1 << 20 });
    const before = disk.counts.get('write') ?? 0;
    appendRandom(log, 1, 50);
    log.write();
    log.write();
    expect(disk.counts.get('write')).toBe(before + 1);
    await log.sync();
    const operations = disk.operationCount;
    await log.sync();
    expect(disk.operationCount).toBe(operations);
  });

  it('[durability D1] names segments by number and first offset, cuts what it leaves', async () => {
    const disk = new MemoryDisk();
    const { log } = await openLog(disk, { segmentBytes: 1024 });
    for (let offset = 1; offset <= 6; offset++) {
      const commit = someCommit(offset, 600);
      log.appendCommit(commit.changes, commit.inputs);
      log.write();
    }
    await log.close();
    expect(disk.list()).toEqual(
      [1, 2, 3, 4, 5, 6].map((n) => `commit-0000000${n}-000000000000000${n}.log`),
    );
    const sizes = disk.list().map((name) => disk.open(name, 'existing').size());
    expect(Math.max(...sizes.slice(0, 5))).toBeLessThan(1024);
    expect(sizes[5]).toBe(1024);
  });

  it('[history 5.5] seals the active segment, once, behind what was written', async () => {
    const disk = new SimulatedDisk();
    const first = await openLog(disk, { segmentBytes: 1 << 20 });
    const { log } = first;
    expect(await log.roll()).toMatchObject({ offset: 0, position: 0, segment: 1 });
    const appended = appendRandom(log, 1, 5);
    log.write();
    const place = await log.roll();
    expect(place).toMatchObject({ offset: log.offset, position: log.bytes, segment: 2 });
    expect(log.durableOffset).toBe(log.offset);
    const [sealed = ''] = disk.list();
    const bytes = disk.contentOf(sealed);
    expect(bytes.length).toBe(128 + log.bytes);
    expect(await log.roll()).toEqual(place);
    appended.push(...appendRandom(log, 2, 5));
    await log.sync();
    expect(disk.contentOf(sealed)).toEqual(bytes);
    const again = await openLog(disk.afterKill());
    expect(again.found).toEqual(appended);
    expect(again.warnings).toEqual([]);
  });

  it('[history 5.5] goes on when there is no space to seal a segment', async () => {
    const disk = new SimulatedDisk();
    const { log } = await openLog(disk, { segmentBytes: 1 << 20 });
    const appended = appendRandom(log, 1, 5);
    await log.sync();
    disk.isFull = true;
    await expect(log.roll()).rejects.toThrow('ENOSPC');
    disk.isFull = false;
    appended.push(...appendRandom(log, 2, 5));
    await log.sync();
    expect((await log.roll()).segment).toBe(2);
    const again = await openLog(disk.afterKill());
    expect(again.found).toEqual(appended);
  });

  it('reserves space in growing steps, never over the size of a segment', async () => {
    const disk = new SimulatedDisk();
    const { log } = await openLog(disk, { segmentBytes: 1 << 20 });
    const sizes = new Set<number>();
    for (let offset = 1; offset <= 900; offset++) {
      const commit = someCommit(offset, 1000);
      log.appendCommit(commit.changes, commit.inputs);
      log.write();
      sizes.add(disk.contentOf('commit-00000001-0000000000000001.log').length);
    }
    expect([...sizes]).toEqual([65_664, 131_328, 262_656, 525_312, 1_048_576]);
  });
});

describe('a log that is abandoned', () => {
  it('writes nothing more, and what was not written is gone', async () => {
    const disk = new SimulatedDisk();
    const { log } = await openLog(disk);
    const written = appendRandom(log, 1, 3);
    const gate = hold(disk);
    const sync = log.sync();
    appendRandom(log, 2, 3);
    expect(log.hasUnwritten).toBe(true);
    log.abandon();
    log.abandon();
    gate();
    await expect(sync).rejects.toThrow('the log is closed');
    expect(() => log.write()).toThrow('the log is closed');
    const again = await openLog(disk.afterKill());
    expect(again.found).toEqual(written);
  });
});

describe('a sync', () => {
  it('[durability D2] covers what was written before it began, and no more', async () => {
    const disk = new SimulatedDisk();
    const { log } = await openLog(disk);
    const gate = hold(disk);
    appendCommits(log, 1, 2);
    const first = log.sync();
    appendCommits(log, 3, 4);
    log.write();
    gate();
    await first;
    expect(log.durableOffset).toBe(2);
    await log.sync();
    expect(log.durableOffset).toBe(4);
  });

  it('made while one runs shares the next', async () => {
    const disk = new SimulatedDisk();
    const { log } = await openLog(disk);
    const syncs = () => disk.counts.get('sync') ?? 0;
    const before = syncs();
    const gate = hold(disk);
    appendCommits(log, 1, 1);
    const first = log.sync();
    expect(log.sync()).toBe(first);
    appendCommits(log, 2, 2);
    const second = log.sync();
    appendCommits(log, 3, 3);
    const third = log.sync();
    expect(third).toBe(second);
    gate();
    await Promise.all([first, second, third]);
    expect(syncs() - before).toBe(2);
    expect(log.durableOffset).toBe(3);
  });

  it('[durability W7, D6] covers the segments that were left, and the directory', async () => {
    const disk = new SimulatedDisk();
    const { log } = await openLog(disk, { segmentBytes: 700 });
    const appended = appendRandom(log, 3, 4);
    for (let round = 0; round < 10; round++) {
      appended.push(...appendRandom(log, round, 3));
      log.write();
    }
    await log.sync();
    for (let seed = 0; seed < 20; seed++) {
      const { found, warnings } = await openLog(disk.crash(new Random(seed)));
      expect(found).toEqual(appended);
      expect(warnings).toEqual([]);
    }
  });
});

describe('a log whose disk refuses', () => {
  it.each([
    ['write', 'EIO'],
    ['sync', 'EIO'],
    ['allocate', 'ENOSPC'],
    ['create', 'ENOSPC'],
    ['truncate', 'EIO'],
    ['syncDirectory', 'EIO'],
  ] as const)(
    '[durability D7] at any %s is broken for good and recovers all that was durable',
    async (operation, code) => {
      for (let number = 1; number <= 6; number++) {
        const disk = new SimulatedDisk();
        const { log } = await openLog(disk, { segmentBytes: 900 });
        disk.failAt(operation, (disk.counts.get(operation) ?? 0) + number, code);
        const appended: string[] = [];
        let durableCount = 0;
        let failure: unknown;
        for (let round = 0; round < 60 && failure === undefined; round++) {
          appended.push(...appendRandom(log, round, 2));
          try {
            log.write();
            await log.sync();
            durableCount = appended.length;
          } catch (error) {
            failure = error;
          }
        }
        expect(failure).toBeInstanceOf(LogBrokenError);
        expect(String(failure)).toContain(code);
        await expectBroken(log);
        const again = await openLog(
          number % 2 === 0 ? disk.afterKill() : disk.crash(new Random(7)),
        );
        expect(again.found.length).toBeGreaterThanOrEqual(durableCount);
        expect(again.found).toEqual(appended.slice(0, again.found.length));
        const more = appendRandom(again.log, 8, 5);
        await again.log.close();
        expect(more).toHaveLength(5);
      }
    },
  );

  it('fails the sync that waits behind the one that failed', async () => {
    const disk = new SimulatedDisk();
    const { log } = await openLog(disk);
    const gate = hold(disk);
    appendCommits(log, 1, 1);
    disk.failAt('sync', (disk.counts.get('sync') ?? 0) + 1, 'EIO');
    const first = log.sync();
    gate();
    await expect(first).rejects.toThrow(LogBrokenError);
    await expectBroken(log);
    expect(log.durableOffset).toBe(0);
  });
});

describe('a log that finds no space', () => {
  it.each(['write', 'allocate', 'create'] as const)(
    'takes back what it could not write: at any %s nothing of it is left',
    async (operation) => {
      for (let number = 1; number <= 8; number++) {
        const disk = new SimulatedDisk();
        const { log } = await openLog(disk, { segmentBytes: 900 });
        disk.failAt(operation, (disk.counts.get(operation) ?? 0) + number, 'ENOSPC');
        const written = writeUntilItFails(log);
        expect(await log.takeBack()).toBe(true);
        for (const seed of [1, 2, 3, 4]) {
          const { found } = await openLog(disk.afterKill().crash(new Random(seed)));
          // Data written but not synced can be lost with the power, from the end.
          expect(found).toEqual(written.slice(0, found.length));
        }
        const { found, warnings, log: again } = await openLog(disk.afterKill());
        expect([found, warnings]).toEqual([written, []]);
        appendRandom(again, 9, 5);
        await again.close();
      }
    },
  );

  it('is read with nothing written, whatever was left behind', async () => {
    const disk = new SimulatedDisk();
    const { log } = await openLog(disk, { segmentBytes: 900 });
    disk.failAt('write', (disk.counts.get('write') ?? 0) + 7, 'ENOSPC');
    const written = writeUntilItFails(log);
    log.abandon();
    const left = disk.afterKill();
    left.isFull = true;
    const files = () => left.list().map((name) => left.contentOf(name));
    const before = files();
    const read = await openLog(left, { create: false, isReadOnly: true });
    expect(read.found.slice(0, written.length)).toEqual(written);
    expect(read.warnings).toEqual([]);
    const { changes, inputs } = someCommit(read.log.offset + 1);
    expect(() => read.log.appendCommit(changes, inputs)).toThrow('nothing is written');
    await read.log.close();
    expect(files()).toEqual(before);
    expect(left.counts.get('write') ?? 0).toBe(0);
    // Everything that was handed over is durable.
    const again = await openLog(left.crash(new Random(1)), { create: false });
    expect(again.found).toEqual(read.found);
  });

  it('rejects what it takes back when a sync has failed', async () => {
    const disk = new SimulatedDisk();
    const { log } = await openLog(disk);
    const gate = hold(disk);
    appendCommits(log, 1, 1);
    const sync = log.sync().catch((error: unknown) => error);
    disk.isFull = true;
    appendCommits(log, 2, 2);
    expect(() => log.write()).toThrow(LogBrokenError);
    disk.failAt('syncDirectory', (disk.counts.get('syncDirectory') ?? 0) + 1, 'EIO');
    disk.failAt('sync', (disk.counts.get('sync') ?? 0) + 1, 'EIO');
    gate();
    await sync;
    await expect(log.takeBack()).rejects.toThrow('EIO');
  });

  it('keeps a mark that is behind for want of space, and goes on', async () => {
    const disk = new SimulatedDisk();
    let mark = (): void => undefined;
    const later = (work: () => void) => {
      mark = work;
    };
    const { log } = await openLog(disk, { later, segmentBytes: 1 << 20 });
    const appended = appendRandom(log, 1, 3);
    await log.sync();
    disk.isFull = true;
    mark();
    disk.isFull = false;
    appended.push(...appendRandom(log, 2, 3));
    await log.sync();
    mark();
    await log.close();
    expect((await openLog(disk)).found).toEqual(appended);
  });
});

describe('a log whose files are deleted', () => {
  it('takes nothing more once it has looked', async () => {
    const disk = new SimulatedDisk();
    let look = (): void => undefined;
    const later = (work: () => void) => {
      look = work;
    };
    const { log } = await openLog(disk, { later });
    appendRandom(log, 1, 2);
    await log.sync();
    for (const name of disk.list()) disk.remove(name);
    appendRandom(log, 2, 2);
    await log.sync();
    look();
    await expectBroken(log);
    expect(() => log.write()).toThrow('it was deleted, moved or replaced');
  });
});

/** Returns what was written before. */
function writeUntilItFails(log: Awaited<ReturnType<typeof openLog>>['log']): string[] {
  const written: string[] = [];
  for (let round = 0; round < 60; round++) {
    const appended = appendRandom(log, round, 2);
    try {
      log.write();
    } catch {
      return written;
    }
    written.push(...appended);
  }
  throw new Error('no write has failed');
}

async function expectBroken(log: Awaited<ReturnType<typeof openLog>>['log']): Promise<void> {
  expect(log.isBroken).toBe(true);
  const commit = someCommit(log.offset + 1);
  expect(() => log.appendCommit(commit.changes, commit.inputs)).toThrow(LogBrokenError);
  expect(() => log.appendMarks([])).toThrow(LogBrokenError);
  expect(() => log.write()).toThrow(LogBrokenError);
  await expect(log.sync()).rejects.toThrow(LogBrokenError);
  await log.close();
}

/** Blocks all syncs of the disk until the returned function is called. */
function hold(disk: SimulatedDisk): () => void {
  let open: () => void = () => undefined;
  const gate = new Promise<void>((resolve) => {
    open = resolve;
  });
  disk.beforeSync = () => gate;
  return open;
}

function appendCommits(
  log: Awaited<ReturnType<typeof openLog>>['log'],
  first: number,
  last: number,
): void {
  for (let offset = first; offset <= last; offset++) {
    const commit = someCommit(offset);
    log.appendCommit(commit.changes, commit.inputs);
  }
}

function someCommit(offset: number, rowBytes = 20) {
  const { inputs } = randomRecord(new Random(4), offset);
  const rows = { bytes: new Uint8Array(rowBytes).fill(offset), count: 1 };
  const none = { bytes: new Uint8Array(0), count: 0 };
  const table = { tableId: tableId(4096), inserts: rows, deletes: none, truncated: false };
  return { changes: { offset: commitOffset(offset), tables: [table], sequences: [] }, inputs };
}

import { expect, it } from 'vitest';
import { appendRandom, openLog } from '../../test/simulation/log-fixture.ts';
import { beginSnapshot } from '../../test/simulation/snapshot-fixture.ts';
import { tableId } from '../schema/ids.ts';
import { emptyRowList } from '../store/change-set.ts';
import { SimulatedDisk } from '../testing/simulated-disk.ts';
import { durableMarkName } from './durable-mark.ts';
import { LogBrokenError, WriterError } from './log-error.ts';

/** A disk that another service takes over when `take` is called. */
class SharedDisk extends SimulatedDisk {
  readonly looks: boolean[] = [];
  #isTaken = false;

  take(): void {
    this.#isTaken = true;
  }

  checkWriter(always: boolean): void {
    this.looks.push(always);
    if (this.#isTaken) throw new WriterError('another service has it');
  }

  /** All of its files. */
  files(): Map<string, Uint8Array> {
    return new Map(this.list().map((name) => [name, this.contentOf(name)]));
  }
}

it('[durability D1] writes nothing once another service has the disk', async () => {
  const disk = new SharedDisk();
  const { log } = await openLog(disk);
  appendRandom(log, 1, 3);
  await log.sync();
  const before = disk.files();
  appendRandom(log, 2, 3);
  disk.take();
  expect(() => log.write()).toThrow(LogBrokenError);
  expect(() => log.write()).toThrow('the log stopped: another service has it');
  await expect(log.sync()).rejects.toThrow('another service has it');
  await log.close();
  expect(disk.files()).toEqual(before);
});

it.each([false, true])(
  '[durability D1] does not say that a write is durable once another service has it (at once: %s)',
  async (isAtOnce) => {
    const disk = new SharedDisk();
    const { log } = await openLog(disk);
    appendRandom(log, 1, 1);
    await log.sync();
    const durable = log.durableOffset;
    appendRandom(log, 2, 3);
    log.write();
    if (isAtOnce) {
      disk.isQuick = true;
      disk.take();
      expect(() => log.syncAtOnce()).toThrow('another service has it');
    } else {
      disk.beforeSync = () => Promise.resolve(disk.take());
      await expect(log.sync()).rejects.toThrow('another service has it');
    }
    expect(log.durableOffset).toBe(durable);
  },
);

it('[durability D1] looks again before each segment', async () => {
  const disk = new SharedDisk();
  const { log } = await openLog(disk, { segmentBytes: 700 });
  expect(disk.looks).toEqual([true, true]);
  const always = () => disk.looks.filter((one) => one).length;
  for (let round = 0; disk.list().length < 5; round++) {
    appendRandom(log, round, 3);
    log.write();
  }
  const segments = disk.list().filter((name) => name.endsWith('.log')).length;
  expect(always()).toBe(2 + segments - 1);
});

it('[durability D1] looks again before it writes the mark', async () => {
  const disk = new SharedDisk();
  disk.isLasting = true;
  let work: () => void = () => undefined;
  const later = (given: () => void): void => {
    work = given;
  };
  const { log } = await openLog(disk, { segmentBytes: 1 << 20, later });
  appendRandom(log, 1, 3);
  await log.sync();
  const before = disk.contentOf(durableMarkName);
  disk.take();
  work();
  expect(disk.contentOf(durableMarkName)).toEqual(before);
  expect(log.isBroken).toBe(true);
});

it('[durability D1] is not opened, and nothing is cut, while another service has it', async () => {
  const first = new SimulatedDisk();
  const { log } = await openLog(first);
  appendRandom(log, 1, 5);
  log.write();
  const disk = new SharedDisk(first.list().map((name) => [name, first.contentOf(name)]));
  disk.take();
  await expect(openLog(disk)).rejects.toThrow(WriterError);
  expect(disk.operationCount).toBe(0);
});

it.each(['add', 'finish'] as const)(
  '[durability D1, history 2.9] a snapshot ends once another service has the disk (%s)',
  async (call) => {
    const disk = new SharedDisk();
    const { log } = await openLog(disk);
    const records = appendRandom(log, 1, 3);
    await log.sync();
    const place = log.snapshotPlace(1n);
    const { writer, blocks } = beginSnapshot(disk, { place, salt: 1, records });
    for (const block of blocks) await writer.add(block);
    const before = disk.files();
    disk.take();
    const more = { kind: 'rows' as const, tableId: tableId(9), rows: emptyRowList };
    const work = call === 'add' ? writer.add(more) : writer.finish(Promise.resolve());
    await expect(work).rejects.toThrow(WriterError);
    expect(disk.files()).toEqual(before);
    log.abandon();
  },
);

import { describe, expect, it } from 'vitest';
import { appendRandom, openLog } from '../../test/simulation/log-fixture.ts';
import { Random } from '../testing/random.ts';
import { PowerCut, SimulatedDisk } from '../testing/simulated-disk.ts';
import type { CommitLog } from './commit-log.ts';
import { LogPlaces } from './log-places.ts';
import type { LogPoint } from './log-point.ts';
import { recordKinds } from './record.ts';
import type { LogReplicator, LogWrite } from './replicated-write.ts';
import { readSegmentHeader, segmentHeaderBytes } from './segment.ts';
import { segmentNames, withReader } from './segment-reader.ts';
import { setAside } from './set-aside.ts';

/** A shared log in the test's hands: it acknowledges what the test names. */
class HeldReplicator implements LogReplicator {
  isFull = false;
  readonly writes: LogWrite[] = [];
  #waiting: { resolve: () => void; reject: (error: Error) => void }[] = [];

  write(write: LogWrite): void {
    this.writes.push(write);
  }

  sync(): Promise<void> {
    return new Promise((resolve, reject) => this.#waiting.push({ resolve, reject }));
  }

  acknowledge(): void {
    for (const { resolve } of this.#waiting.splice(0)) resolve();
  }

  end(): void {
    for (const { reject } of this.#waiting.splice(0)) reject(new Error('another host leads'));
  }
}

const member = { isMember: true } as const;

async function leadingLog(disk = new SimulatedDisk()) {
  const { log } = await openLog(disk, member);
  const start = log.end;
  const replicator = new HeldReplicator();
  log.lead(replicator, start);
  return { disk, log, replicator, start };
}

/** Turns of some records each, acknowledged one by one; returns all that was written. */
async function writeTurns(turns: number, disk = new SimulatedDisk()) {
  const led = await leadingLog(disk);
  const texts: string[] = [];
  for (let turn = 0; turn < turns; turn++) {
    texts.push(...appendRandom(led.log, 40 + turn, 3));
    const synced = led.log.sync();
    led.replicator.acknowledge();
    await synced;
    await led.log.syncHere();
  }
  return { ...led, texts };
}

function contents(disk: SimulatedDisk): Map<string, Uint8Array> {
  return new Map(
    segmentNames(disk).map((name) => {
      const end = withReader(disk, name, (reader) => reader.endOfContent(0));
      return [name, disk.contentOf(name).subarray(0, end)] as const;
    }),
  );
}

function kindsIn(disk: SimulatedDisk, salt: number): number[] {
  return segmentNames(disk).flatMap((name) =>
    withReader(disk, name, (reader) => {
      const kinds: number[] = [];
      for (let at = segmentHeaderBytes; at < reader.size; at += reader.length) {
        if (reader.read(at, salt) !== 'record') break;
        kinds.push(reader.kind);
      }
      return kinds;
    }),
  );
}

/** A log that takes the writes of another one, which began with `from`. */
async function follower(from: SimulatedDisk, disk = new SimulatedDisk()): Promise<CommitLog> {
  const [first = ''] = segmentNames(from);
  disk.open(first, 'create').write(from.contentOf(first).subarray(0, segmentHeaderBytes), 0);
  return (await openLog(disk, member)).log;
}

describe('the log of a member that leads', () => {
  it('[replication 4.6] is synced when the shared log has acknowledged it', async () => {
    const { log, replicator } = await leadingLog();
    appendRandom(log, 1, 3);
    let isSynced = false;
    const synced = log.sync().then(() => {
      isSynced = true;
    });
    await log.syncHere();
    expect(isSynced).toBe(false);
    expect(log.durableOffset).toBe(0);
    expect(log.syncAtOnce()).toBe(false);
    replicator.acknowledge();
    await synced;
    expect(log.durableOffset).toBe(log.offset);
  });

  it('[replication 4.6] fails what waits for it when another host leads', async () => {
    const { log, replicator } = await leadingLog();
    appendRandom(log, 1, 3);
    const synced = log.sync();
    replicator.end();
    await expect(synced).rejects.toThrow('another host leads');
    expect(log.durableOffset).toBe(0);
  });

  it('[replication 4.7] says in its records up to where it is acknowledged', async () => {
    const { disk, log, replicator } = await leadingLog();
    appendRandom(log, 1, 2);
    const synced = log.sync();
    await log.syncHere();
    const first = log.end;
    appendRandom(log, 2, 1);
    log.write();
    replicator.acknowledge();
    await synced;
    const second = log.end;
    appendRandom(log, 3, 1);
    log.write();
    const places = new LogPlaces(disk, log.salt);
    const stated = [first, second].map(({ position }) => {
      const segment = places.segmentOf(position);
      return withReader(disk, segment?.name ?? '', (reader) => {
        const base = segmentHeaderBytes - (segment?.header.position ?? 0);
        expect(reader.read(position + base, log.salt)).toBe('record');
        return reader.durablePosition;
      });
    });
    places.close();
    expect(stated).toEqual([0, first.position]);
  });

  it('[replication 4.1] hands over the bytes that it wrote, and where segments begin', async () => {
    const { disk, replicator } = await writeTurns(12);
    const copy = new SimulatedDisk();
    const log = await follower(disk, copy);
    for (const write of replicator.writes) log.follow(write, 0n);
    await log.syncHere();
    expect(segmentNames(disk).length).toBeGreaterThan(2);
    expect(contents(copy)).toEqual(contents(disk));
  });

  it('[replication 4.2] writes no record that it was stopped', async () => {
    const { disk, log, replicator } = await writeTurns(2);
    const closed = log.close();
    replicator.acknowledge();
    await closed;
    expect(kindsIn(disk, 99)).not.toContain(recordKinds.stop);
    const { found } = await openLog(disk, member);
    expect(found).toHaveLength(6);
  });
});

describe('places of a log', () => {
  it('[replication 6.1] gives all that follows a border as it was written', async () => {
    const { disk, log, replicator, start } = await writeTurns(10);
    const borders = [start, ...replicator.writes.map(({ end }) => end)];
    for (const from of borders) {
      const copy = new SimulatedDisk();
      const followed = await follower(disk, copy);
      for (const write of replicator.writes) {
        if (write.end.position <= from.position) followed.follow(write, 0n);
      }
      const places = new LogPlaces(disk, log.salt);
      for (const write of places.writes(from, log.end)) followed.follow(write, 0n);
      places.close();
      expect(followed.end).toEqual(log.end);
      expect(contents(copy)).toEqual(contents(disk));
    }
  });

  it('[replication 6.1] knows the point in front of each record, and no other', async () => {
    const { disk, log, replicator } = await writeTurns(10);
    const places = new LogPlaces(disk, log.salt);
    for (const { end, records } of replicator.writes) {
      if (records.length === 0 || end.position === log.end.position) continue;
      expect(places.pointAt(end.position)).toEqual(end);
      expect(places.pointAt(end.position + 8)).toBeUndefined();
    }
    places.close();
  });
});

describe('the log of a member that follows', () => {
  it('[replication 4.9] opens after any power cut with what is before the first gap', async () => {
    const { disk: leader, replicator, texts } = await writeTurns(8);
    const whole = new SimulatedDisk();
    const length = async (disk: SimulatedDisk): Promise<void> => {
      const log = await follower(leader, disk);
      for (const [at, write] of replicator.writes.entries()) {
        log.follow(write, 0n);
        if (at % 5 === 4) await log.syncHere();
      }
      log.abandon();
    };
    await length(whole);
    for (let cut = 4; cut <= whole.operationCount; cut++) {
      const disk = new SimulatedDisk();
      disk.stopAt(cut);
      await length(disk).catch((error: unknown) => expect(String(error)).toContain('power'));
      for (let outcome = 0; outcome < 4; outcome++) {
        const after = disk.crash(new Random(cut * 10 + outcome));
        if (segmentNames(after).length === 0) continue;
        const { log, found } = await openLog(after, member);
        expect(found).toEqual(texts.slice(0, found.length));
        // What is missing is fetched again, from where the log ends.
        const places = new LogPlaces(leader, log.salt);
        const end = replicator.writes.at(-1)?.end as LogPoint;
        for (const write of places.writes(log.end, end)) log.follow(write, 0n);
        places.close();
        expect(log.end).toEqual(end);
        log.abandon();
      }
    }
  });

  it('[replication 4.9] opens a log from which durable records have gone', async () => {
    const { disk } = await writeTurns(8);
    const names = segmentNames(disk);
    disk.flipBit(names[1] ?? '', segmentHeaderBytes + 40, 3);
    const { found, warnings } = await openLog(disk, member);
    expect(found.length).toBeGreaterThan(0);
    expect(warnings.join(' ')).toContain('given up');
    const files = new Map(disk.list().map((name) => [name, disk.contentOf(name)]));
    await expect(openLog(new SimulatedDisk(files), member)).resolves.toBeDefined();
  });
});

describe('records that are set aside', () => {
  /** A log of eight turns, and the border behind the third. */
  async function story(disk = new SimulatedDisk()) {
    const { log, replicator, texts } = await writeTurns(8, disk);
    const borders = replicator.writes.filter(({ records }) => records.length > 0);
    const point = borders[2]?.end as LogPoint;
    const { end } = log;
    log.abandon();
    return { disk, point, end, texts, kept: texts.slice(0, 9) };
  }

  it('[replication 6.6] are cut off, and kept beside their segments', async () => {
    const { disk, point, end, kept } = await story();
    const places = new LogPlaces(disk, 99);
    const cut = [...places.writes(point, end)].map(({ records }) => records);
    places.close();
    const aside = await setAside(disk, 99, point, end);
    expect(aside.firstOffset).toBe(point.offset + 1);
    expect(aside.lastOffset).toBe(end.offset);
    expect(aside.reducers.length).toBeGreaterThan(0);
    expect(aside.files.length).toBeGreaterThan(1);
    expect(aside.files.every((name) => /\.log\.deposed-1$/.test(name))).toBe(true);
    // Whole segments are kept with their headers.
    const saved = aside.files.map((name, at) => {
      return disk.contentOf(name).subarray(at === 0 ? 0 : segmentHeaderBytes);
    });
    expect(Buffer.concat(saved)).toEqual(Buffer.concat(cut));
    const { found, log } = await openLog(disk, member);
    expect(found).toEqual(kept);
    expect(log.end).toEqual(point);
  });

  it('[replication 6.6] take the segment along that begins with them', async () => {
    const disk = new SimulatedDisk();
    const { log, replicator } = await writeTurns(8, disk);
    const { writes } = replicator;
    const at = writes.findIndex(({ segment }, index) => index > 0 && segment !== undefined);
    const reading = readSegmentHeader(writes[at]?.segment ?? new Uint8Array(0));
    if (reading.kind !== 'valid') throw new Error('no segment begins');
    const point = writes[at - 1]?.end as LogPoint;
    const { end } = log;
    log.abandon();
    await setAside(disk, 99, point, end);
    expect(segmentNames(disk)).toHaveLength(reading.header.sequence - 1);
    // Other hosts may have what follows in the segment before.
    const again = await openLog(disk, member);
    expect(again.log.end).toEqual(point);
    again.log.abandon();
  });

  it('[replication 6.6] survive any power cut, and are cut again if need be', async () => {
    const { disk: whole, point, end } = await story();
    const before = whole.operationCount;
    await setAside(whole, 99, point, end);
    const count = whole.operationCount - before;
    for (let cut = 1; cut <= count; cut++) {
      for (let outcome = 0; outcome < 3; outcome++) {
        const { disk, texts, kept } = await story();
        disk.stopAt(disk.operationCount + cut);
        await expect(setAside(disk, 99, point, end)).rejects.toThrow(PowerCut);
        const after = disk.crash(new Random(cut * 7 + outcome));
        const { log, found } = await openLog(after, member);
        expect(found.length).toBeGreaterThanOrEqual(kept.length);
        expect(found).toEqual(texts.slice(0, found.length));
        const reached = log.end;
        log.abandon();
        if (reached.position > point.position) await setAside(after, 99, point, reached);
        const again = await openLog(after, member);
        expect(again.found).toEqual(kept);
        again.log.abandon();
      }
    }
  });
});

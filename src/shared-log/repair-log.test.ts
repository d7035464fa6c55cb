import { describe, expect, it } from 'vitest';
import { LogWriter } from '../../test/support/log-writer.ts';
import { beginningOf, ClusterPerson } from '../../test/support/shared-log-people.ts';
import { store } from '../../test/support/stored-log.ts';
import type { LogPoint } from '../log/log-point.ts';
import type { LogWrite } from '../log/replicated-write.ts';
import { databaseIdentity } from '../values/identity-roles.ts';
import { decodeEntry } from './entry.ts';
import { decodeBeginning } from './entry-payloads.ts';
import { type ImportedLog, importLog } from './import-log.ts';
import { clusterId, logName } from './log-name.ts';
import { MemoryEngine } from './memory-engine.ts';
import { type RepairOptions, repairLog } from './repair-log.ts';
import type { SharedLog, StoredEntry } from './shared-log.ts';
import { Tail } from './tail.ts';

const log = logName(clusterId(1n), databaseIdentity(9n), 1);
const [anna, bert] = [new ClusterPerson(1n), new ClusterPerson(2n)];
const clock = {
  now: () => performance.now(),
  after: (millis: number, work: () => void) => void setTimeout(work, millis).unref(),
};
const pause = async () => {};

/** The log of a host; behind commit `fork` it has others than the one without. */
function hostLog(commitCount: number, fork = commitCount, large = 0): ImportedLog {
  const reading = decodeEntry(beginningOf(7).bytes);
  const found = reading.kind === 'valid' ? decodeBeginning(reading.entry.payload) : undefined;
  if (found?.kind !== 'valid') throw new Error('entry 0 is valid');
  const tail = new Tail();
  tail.accept(beginningOf(7));
  const writer = new LogWriter(7, tail.point);
  const chains = new Map([[tail.point.position, tail.point.chain]]);
  const writes: LogWrite[] = [];
  for (let at = 1; at <= commitCount; at++) {
    const bytes = at === large ? 900 : 20;
    writer.commit('add', new Uint8Array(bytes).fill(at > fork ? 100 + at : at));
    chains.set(writer.point.position, writer.point.chain);
    writes.push(writer.take());
  }
  return {
    beginning: found.beginning,
    end: writer.point,
    chainAt: (position) => chains.get(position),
    writesBehind: (point: LogPoint) => writes.filter(({ end }) => end.position > point.position),
  };
}

/** Where a log ends behind that commit. */
function endOf(source: ImportedLog, offset: number): LogPoint {
  const found = [...source.writesBehind({ position: 0, chain: 0n, offset: 0 })];
  const end = found.find((write) => write.end.offset === offset)?.end;
  if (end === undefined) throw new Error(`it has no commit ${offset}`);
  return end;
}

/** The entries of a log; `damaged`: those of which a byte is another one. */
async function stored(source: ImportedLog, damaged: (entry: StoredEntry) => boolean) {
  const whole = new MemoryEngine({ clock });
  await importLog({
    ...{ sharedLog: whole.connect('a'), log, source, me: anna.lead, entryBytesMax: 300, pause },
  });
  const entries = whole.settledEntries(log).map((bytes, seq) => ({ seq, bytes }));
  const engine = new MemoryEngine({ clock });
  await store(
    engine.connect('a'),
    log,
    entries.map((entry) => {
      if (!damaged(entry)) return entry;
      const bytes = entry.bytes.slice();
      bytes[bytes.length - 1] = (bytes.at(-1) ?? 0) ^ 1;
      return { seq: entry.seq, bytes };
    }),
  );
  return engine;
}

const repairing = (sharedLog: SharedLog, source: ImportedLog, more: Partial<RepairOptions> = {}) =>
  repairLog({
    ...{ sharedLog, log, source, me: bert.lead, entryBytesMax: 300, pause },
    base: async () => startOf(source),
    ...{ knownOffset: 0, knownTerm: 0, knownEnds: [], ...more },
  });

function startOf(source: ImportedLog): LogPoint {
  return { position: 0, chain: source.chainAt(0) ?? 0n, offset: 0 };
}

/** The last commit in what an engine has, all of which is right. */
function offsetIn(engine: MemoryEngine): number {
  const tail = new Tail();
  for (const bytes of engine.settledEntries(log)) {
    const reading = decodeEntry(bytes);
    const seq = reading.kind === 'valid' ? reading.entry.seq : -1;
    expect(tail.accept({ seq, bytes }).kind).not.toBe('fault');
  }
  return tail.point.offset;
}

const third = ({ seq }: StoredEntry) => seq === 3;

describe('a damaged shared log', () => {
  it('[replication 6.13] is not begun again with what a deposed leader alone has', async () => {
    const engine = await stored(hostLog(20), third);
    const before = engine.settledEntries(log);
    const forked = repairing(engine.connect('b'), hostLog(22, 15), { knownOffset: 20 });
    await expect(forked).rejects.toThrow(
      /^one of commits 1[3-6] to (1[6-9]|20) is another .* \(entry \d+\): name another host/,
    );
    expect(engine.settledEntries(log)).toEqual(before);
    const done = await repairing(engine.connect('b'), hostLog(22, 20), { knownOffset: 20 });
    expect(done).toMatchObject({ kind: 'begun', offset: 22 });
    expect(offsetIn(engine)).toBe(22);
  });

  it('[replication 6.13] whose last commits differ is not begun again', async () => {
    for (const fork of [0, 1, 18, 19]) {
      const engine = await stored(hostLog(20), third);
      const forked = repairing(engine.connect('b'), hostLog(20, fork));
      await expect(forked).rejects.toThrow('another one on this host');
    }
    // It ends before the log does, and has more commits.
    const engine = await stored(hostLog(20, 20, 20), third);
    const shorter = repairing(engine.connect('b'), hostLog(22, 19));
    await expect(shorter).rejects.toThrow('another one on this host');
  });

  it('[replication 6.13] is compared where only the last part of a record is left', async () => {
    const isPart = (entry: StoredEntry) => entry.bytes[6] === 3;
    const truth = hostLog(20, 20, 20);
    const end = ({ bytes }: StoredEntry) => bytes[6] === 2;
    const engine = await stored(truth, (entry) => isPart(entry) || end(entry));
    const forked = repairing(engine.connect('b'), hostLog(21, 19, 20));
    await expect(forked).rejects.toThrow('commit 20 is another one on this host');
    expect(await repairing(engine.connect('b'), truth)).toMatchObject({ kind: 'begun' });
  });

  it('[replication 6.13] is not begun again without what other hosts know', async () => {
    const truth = hostLog(20);
    const engine = await stored(truth, ({ seq }) => seq > 2);
    const [ends, forked] = [[endOf(truth, 20)], hostLog(22, 15)];
    await expect(repairing(engine.connect('b'), forked, { knownEnds: ends })).rejects.toThrow(
      /another one .* than another host knows to be acknowledged: name/,
    );
    const less = repairing(engine.connect('b'), hostLog(19), { knownEnds: ends });
    await expect(less).rejects.toThrow('this host has those up to 19');
    const done = await repairing(engine.connect('b'), hostLog(22, 20), { knownEnds: ends });
    expect(done).toMatchObject({ kind: 'begun', offset: 22 });
  });
});

import { describe, expect, it } from 'vitest';
import { LogWriter } from '../../test/support/log-writer.ts';
import { beginningOf, ClusterPerson } from '../../test/support/shared-log-people.ts';
import { SteadyClock } from '../../test/support/steady-clock.ts';
import { limits } from '../limits.ts';
import { databaseIdentity } from '../values/identity-roles.ts';
import { decodeEntry, type Entry, entryKinds } from './entry.ts';
import { clusterId, logName } from './log-name.ts';
import { MemoryEngine } from './memory-engine.ts';
import { Replicator, type ReplicatorEnd, type ReplicatorOptions } from './replicator.ts';
import { Tail } from './tail.ts';

const log = logName(clusterId(1n), databaseIdentity(2n), 1);
const anna = new ClusterPerson(1n);
const bert = new ClusterPerson(2n);

/** A leader, whose term has just begun, and its engine. */
async function leading(given: Partial<ReplicatorOptions> = {}) {
  const clock = new SteadyClock();
  const engine = new MemoryEngine({
    clock,
    network: { travel: () => [1] },
    replicationMillis: () => 3,
  });
  const sharedLog = engine.connect('anna');
  const tail = new Tail();
  const zero = beginningOf(7);
  tail.accept(zero);
  const term = anna.term(tail);
  tail.accept(term);
  const begun = sharedLog.create(log, zero.bytes).then(() => sharedLog.append([{ log, ...term }]));
  await clock.pass(20);
  expect(await begun).toEqual(['stored']);
  const ends: ReplicatorEnd[] = [];
  const replicator = new Replicator({
    ...{ sharedLog, log, term: 1, boot: anna.lead.boot, entryBytesMax: limits.entryBytesMax },
    ...{ start: term, point: tail.point, localSync: () => Promise.resolve() },
    now: () => clock.now(),
    pause: (millis) => clock.pause(millis),
    onEnd: (end) => ends.push(end),
    ...given,
  });
  const writer = new LogWriter(7, tail.point);
  return { clock, engine, sharedLog, tail, replicator, writer, ends };
}

type Leading = Awaited<ReturnType<typeof leading>>;

function commit({ writer, replicator }: Leading, bytes = 10): void {
  writer.commit('add', new Uint8Array(bytes));
  replicator.write(writer.take());
}

/** Every entry that is in acknowledged history; the log is checked as a follower checks it. */
function entriesOf({ engine }: Leading): Entry[] {
  const tail = new Tail();
  return engine.settledEntries(log).map((bytes, seq) => {
    const step = tail.accept({ seq, bytes });
    expect(step.kind).not.toBe('fault');
    const reading = decodeEntry(bytes);
    if (reading.kind !== 'valid') throw new Error('no entry');
    return reading.entry;
  });
}

/** Whether a promise has come out, without waiting for it. */
function watched(promise: Promise<void>): () => string {
  let state = 'waiting';
  promise.then(
    () => {
      state = 'done';
    },
    (error: Error) => {
      state = error.message;
    },
  );
  return () => state;
}

describe('a leader that writes', () => {
  it('[replication 4.1] gathers what comes while an append is in flight', async () => {
    const one = await leading();
    for (let at = 0; at < 10; at++) commit(one);
    const first = watched(one.replicator.sync());
    await one.clock.pass(2);
    for (let at = 0; at < 5; at++) commit(one);
    const second = watched(one.replicator.sync());
    await one.clock.pass(4);
    expect([first(), second()]).toEqual(['done', 'waiting']);
    await one.clock.pass(5);
    expect(second()).toBe('done');
    expect(entriesOf(one).map(({ kind, offset }) => [kind, offset])).toEqual([
      [entryKinds.beginning, 0],
      [entryKinds.term, 0],
      [entryKinds.records, 10],
      [entryKinds.records, 15],
    ]);
    expect(one.replicator.acknowledgedOffset).toBe(15);
  });

  it('[replication 4.3] acknowledges what is stored and synced locally', async () => {
    const syncs: (() => void)[] = [];
    const localSync = () => new Promise<void>((resolve) => syncs.push(resolve));
    const one = await leading({ localSync });
    commit(one);
    const first = watched(one.replicator.sync());
    await one.clock.pass(50);
    expect([first(), one.replicator.acknowledgedOffset]).toEqual(['waiting', 0]);
    syncs[0]?.();
    await one.clock.pass(0);
    expect([first(), one.replicator.acknowledgedOffset]).toEqual(['done', 1]);
    // The other way round: synced, and not stored.
    one.engine.isStandbyAway = true;
    commit(one);
    const second = watched(one.replicator.sync());
    await one.clock.pass(0);
    expect(syncs).toHaveLength(2);
    syncs[1]?.();
    await one.clock.pass(50);
    expect(second()).toBe('waiting');
    one.engine.isStandbyAway = false;
    await one.clock.pass(50);
    expect(second()).toBe('done');
  });

  it('[replication 4.3] without local sync acknowledges what is stored', async () => {
    const one = await leading({ localSync: undefined });
    commit(one);
    const synced = watched(one.replicator.sync());
    await one.clock.pass(50);
    expect(synced()).toBe('done');
  });

  it('[replication 4.3] ends when the local log fails', async () => {
    const one = await leading({ localSync: () => Promise.reject(new Error('disk')) });
    commit(one);
    const synced = watched(one.replicator.sync());
    await one.clock.pass(0);
    expect(synced()).toMatch('localFailure');
    expect(one.ends).toMatchObject([{ kind: 'localFailure', cause: { message: 'disk' } }]);
  });

  it('[replication 4.4] sends what is too large for an entry in several', async () => {
    const one = await leading({ entryBytesMax: 2_000 });
    commit(one, 300);
    commit(one, 9_000);
    for (let at = 0; at < 20; at++) commit(one, 400);
    const synced = watched(one.replicator.sync());
    await one.clock.pass(500);
    expect(synced()).toBe('done');
    const entries = entriesOf(one);
    const kinds = new Set(entries.map(({ kind }) => kind));
    expect([...kinds].sort()).toEqual([0, 1, 3, 4, 6]);
    for (const { payload } of entries.slice(1)) expect(payload.length).toBeLessThan(2_000);
    expect(entries.at(-1)?.offset).toBe(22);
  });

  it('[replication 4.6] says when it is full, and no more when it has caught up', async () => {
    const one = await leading();
    one.engine.isStandbyAway = true;
    expect(one.replicator.isFull).toBe(false);
    while (!one.replicator.isFull) commit(one, 4_000_000);
    one.engine.isStandbyAway = false;
    const synced = one.replicator.sync();
    await one.clock.pass(30_000);
    await synced;
    expect(one.replicator.isFull).toBe(false);
  });

  it('[replication 4.7] says what is acknowledged, at rest in an empty entry', async () => {
    const one = await leading();
    commit(one);
    await one.clock.pass(20);
    commit(one);
    await one.clock.pass(20);
    expect(entriesOf(one).map(({ acknowledged }) => acknowledged)).toEqual([0, 0, 0, 1]);
    one.replicator.announceSettled();
    await one.clock.pass(20);
    one.replicator.announceSettled();
    await one.clock.pass(20);
    expect(entriesOf(one).map(({ acknowledged }) => acknowledged)).toEqual([0, 0, 0, 1, 2]);
  });
});

describe('a leader whose append has no clear result', () => {
  it('[replication 5.5] acknowledges nothing before an empty entry is stored (F2)', async () => {
    const one = await leading();
    one.engine.isStandbyAway = true;
    commit(one);
    const synced = watched(one.replicator.sync());
    await one.clock.pass(10);
    one.engine.cancelWaits();
    await one.clock.pass(200);
    // The entry is visible, and was answered as a success with a notice.
    expect(synced()).toBe('waiting');
    one.engine.isStandbyAway = false;
    await one.clock.pass(2_000);
    expect(synced()).toBe('done');
    expect(entriesOf(one).map(({ kind }) => kind)).toEqual([6, 1, 0, 2]);
  });

  it('[replication 5.5] stores everything once over a restart of the primary (F1)', async () => {
    const one = await leading();
    one.engine.isStandbyAway = true;
    commit(one);
    const first = watched(one.replicator.sync());
    await one.clock.pass(10);
    commit(one);
    one.engine.restartPrimary();
    await one.clock.pass(6_000);
    expect(first()).toBe('waiting');
    one.engine.isStandbyAway = false;
    await one.clock.pass(6_000);
    expect(first()).toBe('done');
    await one.replicator.sync();
    expect(entriesOf(one).at(-1)?.offset).toBe(2);
  });

  it('[replication 5.5] repeats an append that a promoted standby never had', async () => {
    const one = await leading();
    one.engine.isStandbyAway = true;
    commit(one);
    const synced = watched(one.replicator.sync());
    await one.clock.pass(10);
    one.engine.promote();
    await one.clock.pass(6_000);
    expect(synced()).toBe('done');
    expect(entriesOf(one).map(({ kind }) => kind)).toEqual([6, 1, 0]);
  });

  it('[replication 5.4] ends when another host leads, and its callers hear that', async () => {
    const one = await leading();
    const theirs = bert.term(one.tail);
    const other = one.engine.connect('bert').append([{ log, ...theirs }]);
    await one.clock.pass(20);
    expect(await other).toEqual(['stored']);
    commit(one);
    const synced = watched(one.replicator.sync());
    await one.clock.pass(100);
    expect(synced()).toBe('this host does not write to the shared log any more: overtaken');
    expect(one.ends).toEqual([{ kind: 'overtaken' }]);
    expect(() => commit(one)).toThrow('overtaken');
    await expect(one.replicator.sync()).rejects.toThrow('overtaken');
    expect(entriesOf(one)).toHaveLength(3);
  });

  it('[replication 6.9] restores what the engine lost, if it is all there', async () => {
    const warnings: string[] = [];
    const one = await leading({ warn: (message) => warnings.push(message) });
    one.engine.isLying = true;
    one.engine.isStandbyAway = true;
    for (let at = 0; at < 5; at++) {
      commit(one);
      await one.clock.pass(20);
    }
    expect(one.replicator.acknowledgedOffset).toBe(5);
    one.engine.promote();
    one.engine.isLying = false;
    commit(one);
    const synced = watched(one.replicator.sync());
    await one.clock.pass(10_000);
    expect(synced()).toBe('done');
    expect(entriesOf(one).at(-1)?.offset).toBe(6);
    expect(warnings).toEqual(['The engine lost acknowledged entries 2 to 6; they are restored.']);
  });

  it('[replication 6.9] stops when the engine lost its term, too', async () => {
    const one = await leading();
    const sharedLog = one.engine.connect('operator');
    const removed = sharedLog.remove(log).then(() => sharedLog.create(log, beginningOf(7).bytes));
    await one.clock.pass(20);
    await removed;
    commit(one);
    const synced = watched(one.replicator.sync());
    await one.clock.pass(1_000);
    expect(synced()).toMatch('diverged');
    expect(one.ends).toMatchObject([{ kind: 'diverged' }]);
  });
});

describe('a leader that gives its term away', () => {
  it('[replication 9.4] does so behind all that it wrote, and writes no more', async () => {
    const one = await leading();
    commit(one);
    one.replicator.handOver(bert.lead);
    const synced = watched(one.replicator.sync());
    expect(() => commit(one)).toThrow('nothing is written behind a hand-over');
    await one.clock.pass(50);
    expect(synced()).toBe('done');
    expect(one.ends).toMatchObject([{ kind: 'handedOver', seq: 3, term: 2, at: { offset: 1 } }]);
    const last = entriesOf(one).at(-1);
    expect([last?.kind, last?.term, last?.boot]).toEqual([entryKinds.term, 2, anna.lead.boot]);
  });
});

describe('the proof that a host still leads', () => {
  it('[replication 5.10] is a confirmation that began later, and is shared', async () => {
    const one = await leading();
    const first = watched(one.replicator.proof());
    await one.clock.pass(2);
    // The confirmation under way began before this read.
    const second = watched(one.replicator.proof());
    await one.clock.pass(4);
    expect([first(), second()]).toEqual(['done', 'waiting']);
    await one.clock.pass(10);
    expect(second()).toBe('done');
  });

  it('[replication 5.10] is an append that began later', async () => {
    const one = await leading();
    one.engine.isStandbyAway = true;
    const proved = watched(one.replicator.proof());
    await one.clock.pass(10);
    expect(proved()).toBe('waiting');
    commit(one);
    one.engine.isStandbyAway = false;
    await one.clock.pass(50);
    expect(proved()).toBe('done');
  });

  it('[replication 5.10] is none when another host leads', async () => {
    const one = await leading();
    const other = one.engine.connect('bert').append([{ log, ...bert.term(one.tail) }]);
    await one.clock.pass(20);
    await other;
    const proved = watched(one.replicator.proof());
    await one.clock.pass(2_000);
    expect(proved()).toMatch('overtaken');
  });

  it('[replication 5.8] is as old as the beginning of what came back', async () => {
    const one = await leading();
    expect(one.replicator.provenAt).toBe(20);
    const proof = one.replicator.proof();
    await one.clock.pass(30);
    await proof;
    expect(one.replicator.provenAt).toBe(20);
    const later = one.replicator.proof();
    await one.clock.pass(30);
    await later;
    expect(one.replicator.provenAt).toBe(50);
  });
});

import { mkdtempSync, rmSync } from 'node:fs';
import os from 'node:os';
import path from 'node:path';
import { afterEach, beforeEach, expect, it } from 'vitest';
import { type LedLog, LogKeeper } from '../../src/cluster/log-keeper.ts';
import { writeSharedLog } from '../../src/cluster/write-shared-log.ts';
import { replayLog } from '../../src/database/open-database.ts';
import { limits } from '../../src/limits.ts';
import { verifyLog, verifyStart } from '../../src/log/verify.ts';
import { MachineDisk } from '../../src/node/disk.ts';
import { MachineEntropy } from '../../src/node/entropy.ts';
import { decodeEntry, entryKinds } from '../../src/shared-log/entry.ts';
import { lastSeq } from '../../src/shared-log/find-start.ts';
import { clusterId, logName } from '../../src/shared-log/log-name.ts';
import { verifySharedLog } from '../../src/shared-log/verify-log.ts';
import type { DatabaseIdentity } from '../../src/values/identity-roles.ts';
import { type ClusterHost, ClusterHosts } from '../support/cluster-hosts.ts';

let cluster: ClusterHosts;
let a: ClusterHost;
let shop: DatabaseIdentity;
let led: LedLog;
let now = 0;

beforeEach(async () => {
  cluster = new ClusterHosts('local');
  a = await cluster.start('a');
  const record = await a.publish();
  shop = record.identity;
  const hex = shop.toString(16).padStart(64, '0');
  led = {
    log: logName(clusterId(7n), shop, record.generation),
    shown: 'shop',
    directory: path.join(cluster.folderOf('a'), 'databases', hex, `log-${record.generation}`),
    others: new Map(),
  };
});
afterEach(() => cluster.close());

const keeper = (more: Partial<LedLog> = {}) =>
  new LogKeeper({
    ...{ sharedLog: cluster.engine.connect('keeper'), now: () => now },
    snapshotsOf: (log) => cluster.snapshotsOf(log),
    led: async () => [{ ...led, ...more }],
    report: ({ level, message }) => {
      if (level !== 'info') throw new Error(message);
    },
    bounds: { restartEvery: cluster.restartEvery },
  });

const first = async (): Promise<number> => {
  const answer = await cluster.engine.connect('reader').read(led.log, 0, limits.sharedReadBytesMax);
  return answer.first;
};

/** Writes, and has the actor take a snapshot of all that is there; returns its offset. */
async function written(from: number, to: number): Promise<number> {
  for (let at = from; at < to; at++) await a.add(shop, `item ${at}`);
  const { handle } = a.host.database(shop.toString(16).padStart(64, '0'));
  const outcome = await handle.snapshot(new AbortController().signal);
  if (outcome.kind !== 'taken') throw new Error(outcome.kind);
  return outcome.offset;
}

it('[replication 6.8, 6.10] entries go when two snapshots have them, after an hour, and no sooner', async () => {
  const keeping = keeper();
  const one = await written(0, 60);
  await keeping.look();
  const snapshots = cluster.snapshotsOf(led.log);
  expect(await snapshots.all()).toMatchObject([{ bytes: expect.any(Number), offset: one }]);
  const two = await written(60, 120);
  await keeping.look();
  expect(await snapshots.all()).toHaveLength(2);
  expect(await first()).toBe(0);
  now += limits.logKeptMillis;
  await keeping.look();
  // Behind the second newest nothing is removed.
  const begins = await first();
  expect(begins).toBeGreaterThan(0);
  expect(begins % cluster.restartEvery).toBe(0);
  const answer = await cluster.engine
    .connect('reader')
    .read(led.log, begins, limits.sharedReadBytesMax, 1);
  const reading = decodeEntry(answer.entries[0]?.bytes ?? new Uint8Array(0));
  expect(reading).toMatchObject({ kind: 'valid', entry: { kind: entryKinds.restart } });
  expect(reading.kind === 'valid' && reading.entry.offset <= one).toBe(true);
  const three = await written(120, 180);
  await keeping.look();
  expect((await snapshots.all()).map(({ offset }) => offset)).toEqual([three, two]);
});

it('[replication 9.7] no entry that an earlier version does not read is written before all read it', async () => {
  const kinds = async () => {
    const { entries } = await cluster.engine
      .connect('reader')
      .read(led.log, 0, limits.sharedReadBytesMax);
    return entries.map(({ bytes }) => {
      const reading = decodeEntry(bytes);
      return reading.kind === 'valid' ? reading.entry.kind : undefined;
    });
  };
  cluster.readsRestarts = false;
  for (let at = 0; at < 3 * cluster.restartEvery; at++) await a.add(shop, `item ${at}`);
  expect(await kinds()).not.toContain(entryKinds.restart);
  cluster.readsRestarts = true;
  for (let at = 0; at < 2 * cluster.restartEvery; at++) await a.add(shop, `item ${at}`);
  expect(await kinds()).toContain(entryKinds.restart);
});

it('[replication 6.2] a host with an empty folder, and one that was away, begin with a snapshot', async () => {
  const b = await cluster.start('b');
  await b.until(shop, (role) => role.kind === 'follower' && role.isAtEnd);
  await b.host.close();
  const keeping = keeper();
  for (let round = 0; round < 3; round++) {
    await written(60 * round, 60 * round + 60);
    await keeping.look();
    now += limits.logKeptMillis;
  }
  await keeping.look();
  expect(await first()).toBeGreaterThan(61);
  const c = await cluster.start('c');
  const again = await cluster.start('b');
  const end = (await a.add(shop, 'last')) ?? 0;
  for (const host of [c, again]) {
    await host.until(
      shop,
      (role) => role.kind === 'follower' && role.isAtEnd && role.end.offset >= end,
    );
  }
  cluster.gone.add(a.lead.boot);
  a.crash(shop);
  await a.host.close();
  const isLed = (host: ClusterHost) => host.until(shop, ({ kind }) => kind === 'leader');
  const leader = await Promise.race([c, again].map((host) => isLed(host).then(() => host)));
  const items = await leader.items(shop);
  expect(items).toHaveLength(182);
  expect(items.at(-1)).toBe('last');
});

it('[replication 6.8] a host that is behind is waited for, but not indefinitely', async () => {
  const others = new Map([['b', 20]]);
  const keeping = keeper({ others });
  for (let round = 0; round < 3; round++) {
    await written(60 * round, 60 * round + 60);
    await keeping.look();
    now += limits.logKeptMillis;
  }
  await keeping.look();
  const waited = await first();
  expect(waited).toBeLessThanOrEqual(32);
  now += limits.logBehindMillisMax;
  await keeping.look();
  expect(await first()).toBeGreaterThan(61);
});

it('[replication 16.3, 6.2] what is left of a log is exported, and opens alone', async () => {
  const keeping = keeper();
  let end = 0;
  for (let round = 0; round < 3; round++) {
    end = await written(60 * round, 60 * round + 60);
    await keeping.look();
    now += limits.logKeptMillis;
  }
  await keeping.look();
  expect(await first()).toBeGreaterThan(0);
  const sharedLog = cluster.engine.connect('reader');
  const snapshots = cluster.snapshotsOf(led.log);
  const directory = mkdtempSync(path.join(os.tmpdir(), 'reducerdb-export-'));
  try {
    const written = await writeSharedLog({
      exported: {
        ...{ cluster: clusterId(7n), database: shop, generation: 1 },
        last: await lastSeq(sharedLog, led.log),
      },
      read: (...asked) => sharedLog.read(...asked),
      async *snapshot(position) {
        const [found] = (await snapshots.all()).filter((one) => one.position >= position);
        if (found !== undefined) yield* snapshots.read(found);
      },
      ...{ directory, entropy: new MachineEntropy(), onBytes: () => undefined },
    });
    expect(written?.offset).toBe(end);
    const disk = new MachineDisk(directory);
    expect(verifyLog(disk, shop)).toMatchObject({ kind: 'intact', contents: { offset: end } });
    expect(verifyStart(disk, shop)).toMatchObject({ kind: 'intact', contents: { offset: end } });
    const alone = await replayLog({
      ...{ identity: shop, disk, entropy: new MachineEntropy(), full: undefined },
      warn: (message) => {
        throw new Error(message);
      },
    });
    expect(alone.store.tableByName('item')?.rowCount).toBe(181);
    await alone.log.close();
  } finally {
    rmSync(directory, { recursive: true });
  }
});

it('[replication 16.4, 6.10] snapshots are compared with the records, and with what was removed', async () => {
  const keeping = keeper();
  for (let round = 0; round < 3; round++) {
    await written(60 * round, 60 * round + 60);
    await keeping.look();
    now += limits.logKeptMillis;
  }
  await keeping.look();
  const snapshots = cluster.snapshotsOf(led.log);
  const verified = () =>
    verifySharedLog({ sharedLog: cluster.engine.connect('reader'), log: led.log, snapshots });
  expect(await verified()).toMatchObject({ first: await first(), snapshotCount: 2, faults: [] });

  const [older = '', newer = ''] = await cluster.parts.list(`${led.log}/manifest-`);
  const manifest = Buffer.from((await cluster.parts.get(newer)) ?? []).toString();
  const replaced = async (text: string) => {
    await cluster.parts.remove(newer);
    await cluster.parts.putIfAbsent(newer, Buffer.from(text));
    return (await verified()).faults;
  };
  const about = (reason: RegExp) => [{ kind: 'snapshot', reason: expect.stringMatching(reason) }];
  expect(await replaced('{}')).toMatchObject(about(/its manifest cannot be read/));
  const chain = manifest.replace(/"chain":"[0-9a-f]{16}"/, '"chain":"0123456789abcdef"');
  expect(await replaced(chain)).toMatchObject(about(/its header is of another place/));
  expect(await replaced(manifest)).toEqual([]);

  const parts = await cluster.parts.list(`${led.log}/part-`);
  await cluster.parts.remove(parts.at(-1) ?? '');
  expect((await verified()).faults).toMatchObject(about(/part \d+ of \d+ is missing/));
  await cluster.parts.remove(newer);
  await cluster.parts.remove(older);
  expect((await verified()).faults).toMatchObject([{ kind: 'uncovered' }]);
});

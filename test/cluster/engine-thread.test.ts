import { setMaxListeners } from 'node:events';
import { afterAll, afterEach, beforeAll, describe, expect, it } from 'vitest';
import { EngineThread } from '../../src/cluster/engine-thread.ts';
import { parsePostgresPlace } from '../../src/engines/postgres/postgres-place.ts';
import { limits } from '../../src/limits.ts';
import type { AppendItem, SharedLog } from '../../src/shared-log/shared-log.ts';
import {
  appendOne,
  type EngineUnderTest,
  freshLog,
  sharedLogContract,
} from '../contracts/shared-log.contract.ts';
import { PostgresCluster, withoutPostgres } from '../support/postgres-cluster.ts';

let cluster: PostgresCluster;
const shared: EngineThread[] = [];
const opened: EngineThread[] = [];
let turn = 0;

async function start(history?: string, onHistory: (text: string) => void = () => undefined) {
  const reading = parsePostgresPlace(cluster.address);
  if (reading.kind !== 'valid') throw new Error(reading.reason);
  const options = { place: reading.place, history, gatherMillis: 0, report: () => undefined };
  return EngineThread.start({ ...options, onHistory });
}

const engine: EngineUnderTest = {
  // Two hosts: each has one thread, and many databases in it.
  open: async () => (shared[turn++ % 2] as EngineThread).engine,
  cuts: [
    {
      name: 'the thread dies',
      open: async () => {
        const thread = await start();
        opened.push(thread);
        await thread.engine.capabilities();
        const append = (items: readonly AppendItem[]) => {
          const answer = thread.engine.append(items);
          void thread.close();
          return answer;
        };
        return Object.assign(Object.create(thread.engine) as SharedLog, { append });
      },
    },
  ],
  wakeMillis: 50 * Number(process.env.TEST_SLOWNESS ?? 1),
  fill: async (log, count) => {
    const row = `decode('${log}', 'hex'), n, convert_to('entry ' || n, 'UTF8')`;
    cluster.primary.run(
      `insert into reducerdb_entry select ${row} from generate_series(1, ${count}) n`,
    );
  },
  stop: async () => undefined,
};

describe.skipIf(withoutPostgres !== undefined)('the thread that talks to PostgreSQL', () => {
  beforeAll(async () => {
    cluster = await PostgresCluster.start();
    shared.push(await start(), await start());
  });
  afterEach(async () => {
    for (const thread of opened.splice(0)) await thread.close();
  });
  afterAll(async () => {
    for (const thread of shared) await thread.close();
    await cluster.stop();
  });

  sharedLogContract('[replication 3.6] as a shared log', () => engine);

  it('[replication 3.6] a host has at most 8 connections, however many databases', async () => {
    const thread = shared[0] as EngineThread;
    const logs = Array.from({ length: 60 }, freshLog);
    await Promise.all(logs.map((log) => thread.engine.create(log, new Uint8Array([1]))));
    const stop = new AbortController();
    setMaxListeners(0, stop.signal);
    const waits = logs.map((log) => thread.engine.wait(log, 2, stop.signal));
    const results = await Promise.all(
      logs.map((log) => appendOne(thread.engine, log, 1, new Uint8Array([2]))),
    );
    expect(new Set(results)).toEqual(new Set(['stored']));
    const text = `select count(*) from pg_stat_activity where application_name = 'reducerdb'`;
    expect(Number(cluster.primary.run(text))).toBeLessThanOrEqual(8 * shared.length);
    stop.abort();
    await Promise.all(waits);
  });

  it("[replication 12.5] says how far this clock is from the engine's", async () => {
    const { engine: port } = shared[0] as EngineThread;
    expect(Math.abs(await port.skewMillis(Date.now))).toBeLessThan(1_000);
    const ahead = await port.skewMillis(() => Date.now() + 3_600_000);
    expect(Math.abs(ahead - 3_600_000)).toBeLessThan(1_000);
  });

  it('[replication 3.4] says what past the engine has before anything that came from it', async () => {
    const seen: string[] = [];
    const thread = await start(undefined, (history) => seen.push(history));
    opened.push(thread);
    expect(thread.history).toBeUndefined();
    const { history } = await thread.engine.capabilities();
    expect([thread.history, ...seen]).toEqual([history, history]);
    const another = await start('postgres:1:1');
    opened.push(another);
    const asked = another.engine.read(freshLog(), 0, limits.sharedReadBytesMax);
    await expect(asked).rejects.toThrow('This is another engine');
  });
});

/**
 * What a cluster costs: durable calls at the host that leads, on PostgreSQL with a standby and on an
 * S3-compatible store, beside the same calls at a service that is alone, by turns in one run; what
 * the thread of an engine adds to the bare statement; and how fast a host that follows catches up.
 * All of it is on one machine: services, servers of PostgreSQL, the store and those who call.
 */
import { Agent } from 'node:http';
import { setTimeout as sleep } from 'node:timers/promises';
import pg from 'pg';
import { EngineThread } from '../src/cluster/engine-thread.ts';
import { random128 } from '../src/cluster/host-file.ts';
import { parsePostgresPlace } from '../src/engines/postgres/postgres-place.ts';
import { clusterId, logName, logNameBytes } from '../src/shared-log/log-name.ts';
import { databaseIdentity } from '../src/values/identity-roles.ts';
import { itemsModule } from '../test/service/cli-support.ts';
import { ServiceCluster, type SharedEngine, StoreEngine } from '../test/service/cluster-support.ts';
import { type RunningService, Sandbox } from '../test/service/harness.ts';
import { writtenFrom } from '../test/service/written-module.ts';
import { type PostgresCluster, withoutPostgres } from '../test/support/postgres-cluster.ts';
import { Delays } from './load/delays.ts';
import { Asker, HttpLoad } from './load/http-load.ts';

export interface Figure {
  readonly name: string;
  readonly unit: string;
  readonly value: number;
  /** Of the same run. */
  readonly baseline: number;
  readonly bar?: string;
}

/** How long the store takes for each answer, as one in the same region does. */
const storeMillis = 20;

/** Appends that are not counted: sessions begin, and statements are prepared. */
const warmUp = 5;

/** Without PostgreSQL on this machine, only the figures of the store. */
export async function benchmarks(scale: number): Promise<Figure[]> {
  const agent = new Agent({ keepAlive: true, maxSockets: 1_000 });
  const alone = await Sandbox.make();
  try {
    const local = await alone.start();
    const beside = { local: await begun(local, agent), agent, scale };
    const store = await ServiceCluster.on(await StoreEngine.start());
    const onStore = await withCluster(store, beside, async (load) => {
      store.engine.store.faults.latencyMillis = storeMillis;
      const name = `a store that answers after ${storeMillis} ms`;
      return durableCalls(load, { ...beside, name, bars: {} });
    });
    if (withoutPostgres !== undefined) return onStore;
    const postgres = await ServiceCluster.start();
    const onPostgres = await withCluster(postgres, beside, async (load, cluster) => {
      const figures = await bareInserts(postgres.postgres, scale);
      const bars = { 1000: 'at least 0.15 of local' };
      figures.push(...(await durableCalls(load, { ...beside, name: 'PostgreSQL', bars })));
      figures.push(...(await oneCaller(load, postgres.postgres, beside)));
      const { written, ...caughtUp } = await catchingUp(load, cluster, scale);
      figures.push(caughtUp, await lagging(load, cluster, { perSecond: written / 2, scale }));
      return figures;
    });
    await local.stop();
    return [...onStore, ...onPostgres];
  } finally {
    agent.destroy();
    alone.remove();
  }
}

interface Beside {
  /** The service that is alone. */
  readonly local: HttpLoad;
  readonly agent: Agent;
  readonly scale: number;
}

/** A service with the database, to which a load is sent. */
async function begun({ url }: RunningService, agent: Agent): Promise<HttpLoad> {
  const answer = await fetch(`${url}/v1/identity`, { method: 'POST' });
  const { token } = (await answer.json()) as { readonly token: string };
  const asker = new Asker(agent, token);
  const program = await writtenFrom(itemsModule());
  await asker.ask('PUT', `${url}/v1/database/bench?host_type=Js`, program);
  const load = new HttpLoad(asker, url);
  await load.until('durable call');
  return load;
}

interface Hosts {
  readonly cluster: ServiceCluster<SharedEngine>;
  readonly a: RunningService;
  readonly b: RunningService;
}

async function withCluster<Engine extends SharedEngine>(
  cluster: ServiceCluster<Engine>,
  { agent }: Beside,
  work: (load: HttpLoad, hosts: Hosts) => Promise<Figure[]>,
): Promise<Figure[]> {
  try {
    await cluster.appoint();
    const [a, b] = [await cluster.host('a'), await cluster.host('b')];
    return await work(await begun(a, agent), { cluster, a, b });
  } finally {
    await cluster.close();
  }
}

/** Durable calls of so many callers at once, beside the same at a service that is alone. */
async function durableCalls(
  load: HttpLoad,
  { local, scale, name, bars }: Beside & { name: string; bars: Record<number, string> },
): Promise<Figure[]> {
  const figures: Figure[] = [];
  for (const callers of [1, 64, 1_000]) {
    const rounds = Math.max(1, Math.round(3 * scale));
    const calls = Math.max(2, Math.round((callers === 1 ? 60 : 8 * callers) * scale));
    const [here, there] = [new Delays(), new Delays()];
    const seconds = { here: 0, there: 0 };
    for (let round = 0; round < rounds; round++) {
      const one = { what: 'durable call' as const, callers, calls };
      seconds.here += await load.run({ ...one, delays: here });
      seconds.there += await local.run({ ...one, delays: there });
    }
    if (callers === 1) {
      figures.push({
        ...{ name: `a durable call on ${name}, one caller, p50`, unit: 'ms' },
        ...{ value: here.summary.p50, baseline: there.summary.p50 },
      });
    }
    const bar = bars[callers];
    figures.push({
      ...{ name: `durable calls on ${name}, ${callers} callers`, unit: 'per second' },
      value: here.summary.count / seconds.here,
      baseline: there.summary.count / seconds.there,
      ...(bar !== undefined && { bar }),
    });
  }
  return figures;
}

/** The bare statement with which an entry is stored, in a session that waits for the standby. */
async function bareInsert(postgres: PostgresCluster) {
  const { port } = postgres.primary;
  const client = new pg.Client({ host: '127.0.0.1', port, user: 'postgres', database: 'postgres' });
  await client.connect();
  await client.query(`create table if not exists bare (
    log bytea, seq bigint, bytes bytea not null, primary key (log, seq))`);
  await client.query('alter table bare alter column bytes set storage external');
  const log = Buffer.from(logNameBytes(freshLog()));
  let seq = 0;
  return {
    insert: (bytes: Uint8Array) =>
      client.query({
        name: 'bare',
        text: 'insert into bare values ($1, $2, $3) on conflict do nothing',
        values: [log, ++seq, Buffer.from(bytes)],
      }),
    end: () => client.end(),
  };
}

function freshLog() {
  return logName(clusterId(random128()), databaseIdentity(random128()), 1);
}

/** Appends through the thread of an engine, one after the other, beside the bare statement. */
async function bareInserts(postgres: PostgresCluster, scale: number): Promise<Figure[]> {
  const reading = parsePostgresPlace(postgres.address);
  if (reading.kind !== 'valid') throw new Error(reading.reason);
  const thread = await EngineThread.start({
    ...{ place: reading.place, history: undefined, gatherMillis: 0 },
    ...{ onHistory: () => undefined, report: () => undefined },
  });
  const bare = await bareInsert(postgres);
  try {
    const figures: Figure[] = [];
    for (const commits of [1, 64, 1_000]) {
      const bytes = Buffer.alloc(256 * commits, 7);
      const log = freshLog();
      if ((await thread.engine.create(log, bytes)) !== 'created') throw new Error('it is there');
      await bare.insert(bytes);
      const count = Math.max(2, Math.round((commits === 1_000 ? 60 : 200) * scale));
      const [own, plain] = [new Delays(), new Delays()];
      for (let seq = 1; seq <= warmUp + count; seq++) {
        const micros = await microsOf(() => thread.engine.append([{ log, seq, bytes }]));
        const bareMicros = await microsOf(() => bare.insert(bytes));
        if (seq <= warmUp) continue;
        own.add(micros);
        plain.add(bareMicros);
      }
      figures.push({
        ...{ name: `an append of ${commits} commits to PostgreSQL, p50`, unit: 'ms' },
        ...{ value: own.summary.p50, baseline: plain.summary.p50 },
        bar: 'at most 1.5 of the bare statement',
      });
    }
    return figures;
  } finally {
    await bare.end();
    await thread.close();
  }
}

async function microsOf(work: () => Promise<unknown>): Promise<number> {
  const begun = performance.now();
  await work();
  return (performance.now() - begun) * 1_000;
}

/** A call of one caller, over HTTP, beside the same at the service that is alone, and the bare one. */
async function oneCaller(
  load: HttpLoad,
  postgres: PostgresCluster,
  { local, scale }: Beside,
): Promise<Figure[]> {
  const bare = await bareInsert(postgres);
  const [calls, alone, plain] = [new Delays(), new Delays(), new Delays()];
  const bytes = Buffer.alloc(256, 7);
  try {
    for (let round = 0; round < Math.max(2, Math.round(200 * scale)); round++) {
      const one = { what: 'durable call' as const, callers: 1, calls: 1 };
      await load.run({ ...one, delays: calls });
      await local.run({ ...one, delays: alone });
      plain.add(await microsOf(() => bare.insert(bytes)));
    }
  } finally {
    await bare.end();
  }
  const name = 'a durable call on PostgreSQL, one caller, by turns, p50';
  const value = calls.summary.p50;
  const [own, statement] = [alone.summary.p50, plain.summary.p50];
  return [
    {
      ...{ name: `${name}, to the larger of a local one and the bare statement`, unit: 'ms' },
      ...{ value, baseline: Math.max(own, statement), bar: 'at most 1.3' },
    },
    {
      ...{ name: `${name}, to the bare statement`, unit: 'ms' },
      ...{ value, baseline: statement, bar: 'at most 2' },
    },
  ];
}

/** A host that was away for a while catches up; its leader wrote as fast as it could. */
async function catchingUp(
  load: HttpLoad,
  hosts: Hosts,
  scale: number,
): Promise<Figure & { readonly written: number }> {
  const calls = Math.max(50, Math.round(20_000 * scale));
  const before = await offsetOf(hosts, 'a');
  while ((await offsetOf(hosts, 'b')) < before) await sleep(5);
  hosts.b.child.kill('SIGSTOP');
  let seconds: number;
  try {
    const delays = new Delays();
    const what = 'durable call';
    seconds = await load.run({ what, callers: Math.min(1_000, calls), calls, delays });
  } finally {
    hosts.b.child.kill('SIGCONT');
  }
  const begun = performance.now();
  while ((await offsetOf(hosts, 'b')) < before + calls) await sleep(5);
  return {
    ...{ name: 'commits that a host catches up with, to those that its leader writes' },
    ...{ unit: 'per second', value: calls / ((performance.now() - begun) / 1_000) },
    ...{ baseline: calls / seconds, bar: 'at least 1.5; 3 where no reducers run' },
    written: calls / seconds,
  };
}

/**
 * How long after its answer a commit is in what a host that follows answers, at half of the load
 * that its leader takes. The time of the statement that sees it is in it.
 */
async function lagging(
  load: HttpLoad,
  { a, b }: Hosts,
  { perSecond, scale }: { readonly perSecond: number; readonly scale: number },
): Promise<Figure> {
  const lags = new Delays();
  const post = (url: string, body: string) => {
    const headers = { 'content-type': 'application/json' };
    return fetch(url, { method: 'POST', headers, body });
  };
  await load.beside('durable call', perSecond, async () => {
    for (let probe = 0; probe < Math.max(10, Math.round(1_000 * scale)); probe++) {
      const call = await post(`${a.url}/v1/database/bench/call/add`, '["a probe"]');
      await call.arrayBuffer();
      const offset = call.headers.get('reducerdb-offset') ?? '';
      const begun = performance.now();
      const where = `${b.url}/v1/database/bench/sql?consistency=offset:${offset}`;
      const read = await post(where, 'SELECT * FROM items LIMIT 1');
      await read.arrayBuffer();
      // One that the follower does not have in time its leader answers: that took as long.
      if (read.status !== 200) throw new Error(`a probe was answered with ${read.status}`);
      lags.add((performance.now() - begun) * 1_000);
    }
  });
  return {
    ...{ name: 'a commit in the answer of a host that follows, at half load, p99', unit: 'ms' },
    ...{ value: lags.summary.p99, baseline: 50, bar: 'at most the baseline' },
  };
}

/** Where the copy of a host ends, as it says itself. */
async function offsetOf({ cluster, a, b }: Hosts, name: 'a' | 'b'): Promise<number> {
  const host = name === 'a' ? a : b;
  const seen = (await cluster.asOperator(host, '/v1/cluster/databases')) as {
    readonly databases: readonly {
      readonly names: readonly string[];
      readonly copies: readonly { readonly host: string; readonly offset: number }[];
    }[];
  };
  const found = seen.databases.find(({ names }) => names.includes('bench'));
  return found?.copies.find((copy) => copy.host === name)?.offset ?? 0;
}

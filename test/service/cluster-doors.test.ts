import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { ask, type Caller, newCaller } from '../support/asking.ts';
import { withoutPostgres } from '../support/postgres-cluster.ts';
import { connect, names, own, published, subscribe } from '../support/tavern-client.ts';
import { ServiceCluster } from './cluster-support.ts';
import type { RunningService } from './harness.ts';
import { tavern } from './tavern-module.ts';

/** Services that are processes of their own, on a real PostgreSQL with its standby. */
describe.skipIf(withoutPostgres !== undefined)('the doors of two hosts', () => {
  let cluster: ServiceCluster;
  let a: RunningService;
  let b: RunningService;
  let ada: Caller;

  beforeAll(async () => {
    cluster = await ServiceCluster.start();
    a = await cluster.host('a');
    b = await cluster.host('b');
    ada = await newCaller(a);
  });
  afterAll(() => cluster?.close());

  const ofJson = { 'content-type': 'application/json' };

  async function publish(at: RunningService, name: string): Promise<void> {
    const body = await tavern();
    const { text } = await ask(at, 'PUT', `/v1/database/${name}?host_type=Js`, { as: ada, body });
    expect(text).toContain('"Success"');
  }

  function add(at: RunningService, database: string, id: number) {
    const body = JSON.stringify([id, `guest ${id}`, 1]);
    const where = `/v1/database/${database}/call/add`;
    return ask(at, 'POST', where, { as: ada, body, headers: ofJson });
  }

  async function ids(at: RunningService, database: string): Promise<number[]> {
    const asked = { as: ada, body: 'SELECT id FROM person' };
    const { status, text } = await ask(at, 'POST', `/v1/database/${database}/sql`, asked);
    if (status !== 200) throw new Error(`${status} ${text}`);
    return JSON.parse(text)[0]
      .rows.map(([id]: [number]) => id)
      .sort((one: number, other: number) => one - other);
  }

  it('[replication 8.1, 8.3, 8.7] serve every client, wherever a database is led', async () => {
    await publish(a, 'of-a');
    await publish(b, 'of-b');
    for (const [database, leader, other] of [
      ['of-a', a, b],
      ['of-b', b, a],
    ] as const) {
      const through = await add(other, database, 1);
      expect([through.status, through.headers.get('reducerdb-leader')]).toEqual([200, leader.url]);
      expect((await add(leader, database, 2)).headers.get('reducerdb-leader')).toBeNull();
      for (const library of [...published, own]) {
        const { conn, gone } = await connect(library, { uri: other.url, database });
        await subscribe(conn);
        expect(names(conn)).toEqual(['1 guest 1', '2 guest 2']);
        conn.disconnect();
        await gone;
      }
      expect(await ids(other, database)).toEqual([1, 2]);
    }
  });

  it('[replication 8.4, 8.5, 11.7] lose nothing that was acknowledged when the leader is killed', async () => {
    const database = 'of-b';
    const watching = await connect(own, { uri: a.url, database });
    await subscribe(watching.conn);
    const peers = await Promise.all(
      published.map((library) => connect(library, { uri: a.url, database })),
    );
    const acknowledged: number[] = [];
    const statuses = new Map<number, number>();
    let next = 100;
    let isOver = false;
    const caller = async (): Promise<void> => {
      while (!isOver) {
        const id = next++;
        const { status, text } = await add(a, database, id);
        statuses.set(status, (statuses.get(status) ?? 0) + 1);
        if (status === 200) acknowledged.push(id);
        else expect(text).toMatch(/outcome: unknown|Nothing was done/);
      }
    };
    const callers = [caller(), caller(), caller(), caller()];
    await expect.poll(() => acknowledged.length).toBeGreaterThan(50);
    await b.stop('SIGKILL');
    const before = acknowledged.length;
    // They go on by themselves, without another address.
    await expect.poll(() => acknowledged.length, { timeout: 30_000 }).toBeGreaterThan(before + 50);
    isOver = true;
    await Promise.all(callers);
    expect([...statuses.keys()].sort()).toEqual(statuses.size === 1 ? [200] : [200, 503]);
    expect(await ids(a, database)).toEqual(expect.arrayContaining(acknowledged));
    const all = async () => (await ids(a, database)).length;
    const count = await all();
    await expect.poll(() => names(watching.conn).length, { timeout: 30_000 }).toBe(count);
    const [peer] = published;
    if (peer === undefined) throw new Error('there is a published client');
    const again = await connect(peer, { uri: a.url, database });
    await subscribe(again.conn);
    expect(names(again.conn)).toHaveLength(count);
    for (const { conn } of [again, watching, ...peers]) conn.disconnect();
    await Promise.all([again, watching, ...peers].map(({ gone }) => gone));
  });

  it('[replication 6.1, 8.1] serve again at a host that comes back', async () => {
    b = await cluster.host('b');
    for (const database of ['of-a', 'of-b']) {
      await expect.poll(async () => (await add(b, database, 9_999)).status).toBe(200);
      expect(await ids(b, database)).toContain(9_999);
    }
  });
});

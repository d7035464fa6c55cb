import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, it } from 'vitest';
import { limits } from '../../src/limits.ts';
import { connectionIdToHex } from '../../src/values/connection-id.ts';
import { connectionNumber } from '../../src/values/connection-number.ts';
import { identityToHex } from '../../src/values/identity.ts';
import { ask } from '../support/asking.ts';
import { AttachedCluster } from '../support/attached-cluster.ts';
import { type ClusterService, roleAt, until } from '../support/cluster-services.ts';
import { killOneOf } from '../support/killed-hosts.ts';

const slowness = Number(process.env.TEST_SLOWNESS ?? 1);

describe('a client of another host', () => {
  let cluster: AttachedCluster;
  let a: ClusterService;
  let b: ClusterService;
  let c: ClusterService;

  beforeAll(async () => {
    cluster = await AttachedCluster.start();
    ({ a, b, c } = cluster);
  });
  afterAll(() => cluster.close());

  const connections = (more = '', method = 'GET') =>
    ask(a, method, `/v1/database/${identityToHex(cluster.identity)}/connections${more}`, {
      as: cluster.owner,
    });

  it('[replication 12.6] calls as if it were connected with the leader, in order, and is listed with its host', async () => {
    const client = cluster.attach(b, 7n);
    client.call('mine', 'early');
    for (let at = 0; at < 50; at++) client.call('mine', `${at}`);
    client.call('refuse', 'no');
    client.call('nothing', 'there');
    await until(() => client.told.length === 53);
    expect(client.connected).toBe(1);
    const numbered = Array.from({ length: 50 }, (_, at) => `${at} committed`);
    const last = ['no reducer.refused', 'there reducer.unknown'];
    expect(client.told).toEqual(['early committed', ...numbered, ...last]);
    expect(await cluster.texts(a)).toEqual(
      expect.arrayContaining(['early by 7', '0 by 7', '49 by 7']),
    );
    expect(JSON.parse((await connections()).text)).toMatchObject([
      { id: connectionIdToHex(connectionNumber(7n)), host: 'b', protocol: 'v2.bsatn.spacetimedb' },
    ]);
    client.call('mine', 'last');
    client.close();
    await until(async () => (await cluster.visitsOf(a, 7n)).length === 2);
    expect(await cluster.visitsOf(a, 7n)).toEqual(['connected', 'disconnected']);
    // What was sent before it left has run.
    expect(await cluster.texts(a)).toContain('last by 7');
    expect(client.ends).toEqual([]);
  });

  it('[replication 12.6] is refused by the module, and ended by an operator, and hears of both', async () => {
    const { token, ...rest } = cluster.caller;
    const payload = JSON.stringify({ ...JSON.parse(rest.payload), sub: 'stranger' });
    const stranger = cluster.attach(b, 8n, { ...rest, token, payload });
    const guest = cluster.attach(c, 9n);
    await until(() => stranger.ends.length > 0 && guest.connected === 1);
    expect(stranger.ends).toEqual([{ kind: 'live', reason: 'refused' }]);
    expect(stranger.connected).toBe(0);
    const id = connectionIdToHex(connectionNumber(9n));
    expect((await connections(`/${id}`, 'DELETE')).status).toBe(200);
    await until(() => guest.ends.length > 0);
    expect(guest.ends).toEqual([
      { kind: 'closed', code: 1008, reason: 'disconnected by the owner' },
    ]);
    await until(async () => (await cluster.visitsOf(a, 9n)).length === 2);
    expect(await cluster.visitsOf(a, 9n)).toEqual(['connected', 'disconnected']);
  });

  it('[replication 12.7] stays while a link breaks and comes back, and nothing is done twice', async () => {
    const clients = Array.from({ length: 20 }, (_, at) => cluster.attach(b, BigInt(at + 101)));
    await until(() => clients.every(({ connected }) => connected === 1));
    const sent: string[] = [];
    for (let round = 0; round < 5; round++) {
      for (let at = 0; at < 10; at++) sent.push(`${round}.${at}`);
      for (const client of clients) {
        for (let at = 0; at < 10; at++) client.call('mine', `${round}.${at}`);
      }
      await new Promise((resolve) => setImmediate(resolve));
      cluster.proxy.cut();
      sent.push(`${round}.cut`);
      for (const client of clients) client.call('mine', `${round}.cut`);
      cluster.proxy.heal();
    }
    await until(() => clients.every(({ unanswered }) => unanswered === 0));
    for (const { told, ends } of clients) {
      expect(told).toEqual(sent.map((text) => `${text} committed`));
      expect(ends).toEqual([]);
    }
    const found = (await cluster.texts(a)).filter((text) => / by 1\d\d$/.test(text)).sort();
    const expected = clients.flatMap(({ id }) => sent.map((text) => `${text} by ${id}`));
    expect(found).toEqual(expected.sort());
    const visits = await cluster.visits(a);
    for (const { id } of clients) expect(visits.get(String(id))).toEqual(['connected']);
  });
});

describe('a client whose leader is lost', () => {
  let cluster: AttachedCluster;
  let a: ClusterService;
  let b: ClusterService;
  let c: ClusterService;

  beforeEach(async () => {
    cluster = await AttachedCluster.start();
    ({ a, b, c } = cluster);
  });
  afterEach(() => cluster.close());

  it('[replication 12.6] has its calls refused, not lost, while nobody leads for too long', async () => {
    const client = cluster.attach(c, 5n);
    await until(() => client.connected === 1);
    for (const { name } of [b, c]) cluster.services.engine.cut(name);
    await cluster.kill(a);
    await until(() => c.part.lines.figures.open === 0);
    client.call('mine', 'nobody');
    await until(() => client.told.length === 1);
    expect(client.told).toEqual(['nobody refused database.noLeader']);
    expect(client.ends).toEqual([]);
  });

  it('[replication 12.8, 12.9] stays when another host leads, without coming again; a call meanwhile waits', async () => {
    const client = cluster.attach(c, 1n);
    await until(() => client.connected === 1);
    await cluster.connect(a, 99n);
    client.call('mine', 'before');
    await until(() => client.told.length === 1);
    await cluster.kill(a);
    await until(() => c.part.lines.figures.open === 0);
    client.call('mine', 'meanwhile');
    await until(() => roleAt(b, cluster.identity) === 'leader');
    client.call('mine', 'after');
    await until(() => client.told.length === 3);
    expect(client.told).toEqual(['before committed', 'meanwhile committed', 'after committed']);
    await cluster.untilGone(b, 1);
    expect(await cluster.visitsOf(b, 99n)).toEqual(['connected', 'disconnected']);
    expect(await cluster.visitsOf(b, 1n)).toEqual(['connected']);
    expect([client.ends, client.connected]).toEqual([[], 1]);
  });

  it('[replication 12.8] goes on when it is announced in time, and is sent away when it is too late', async () => {
    const [soon, late] = [1n, 2n];
    for (const id of [soon, late]) await cluster.connect(a, id);
    await cluster.settle(a);
    await cluster.kill(a);
    // As after a hand-over: the host of a client has it, and another one leads.
    const kept = cluster.announce(c, soon);
    await until(() => roleAt(b, cluster.identity) === 'leader');
    await cluster.untilGone(b, 1);
    const lost = cluster.announce(c, late);
    await until(() => lost.ends.length > 0);
    expect(lost.ends).toEqual([{ kind: 'live', reason: 'database' }]);
    kept.call('mine', 'here');
    await until(() => kept.told.length === 1);
    expect(kept.told).toEqual(['here committed']);
    expect([kept.connected, lost.connected]).toEqual([0, 0]);
    expect(await cluster.visitsOf(b, late)).toEqual(['connected', 'disconnected']);
    expect(await cluster.visitsOf(b, soon)).toEqual(['connected']);
  });
});

it.each(['other', 'leader'] as const)(
  '[replication 12.7, 12.9] of 90 connections over three hosts those of the one that is killed (%s) are disconnected, each once',
  async (which) => {
    expect(await killOneOf(90, which)).toEqual({
      gone: ['connected,disconnected'],
      stayed: ['connected'],
      answers: ['here committed'],
    });
  },
  (30_000 + 10 * limits.leaseMillis) * slowness,
);

import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { withoutPostgres } from '../support/postgres-cluster.ts';
import { itemsModule } from './cli-support.ts';
import { ServiceCluster } from './cluster-support.ts';
import { type RunningService, Sandbox } from './harness.ts';
import { writtenFrom } from './written-module.ts';

describe.skipIf(withoutPostgres !== undefined)('operators of a cluster', () => {
  let cluster: ServiceCluster;
  let a: RunningService;
  let b: RunningService;

  beforeAll(async () => {
    cluster = await ServiceCluster.start();
    await cluster.appoint();
    a = await cluster.host('a', ['--zone', 'eu-1a']);
    b = await cluster.host('b');
  });
  afterAll(() => cluster?.close());

  const command = (host: RunningService, ...words: readonly string[]) =>
    cluster.ok(host, ['cluster', ...words]);
  const states = async (host: RunningService): Promise<Record<string, string>> => {
    const { hosts } = JSON.parse(await command(host, 'hosts', '--json'));
    return Object.fromEntries(
      hosts.map(({ name, state }: { name: string; state: string }) => [name, state]),
    );
  };
  const ready = async ({ url }: RunningService) => {
    const answer = await fetch(`${url}/v1/ready`);
    return `${answer.status} ${await answer.text()}`;
  };

  it('[replication 16.4] see its hosts and its engine from any host', async () => {
    await expect.poll(() => states(a)).toMatchObject({ a: 'up', b: 'up' });
    expect(await states(b)).toEqual(await states(a));
    const status = await command(b, 'status');
    expect(status).toMatch(/asked +\| b, up/);
    expect(status).toMatch(/its copies +\| 2/);
    expect(status).toMatch(/acknowledged +\| by the engine and the own disk/);
    expect(await command(a, 'hosts')).toMatch(
      / a +\| up +\| \d+ +\| 0\.\d s ago +\|.*\| eu-1a +\|/,
    );
    expect(await command(a, 'check')).toMatch(/one writer +\| ok/);
  });

  it('[replication 15.1] see in its health what it has', async () => {
    const detail = await cluster.asOperator(a, '/v1/health?detail');
    expect(detail).toMatchObject({
      version: expect.any(String),
      cluster: {
        ...{ host: 'a', state: 'up', not_ready: null, keeps_whole_log: true },
        engine: { reached: true, copies: 2, history: expect.stringMatching(/^postgres:/) },
      },
    });
    expect((await fetch(`${a.url}/v1/health?detail`)).status).toBe(401);
    expect(await (await fetch(`${a.url}/v1/health`)).json()).not.toHaveProperty('cluster');
  });

  it('[replication 9.5, 9.6] drain a host, take it back, and forget one that is gone', async () => {
    expect(await command(a, 'drain', 'b')).toContain('b leads nothing');
    await expect.poll(() => states(a)).toMatchObject({ b: 'draining' });
    expect(await ready(b)).toBe('503 {"ready":false,"reason":"draining"}');
    expect(await ready(a)).toBe('200 {"ready":true}');
    await command(a, 'undrain', 'b');
    await expect.poll(() => ready(b)).toBe('200 {"ready":true}');

    const living = await cluster.run(a, ['cluster', 'forget', 'b']);
    expect(living).toMatchObject({ code: 1, stderr: expect.stringContaining('stop it first') });
    const nobody = await cluster.run(a, ['cluster', 'drain', 'z']);
    expect(nobody.stderr).toContain('No host is named z; there are: a, b, first.');
    const third = await cluster.host('c');
    await third.stop();
    await expect.poll(() => states(b)).toMatchObject({ c: 'gone' });
    expect(await command(b, 'forget', 'c')).toContain('c is forgotten');
    await expect.poll(() => states(a)).not.toHaveProperty('c');
    const audit = await cluster.ok(a, ['audit', '--format', 'json']);
    expect(audit).toContain('"drain host"');
  });

  it('[replication 9.4, 7.2] move a database, which each host knows', async () => {
    const owner = await cluster.owner(a);
    const made = await owner.upload('shop', await writtenFrom(itemsModule()));
    expect(made.status).toBe(200);
    const placed = async (host: RunningService) => {
      const { databases } = JSON.parse(await command(host, 'databases', '--json'));
      return databases.find(({ names }: { names: string[] }) => names.includes('shop'));
    };
    await expect.poll(() => placed(b)).toMatchObject({ leader: 'a', term: 1 });
    await expect.poll(async () => (await placed(b))?.copies).toHaveLength(2);
    expect((await owner.call('shop', 'add', ['at a'])).status).toBe(200);
    await expect
      .poll(() => cluster.run(b, ['cluster', 'move', 'shop', 'b']))
      .toMatchObject({ code: 0, stdout: 'shop is led by b.\n' });
    await expect.poll(() => placed(a)).toMatchObject({ leader: 'b', term: 2 });
    const there = owner.at(b.url);
    expect((await there.call('shop', 'add', ['at b'])).status).toBe(200);
    const rows = await there.rows('shop', 'SELECT name FROM items');
    expect(rows.flat().sort()).toEqual(['at a', 'at b']);
    expect(await command(a, 'databases')).toMatch(/ shop +\| b +\| 2 +\|/);
    expect(a.output).toContain('a database is handed over to b; this host led it in term 1');
    expect(b.output).toContain('a database is led here in term 2, handed over by a');
    const metrics = await (await fetch(`${b.url}/v1/metrics`)).text();
    expect(metrics).toMatch(/^reducerdb_moves_total\{direction="taken"\} 1$/m);
    expect(metrics).toMatch(/^reducerdb_cluster_role\{database="\w+",role="leader"\} 1$/m);

    await command(a, 'drain', 'b');
    await expect.poll(() => placed(a)).toMatchObject({ leader: 'a', term: 3 });
    await command(a, 'undrain', 'b');
  });

  it('[replication 7.2, 9.5] a host that is stopped gives its databases away first', async () => {
    const third = await cluster.host('d');
    const owner = await cluster.owner(third);
    expect((await owner.upload('kept', await writtenFrom(itemsModule()))).status).toBe(200);
    expect((await owner.call('kept', 'add', ['one'])).status).toBe(200);
    await expect
      .poll(() => command(third, 'databases'))
      .toMatch(/ kept +\| d +\| 1 +\| .*[ab] has \d+, [ab] has \d+|d leads.*/);
    expect(await third.stop()).toBe(0);
    expect(third.output).toMatch(/a database is handed over to [ab]; this host led it in term 1/);
    const all = await Promise.all(
      [a, b].map((host) => owner.at(host.url).call('kept', 'add', ['x'])),
    );
    expect(all.map(({ status }) => status)).toContain(200);
  });

  it('[replication 15.3] count what the hosts and the engine do', async () => {
    const metrics = await (await fetch(`${a.url}/v1/metrics`)).text();
    expect(metrics).toMatch(/^reducerdb_cluster_hosts\{state="up"\} 2$/m);
    expect(metrics).toMatch(/^reducerdb_beat_age_seconds 0\.\d+$/m);
    expect(metrics).toMatch(/^reducerdb_failovers_total\{cause="silent"\} \d+$/m);
    expect(metrics).toMatch(/^reducerdb_append_results_total\{result="unknown"\} \d+$/m);
  });

  it('[replication 15.1] a host is not ready without its engine, and is again with it', async () => {
    const { primary } = cluster.postgres;
    await primary.stop('SIGQUIT');
    await expect.poll(() => ready(a)).toBe('503 {"ready":false,"reason":"engine"}');
    await primary.start();
    await expect.poll(() => ready(a)).toBe('200 {"ready":true}');
  });

  it('[replication 16.4] are not others, and a service that is alone has no cluster', async () => {
    const stranger = await cluster.sandbox.run(['cluster', 'status', '--server', a.url, '--yes']);
    expect(stranger.stderr).toContain('is not an operator of this host');
    expect(stranger.code).toBe(1);
    const alone = await Sandbox.make();
    const operator = ['--operator', cluster.operator];
    const service = await alone.start([
      ...operator,
      '--jwt-key-dir',
      `${cluster.folder('a')}/keys`,
    ]);
    try {
      const { stderr } = await cluster.run(service, ['cluster', 'status']);
      expect(stderr).toContain('This service is no host of a cluster');
    } finally {
      await service.stop();
      alone.remove();
    }
  });
});

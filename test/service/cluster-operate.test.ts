import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { withoutPostgres } from '../support/postgres-cluster.ts';
import { ServiceCluster } from './cluster-support.ts';
import { type RunningService, Sandbox } from './harness.ts';

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

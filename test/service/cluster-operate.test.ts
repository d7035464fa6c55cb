import { writeFileSync } from 'node:fs';
import path from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { limits } from '../../src/limits.ts';
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
        ...{ host: 'a', state: 'up', not_ready: null, keeps_whole_log: false },
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

  it('[replication 9.5] hear at once which databases nobody takes, and why', async () => {
    const owner = await cluster.owner(a);
    const made = await owner.upload('alone', await writtenFrom(itemsModule()));
    expect(made.status).toBe(200);
    await command(b, 'drain', 'b');
    const asked = await cluster.run(b, ['cluster', 'drain', 'a']);
    expect([asked.code, asked.stderr]).toEqual([
      1,
      expect.stringMatching(/No host but a takes databases.*a load balancer has no host left/s),
    ]);
    expect(await ready(a)).toBe('200 {"ready":true}');
    const begun = performance.now();
    const { code, stderr } = await cluster.run(b, ['cluster', 'drain', 'a', '--yes']);
    expect(code).toBe(1);
    expect(stderr).toMatch(/a takes no more databases, and still leads/);
    expect(stderr).toMatch(/^ {2}alone: no other host is there that takes databases$/m);
    expect(stderr).toContain('reducerdb cluster undrain a');
    expect(performance.now() - begun).toBeLessThan(limits.drainMillisMax);
    for (const name of ['a', 'b']) await command(a, 'undrain', name);
    await expect.poll(() => ready(a)).toBe('200 {"ready":true}');
    // It says how far the registry is, which is a database, too.
    expect(await command(a, 'databases')).toMatch(
      /\(registry\) +\| [ab] +\| \d+ +\| .*[ab] leads at [1-9]/,
    );
  });

  it('[replication 9.6] forget a host at once whose process has ended, and wait for one that may be paused', async () => {
    const third = await cluster.host('e');
    await expect.poll(() => states(b)).toMatchObject({ e: 'up' });
    third.child.kill('SIGSTOP');
    await expect.poll(() => states(b)).toMatchObject({ e: 'silent' });
    const { code, stderr } = await cluster.run(b, ['cluster', 'forget', 'e']);
    expect([code, stderr]).toEqual([
      1,
      expect.stringMatching(/e was there a moment ago .* may only be paused: wait \d+ s, then try/),
    ]);
    await third.stop('SIGKILL');
    await expect
      .poll(() => cluster.run(b, ['cluster', 'forget', 'e']))
      .toMatchObject({ code: 0, stdout: 'e is forgotten.\n' });
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
    expect(metrics).toMatch(/^reducerdb_moves_total\{cause="taken"\} 1$/m);
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

  it('[replication 15.3] see hosts and databases as rows of st_cluster, which nobody else does', async () => {
    const owner = await cluster.owner(a);
    expect((await owner.upload('rows', await writtenFrom(itemsModule()))).status).toBe(200);
    const hosts = "SELECT name, state FROM st_cluster WHERE kind = 'host' AND state = 'up'";
    const placed = "SELECT leader, copies FROM st_cluster WHERE name = 'rows'";
    expect(await command(b, 'set', 'rows', '--copies', '2')).toContain('rows gets 2 copies');
    const bad = await cluster.run(b, ['cluster', 'set', 'rows', '--copies', '65']);
    expect([bad.code, bad.stderr]).toEqual([1, expect.stringContaining('from 1 to 64')]);
    const many = await cluster.run(b, ['cluster', 'set', 'rows', '--copies', '9']);
    expect(many.stderr).toMatch(/^\d hosts are there: the others get theirs when more hosts/m);
    expect(await command(b, 'set', 'rows', '--copies', 'default')).toContain('as many copies as');
    await expect.poll(() => command(a, 'databases')).toMatch(/ rows +\| a +\| .* of 4: /);
    await command(b, 'set', 'rows', '--copies', '2');
    await expect.poll(() => command(a, 'databases')).toMatch(/ rows +\| a +\| .*2 of 2: /);
    for (const host of [a, b]) {
      const seen = await cluster.ok(host, ['sql', 'rows', hosts]);
      expect(seen).toMatch(/"a" +\| "up"/);
      expect(seen).toMatch(/"b" +\| "up"/);
      await expect.poll(() => cluster.ok(host, ['sql', 'rows', placed])).toMatch(/a.*\| .*2/);
    }
    // The owner of the database is no operator.
    expect(await owner.rows('rows', 'SELECT name FROM st_cluster')).toEqual([]);
  });

  it('[replication 15.3] count what the hosts and the engine do', async () => {
    const metrics = await (await fetch(`${a.url}/v1/metrics`)).text();
    expect(metrics).toMatch(/^reducerdb_cluster_hosts\{state="up"\} 2$/m);
    // One that follows is up, too: another host serves it.
    const followed = await (await fetch(`${b.url}/v1/metrics`)).text();
    expect(followed).toMatch(/^reducerdb_cluster_role\{database="\w+",role="follower"\} 1$/m);
    expect(followed).not.toMatch(/^reducerdb_database_up\{.*\} 0$/m);
    expect(metrics).toMatch(/^reducerdb_beat_age_seconds 0\.\d+$/m);
    expect(metrics).toMatch(/^reducerdb_failovers_total\{cause="silent"\} \d+$/m);
    expect(metrics).toMatch(/^reducerdb_append_results_total\{result="unknown"\} \d+$/m);
  });

  it('[replication 16.5] other commands do not know of it: the address of any host will do', async () => {
    const bundle = path.join(cluster.sandbox.folder, 'any.js');
    writeFileSync(bundle, await writtenFrom(itemsModule()));
    await cluster.ok(b, ['publish', 'any', '--js-path', bundle]);
    await cluster.ok(a, ['call', 'any', 'add', '"through a"']);
    await cluster.ok(b, ['cluster', 'move', 'any', 'a']);
    await cluster.ok(b, ['call', 'any', 'add', '"through b"']);
    for (const host of [a, b]) {
      const rows = await cluster.ok(host, ['sql', 'any', 'SELECT * FROM items']);
      expect(rows).toMatch(/through a.*through b/s);
      expect(await cluster.ok(host, ['describe', 'any'])).toContain('items');
    }
    await cluster.ok(b, ['rename', 'any', '--to', 'some']);
    await cluster.ok(a, ['delete', 'some', '--yes']);
    expect((await cluster.run(b, ['describe', 'some'])).code).toBe(1);
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
    expect(stranger.stderr).toContain('is not an operator of this host\nIts configuration names');
    expect(stranger.stderr).toContain('This login works for all hosts of its cluster');
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
      expect(stderr).toContain('This service is not a host of a cluster');
    } finally {
      await service.stop();
      alone.remove();
    }
  });
});

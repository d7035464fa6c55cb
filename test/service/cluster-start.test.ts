import { cpSync, mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import path from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { withoutPostgres } from '../support/postgres-cluster.ts';
import { ServiceCluster } from './cluster-support.ts';
import { Sandbox } from './harness.ts';

describe.skipIf(withoutPostgres !== undefined)('a service of a cluster', () => {
  let cluster: ServiceCluster;

  beforeAll(async () => {
    cluster = await ServiceCluster.start();
  });
  afterAll(() => cluster?.close());

  const recordOf = (name: string) =>
    JSON.parse(readFileSync(path.join(cluster.folder(name), 'cluster.json'), 'utf8'));
  const publicKey = async (url: string) => (await fetch(`${url}/v1/identity/public-key`)).text();

  it('[replication 7.6, 7.10, 16.1] joins it by one flag, and signs with its key', async () => {
    const one = await cluster.host('one');
    const two = await cluster.host('two');
    expect(await publicKey(two.url)).toBe(await publicKey(one.url));
    expect(recordOf('two').cluster).toBe(recordOf('one').cluster);
    expect(recordOf('two').host).not.toBe(recordOf('one').host);
    const token = await fetch(`${one.url}/v1/identity`, { method: 'POST' });
    const { token: bearer } = (await token.json()) as { token: string };
    const headers = { authorization: `Bearer ${bearer}` };
    expect((await fetch(`${two.url}/v1/ping`, { headers })).status).toBe(200);
  });

  it('[replication 7.9] is refused with the name of another one', async () => {
    await cluster.host('taken');
    const folder = ['--data-dir', cluster.folder('other')];
    const { code, stderr } = await cluster.refused('taken', folder);
    expect(code).toBe(1);
    expect(stderr).toMatch(
      /Another host named taken is in this cluster \(127\.0\.0\.1:\d+, seen \d+\.\d s ago\)\. Choose another --host-name\./,
    );
  });

  it('[replication 7.9] stops and exits when a copy of its folder is started', async () => {
    const first = await cluster.host('copied');
    // As a snapshot of its disk: what locks the folder is of the other machine.
    const filter = (file: string) => !file.endsWith('reducerdb.pid');
    cpSync(cluster.folder('copied'), cluster.folder('copy'), { recursive: true, filter });
    const flags = ['--data-dir', cluster.folder('copy')];
    const second = await cluster.host('copied', flags);
    expect(await first.ended).toBe(1);
    expect(first.output).toContain('runs as this host: its data folder is a copy of this one');
    expect(await publicKey(second.url)).toContain('BEGIN PUBLIC KEY');
  });

  it('[replication 7.10] is refused with databases of its own, and alone with those of a cluster', async () => {
    const alone = await Sandbox.make();
    try {
      const folder = path.join(alone.folder, 'data');
      const service = await alone.start(['--data-dir', folder]);
      await service.stop();
      const joining = await cluster.refused('imported', ['--data-dir', folder]);
      expect(joining.code).toBe(1);
      expect(joining.stderr).toContain(`${folder} holds the databases of a single machine`);
      expect(joining.stderr).toContain('Bring them along with --import');
    } finally {
      alone.remove();
    }
    const member = await cluster.host('member');
    expect(await member.stop()).toBe(0);
    const state = `select facts from reducerdb_host where facts like '%"member"%'`;
    expect(cluster.postgres.primary.run(state)).toContain('gone');
    const lone = await cluster.sandbox.run(['start', '--data-dir', cluster.folder('member')]);
    expect(lone.code).toBe(1);
    expect(lone.stderr).toContain('belongs to a host of a cluster: start it with --cluster');
  });

  it('[replication 7.7] needs the secret of the cluster', async () => {
    const none = { REDUCERDB_CLUSTER_SECRET: '' };
    expect((await cluster.refused('poor', [], none)).stderr).toContain(
      'set REDUCERDB_CLUSTER_SECRET, or name a file with --cluster-secret-file',
    );
    const short = { REDUCERDB_CLUSTER_SECRET: 'c2hvcnQ=' };
    expect((await cluster.refused('poor', [], short)).stderr).toContain(
      'REDUCERDB_CLUSTER_SECRET: the cluster secret must be at least 32 random bytes',
    );
    const file = path.join(cluster.sandbox.folder, 'secret');
    writeFileSync(file, `${Buffer.alloc(32, 7).toString('base64')}\n`);
    const flags = ['--cluster-secret-file', file];
    expect((await cluster.refused('poor', flags)).stderr).toContain('is given twice');
    expect((await cluster.refused('poor', flags, none)).stderr).toContain(
      "The cluster secret of this host is not the cluster's",
    );
    writeFileSync(file, `${cluster.secret}\n`);
    const missing = ['--cluster-secret-file', `${file}-missing`];
    expect((await cluster.refused('poor', missing, none)).stderr).toContain('cannot be read');
  });

  it('[replication 7.6] has no keys of its own, and rotates none of its folder alone', async () => {
    const rotated = await cluster.sandbox.run([
      'keys',
      'rotate',
      '--data-dir',
      cluster.folder('one'),
    ]);
    expect(rotated).toMatchObject({ code: 1, stderr: expect.stringContaining('add --server') });
    const folder = cluster.folder('stranger');
    const keys = path.join(folder, 'keys');
    mkdirSync(keys, { recursive: true });
    const alone = await Sandbox.make();
    try {
      const service = await alone.start(['--data-dir', path.join(alone.folder, 'data')]);
      await service.stop();
      cpSync(path.join(alone.folder, 'data/keys'), keys, { recursive: true });
    } finally {
      alone.remove();
    }
    const { stderr } = await cluster.refused('stranger');
    expect(stderr).toContain('each would reject what the other issued');
  });

  it('[replication 16.2] is refused with settings that cannot be', async () => {
    const lease = await cluster.refused('late', ['--cluster-lease-millis', '5s']);
    expect(lease.stderr).toContain('--cluster-lease-millis is 5000 ms here');
    const everywhere = await cluster.refused('late', ['--cluster-listen', '0.0.0.0:0']);
    expect(everywhere.stderr).toContain('--advertise 10.0.0.4:3001');
    mkdirSync(cluster.folder('late'), { recursive: true });
    const file = path.join(cluster.folder('late'), 'config.toml');
    writeFileSync(file, '[cluster]\nreads = "lease"\n');
    expect((await cluster.refused('late')).stderr).toContain('--cluster-reads is lease here');
    writeFileSync(file, '[cluster]\nreads = "never"\n');
    expect((await cluster.refused('late')).stderr).toContain('`never` is neither engine nor lease');
  });

  it('[replication 14.6] is refused by an engine with one copy, unless that is accepted', async () => {
    const { primary } = cluster.postgres;
    const setting = primary.run('show synchronous_standby_names');
    primary.run("alter system set synchronous_standby_names = ''");
    primary.run('select pg_reload_conf()');
    try {
      await expect.poll(() => primary.run('show synchronous_standby_names')).toBe('');
      const { stderr } = await cluster.refused('single');
      expect(stderr).toContain('accept the risk with --cluster-allow-single');
      const accepted = await cluster.host('single', ['--cluster-allow-single']);
      expect(accepted.output).toContain('The engine of the cluster keeps one copy');
      expect(await accepted.stop()).toBe(0);
    } finally {
      primary.run(`alter system set synchronous_standby_names = '${setting}'`);
      primary.run('select pg_reload_conf()');
      await cluster.postgres.untilSynchronous();
    }
  });
});

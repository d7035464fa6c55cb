import { randomBytes } from 'node:crypto';
import { mkdirSync, mkdtempSync, rmSync } from 'node:fs';
import os from 'node:os';
import path from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { keyFilesIn } from '../../src/auth/keys.ts';
import { ClusterPart } from '../../src/cluster/cluster-part.ts';
import { ClusterSecret } from '../../src/cluster/cluster-secret.ts';
import { joinCluster, postgresReach } from '../../src/cluster/join-cluster.ts';
import { parsePostgresPlace } from '../../src/engines/postgres/postgres-place.ts';
import { limits } from '../../src/limits.ts';
import { type ClusterHost, ClusterHosts } from '../support/cluster-hosts.ts';
import { PostgresCluster, withoutPostgres } from '../support/postgres-cluster.ts';

const secret = ClusterSecret.parse(randomBytes(32).toString('base64'), 'test');

interface Member {
  readonly host: ClusterHost;
  readonly part: ClusterPart;
  readonly lines: readonly string[];
}

describe.skipIf(withoutPostgres !== undefined)('two hosts on PostgreSQL', () => {
  let postgres: PostgresCluster;
  let hosts: ClusterHosts;
  const root = mkdtempSync(path.join(os.tmpdir(), 'reducerdb-hosts-'));
  const parts: ClusterPart[] = [];

  beforeAll(async () => {
    postgres = await PostgresCluster.start();
    hosts = new ClusterHosts('local');
  });
  afterAll(async () => {
    for (const part of parts) await part.close();
    await hosts?.close();
    await postgres?.stop();
    rmSync(root, { recursive: true, force: true });
  });

  async function start(name: string): Promise<Member> {
    const reading = parsePostgresPlace(postgres.address);
    if (reading.kind !== 'valid') throw new Error(reading.reason);
    const dataDirectory = path.join(root, name);
    mkdirSync(dataDirectory, { recursive: true });
    const lines: string[] = [];
    const report = ({ message }: { readonly message: string }) => void lines.push(message);
    const joined = await joinCluster({
      ...{ dataDirectory, hasDatabases: false, secret, allowsSingle: false, report },
      keyFiles: keyFilesIn(path.join(dataDirectory, 'keys')),
      leaseMillis: limits.leaseMillis,
      reach: postgresReach(reading.place, 0, report),
    });
    const part = await ClusterPart.start({
      ...{ joined, secret, leaseMillis: limits.leaseMillis, now: () => performance.now() },
      facts: {
        ...{ name, clientAddress: `http://${name}.test`, version: '0.1.0', zone: '' },
        ...{ formats: [1, 1], memoryBytes: 1 },
      },
      ...{ listen: { host: '127.0.0.1', port: 0 }, advertise: undefined },
      ...{ waitsForLocalSync: true, report, onReplaced: () => undefined },
      onRequest: (_, response) => void response.end(name),
      onUpgrade: (_, stream) => void stream.destroy(),
    });
    parts.push(part);
    const host = await hosts.start(name, { cluster: part.forHost });
    part.attach(host.host.replication);
    return { host, part, lines };
  }

  it('[replication 5.7, 7.8, 14.3] go on when the leader ends, and when the standby takes over', async () => {
    const [a, b] = [await start('a'), await start('b')];
    const shop = (await a.host.publish()).identity;
    await a.host.add(shop, 'one');
    const roleOf = ({ host }: Member) => host.role(shop);
    await expect.poll(() => roleOf(b)).toMatchObject({ kind: 'follower', isAtEnd: true });

    a.host.crash(shop);
    await a.part.membership.leave();
    await expect.poll(() => roleOf(b).kind).toBe('leader');
    await b.host.add(shop, 'two');
    expect(await b.host.items(shop)).toEqual(['made by init', 'one', 'two']);

    const { primary, standby } = postgres;
    await primary.stop('SIGQUIT');
    standby.run('select pg_promote()');
    // Nobody is its standby: else it would acknowledge nothing.
    standby.run("alter system set synchronous_standby_names = ''");
    standby.run('select pg_reload_conf()');
    await b.host.add(shop, 'three');
    expect(await b.host.items(shop)).toEqual(['made by init', 'one', 'two', 'three']);
    expect(roleOf(b)).toMatchObject({ kind: 'leader', term: 2 });
    await expect.poll(() => b.part.membership.isEngineReached).toBe(true);
    expect(b.lines.join()).toMatch(
      /the engine goes on in a newer past: postgres:\d+:1 → postgres:/,
    );
  });
});

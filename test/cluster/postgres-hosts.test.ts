import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { withoutPostgres } from '../support/postgres-cluster.ts';
import { PostgresHosts, type PostgresMember } from '../support/postgres-hosts.ts';

describe.skipIf(withoutPostgres !== undefined)('two hosts on PostgreSQL', () => {
  let hosts: PostgresHosts;

  beforeAll(async () => {
    hosts = await PostgresHosts.start();
  });
  afterAll(() => hosts?.close());

  it('[replication 5.7, 7.8, 14.3] go on when the leader ends, and when the standby takes over', async () => {
    const [a, b] = [await hosts.start('a'), await hosts.start('b')];
    const shop = (await a.host.publish()).identity;
    await a.host.add(shop, 'one');
    const roleOf = ({ host }: PostgresMember) => host.role(shop);
    await expect.poll(() => roleOf(b)).toMatchObject({ kind: 'follower', isAtEnd: true });

    a.host.crash(shop);
    await a.part.membership.leave();
    await expect.poll(() => roleOf(b).kind).toBe('leader');
    await b.host.add(shop, 'two');
    expect(await b.host.items(shop)).toEqual(['made by init', 'one', 'two']);

    const { primary, standby } = hosts.postgres;
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

import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import type { FollowerRole } from '../../src/host/replication/database-role.ts';
import type { DatabaseIdentity } from '../../src/values/identity-roles.ts';
import { until, withoutPostgres } from '../support/postgres-cluster.ts';
import { copiedItems, PostgresHosts, type PostgresMember } from '../support/postgres-hosts.ts';

/** What PostgreSQL does to an append that waits for its standby; each case leaves it as it was. */
describe.skipIf(withoutPostgres !== undefined)('faults of PostgreSQL, staged', () => {
  let hosts: PostgresHosts;
  let a: PostgresMember;
  let b: PostgresMember;
  let shop: DatabaseIdentity;

  beforeAll(async () => {
    hosts = await PostgresHosts.start();
    [a, b] = [await hosts.start('a'), await hosts.start('b')];
    shop = (await a.host.publish()).identity;
    await a.host.add(shop, 'first');
    await until(() => (b.host.role(shop) as Partial<FollowerRole>).isAtEnd === true);
  });
  afterAll(() => hosts?.close());

  /** Appends that wait for the standby. */
  const waiting = (column: string) =>
    hosts.postgres.primary.run(
      `select ${column} from pg_stat_activity
       where wait_event = 'SyncRep' and query like 'insert into reducerdb_entry%'`,
    );
  const followed = ({ host }: PostgresMember) => {
    const role = host.role(shop);
    if (role.kind !== 'follower') throw new Error(role.kind);
    return { read: role.end.offset, settled: role.settledOffset };
  };

  /** A call whose append waits for a standby that is away; `isDone` once it was acknowledged. */
  async function hanging(text: string) {
    await hosts.postgres.standby.stop('SIGINT');
    const call = { isDone: false, done: Promise.resolve(0) };
    call.done = a.host.add(shop, text);
    const over = (): void => {
      call.isDone = true;
    };
    call.done.then(over, over);
    await expect.poll(() => waiting('count(*)')).not.toBe('0');
    return call;
  }

  async function standbyReturns(): Promise<void> {
    await hosts.postgres.standby.start();
    await hosts.postgres.untilSynchronous();
  }

  it('[replication 5.5, 14.4] an append whose wait was cancelled is not acknowledged before an empty entry is', async () => {
    // An append that hangs for long is seen without being cancelled: its connection is given up.
    await expect.poll(() => copiedItems(b, shop)).toContain('first');
    const { read } = followed(b);
    const call = await hanging('cancelled');
    // PostgreSQL answers success, with a warning. The first one may say what was settled before.
    const cancel = () => {
      waiting('pg_cancel_backend(pid)');
      return followed(b).read;
    };
    await expect.poll(cancel, { interval: 200 }).toBeGreaterThan(read);
    await expect.poll(() => waiting('count(*)')).not.toBe('0');
    // What it says is acknowledged was so before.
    expect([call.isDone, followed(b).settled <= read]).toEqual([false, true]);
    expect(await copiedItems(b, shop)).not.toContain('cancelled');
    await standbyReturns();
    await call.done;
    await expect.poll(() => copiedItems(b, shop)).toContain('cancelled');
    // It was counted as what it was: nobody knew.
    expect(a.part.figures.appends.results.unknown).toBeGreaterThan(0);
  });

  it('[replication 5.6, 6.4] an entry that a restart of the primary made visible is shown once it is settled', async () => {
    const { primary } = hosts.postgres;
    const c = await hosts.start('c');
    await expect.poll(() => c.host.role(shop).kind).toBe('follower');
    const call = await hanging('restarted');
    await primary.stop('SIGQUIT');
    await primary.start();
    // The standby is still away: nobody has acknowledged it, and everybody reads it.
    for (const follower of [b, c]) {
      await expect.poll(() => followed(follower).read).toBeGreaterThan(followed(b).settled);
      expect(await copiedItems(follower, shop)).not.toContain('restarted');
    }
    expect(call.isDone).toBe(false);
    await standbyReturns();
    await call.done;
    for (const follower of [b, c]) {
      await expect.poll(() => copiedItems(follower, shop)).toContain('restarted');
    }
    expect(a.host.role(shop)).toMatchObject({ kind: 'leader', term: 1 });
  });

  it('[replication 3.2, 5.5, 14.3] a primary is killed under load, and its standby promoted: nothing is lost', async () => {
    const { primary, standby } = hosts.postgres;
    const acknowledged: string[] = [];
    let isOver = false;
    const write = async (name: string): Promise<void> => {
      for (let count = 1; !isOver; count++) {
        await a.host.add(shop, `${name} ${count}`);
        acknowledged.push(`${name} ${count}`);
      }
    };
    const writers = ['x', 'y', 'z'].map(write);
    await expect.poll(() => acknowledged.length).toBeGreaterThan(30);
    await primary.stop('SIGQUIT');
    const before = acknowledged.length;
    standby.run('select pg_promote()');
    standby.run("alter system set synchronous_standby_names = ''");
    standby.run('select pg_reload_conf()');
    await expect.poll(() => acknowledged.length).toBeGreaterThan(before + 30);
    isOver = true;
    await Promise.all(writers);
    const items = await a.host.items(shop);
    expect(items).toHaveLength(new Set(items).size);
    const written = new Set(['made by init', 'first', 'cancelled', 'restarted', ...acknowledged]);
    expect(new Set(items)).toEqual(written);
    expect(a.host.role(shop)).toMatchObject({ kind: 'leader', term: 1 });
    await expect.poll(async () => (await copiedItems(b, shop))?.length).toBe(items.length);
    expect(b.host.role(shop).kind).toBe('follower');
  });
});

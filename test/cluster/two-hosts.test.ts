import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { Refusal } from '../../src/database/outcome.ts';
import type { DatabaseIdentity } from '../../src/values/identity-roles.ts';
import { type ClusterHost, ClusterHosts } from '../support/cluster-hosts.ts';

const isLeader = ({ kind }: { readonly kind: string }) => kind === 'leader';

/** The code with which it is refused. */
async function codeOf(work: Promise<unknown>): Promise<string> {
  try {
    await work;
    return 'done';
  } catch (error) {
    return error instanceof Refusal ? error.body.code : String(error);
  }
}

describe.each(['local', 'worker'] as const)('two hosts of a cluster (%s)', (placement) => {
  let cluster: ClusterHosts;
  let a: ClusterHost;
  let b: ClusterHost;
  let shop: DatabaseIdentity;
  let isOver = false;

  beforeEach(async () => {
    isOver = false;
    cluster = new ClusterHosts(placement);
    a = await cluster.start('a');
    b = await cluster.start('b');
    const record = await a.publish();
    shop = record.identity;
    await b.host.replication.follow(record);
  });
  afterEach(() => {
    isOver = true;
    return cluster.close();
  });

  /** Adds one text after another, until it is refused; returns those that were acknowledged. */
  async function addUntilRefused(host: ClusterHost, prefix: string): Promise<string[]> {
    const added: string[] = [];
    for (let at = 0; ; at++) {
      const text = `${prefix} ${at}`;
      if (isOver || (await codeOf(host.add(shop, text))) !== 'done') return added;
      added.push(text);
    }
  }

  const isFollowing = (host: ClusterHost, leader: ClusterHost) =>
    host.until(shop, (role) => {
      return role.kind === 'follower' && role.leader?.boot === leader.lead.boot && role.isAtEnd;
    });

  it('[replication 8.4, 9.10] serve a database at the host that created it', async () => {
    expect(a.role(shop)).toMatchObject({ kind: 'leader', term: 1 });
    await a.add(shop, 'one');
    expect(await a.items(shop)).toEqual(['made by init', 'one']);
    await isFollowing(b, a);
    const refused = b.add(shop, 'two');
    await expect(refused).rejects.toMatchObject({
      body: {
        code: 'database.notLeader',
        term: 1,
        leader: { name: 'a', address: 'a.test:3001', host: (97).toString(16).padStart(32, '0') },
      },
    });
  });

  it('[replication 5.7] go on at the other one when the leader is gone, and lose nothing', async () => {
    await isFollowing(b, a);
    const writers = ['x', 'y', 'z'].map((name) => addUntilRefused(a, name));
    await b.until(shop, (role) => role.kind === 'follower' && role.settledOffset > 60);
    // The process ends: nobody hears of what was not answered.
    a.crash(shop);
    cluster.gone.add(a.lead.boot);
    b.host.replication.wake(shop);
    const acknowledged = (await Promise.all(writers)).flat();
    expect(acknowledged.length).toBeGreaterThan(10);
    expect(await b.until(shop, isLeader)).toMatchObject({ term: 2 });
    const kept = await b.items(shop);
    expect(kept).toEqual(expect.arrayContaining(acknowledged));
    expect(new Set(kept).size).toBe(kept.length);
    await b.add(shop, 'after');
    expect((await b.items(shop)).at(-1)).toBe('after');
  });

  it('[replication 5.4, 6.6] a leader without the engine is deposed when it writes again', async () => {
    await a.add(shop, 'kept');
    await isFollowing(b, a);
    cluster.engine.cut('a');
    const unknown = codeOf(a.add(shop, 'lost'));
    cluster.gone.add(a.lead.boot);
    b.host.replication.wake(shop);
    await b.until(shop, isLeader);
    await b.add(shop, 'of b');
    cluster.engine.heal('a');
    expect(await unknown).toBe('database.lost');
    await isFollowing(a, b);
    expect(await codeOf(a.add(shop, 'too late'))).toBe('database.notLeader');
    expect(await b.items(shop)).toEqual(['made by init', 'kept', 'of b']);
    const aside = a.reports.filter(({ message }) => message.includes('set aside'));
    expect(aside).toHaveLength(1);
    expect(aside[0]?.message).toMatch(
      /\d commits \(offsets \d+ to \d+\) of add .* \S+\.log\.deposed-1\.$/,
    );
    // It has what the other one has, and can lead again.
    cluster.gone.add(b.lead.boot);
    cluster.gone.delete(a.lead.boot);
    a.host.replication.wake(shop);
    await a.until(shop, isLeader);
    expect(await a.items(shop)).toEqual(['made by init', 'kept', 'of b']);
  });

  it('[replication 9.4] move a database while it is written to, and no call is lost', async () => {
    await isFollowing(b, a);
    const writers = ['x', 'y', 'z'].map((name) => addUntilRefused(a, name));
    await b.until(shop, (role) => role.kind === 'follower' && role.settledOffset > 20);
    await a.host.replication.handOver(shop, b.lead);
    const codes = Promise.all([codeOf(a.add(shop, 'later'))]);
    await b.until(shop, isLeader);
    const acknowledged = (await Promise.all(writers)).flat();
    expect(await codes).toEqual(['database.notLeader']);
    const kept = await b.items(shop);
    expect(new Set(kept)).toEqual(new Set(['made by init', ...acknowledged]));
    expect(kept).toHaveLength(acknowledged.length + 1);
    await isFollowing(a, b);
  });

  it('[replication 6.1] start again together with all that was acknowledged', async () => {
    await a.add(shop, 'one');
    await Promise.all([a.host.close(), b.host.close()]);
    for (const { lead } of [a, b]) cluster.gone.add(lead.boot);
    const [first, second] = await Promise.all([cluster.start('a'), cluster.start('b')]);
    const leads = (host: ClusterHost) => host.until(shop, isLeader).then(() => host);
    const leader = await Promise.race([leads(first), leads(second)]);
    expect(await leader.items(shop)).toEqual(['made by init', 'one']);
    expect(leader.role(shop)).toMatchObject({ term: 2 });
    await isFollowing(leader === first ? second : first, leader);
  });
});

import { readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import path from 'node:path';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { Refusal } from '../../src/database/outcome.ts';
import { registryIdentity } from '../../src/host/registry/registry.ts';
import { temporaryConnection } from '../../src/host/supervision/temporary-connection.ts';
import { limits } from '../../src/limits.ts';
import { bootId } from '../../src/shared-log/host-ids.ts';
import { identityToHex } from '../../src/values/identity.ts';
import { callerIdentity, type DatabaseIdentity } from '../../src/values/identity-roles.ts';
import { ada, type ClusterHost, ClusterHosts } from '../support/cluster-hosts.ts';
import { takeTurns } from '../support/share.ts';
import { shopModule } from '../support/shop-module.ts';

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

  /** Where the copy of a follower ends. */
  const endOf = (host: ClusterHost) => {
    const role = host.role(shop);
    return role.kind === 'follower' ? role.end : { offset: 0 };
  };

  async function addThrough(host: ClusterHost, count: number): Promise<string[]> {
    const texts = Array.from({ length: count }, (_, at) => `text ${at}`);
    for (const text of texts) await host.add(shop, text);
    return texts;
  }

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

  it('[replication 7.2] know the same databases, which the leader of their registry changes', async () => {
    await isFollowing(b, a);
    expect(b.host.resolve('shop')).toBe(shop);
    await a.host.addName(ada, 'shop', 'store');
    await expect.poll(() => b.host.namesOf(shop)).toEqual(['shop', 'store']);
    // Another host asks for it, and has it when that is done.
    await b.host.addName(ada, 'shop', 'third');
    expect(b.host.namesOf(shop)).toEqual(['shop', 'store', 'third']);
    expect(a.host.namesOf(shop)).toEqual(['shop', 'store', 'third']);
    await b.host.remove(ada, 'shop');
    expect(await codeOf(b.items(shop))).toBe('database.unknown');
    await expect.poll(() => codeOf(a.items(shop))).toBe('database.unknown');
    await expect.poll(() => cluster.entryCountOf(shop, 1)).toBe(0);
  });

  it('[replication 9.10] keep no folder of a database that was deleted while they were down', async () => {
    await isFollowing(b, a);
    const folder = path.join(cluster.folderOf('b'), 'databases');
    expect(readdirSync(folder)).toHaveLength(1);
    const other = (await a.publish('other')).identity;
    await b.until(other, (role) => role.kind === 'follower' && role.isAtEnd);
    await b.host.close();
    cluster.gone.add(b.lead.boot);
    await a.host.remove(ada, 'shop');
    b = await cluster.start('b');
    await expect.poll(() => readdirSync(folder)).toEqual([identityToHex(other)]);
    await b.until(other, (role) => role.kind === 'follower' && role.isAtEnd);
  });

  it('[replication 7.2, 9.10] create databases where they are asked, at once, one of a name', async () => {
    expect(a.role(registryIdentity).kind).toBe('leader');
    const both = await Promise.allSettled([a.publish('twice'), b.publish('twice')]);
    const made = both.flatMap((one) => (one.status === 'fulfilled' ? [one.value.identity] : []));
    expect(new Set(made).size).toBe(1);
    const other = (await b.publish('other')).identity;
    expect(b.role(other)).toMatchObject({ kind: 'leader', term: 1 });
    await b.add(other, 'one');
    await a.until(other, (role) => role.kind === 'follower' && role.isAtEnd);
    expect(a.host.resolve('twice')).toBe(b.host.resolve('twice'));
  });

  it('[replication 7.2] do not repeat a change of the registry whose answer was lost', async () => {
    await isFollowing(b, a);
    cluster.lostAnswersTo.add('b');
    expect(await codeOf(b.host.addName(ada, 'shop', 'store'))).toBe('database.lost');
    await expect.poll(() => b.host.namesOf(shop)).toEqual(['shop', 'store']);
  });

  it('[replication 7.2] decide again when another host has changed the registry meanwhile', async () => {
    await isFollowing(b, a);
    const names = Array.from({ length: 12 }, (_, at) => `name${at}`);
    const adding = names.map((name, at) => (at % 2 === 0 ? a : b).host.addName(ada, 'shop', name));
    const same = [a, b].map((host) => codeOf(host.host.addName(ada, 'shop', 'same')));
    await Promise.all(adding);
    expect((await Promise.all(same)).sort()).toEqual(['done', 'name.taken']);
    expect(new Set(b.host.namesOf(shop))).toEqual(new Set(['shop', 'same', ...names]));
  });

  it('[replication 7.3] take a role away everywhere before that is answered', async () => {
    const bob = callerIdentity(0xb0bn);
    const record = a.host.registered('shop');
    await b.host.grants.grant(ada, record, bob, 'reader');
    await expect.poll(() => a.host.grants.list(ada, record)).toHaveLength(1);
    const lost: string[] = [];
    b.host.grants.onLoss(({ kind }) => lost.push(kind));
    await a.host.grants.revoke(ada, record, bob);
    expect(b.host.grants.list(ada, record)).toEqual([]);
    expect(lost).toEqual(['role']);
  });

  it('[replication 7.2] change the registry at its next leader', async () => {
    await isFollowing(b, a);
    cluster.engine.cut('a');
    cluster.gone.add(a.lead.boot);
    for (const database of [shop, registryIdentity]) b.host.replication.wake(database);
    await b.host.addName(ada, 'shop', 'store');
    expect(b.role(registryIdentity)).toMatchObject({ kind: 'leader', term: 2 });
    expect(b.host.namesOf(shop)).toEqual(['shop', 'store']);
    const { identity } = await b.publish('another');
    expect(await b.items(identity)).toEqual(['made by init']);
  });

  it('[replication 9.10] leave nothing of a database that was not created', async () => {
    const text = shopModule().replace("text: 'made by init' });", "text: '' }); throw 1;");
    expect(await codeOf(a.publish('bad', text))).toBe('init.failed');
    const { identity } = await a.publish('bad');
    expect(await a.items(identity)).toEqual(['made by init']);
    await b.until(identity, (role) => role.kind === 'follower' && role.isAtEnd);
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

  it('[replication 4.8, 5.4, 6.6, 6.7] a leader without the engine is deposed when it writes again', async () => {
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
    const [, count] = /(\d) commits/.exec(aside[0]?.message ?? '') ?? [];
    const kept = { commits: Number(count), refetchedBytes: 0 };
    expect(a.role(shop)).toMatchObject({ aside: kept });
    // It has what the other one has, and can lead again.
    cluster.gone.add(b.lead.boot);
    cluster.gone.delete(a.lead.boot);
    a.host.replication.wake(shop);
    await a.until(shop, isLeader);
    expect(await a.items(shop)).toEqual(['made by init', 'kept', 'of b']);
  });

  it('[replication 6.5, 6.7] a follower gives up what only the lost primary had, and nobody acknowledged', async () => {
    await a.add(shop, 'kept');
    await isFollowing(b, a);
    const { offset } = endOf(b);
    cluster.engine.isStandbyAway = true;
    const unknown = codeOf(a.add(shop, 'dropped'));
    // It becomes visible, and is not acknowledged.
    await expect
      .poll(() => {
        cluster.engine.restartPrimary();
        return endOf(b).offset;
      })
      .toBeGreaterThan(offset);
    cluster.engine.cut('a');
    cluster.engine.promote();
    cluster.gone.add(a.lead.boot);
    b.host.replication.wake(shop);
    await b.until(shop, isLeader);
    await b.add(shop, 'of b');
    expect(await b.items(shop)).toEqual(['made by init', 'kept', 'of b']);
    expect(b.reports.map(({ message }) => message).join()).toContain('set aside');
    cluster.engine.heal('a');
    expect(await unknown).toBe('database.lost');
    await isFollowing(a, b);
  });

  it('[replication 4.10] an actor that is replaced leads on at once, with all that was written', async () => {
    // An actor in this thread is not replaced.
    if (placement === 'local') return;
    const acknowledged = await addThrough(a, 10);
    const hosted = a.host.database(identityToHex(shop));
    const { schemaVersion } = await hosted.handle.describe();
    const { term } = a.role(shop) as { readonly term: number };
    const outcome = await hosted.handle.call({
      ...{ caller: a.host.callerFor(ada, hosted), connection: temporaryConnection() },
      ...{ reducer: 'spin', args: new Uint8Array(0), schemaVersion, confirmed: true },
    });
    expect(outcome).toMatchObject({ error: { code: 'reducer.overBudget' } });
    await expect.poll(() => codeOf(a.add(shop, 'after'))).toBe('done');
    const items = await a.items(shop);
    expect(items).toEqual(expect.arrayContaining(['made by init', ...acknowledged, 'after']));
    expect(a.role(shop)).toMatchObject({ kind: 'leader', term: expect.any(Number) });
    expect((a.role(shop) as { readonly term: number }).term).toBeGreaterThanOrEqual(term);
    await isFollowing(b, a);
  });

  it('[replication 4.9, 6.11] have all of it again after a disk was lost, from the shared log', async () => {
    const texts = Array.from({ length: 20 }, (_, at) => `text ${at}`);
    for (const text of texts) await a.add(shop, text);
    await isFollowing(b, a);
    await b.host.close();
    // Of one database first, then of everything.
    const folder = cluster.folderOf('b');
    rmSync(path.join(folder, 'databases'), { recursive: true });
    let again = await cluster.start('b');
    await isFollowing(again, a);
    await again.host.close();
    rmSync(folder, { recursive: true });
    again = await cluster.start('b');
    expect(again.host.namesOf(shop)).toEqual(['shop']);
    await isFollowing(again, a);
    cluster.engine.cut('a');
    cluster.gone.add(a.lead.boot);
    again.host.replication.wake(shop);
    await again.until(shop, isLeader);
    expect(await again.items(shop)).toEqual(['made by init', ...texts]);
  });

  it('[replication 6.12] fetch a local log again whose middle is damaged, and count that', async () => {
    for (const text of ['one', 'two', 'three']) await a.add(shop, text);
    await isFollowing(b, a);
    await b.host.close();
    const { generation } = a.host.registered('shop');
    const folder = path.join(cluster.folderOf('b'), 'databases', identityToHex(shop));
    const log = path.join(folder, `log-${generation}`);
    const [segment = ''] = readdirSync(log).filter((name) => name.endsWith('.log'));
    const bytes = readFileSync(path.join(log, segment));
    // The program is in the first record, and others are whole behind it.
    const at = bytes.indexOf('made by init') - 4_000;
    bytes.set([(bytes[at] ?? 0) ^ 0xff], at);
    writeFileSync(path.join(log, segment), bytes);
    const again = await cluster.start('b');
    const role = await isFollowing(again, a);
    const told = again.reports.map(({ message }) => message).join('\n');
    const [, cut] = /Cut off (\d+) bytes that were given up/.exec(told) ?? [];
    expect(Number(cut)).toBeGreaterThan(4_000);
    expect(role).toMatchObject({ aside: { commits: 0, refetchedBytes: Number(cut) } });
    await again.host.close();
    cluster.gone.add(a.lead.boot);
    const third = await cluster.start('b');
    await third.until(shop, isLeader);
    expect(await third.items(shop)).toEqual(['made by init', 'one', 'two', 'three']);
  });

  it('[replication 15.1] say what they know of a database', async () => {
    await a.add(shop, 'one');
    await isFollowing(b, a);
    const offset = () => a.host.replication.stateOf(shop)?.offset ?? 0;
    await expect.poll(() => b.host.replication.stateOf(shop)?.acknowledgedOffset).toBe(offset());
    const led = a.host.replication.stateOf(shop);
    expect(led).toMatchObject({ role: 'leader', term: 1, leader: undefined, ageMillis: 0 });
    expect(led?.acknowledgedOffset).toBe(led?.offset);
    const seen = b.host.replication.stateOf(shop);
    expect(seen).toMatchObject({ role: 'follower', term: 1, leader: { name: 'a' } });
    expect(seen?.offset).toBe(led?.offset);
    const ageOf = () => b.host.replication.stateOf(shop)?.ageMillis ?? 0;
    cluster.engine.cut('b');
    await expect.poll(ageOf).toBeGreaterThan(1_000);
    cluster.engine.heal('b');
    await expect.poll(ageOf).toBeLessThan(1_000);
    const registry = b.host.replication.stateOf(registryIdentity);
    expect(registry).toMatchObject({ role: 'follower', leader: { name: 'a' }, reason: undefined });
  });

  it('[replication 9.4] lead again when the target of a move does nothing', async () => {
    await isFollowing(b, a);
    const nobody = { ...b.lead, boot: bootId(99n), name: 'nobody' };
    const writers = ['x', 'y'].map((name) => addUntilRefused(a, name));
    await b.until(shop, (role) => role.kind === 'follower' && role.settledOffset > 10);
    await a.host.replication.handOver(shop, nobody);
    const acknowledged = (await Promise.all(writers)).flat();
    expect(await a.until(shop, isLeader)).toMatchObject({ term: 3 });
    expect(new Set(await a.items(shop))).toEqual(new Set(['made by init', ...acknowledged]));
    await a.add(shop, 'goes on');
    await isFollowing(b, a);
  });

  it('[replication 6.11] refuse a restore, which the shared log would not have', async () => {
    const made = { withGrants: false, sameIdentity: false, runsSchedules: false };
    const to = { kind: 'new', name: 'old', ...made } as const;
    const order = { ...{ repository: 'x', backup: 'latest', database: 'shop' }, to, isDry: false };
    const at = { kind: 'end' } as const;
    const restored = async () => a.host.backups.restores.restore(ada, { ...order, at });
    expect(await codeOf(restored())).toBe('backup.invalid');
  });

  it('[replication 6.1] read on where they were, and not the whole log, when an actor ends', async () => {
    const texts = Array.from({ length: 2 * limits.startSearchEntriesMin }, (_, at) => `text ${at}`);
    for (const text of texts) await a.add(shop, text);
    await isFollowing(b, a);
    for (const host of [a, b]) host.readEntries = 0;
    await b.host.close();
    const again = await cluster.start('b');
    await isFollowing(again, a);
    await a.add(shop, 'after');
    cluster.gone.add(a.lead.boot);
    cluster.engine.cut('a');
    again.host.replication.wake(shop);
    await again.until(shop, isLeader);
    expect(await again.items(shop)).toEqual(['made by init', ...texts, 'after']);
    expect(again.readEntries).toBeLessThan(limits.startSearchEntriesMin);
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

  it('[replication 9.4, 7.2] move the registry while it is changed', async () => {
    await isFollowing(b, a);
    const names = Array.from({ length: 10 }, (_, at) => `name${at}`);
    const adding = names.map((name, at) => (at % 2 === 0 ? a : b).host.addName(ada, 'shop', name));
    await a.host.replication.handOver(registryIdentity, b.lead);
    await b.until(registryIdentity, isLeader);
    await Promise.all(adding);
    expect(new Set(b.host.namesOf(shop))).toEqual(new Set(['shop', ...names]));
    await expect.poll(() => a.host.namesOf(shop)).toEqual(b.host.namesOf(shop));
  });

  it('[replication 6.1] start again together with all that was acknowledged', async () => {
    await a.add(shop, 'one');
    await Promise.all([a.host.close(), b.host.close()]);
    for (const { lead } of [a, b]) cluster.gone.add(lead.boot);
    const [first, second] = await Promise.all([cluster.start('a'), cluster.start('b')]);
    const leads = (host: ClusterHost) => host.until(shop, isLeader).then(() => host);
    const leader = await Promise.race([leads(first), leads(second)]);
    expect(await leader.items(shop)).toEqual(['made by init', 'one']);
    // One that is kept waiting for longer than its lease loses it, and leads again in another term.
    const role = leader.role(shop);
    expect('term' in role && role.term).toBeGreaterThanOrEqual(2);
    await isFollowing(leader === first ? second : first, leader);
  });

  takeTurns(placement, ['local', 'worker']);
});

import { afterEach, beforeEach, expect, it } from 'vitest';
import { limits } from '../../src/limits.ts';
import type { DatabaseIdentity } from '../../src/values/identity-roles.ts';
import { CuttingProxy } from '../support/cutting-proxy.ts';
import { copiedItems, PostgresHosts, type PostgresMember } from '../support/postgres-hosts.ts';

const slowness = Number(process.env.TEST_SLOWNESS ?? 1);

let hosts: PostgresHosts;
let toEngine: CuttingProxy;
let a: PostgresMember;
let b: PostgresMember;
let shop: DatabaseIdentity;

/** Two hosts; `a` leads, and reaches the primary only through a proxy. */
beforeEach(async () => {
  hosts = await PostgresHosts.start();
  toEngine = await CuttingProxy.to(hosts.postgres.primary.port);
  const through = hosts.postgres.address.replace(
    `:${hosts.postgres.primary.port}/`,
    `:${toEngine.port}/`,
  );
  a = await hosts.start('a', { address: through });
  b = await hosts.start('b');
  shop = (await a.host.publish()).identity;
  await a.host.add(shop, 'first');
  await expect.poll(() => b.host.role(shop)).toMatchObject({ kind: 'follower', isAtEnd: true });
});
afterEach(async () => {
  toEngine.heal();
  await hosts.close();
  await toEngine.stop();
});

const kindAt = ({ host }: PostgresMember) => host.role(shop).kind;
const many = Array.from({ length: 100 }, (_, at) => `late ${at}`);

it('[replication 5.4, 5.7] a leader that is cut off from its engine waits, and another one takes over', async () => {
  toEngine.cut();
  const begun = performance.now();
  const lost = a.host.add(shop, 'never acknowledged').catch(() => 'lost');
  await expect.poll(() => kindAt(b), { timeout: 60_000 * slowness, interval: 10 }).toBe('leader');
  const millis = performance.now() - begun;
  console.log(`taken over after ${Math.round(millis)} ms`);
  expect(millis).toBeLessThan(3_500 * slowness);
  await b.host.add(shop, 'second');
  expect(kindAt(a)).toBe('leader');
  toEngine.heal();
  await expect.poll(() => kindAt(a), { timeout: 60_000 * slowness }).toBe('follower');
  expect(await lost).toBe('lost');
  await b.host.add(shop, 'third');
  expect(await b.host.items(shop)).toEqual(['made by init', 'first', 'second', 'third']);
  await expect.poll(() => copiedItems(a, shop)).toEqual(await b.host.items(shop));
});

/** The primary acknowledges commits that its standby never gets; then that one takes its place. */
async function promoteBehind(before: () => Promise<void> = async () => undefined): Promise<void> {
  const { primary, standby } = hosts.postgres;
  primary.run("alter system set synchronous_standby_names = ''");
  primary.run('select pg_reload_conf()');
  await standby.stop('SIGINT');
  for (const text of many) await a.host.add(shop, text);
  await expect.poll(async () => (await copiedItems(b, shop))?.length).toBe(many.length + 2);
  await before();
  await primary.stop('SIGQUIT');
  await standby.start();
  standby.run("alter system set synchronous_standby_names = ''");
  standby.run('select pg_promote()');
}

it('[replication 6.9] the leader that lives restores what a standby promoted by force lacks', async () => {
  await promoteBehind();
  expect(await copiedItems(b, shop)).toHaveLength(102);
  await a.host.add(shop, 'after');
  const all = ['made by init', 'first', ...many, 'after'];
  expect(await a.host.items(shop)).toEqual(all);
  const said = a.host.reports.map(({ message }) => message).join('\n');
  expect(said).toMatch(/The engine lost acknowledged entries \d+ to \d+; they are restored/);
  await expect.poll(() => copiedItems(b, shop)).toEqual(all);
  expect(a.host.role(shop)).toMatchObject({ kind: 'leader', term: 1 });
});

it('[replication 6.9] after its death nobody serves what is shorter than what was acknowledged', async () => {
  await promoteBehind(async () => {
    a.host.crash(shop);
    a.part.membership.stop();
    await a.part.stopListening();
  });
  const warned = () => b.lines.concat(b.host.reports.map(({ message }) => message)).join('\n');
  await expect.poll(warned, { timeout: 120_000 * slowness }).toMatch(/log\.diverged: the engine/);
  // It goes on refusing, for as long as one looks.
  await new Promise((resolve) => setTimeout(resolve, 3 * limits.leaseMillis));
  expect(kindAt(b)).not.toBe('leader');
  await expect(b.host.add(shop, 'on top')).rejects.toMatchObject({
    body: { code: expect.stringMatching(/^database\.(notLeader|noLeader|broken)$/) },
  });
  const copied = await copiedItems(b, shop);
  if (copied !== undefined) expect(copied).toEqual(['made by init', 'first', ...many]);
});

import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { registryIdentity } from '../../src/host/registry/registry.ts';
import type { DatabaseIdentity } from '../../src/values/identity-roles.ts';
import { ada, type ClusterHost, ClusterHosts } from '../support/cluster-hosts.ts';
import { takeTurns } from '../support/share.ts';
import { shopModule } from '../support/shop-module.ts';

const isLeader = ({ kind }: { readonly kind: string }) => kind === 'leader';

/** A shop that notes something each 50 ms, and what it was asked to note later. */
function scheduled(mark: string): string {
  const text = shopModule({
    tables: 'item, secret, visit, tick, once',
    moreTables: `
const tick = table({}, { id: t.u64().primaryKey().autoInc(), at: t.scheduleAt() });
const once = table({}, { id: t.u64().primaryKey().autoInc(), at: t.scheduleAt() });`,
    more: `
export const ticked = db.reducer({ onSchedule: tick }, { row: tick.rowType }, (ctx) => {
  ctx.db.item.insert({ id: 0n, text: '${mark} tick' });
});
export const done = db.reducer({ onSchedule: once }, { row: once.rowType }, (ctx, { row }) => {
  ctx.db.item.insert({ id: 0n, text: 'once ' + row.id });
});
export const later = db.reducer({ text: t.string() }, (ctx, { text }) => {
  const micros = ctx.timestamp.microsSinceUnixEpoch + BigInt(text) * 1000n;
  ctx.db.once.insert({ id: 0n, at: ScheduleAt.time(micros) });
});`,
  });
  return text
    .replace('import { SenderError,', 'import { ScheduleAt, SenderError,')
    .replace(
      "text: 'made by init' });",
      "text: 'made by init' });\n  ctx.db.tick.insert({ id: 0n, at: ScheduleAt.interval(50_000n) });",
    );
}

describe.each(['local', 'worker'] as const)('a fail-over (%s)', (placement) => {
  let cluster: ClusterHosts;
  let a: ClusterHost;
  let b: ClusterHost;
  let shop: DatabaseIdentity;

  beforeEach(async () => {
    cluster = new ClusterHosts(placement);
    a = await cluster.start('a');
    b = await cluster.start('b');
    shop = (await a.publish('shop', scheduled('first'))).identity;
    await b.until(shop, (role) => role.kind === 'follower' && role.isAtEnd);
  });
  afterEach(() => cluster.close());

  async function failOver(): Promise<void> {
    a.crash(shop);
    cluster.gone.add(a.lead.boot);
    b.host.replication.wake(shop);
    await b.until(shop, isLeader);
  }

  const itemsAt = async (host: ClusterHost, text: string): Promise<number> => {
    return (await host.items(shop)).filter((one) => one === text).length;
  };

  it('[replication 12.1, 12.2] goes on with schedules: what is overdue runs at once, and once', async () => {
    await expect.poll(() => itemsAt(a, 'first tick')).toBeGreaterThan(2);
    await a.call(shop, 'later', '150');
    await a.call(shop, 'later', '3600000');
    const before = (await a.items(shop)).length;
    cluster.engine.cut('a');
    await new Promise((resolve) => setTimeout(resolve, 200));
    await failOver();
    await expect.poll(() => itemsAt(b, 'once 1')).toBe(1);
    const ticks = await itemsAt(b, 'first tick');
    await expect.poll(() => itemsAt(b, 'first tick')).toBeGreaterThan(ticks + 2);
    expect((await b.items(shop)).length).toBeGreaterThan(before);
    expect(await itemsAt(b, 'once 1')).toBe(1);
    expect(await itemsAt(b, 'once 2')).toBe(0);
    const caller = b.host.callerFor(ada, b.host.database('shop'));
    const target = { database: b.host.database('shop'), caller };
    const { schedules } = await b.host.schedules.list(ada, target);
    expect(schedules.map(({ name }) => name).sort()).toEqual(['once', 'tick']);
  });

  it('[replication 7.5] the next leader can be published to, and shows what was', async () => {
    await failOver();
    await b.publish('shop', scheduled('second'));
    await expect.poll(() => itemsAt(b, 'second tick')).toBeGreaterThan(1);
    const { deploys } = await b.host.deploys.list(ada, b.host.database('shop'));
    expect(deploys.length).toBeGreaterThan(0);
    await b.add(shop, 'after');
    expect(await itemsAt(b, 'after')).toBe(1);
  });

  it('[replication 7.2] knows the values that others have set, and those of a publish', async () => {
    const text = shopModule({
      more: `
export const tell = db.reducer({ text: t.string() }, (ctx, { text }) => {
  ctx.db.item.insert({ id: 0n, text: text + ctx.env.LIMIT });
});`,
    }).replace(
      'schema({ item, secret, visit })',
      'schema({ item, secret, visit }, { env: { LIMIT: t.u32() } })',
    );
    // Neither host leads both the registry and the database.
    expect(a.role(registryIdentity).kind).toBe('leader');
    const env = [{ name: 'LIMIT', text: '7', isSecret: false }];
    const { identity } = await b.publish('told', text, env);
    expect(b.role(identity).kind).toBe('leader');
    await b.call(identity, 'tell', 'first ');
    await b.publish('told', text.replace('text + ctx', "'new ' + text + ctx"), [
      { name: 'LIMIT', text: '8', isSecret: false },
    ]);
    await b.call(identity, 'tell', 'second ');
    await b.host.env.set(ada, b.host.database('told'), { name: 'LIMIT', text: '9' });
    await b.call(identity, 'tell', 'third ');
    await a.until(identity, (role) => role.kind === 'follower' && role.isAtEnd);
    await b.host.replication.handOver(identity, a.lead);
    await a.until(identity, isLeader);
    await a.call(identity, 'tell', 'fourth ');
    const told = (await a.items(identity)).filter((one) => one !== 'made by init');
    expect(told).toEqual(['first 7', 'new second 8', 'new third 9', 'new fourth 9']);
  });

  it('[replication 7.5] static files are refused where hosts have no place that they share', async () => {
    const set = { files: [], headers: '' };
    const quota = { requireSet: () => undefined, requireMore: () => undefined };
    const announced = async () => a.host.sites.announce(shop, set, quota);
    await expect(announced()).rejects.toMatchObject({ body: { code: 'publish.invalid' } });
  });

  it('[replication 12.1] does not run schedules that were paused while the host followed', async () => {
    const target = () => {
      const database = a.host.database('shop');
      return { database, caller: a.host.callerFor(ada, database) };
    };
    await a.host.schedules.apply(ada, target(), { kind: 'pause' });
    await expect.poll(() => b.host.schedules.stateOf(b.host.database('shop')).isPaused).toBe(true);
    await b.until(shop, (role) => role.kind === 'follower' && role.isAtEnd);
    await failOver();
    const ticks = await itemsAt(b, 'first tick');
    await b.call(shop, 'later', '0');
    await new Promise((resolve) => setTimeout(resolve, 300));
    expect(await itemsAt(b, 'first tick')).toBe(ticks);
    const database = b.host.database('shop');
    const caller = b.host.callerFor(ada, database);
    await b.host.schedules.apply(ada, { database, caller }, { kind: 'resume' });
    await expect.poll(() => itemsAt(b, 'first tick')).toBeGreaterThan(ticks);
    await expect.poll(() => itemsAt(b, 'once 1')).toBe(1);
  });

  takeTurns(placement, ['local', 'worker']);
});

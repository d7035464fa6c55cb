import { afterEach, beforeEach, expect, it } from 'vitest';
import { MachineClock } from '../../src/node/clock.ts';
import type { DatabaseIdentity } from '../../src/values/identity-roles.ts';
import { type ClusterHost, ClusterHosts } from '../support/cluster-hosts.ts';
import { shopModule } from '../support/shop-module.ts';

/** A shop that notes when it was asked, and when it ticks. */
const timed = shopModule({
  tables: 'item, secret, visit, tick',
  moreTables: `
const tick = table({}, { id: t.u64().primaryKey().autoInc(), at: t.scheduleAt() });`,
  more: `
const note = (ctx, what) =>
  ctx.db.item.insert({ id: 0n, text: what + ' ' + ctx.timestamp.microsSinceUnixEpoch });
export const onTick = db.reducer({ onSchedule: tick }, { row: tick.rowType }, (ctx) => note(ctx, 'tick'));
export const asked = db.reducer({ text: t.string() }, (ctx, { text }) => note(ctx, text));
export const each = db.reducer({ text: t.string() }, (ctx, { text }) => {
  ctx.db.tick.insert({ id: 0n, at: ScheduleAt.interval(BigInt(text) * 1000n) });
});`,
}).replace('import { SenderError,', 'import { ScheduleAt, SenderError,');

const aheadMicros = 9_000_000n;

/** The machine's clock, and more. */
class AheadClock extends MachineClock {
  override nowMicros(): bigint {
    return super.nowMicros() + aheadMicros;
  }
}

let cluster: ClusterHosts;
let a: ClusterHost;
let b: ClusterHost;
let shop: DatabaseIdentity;

beforeEach(async () => {
  cluster = new ClusterHosts('local');
  a = await cluster.start('a', { clock: new AheadClock() });
  b = await cluster.start('b');
  shop = (await a.publish('shop', timed)).identity;
  await b.until(shop, (role) => role.kind === 'follower' && role.isAtEnd);
});
afterEach(() => cluster.close());

async function failOver(): Promise<void> {
  a.crash(shop);
  cluster.gone.add(a.lead.boot);
  b.host.replication.wake(shop);
  await b.until(shop, ({ kind }) => kind === 'leader');
}

/** What was noted, and when, in the order of the log. */
async function notes(): Promise<{ readonly what: string; readonly micros: bigint }[]> {
  const items = (await b.items(shop)).filter((one) => one !== 'made by init');
  return items.map((one) => {
    const [what = '', micros = ''] = one.split(' ');
    return { what, micros: BigInt(micros) };
  });
}

it('[replication 12.5] time never goes back in the next term, though its clock is behind', async () => {
  await a.call(shop, 'asked', 'before');
  await failOver();
  await b.call(shop, 'asked', 'after');
  const [before, after] = await notes();
  expect([before?.what, after?.what]).toEqual(['before', 'after']);
  // The clock of its host is nine seconds behind that.
  expect(after?.micros).toBeGreaterThan(before?.micros ?? 0n);
});

it('[replication 12.5] schedules go on in the time of the leader before, and say so', async () => {
  await a.call(shop, 'each', '100');
  await expect.poll(async () => (await a.items(shop)).length).toBeGreaterThan(4);
  await failOver();
  const before = (await notes()).length;
  const begun = performance.now();
  await expect.poll(async () => (await notes()).length).toBeGreaterThan(before + 5);
  const all = (await notes()).map(({ micros }) => micros);
  expect(all).toEqual([...all].sort((one, other) => (one < other ? -1 : 1)));
  expect(b.reports.map(({ message }) => message).join()).toContain('Schedules go on from');
  // Without that they would wait for the clock of their host, which is nine seconds behind.
  const waited = BigInt(Math.round((performance.now() - begun) * 1_000));
  const passed = (all.at(-1) ?? 0n) - (all[before - 1] ?? 0n);
  expect(passed).toBeLessThan(waited + aheadMicros);
});

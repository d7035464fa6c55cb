import { afterEach, beforeEach, expect, it } from 'vitest';
import { limits } from '../../src/limits.ts';
import { connectionNumber } from '../../src/values/connection-number.ts';
import type { DatabaseIdentity } from '../../src/values/identity-roles.ts';
import { ada, type ClusterHost, ClusterHosts } from '../support/cluster-hosts.ts';
import { shopModule } from '../support/shop-module.ts';

/** A connection whose goodbye never ends. */
const clinging = 666n;

/** A shop that notes who comes and goes, and takes its time for goodbyes. */
const visited = shopModule({
  more: `
const note = (ctx, text) =>
  ctx.db.item.insert({ id: 0n, text: text + ' ' + ctx.connectionId.__connection_id__ });
export const comes = db.clientConnected((ctx) => note(ctx, 'came'));
export const goes = db.clientDisconnected((ctx) => {
  if (ctx.connectionId.__connection_id__ === ${clinging}n) for (;;);
  for (let at = 0, sum = 0; at < 100_000; at++) sum += at % 7;
  note(ctx, 'went');
});`,
});

const slowness = Number(process.env.TEST_SLOWNESS ?? 1);

let cluster: ClusterHosts;
let a: ClusterHost;
let b: ClusterHost;
let shop: DatabaseIdentity;

beforeEach(async () => {
  cluster = new ClusterHosts('worker');
  a = await cluster.start('a');
  b = await cluster.start('b', { budget: { callMillisMax: 1_000 * slowness } });
  shop = (await a.publish('shop', visited)).identity;
  await b.until(shop, (role) => role.kind === 'follower' && role.isAtEnd);
});
afterEach(() => cluster.close());

async function connect({ host }: ClusterHost, ids: readonly bigint[]): Promise<void> {
  const hosted = host.database('shop');
  const caller = host.callerFor(ada, hosted);
  const connected = ids.map((id) => hosted.handle.connect(caller, connectionNumber(id)));
  for (const { kind } of await Promise.all(connected)) expect(kind).toBe('connected');
}

async function failOver(): Promise<void> {
  // Confirmed, so all before it is in the shared log.
  await a.add(shop, 'last');
  a.crash(shop);
  cluster.gone.add(a.lead.boot);
  b.host.replication.wake(shop);
  await b.until(shop, ({ kind }) => kind === 'leader');
}

/** What was noted of these connections, in order: `came 7`. */
async function notesOf(ids: readonly bigint[]): Promise<string[]> {
  const known = new Set(ids.flatMap((id) => [`came ${id}`, `went ${id}`]));
  return (await b.items(shop)).filter((text) => known.has(text) || text === 'first');
}

const countOf = (notes: readonly string[], text: string) =>
  notes.filter((one) => one === text).length;

it('[replication 12.7, 12.8, 12.9] the next leader serves at once, and ends each connection of the one before, once', async () => {
  const length = 2 * limits.leftoversPerTurnMax + 88;
  const ids = Array.from({ length }, (_, at) => BigInt(at + 1));
  await connect(a, ids);
  await failOver();
  await b.add(shop, 'first');
  const wents = async () => (await notesOf(ids)).filter((one) => one.startsWith('went')).length;
  await expect.poll(wents, { timeout: 30_000 * slowness }).toBe(ids.length);
  const notes = await notesOf(ids);
  for (const id of ids) {
    expect([countOf(notes, `came ${id}`), countOf(notes, `went ${id}`)]).toEqual([1, 1]);
  }
  // The call did not wait for the goodbyes: a turn takes at most so many.
  const before = notes.slice(0, notes.indexOf('first')).filter((one) => one.startsWith('went'));
  expect(before.length).toBeLessThanOrEqual(2 * limits.leftoversPerTurnMax);
});

it('[replication 12.8] a client that comes back with the id that it had leaves first, and is let in', async () => {
  const ids = Array.from({ length: 300 }, (_, at) => BigInt(at + 1));
  const last = ids.slice(-3);
  await connect(a, ids);
  await failOver();
  await connect(b, last);
  for (const id of last) {
    expect(await notesOf([id])).toEqual([`came ${id}`, `went ${id}`, `came ${id}`]);
  }
});

it('[replication 12.9] a goodbye that never ends costs the others nothing', async () => {
  const ids = [1n, 2n, 3n, clinging, 700n, 701n];
  await connect(a, ids);
  await failOver();
  const wents = async () => (await notesOf(ids)).filter((one) => one.startsWith('went'));
  await expect.poll(wents, { timeout: 30_000 * slowness }).toHaveLength(ids.length - 1);
  expect((await wents()).sort()).toEqual(
    ids.filter((id) => id !== clinging).map((id) => `went ${id}`),
  );
  // It is gone all the same.
  await connect(b, [clinging]);
});

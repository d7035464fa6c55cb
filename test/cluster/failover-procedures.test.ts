import type { IncomingMessage, ServerResponse } from 'node:http';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { temporaryConnection } from '../../src/host/supervision/temporary-connection.ts';
import { encodeValue } from '../../src/values/encode.ts';
import type { DatabaseIdentity } from '../../src/values/identity-roles.ts';
import { ada, type ClusterHost, ClusterHosts } from '../support/cluster-hosts.ts';
import { rulesOf, startServer, type TestServer } from '../support/outbound-requests.ts';
import { shopModule } from '../support/shop-module.ts';

const isLeader = ({ kind }: { readonly kind: string }) => kind === 'leader';

/** A shop whose errands ask a server: at a time, at an interval, or when somebody says so. */
function errands(port: number): string {
  return shopModule({
    tables: 'item, secret, visit, once, tick',
    moreTables: `
const once = table({}, { id: t.u64().primaryKey().autoInc(), at: t.scheduleAt() });
const tick = table({}, { id: t.u64().primaryKey().autoInc(), at: t.scheduleAt() });`,
    more: `
const ask = (ctx, what) =>
  ctx.http.fetch('http://127.0.0.1:${port}/' + what, { timeout: TimeDuration.fromMillis(60_000) });
export const onOnce = db.procedure({ onSchedule: once }, { row: once.rowType }, t.unit(),
  (ctx, { row }) => { ask(ctx, 'once' + row.id); return {}; });
export const onTick = db.procedure({ onSchedule: tick }, { row: tick.rowType }, t.unit(),
  (ctx) => { ask(ctx, 'tick'); return {}; });
export const run = db.procedure({ text: t.string() }, t.unit(), (ctx, { text }) => {
  ctx.withTx((tx) => tx.db.item.insert({ id: 0n, text: text + ' before' }));
  ask(ctx, text);
  ctx.withTx((tx) => tx.db.item.insert({ id: 0n, text: text + ' after' }));
  return {};
});
export const later = db.reducer({ text: t.string() }, (ctx, { text }) => {
  const micros = ctx.timestamp.microsSinceUnixEpoch + BigInt(text) * 1000n;
  ctx.db.once.insert({ id: 0n, at: ScheduleAt.time(micros) });
});
export const each = db.reducer({ text: t.string() }, (ctx, { text }) => {
  ctx.db.tick.insert({ id: 0n, at: ScheduleAt.interval(BigInt(text) * 1000n) });
});`,
  }).replace('import { SenderError,', 'import { ScheduleAt, SenderError, TimeDuration,');
}

describe.each(['local', 'worker'] as const)('procedures in a fail-over (%s)', (placement) => {
  let cluster: ClusterHosts;
  let a: ClusterHost;
  let b: ClusterHost;
  let shop: DatabaseIdentity;
  let server: TestServer;
  let asked: string[];
  /** Answers nobody while it is true. */
  let holds: boolean;
  let held: ServerResponse[];
  /** Requests that were ended by those who sent them. */
  let aborted: string[];

  function answer({ url = '' }: IncomingMessage, response: ServerResponse): void {
    const what = url.slice(1);
    asked.push(what);
    response.on('close', () => {
      if (!response.writableFinished) aborted.push(what);
    });
    if (holds) held.push(response);
    else response.end();
  }

  beforeEach(async () => {
    [asked, aborted, held, holds] = [[], [], [], false];
    server = await startServer(answer);
    cluster = new ClusterHosts(placement);
    const more = { outbound: rulesOf([`shop=127.0.0.1:${server.port}`]) };
    a = await cluster.start('a', more);
    b = await cluster.start('b', more);
    shop = (await a.publish('shop', errands(server.port))).identity;
    await b.until(shop, (role) => role.kind === 'follower' && role.isAtEnd);
  });
  afterEach(async () => {
    server.stop();
    await cluster.close();
  });

  async function takesOver(): Promise<void> {
    cluster.gone.add(a.lead.boot);
    b.host.replication.wake(shop);
    await b.until(shop, isLeader);
  }

  const pause = (millis: number) => new Promise((resolve) => setTimeout(resolve, millis));
  const countOf = (what: string) => asked.filter((one) => one === what).length;

  it('[replication 12.3] a procedure waits until its one-shot row is gone for every later leader', async () => {
    await a.call(shop, 'later', '300');
    // What the leader decides from now on is acknowledged by nobody.
    cluster.engine.cut('a');
    await pause(600);
    expect(asked).toEqual([]);
    await takesOver();
    await expect.poll(() => countOf('once1')).toBe(1);
    cluster.engine.heal('a');
    await a.until(shop, (role) => role.kind === 'follower' && role.isAtEnd);
    await pause(300);
    expect(asked).toEqual(['once1']);
  });

  it('[replication 12.3] one that has begun is not begun again by the next leader', async () => {
    holds = true;
    await a.call(shop, 'later', '0');
    await expect.poll(() => countOf('once1')).toBe(1);
    a.crash(shop);
    await takesOver();
    await b.call(shop, 'later', '0');
    await expect.poll(() => countOf('once2')).toBe(1);
    expect(asked).toEqual(['once1', 'once2']);
  });

  it('[replication 12.3] a tick of an interval is one run at most, and the next leader goes on', async () => {
    await a.call(shop, 'each', '400');
    await expect.poll(() => countOf('tick')).toBeGreaterThan(0);
    cluster.engine.cut('a');
    // One whose claim was stored may have begun just now.
    await pause(100);
    const before = countOf('tick');
    await pause(1_000);
    expect(countOf('tick')).toBe(before);
    await takesOver();
    await expect.poll(() => countOf('tick')).toBeGreaterThan(before + 1);
  });

  it('[replication 12.4] a procedure of a leader that lost its term ends: its request, and its caller', async () => {
    holds = true;
    const outcome = procedureAt(a, 'one').then(
      () => 'ended',
      (error: unknown) => (error as { body?: { code: string } }).body?.code,
    );
    await expect.poll(() => countOf('one')).toBe(1);
    await takesOver();
    // The one that has lost it hears of that from what it writes next.
    const lost = a.add(shop, 'too late').catch(() => undefined);
    await expect.poll(() => aborted).toEqual(['one']);
    expect(await outcome).toBe('database.lost');
    await lost;
    for (const response of held) response.end();
    await a.until(shop, (role) => role.kind === 'follower' && role.isAtEnd);
    expect((await b.items(shop)).filter((one) => one.startsWith('one'))).toEqual(['one before']);
  });

  async function procedureAt({ host }: ClusterHost, text: string): Promise<unknown> {
    const hosted = host.database('shop');
    const type = { kind: 'product', elements: [{ name: 'text', type: { kind: 'string' } }] };
    return await hosted.handle.procedure({
      caller: host.callerFor(ada, hosted),
      connection: temporaryConnection(),
      procedure: 'run',
      args: encodeValue(type as Parameters<typeof encodeValue>[0], [text]),
      schemaVersion: undefined,
      confirmed: true,
    });
  }
});

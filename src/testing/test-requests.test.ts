import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import type { RequestListener } from 'node:http';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { afterAll, beforeAll, beforeEach, describe, expect, it } from 'vitest';
import { startServer, type TestServer } from '../../test/support/outbound-requests.ts';
import { openTestDatabase, type TestDatabase } from './test-database.ts';

const folder = mkdtempSync(path.join(tmpdir(), 'reducerdb-requests-'));
afterAll(() => rmSync(folder, { recursive: true, force: true }));
writeFileSync(path.join(folder, 'package.json'), '{"type":"module","main":"index.ts"}');
writeFileSync(
  path.join(folder, 'index.ts'),
  `import { Router, ScheduleAt, schema, SyncResponse, t, table } from 'reducerdb/server';
  const id = t.u64().primaryKey().autoInc();
  const errand = table({}, { id, at: t.scheduleAt(), url: t.string() });
  const chime = table({}, { id, at: t.scheduleAt() });
  const told = table({}, { id, what: t.string(), at: t.timestamp() });
  const db = schema({ errand, chime, told });
  export default db;
  const tell = (ctx, what) => ctx.withTx((tx) => {
    tx.db.told.insert({ id: 0n, what, at: tx.timestamp });
  });
  const ask = async (ctx, url) => {
    const answer = await ctx.fetch(url);
    tell(ctx, await answer.text());
    const second = await ctx.fetch(url);
    tell(ctx, await second.text());
  };
  export const onErrand = db.procedure(
    { onSchedule: errand }, { errand: errand.rowType }, t.unit(),
    async (ctx, { errand }) => {
      await ask(ctx, errand.url);
      await ctx.sleep(500);
      tell(ctx, 'done');
      return {};
    },
  );
  export const onChime = db.reducer({ onSchedule: chime }, { row: chime.rowType }, (ctx) => {
    ctx.db.told.insert({ id: 0n, what: 'chime', at: ctx.timestamp });
  });
  export const plan = db.reducer({ url: t.string() }, (ctx, { url }) => {
    const now = ctx.timestamp.microsSinceUnixEpoch;
    ctx.db.errand.insert({ id: 0n, at: ScheduleAt.time(now + 1_000_000n), url });
    ctx.db.chime.insert({ id: 0n, at: ScheduleAt.time(now + 1_200_000n) });
  });
  export const call = db.procedure({ url: t.string() }, t.string(), async (ctx, { url }) => {
    await ask(ctx, url);
    return 'answered';
  });
  export const giveUp = db.procedure({ url: t.string() }, t.string(), async (ctx, { url }) => {
    void ctx.fetch(url + '/silent');
    const answer = await ctx.fetch(url);
    return answer.text();
  });
  export const get = db.procedure({ url: t.string() }, t.string(), async (ctx, { url }) => {
    try {
      const answer = await ctx.fetch(url);
      return await answer.text();
    } catch (error) {
      return error.message;
    }
  });
  export const handle = db.httpHandler(async (ctx, request) => {
    await ask(ctx, await request.text());
    return new SyncResponse('handled');
  });
  export const router = db.httpRouter(new Router().post('/ask', handle));`,
);

describe('requests to elsewhere, in a test', () => {
  let server: TestServer;
  let db: TestDatabase;
  let answer: RequestListener;
  const count = { of: 0 };
  beforeAll(async () => {
    server = await startServer((request, response) => answer(request, response));
    const moduleHttpAllow = [`127.0.0.1:${server.port}`];
    db = await openTestDatabase({ module: folder, moduleHttpAllow });
  });
  afterAll(async () => {
    await db.close();
    server.stop();
  });
  beforeEach(() => {
    count.of = 0;
    // Late enough that a clock that did not wait would have moved on.
    answer = (request, response) => {
      if (request.url === '/silent') return;
      count.of += 1;
      const text = `answer ${count.of}`;
      setTimeout(() => response.end(text), 50);
    };
  });

  async function told(since: TestDatabase['clock']['now']): Promise<(readonly unknown[])[]> {
    const rows = await db.query('SELECT id, what, at FROM told');
    const sorted = rows.toSorted((a, b) => Number(a.id) - Number(b.id));
    return sorted
      .map(({ what, at }) => [what, (at as typeof since).since(since).millis] as const)
      .filter(([, millis]) => millis >= 0);
  }

  it('[living 1.15] are waited for by a move of the clock, in a scheduled procedure', async () => {
    const begin = db.clock.now;
    await db.call('plan', [server.url]);
    const ran = await db.clock.advance(1_000);
    expect(ran).toEqual([]);
    // Both answers came while the clock stood still, and it sleeps now.
    expect(await told(begin)).toEqual([
      ['answer 1', 1_000],
      ['answer 2', 1_000],
    ]);
    const later = await db.clock.advance(10_000);
    expect(later.map((run) => [run.function, run.outcome])).toEqual([
      ['on_chime', 'committed'],
      ['on_errand', 'committed'],
    ]);
    expect((await told(begin)).slice(2)).toEqual([
      ['chime', 1_200],
      ['done', 1_500],
    ]);
  });

  it.each(['call', 'request'] as const)(
    '[living 1.15] are waited for, in a %s of the test',
    async (how) => {
      await db.clock.advance(60_000);
      const begin = db.clock.now;
      const call =
        how === 'call'
          ? db.call('call', [server.url])
          : db.request('/ask', { method: 'POST', body: server.url }).then((reply) => reply.text());
      await db.clock.advance(5_000);
      expect(await told(begin)).toEqual([
        ['answer 1', 0],
        ['answer 2', 0],
      ]);
      expect(await call).toBe(how === 'call' ? 'answered' : 'handled');
    },
  );

  it('[living 1.15] are not waited for when their call has ended', async () => {
    const call = db.call('give_up', [server.url]);
    await db.clock.advance(5_000);
    expect(await call).toBe('answer 1');
  });

  it('[living 2.7] reach the places that the test allows, and no others', async () => {
    expect(await db.call('get', [server.url])).toBe('answer 1');
    const other = await startServer((_request, response) => response.end('other'));
    expect(await db.call('get', [other.url])).toMatch(/refusing to connect to private/);
    other.stop();
  });

  it('[living 2.7] are refused with a place that is none', async () => {
    await expect(openTestDatabase({ module: folder, moduleHttpAllow: ['a b'] })).rejects.toThrow(
      'is neither a host nor a network',
    );
  });
});

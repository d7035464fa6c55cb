import { afterAll, beforeAll, expect, it } from 'vitest';
import { startServer, type TestServer } from '../support/outbound-requests.ts';
import { logIn } from './cli-support.ts';
import { type RunningService, Sandbox } from './harness.ts';
import type { Remote } from './remote.ts';
import { written } from './written-module.ts';

let sandbox: Sandbox;
let service: RunningService;
let remote: Remote;

let server: TestServer;
/** What has asked, in order; it gets its answer when that is `isOpen`. */
const began: string[] = [];
const waiting: (() => void)[] = [];
let isOpen = false;

/** Procedures that ask a server, which answers when the test says so. */
const errands = () =>
  written({
    tables: {
      once: '{}, { id: t.u64().primaryKey(), at: t.scheduleAt() }',
      surely: '{}, { id: t.u64().primaryKey(), at: t.scheduleAt() }',
      tick: '{}, { id: t.u64().primaryKey(), at: t.scheduleAt() }',
      ticked: '{ public: true }, { n: t.u64().primaryKey().autoInc() }',
    },
    exports: `
      const ask = (what) => (ctx, { row }) => {
        const timeout = TimeDuration.fromMillis(150_000);
        ctx.http.fetch('http://127.0.0.1:${server.port}/' + what + row.id, { timeout });
        return {};
      };
      export const onOnce = db.procedure(
        { onSchedule: once }, { row: once.rowType }, t.unit(), ask('once'));
      export const onSurely = db.procedure(
        { onSchedule: surely, delivery: 'atLeastOnce' }, { row: surely.rowType }, t.unit(),
        ask('surely'));
      export const onTick = db.reducer({ onSchedule: tick }, { row: tick.rowType }, (ctx) => {
        ctx.db.ticked.insert({ n: 0n });
      });
      export const fine = db.procedure(t.u32(), () => 7);
      export const begin = db.reducer((ctx) => {
        const at = ScheduleAt.time(0n);
        ctx.db.once.insert({ id: 1n, at });
        for (let id = 2n; id < 9n; id++) ctx.db.surely.insert({ id, at });
      });
      export const oneTick = db.reducer((ctx) => {
        ctx.db.tick.insert({ id: 1n, at: ScheduleAt.time(0n) });
      });`,
  });

const start = () =>
  sandbox.start([
    '--isolation',
    'thread',
    '--module-http-allow',
    `errands=127.0.0.1:${server.port}`,
  ]);

interface Listed {
  readonly name: string;
  readonly state: string;
  readonly row: string | null;
  readonly target: string;
}

const listed = async (): Promise<readonly Listed[]> => {
  const { text } = await remote.ask('GET', '/v1/database/errands/schedules');
  return JSON.parse(text).schedules;
};
const states = async (name: string) =>
  (await listed()).filter((one) => one.name === name && one.row !== null).map(({ state }) => state);
beforeAll(async () => {
  server = await startServer((request, response) => {
    began.push(request.url ?? '');
    if (isOpen) response.end();
    else waiting.push(() => response.end());
  });
  sandbox = await Sandbox.make();
  service = await start();
  remote = await logIn(sandbox);
  expect((await remote.upload('errands', await errands())).status).toBe(200);
}, 90_000);
afterAll(async () => {
  await service.stop();
  sandbox.remove();
  server.stop();
});

it('[living 1.13, 1.14, 1.16] slow ones hold up neither reducers nor callers', async () => {
  await remote.call('errands', 'begin', []);
  await expect.poll(() => [...began].sort()).toEqual(['/once1', '/surely2', '/surely3']);
  expect((await listed()).map(({ name, target }) => `${name} ${target}`)).toContain(
    'once procedure',
  );
  expect(await states('once')).toEqual(['running']);
  expect(await states('surely')).toEqual(['running', 'running']);
  expect(await sandbox.ok(['schedule', 'list', 'errands'])).toMatch(
    /surely, row 2 +\| table, procedure +\| running/,
  );
  expect((await remote.call('errands', 'fine', [])).text).toBe('7');
  await remote.call('errands', 'one_tick', []);
  await expect.poll(() => remote.rows('errands', 'SELECT n FROM ticked')).toHaveLength(1);
  const { status, text } = await remote.ask('GET', '/v1/database/errands/health?detail');
  expect([status, JSON.parse(text).parts.schedules]).toEqual([
    200,
    { ok: true, waiting_seconds: 0, paused: false },
  ]);
});

it('[living 1.12, 2.8] after a kill, what runs at least once runs again, and nothing else', async () => {
  await service.stop('SIGKILL');
  began.length = 0;
  service = await start();
  await expect.poll(() => began, { timeout: 30_000 }).toHaveLength(3);
  expect(began).not.toContain('/once1');
  expect(await states('once')).toEqual([]);
  isOpen = true;
  for (const answer of waiting) answer();
  const left = () => remote.rows('errands', 'SELECT id FROM surely');
  await expect.poll(left, { timeout: 30_000 }).toEqual([]);
  expect(new Set(began).size).toBe(7);
  expect(await states('surely')).toEqual([]);
  expect(await remote.rows('errands', 'SELECT id FROM once')).toEqual([]);
});

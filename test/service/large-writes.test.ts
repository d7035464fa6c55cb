import { afterAll, beforeAll, beforeEach, describe, expect, it } from 'vitest';
import { type RunningService, Sandbox } from './harness.ts';
import type { Person } from './running.ts';
import { Guest } from './socket-guest.ts';
import { written } from './written-module.ts';

/** What one large write does to everybody else, at a service with a process of its own. */

const rowCount = 300_000;
const rowsPerCall = 50_000;

let sandbox: Sandbox;
let service: RunningService;
let owner: Person;

beforeAll(async () => {
  const program = await written({
    tables: {
      item: `{ public: true },
        { id: t.u32().primaryKey(), kind: t.u32(), n: t.u32(), text: t.string() }`,
    },
    exports: `
      export const fill = db.reducer({ from: t.u32(), count: t.u32() }, (ctx, { from, count }) => {
        for (let id = from; id < from + count; id++) {
          ctx.db.item.insert({ id, kind: id % 50, n: 0, text: 'the text of item ' + id });
        }
      });
      export const bump = db.reducer({ id: t.u32() }, (ctx, { id }) => {
        const row = ctx.db.item.id.find(id);
        if (row !== null) ctx.db.item.id.update({ ...row, n: row.n + 1000 });
      });
    `,
  });
  sandbox = await Sandbox.make();
  service = await sandbox.start();
  owner = JSON.parse((await ask('POST', '/v1/identity')).text);
  const published = await ask('PUT', '/v1/database/busy?host_type=Js', { body: program });
  if (published.status !== 200) throw new Error(published.text);
  for (let from = 0; from < rowCount; from += rowsPerCall) await call('fill', from, rowsPerCall);
}, 120_000);
afterAll(async () => {
  await service.stop();
  sandbox.remove();
});
beforeEach(async () => {
  expect(await sql('UPDATE item SET n = 0 WHERE n <> 0')).toMatchObject({ status: 200 });
});

interface Ask {
  readonly body?: string | Uint8Array<ArrayBuffer>;
  readonly type?: string;
  readonly signal?: AbortSignal;
}

async function ask(method: string, where: string, { body, type, signal }: Ask = {}) {
  const headers: Record<string, string> = {};
  if (owner !== undefined) headers.authorization = `Bearer ${owner.token}`;
  if (type !== undefined) headers['content-type'] = type;
  const init: RequestInit = { method, headers };
  if (body !== undefined) init.body = body;
  if (signal !== undefined) init.signal = signal;
  const answer = await fetch(sandbox.url + where, init);
  return { status: answer.status, text: await answer.text() };
}

const json = 'application/json';
const sql = (body: string, signal?: AbortSignal) =>
  ask('POST', '/v1/database/busy/sql', { body, ...(signal && { signal }) });

async function call(reducer: string, ...args: number[]): Promise<void> {
  const body = JSON.stringify(args);
  const { status, text } = await ask('POST', `/v1/database/busy/call/${reducer}`, {
    ...{ body, type: json },
  });
  if (status >= 300) throw new Error(`${reducer}: ${status} ${text}`);
}

async function rows(statement: string): Promise<unknown[][]> {
  const { status, text } = await sql(statement);
  if (status !== 200) throw new Error(text);
  return JSON.parse(text)[0].rows;
}

/**
 * Calls one after another while a write runs, each to an item of its own. Beside a write in one go
 * there are two at most: one that comes before it, and one that is answered after it.
 */
async function callsBeside<Answer>(write: () => Promise<Answer>) {
  let answer: Answer | undefined;
  const writing = write().then((got) => {
    answer = got;
  });
  let callCount = 0;
  for (; answer === undefined; callCount++) await call('bump', callCount);
  await writing;
  return { answer, callCount };
}

const large = 'UPDATE item SET n = n + 1';
/** Enough to pause. */
const someCount = 60_000;
const some = `${large} WHERE id < ${someCount}`;

/** None of the calls is lost, nor is the write for any of the items. */
async function expectBoth(callCount: number, itemCount: number, writes = 1): Promise<void> {
  const expected = [
    [0, rowCount - itemCount],
    [writes, itemCount - callCount],
    [writes + 1_000, callCount],
  ];
  const counts = 'SELECT n, COUNT(*) AS c FROM item GROUP BY n ORDER BY n';
  expect(await rows(counts)).toEqual(expected.filter(([, count]) => count !== 0));
}

describe('a large write', () => {
  it('[ease 3.8] lets calls through over HTTP, and nothing of either is lost', async () => {
    const { answer, callCount } = await callsBeside(() => sql(large));
    expect(answer).toMatchObject({ status: 200 });
    await expectBoth(callCount, rowCount);
    expect(callCount).toBeGreaterThan(2);
  });

  it('[ease 3.8] lets calls through from an agent', async () => {
    const params = { name: 'sql', arguments: { sql: some } };
    const body = JSON.stringify({ jsonrpc: '2.0', id: 1, method: 'tools/call', params });
    const { answer, callCount } = await callsBeside(() =>
      ask('POST', '/v1/database/busy/mcp', { body, type: json }),
    );
    expect(JSON.parse(answer.text).result.isError).not.toBe(true);
    await expectBoth(callCount, someCount);
    expect(callCount).toBeGreaterThan(2);
  });

  it('[ease 3.8] lets calls through from the command line', async () => {
    await sandbox.ok(['login', '--token', owner.token]);
    const { answer, callCount } = await callsBeside(() => sandbox.run(['sql', 'busy', some]));
    expect(answer.code).toBe(0);
    await expectBoth(callCount, someCount);
    expect(callCount).toBeGreaterThan(2);
  });

  it('is no query of a WebSocket', async () => {
    const guest = await Guest.arrive(sandbox.url, 'busy', {
      headers: { authorization: `Bearer ${owner.token}` },
    });
    guest.send({ kind: 'oneOffQuery', requestId: 1, query: large });
    const { result } = await guest.expect('oneOffQueryResult');
    expect(result).toMatchObject({ kind: 'err' });
    guest.client.socket.close();
    await expectBoth(0, 0);
  });

  it('does nothing when its client goes away', async () => {
    const leaving = new AbortController();
    const endless = `${large} WHERE id IN
      (SELECT a.id FROM item AS a JOIN item AS b ON a.n + b.kind <> b.n + 100)`;
    const asked = sql(endless, leaving.signal).catch(() => 'left');
    const pausedReads = async () =>
      /^reducerdb_paused_reads(?:\{.*\})? 1$/m.test((await ask('GET', '/v1/metrics')).text);
    await expect.poll(pausedReads, { timeout: 10_000 }).toBe(true);
    leaving.abort();
    expect(await asked).toBe('left');
    await expect.poll(pausedReads, { timeout: 10_000 }).toBe(false);
    await expectBoth(0, 0);
  });

  it('of two at once, each does its part', async () => {
    const { answer, callCount } = await callsBeside(() =>
      Promise.all([sql(some), sql(`${some} AND kind < 50`)]),
    );
    expect(answer.map(({ status }) => status)).toEqual([200, 200]);
    await expectBoth(callCount, someCount, 2);
  });
});

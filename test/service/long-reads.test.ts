import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { figureOf } from './figure.ts';
import { type Person, Running } from './running.ts';
import { written } from './written-module.ts';

let running: Running;
let owner: Person;

const rowCount = 3_000;

beforeAll(async () => {
  running = await Running.start({ budget: { callMillisMax: 120_000 } });
  owner = await running.person();
  const program = await written({
    tables: { item: '{ public: true }, { id: t.u32().primaryKey(), n: t.i64() }' },
    exports: `
      export const fill = db.reducer({ count: t.u32() }, (ctx, { count }) => {
        for (let id = 0; id < count; id++) ctx.db.item.insert({ id, n: BigInt(id) });
      });
      export const bump = db.reducer({ id: t.u32() }, (ctx, { id }) => {
        const row = ctx.db.item.id.find(id);
        if (row !== null) ctx.db.item.id.update({ id, n: row.n + 1_000_000n });
      });
    `,
  });
  const { status, text } = await running.upload('busy', program, owner);
  if (status !== 200) throw new Error(text);
  await called('fill', rowCount);
}, 90_000);
afterAll(() => running.stop());

async function called(reducer: string, argument: number): Promise<void> {
  const { status, text } = await running.call('busy', reducer, [argument], owner);
  if (status >= 300) throw new Error(`${reducer}: ${status} ${text}`);
}

/** Looks at all pairs of rows: no index helps. */
const longRead = `
  SELECT COUNT(*) AS n, SUM(a.n + b.n) AS s FROM item AS a JOIN item AS b ON a.n + b.n >= 0`;
const pairs = rowCount * rowCount;
const sumOfPairs = pairs * (rowCount - 1);

/** Would take an hour. */
const endlessRead = `${longRead} JOIN item AS c ON a.n + c.n >= 0`;

/** What the calls beside a read found. */
interface Beside {
  readonly readMillis: number;
  readonly callMillis: readonly number[];
  readonly row: unknown;
}

async function callsBeside(sql: string): Promise<Beside> {
  const started = performance.now();
  let readMillis: number | undefined;
  const reading = running.rows('busy', sql, owner).then((rows) => {
    readMillis = performance.now() - started;
    return rows[0];
  });
  const callMillis: number[] = [];
  for (let id = 0; readMillis === undefined; id = (id + 1) % rowCount) {
    const begin = performance.now();
    await called('bump', id);
    callMillis.push(performance.now() - begin);
  }
  return { readMillis, callMillis, row: await reading };
}

function medianOf(millis: readonly number[]): number {
  return millis.toSorted((a, b) => a - b)[Math.floor(millis.length / 2)] ?? 0;
}

describe('a statement under way whose caller loses its rights', () => {
  const endlessWrite = `UPDATE item SET n = 0 WHERE id IN
    (SELECT a.id FROM item AS a JOIN item AS b ON a.n + b.n >= 0 JOIN item AS c ON a.n + c.n >= 0)`;
  const doors = {
    http: async (as: Person) => (await running.sql('busy', endlessWrite, as)).text,
    mcp: (as: Person) => running.tool('busy', 'sql', { sql: endlessWrite }, as),
  };
  const losses = {
    'role revoked': async () => {
      const friend = await running.person();
      await running.grant('busy', 'admin', friend, owner);
      return { as: friend, lose: () => running.revoke('busy', friend, owner) };
    },
    'token given up': async () => {
      const friend = await running.person();
      await running.grant('busy', 'admin', friend, owner);
      const lose = () => running.ask('POST', '/v1/identity/revoke', { as: friend });
      return { as: friend, lose };
    },
    'limited token revoked': async () => {
      const agent = await running.agent('busy', { tables: ['item'], sql_writes: true }, owner);
      const where = `/v1/database/busy/tokens/${agent.id}`;
      return { as: agent, lose: () => running.ask('DELETE', where, { as: owner }) };
    },
  };
  const cases = Object.entries(losses).flatMap(([words, begin]) =>
    Object.entries(doors).map(([door, write]) => [words, door, begin, write] as const),
  );

  it.each(cases)('[auth 2.5] is stopped, and changes nothing: %s, %s', async (...given) => {
    const [words, , begin, write] = given;
    const pausedReads = () => figureOf(running, 'paused_reads');
    const { as, lose } = await begin();
    const writing = write(as);
    await expect.poll(pausedReads, { timeout: 10_000 }).toBe(1);
    expect((await lose()).status).toBe(200);
    const fault = words.includes('role') ? 'role revoked' : 'token revoked';
    expect(await writing).toContain(
      `The statement was stopped before its end: ${fault}. Nothing was changed`,
    );
    await expect.poll(pausedReads, { timeout: 10_000 }).toBe(0);
    expect(await running.rows('busy', 'SELECT COUNT(*) AS n FROM item WHERE n = 0', owner)).toEqual(
      [[1]],
    );
  });
});

describe('a long read over HTTP', () => {
  it('lets calls through, and answers as of its first moment', async () => {
    const { readMillis, callMillis, row } = await callsBeside(longRead);
    expect(row).toEqual([pairs, [0, sumOfPairs]]);
    const median = medianOf(callMillis);
    expect(callMillis.length).toBeGreaterThan(10);
    expect(median).toBeLessThan(readMillis / 10);
    expect(Math.max(...callMillis)).toBeLessThan(readMillis / 2);
    const after = await running.rows('busy', 'SELECT SUM(n) AS s FROM item', owner);
    expect(JSON.stringify(after)).not.toBe(JSON.stringify([[[0, sumOfPairs / rowCount / 2]]]));
  });

  it('sorts and groups between calls too', async () => {
    const sql = `
      SELECT a.n % 7 AS k, COUNT(*) AS n FROM item AS a JOIN item AS b ON a.n <= b.n
      GROUP BY a.n % 7 ORDER BY n DESC, k LIMIT 1`;
    const { readMillis, callMillis } = await callsBeside(sql);
    expect(callMillis.length).toBeGreaterThan(5);
    expect(medianOf(callMillis)).toBeLessThan(readMillis / 5);
  });

  it('ends when its client goes away, and makes room for another', async () => {
    const pausedReads = () => figureOf(running, 'paused_reads');
    const leaving = new AbortController();
    const request = { method: 'POST', body: endlessRead, signal: leaving.signal };
    const url = `${running.service.url}/v1/database/busy/sql`;
    const asked = fetch(url, request).catch(() => 'left');
    await expect.poll(pausedReads, { timeout: 10_000 }).toBe(1);
    leaving.abort();
    expect(await asked).toBe('left');
    await expect.poll(pausedReads, { timeout: 10_000 }).toBe(0);
  });
});

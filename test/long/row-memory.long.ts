import { afterAll, beforeAll, expect, it } from 'vitest';
import { figureOf } from '../service/figure.ts';
import { type Person, Running } from '../service/running.ts';
import { written } from '../service/written-module.ts';

const minutes = Number(process.env.MINUTES ?? 7);
const rowCount = 100_000;
const callers = 4;

let running: Running;
let owner: Person;

beforeAll(async () => {
  running = await Running.start();
  owner = await running.person();
  const program = await written({
    tables: { item: '{ public: true }, { id: t.u32().primaryKey(), kind: t.u32(), n: t.u64() }' },
    exports: `
      export const fill = db.reducer({ from: t.u32(), to: t.u32() }, (ctx, { from, to }) => {
        for (let id = from; id < to; id++) ctx.db.item.insert({ id, kind: id % 50, n: 0n });
      });
      export const bump = db.reducer({ count: t.u32() }, (ctx, { count }) => {
        for (let each = 0; each < count; each++) {
          const row = ctx.db.item.id.find(ctx.random.integerInRange(0, ${rowCount - 1}));
          if (row !== null) ctx.db.item.id.update({ ...row, n: row.n + 1n });
        }
      });
    `,
  });
  await running.upload('items', program, owner);
  for (let from = 0; from < rowCount; from += 10_000) await called('fill', from, from + 10_000);
});
afterAll(() => running.stop());

async function called(reducer: string, ...args: readonly number[]): Promise<void> {
  const { status, text } = await running.call('items', reducer, [...args], owner);
  if (status !== 200) throw new Error(`${reducer}: ${status} ${text}`);
}

const rowBytes = () => figureOf(running, 'row_bytes');

/** Changes rows, and groups all of them once a second, which pins them for a while. */
async function work(untilMillis: number): Promise<void> {
  const isOver = () => performance.now() >= untilMillis;
  const changing = Array.from({ length: callers }, async () => {
    while (!isOver()) await called('bump', 10);
  });
  const statement = 'SELECT kind, COUNT(*) AS c, SUM(n) AS s FROM item GROUP BY kind';
  while (!isOver()) {
    await running.rows('items', statement, owner);
    await new Promise((resolve) => setTimeout(resolve, 1_000));
  }
  await Promise.all(changing);
}

it(`rows that are as many as before take no more memory after ${minutes} minutes`, async () => {
  const figures = [await rowBytes()];
  for (let step = 0; step < 8; step += 1) {
    await work(performance.now() + (minutes * 60_000) / 8);
    figures.push(await rowBytes());
    console.log(`row bytes: ${figures.join(' ')}`);
  }
  const [, , soon = 0] = figures;
  expect(figures.at(-1)).toBeLessThanOrEqual(1.25 * soon);
});

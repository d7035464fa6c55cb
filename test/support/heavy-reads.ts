import { expect } from 'vitest';
import type { SqlOutcome } from '../../src/database/outcome.ts';
import type { Shop } from './shop.ts';
import { shopModule } from './shop-module.ts';

const points = `
const point = table({ public: true }, {
  id: t.u64().primaryKey(),
  place: t.u64(),
  score: t.f64(),
  text: t.string(),
});
`;

const filling = `
export const fill = db.reducer({ from: t.u32(), to: t.u32() }, (ctx, { from, to }) => {
  for (let id = from; id < to; id++) {
    const place = (id * 7919) % 1_000_003;
    ctx.db.point.insert({ id: BigInt(id), place: BigInt(place), score: place / 7, text: 'row ' + id });
  }
});
`;

/** A shop with a table of small rows beside its own. */
export const heavyShop = shopModule({
  moreTables: points,
  tables: 'item, secret, visit, point',
  more: filling,
});

/** Each holds something about every row of the table, in a way of its own. */
const heavy = [
  'SELECT * FROM point ORDER BY place, text',
  'SELECT text, COUNT(*) AS n, SUM(score) AS s FROM point GROUP BY text',
  'SELECT a.id FROM point AS a JOIN point AS b ON a.text = b.text AND a.place = b.place',
  'SELECT DISTINCT place, text FROM point',
  'SELECT id, text FROM point EXCEPT SELECT place, text FROM point',
  'SELECT COUNT(DISTINCT text) AS n FROM point',
  'SELECT place, MAX(text) AS m, AVG(score) AS s FROM point GROUP BY place ORDER BY m',
  'SELECT id FROM point WHERE text IN (SELECT text FROM point WHERE score > 1)',
];

/** Each with two statements: others than the owner never have all places. */
const subjects = ['owner', 'x', 'xx', 'xxx'];

export async function fillShop(shop: Shop, rowCount: number): Promise<void> {
  for (let from = 0; from < rowCount; from += 100_000) {
    const to = Math.min(from + 100_000, rowCount);
    expect(await shop.call('fill', [from, to])).toMatchObject({ kind: 'committed' });
  }
}

/**
 * Runs eight statements at once, each of which holds much, with a trickle of calls. Every one is
 * answered or refused by a bound, every call commits, and the database is never opened again.
 */
export async function readHeavily(shop: Shop): Promise<readonly SqlOutcome[]> {
  let isOver = false;
  const reading = Promise.all(
    heavy.map((sql, at) => shop.query(sql, { subject: subjects[at % subjects.length] ?? '' })),
  ).finally(() => {
    isOver = true;
  });
  let calls = 0;
  while (!isOver) {
    expect(await shop.call('add', [`${calls++}`])).toMatchObject({ kind: 'committed' });
    await new Promise((resolve) => setTimeout(resolve, 2));
  }
  const outcomes = await reading;
  for (const outcome of outcomes) {
    if (outcome.kind === 'failed') expect(outcome.error.message).toMatch(bounds);
  }
  expect(calls).toBeGreaterThan(1);
  expect(shop.handle.statistics().restarts).toBe(0);
  expect(shop.reports()).toEqual([]);
  return outcomes;
}

/** What the refusals of a statement that takes too much name. */
const bounds = /more than \d+ (MiB of memory|bytes|rows)|ran longer than \d+ ms/;

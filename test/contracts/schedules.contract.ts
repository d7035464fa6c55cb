import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import type { ScheduleAsk, ScheduleOutcome } from '../../src/database/schedules/schedule-ask.ts';
import type { Budget } from '../../src/host/seats/budget.ts';
import { takeTurns } from '../support/share.ts';
import type { Shop, ShopOpener } from '../support/shop.ts';

/** Two scheduled tables, whose runs are noted in `ran`; `what` says what a run does beside that. */
const text = `
  import { ScheduleAt, SenderError, schema, t, table } from 'reducerdb/server';
  const id = t.u64().primaryKey().autoInc();
  const alpha = table({ public: true }, { id, at: t.scheduleAt(), what: t.string() });
  const beta = table({ public: true }, { id, at: t.scheduleAt(), what: t.string() });
  const ran = table({ public: true }, { id, what: t.string() });
  const db = schema({ alpha, beta, ran });
  export default db;
  const act = (ctx, table, row) => {
    if (row.what === 'fail') throw new SenderError('it failed');
    if (row.what === 'spin') for (;;);
    if (row.what === 'fill') for (const all = []; ; ) all.push(new Array(10_000).fill(all.length));
    ctx.db.ran.insert({ id: 0n, what: table + row.id + row.what });
  };
  const ofAlpha = { onSchedule: alpha };
  export const doAlpha = db.reducer(ofAlpha, { row: alpha.rowType }, (ctx, { row }) => {
    act(ctx, 'alpha', row);
  });
  const ofBeta = { onSchedule: beta };
  export const doBeta = db.reducer(ofBeta, { row: beta.rowType }, (ctx, { row }) => {
    act(ctx, 'beta', row);
  });
  const put = (handle, at, count, what) => {
    for (let left = count; left > 0; left--) handle.insert({ id: 0n, at, what });
  };
  /** Rows of both tables, all due at the same time. */
  export const arm = db.reducer(
    { millis: t.i64(), alphas: t.u32(), betas: t.u32(), what: t.string() },
    (ctx, { millis, alphas, betas, what }) => {
      const at = ScheduleAt.time(ctx.timestamp.microsSinceUnixEpoch + millis * 1000n);
      put(ctx.db.beta, at, betas, what);
      put(ctx.db.alpha, at, alphas, what);
    },
  );
  export const repeat = db.reducer({ millis: t.i64() }, (ctx, { millis }) => {
    put(ctx.db.alpha, ScheduleAt.interval(millis * 1000n), 1, '');
  });
`;

/** What schedules do, wherever the database runs. */
export function schedulesContract(name: string, open: ShopOpener): void {
  let shop: Shop;
  const arm = async (millis: number, alphas: number, betas: number, what = '') => {
    const outcome = await shop.call('arm', [BigInt(millis), alphas, betas, what]);
    expect(outcome.kind).toBe('committed');
  };
  const ran = async () => (await shop.rows('SELECT what FROM ran ORDER BY id')).map(([one]) => one);
  const left = async () => {
    const counts = ['alpha', 'beta'].map((table) => shop.rows(`SELECT id FROM ${table}`));
    return (await Promise.all(counts)).flat().length;
  };
  const ask = (one: ScheduleAsk): Promise<ScheduleOutcome> =>
    shop.handle.schedules(shop.caller('owner'), one);

  describe(`schedules (${name})`, () => {
    beforeEach(async () => {
      shop = await open(text);
    });
    afterEach(() => shop.close());

    it('[living 1.1, 1.7] run once, in the order of time, table and key', async () => {
      await arm(300, 1, 0, 'later');
      await arm(100, 2, 2);
      await expect.poll(ran).toEqual(['alpha2', 'alpha3', 'beta1', 'beta2', 'alpha1later']);
      expect(await left()).toBe(0);
      expect(shop.handle.statistics()).toMatchObject({ nextDueMicros: undefined });
    });

    it('[living 1.8] that are more than a turn takes leave room for callers', async () => {
      await arm(0, 1_000, 0);
      const all = Array.from({ length: 1_000 }, (_, at) => `alpha${at + 1}`);
      expect((await shop.call('repeat', [3_600_000n])).kind).toBe('committed');
      await expect.poll(left).toBe(1);
      expect(await ran()).toEqual(all);
    });

    it('[living 1.2] that fail are over, and are in the log', async () => {
      await arm(0, 1, 0, 'fail');
      await expect.poll(left).toBe(0);
      await expect
        .poll(shop.messages)
        .toContainEqual(expect.stringMatching(/scheduled: table alpha, row 1, due \d{4}-/));
      const outcome = await ask({ kind: 'list' });
      expect(outcome).toMatchObject({
        kind: 'listed',
        schedules: [{ name: 'alpha', failures: 1, lastOutcome: 'failed' }, { name: 'beta' }],
      });
    });

    it('[living 1.1] that were due while nothing ran, run when it opens', async () => {
      await arm(300, 1, 1);
      await shop.crash();
      await new Promise((resolve) => setTimeout(resolve, 400));
      await shop.reopen();
      await expect.poll(ran).toEqual(['alpha1', 'beta1']);
      expect(await left()).toBe(0);
    });

    it('[living 1.14] that were paused by name are so when it opens again', async () => {
      expect(await ask({ kind: 'pause', name: 'alpha' })).toEqual({
        ...{ kind: 'applied', names: ['alpha'] },
      });
      await arm(0, 1, 1);
      await expect.poll(ran).toEqual(['beta1']);
      await shop.reopen();
      expect(await ask({ kind: 'run', name: 'alpha' })).toEqual({ kind: 'paused' });
      expect(await ran()).toEqual(['beta1']);
      await ask({ kind: 'resume', name: 'alpha' });
      await expect.poll(ran).toEqual(['beta1', 'alpha1']);
    });

    it('[living 1.4] keep the phase of an interval when it opens again', async () => {
      expect((await shop.call('repeat', [200n])).kind).toBe('committed');
      const due = () => Number(shop.handle.statistics().nextDueMicros ?? Number.NaN);
      await expect.poll(due).not.toBeNaN();
      const first = due();
      await shop.crash();
      await shop.reopen();
      await expect.poll(async () => (await ran()).length).toBeGreaterThan(1);
      expect((due() - first) % 200_000).toBe(0);
    });

    takeTurns(name);
  });
}

/** What a seat of its own adds: a run that ends its actor is over, and the rest goes on. */
export function deadlySchedulesContract(
  name: string,
  openerOf: (budget: Partial<Budget>) => ShopOpener,
): void {
  describe(`deadly schedules (${name})`, () => {
    it.each([
      ['never returns', 'spin', 500, /^The call ran longer than 500 ms and was stopped\./],
      ['takes all memory', 'fill', 60_000, /memory|heap/],
    ])('[living 1.2] a run that %s has failed, once', async (_, what, callMillisMax, message) => {
      const shop = await openerOf({ callMillisMax })(text);
      try {
        const args = (millis: number, word: string) => [BigInt(millis), 1, 0, word];
        await shop.call('arm', args(0, what));
        await shop.call('arm', args(1, 'next'));
        const ran = async () => (await shop.rows('SELECT what FROM ran')).flat();
        await expect.poll(ran, { timeout: 60_000 }).toEqual(['alpha2next']);
        expect(await shop.rows('SELECT id FROM alpha')).toEqual([]);
        const place = expect.stringMatching(/scheduled: table alpha, row 1, due /);
        const lines = shop.messages().filter((line) => line.includes('table alpha, row 1,'));
        expect(lines).toEqual([place]);
        expect(lines[0]).toMatch(message);
        expect(shop.handle.statistics().restarts).toBe(1);
        expect(shop.reports()).toContainEqual(
          expect.stringMatching(/^is reopened after a scheduled run: /),
        );
      } finally {
        await shop.close();
      }
    });

    takeTurns(name);
  });
}

/** Its procedure calls a reducer that never returns, in the thread of the database. */
const spinning = `
  import { ScheduleAt, schema, t, table } from 'reducerdb/server';
  const id = t.u64().primaryKey();
  const job = table({}, { id, at: t.scheduleAt() });
  const db = schema({ job });
  export default db;
  export const spin = db.reducer(() => { for (;;); });
  const options = { onSchedule: job, delivery: 'atLeastOnce' };
  export const work = db.procedure(options, { row: job.rowType }, t.unit(), (ctx) => {
    ctx.call('spin');
    return {};
  });
  export const arm = db.reducer((ctx) => ctx.db.job.insert({ id: 7n, at: ScheduleAt.time(0n) }));
`;

/** As above, where databases have lanes. */
export function deadlyProceduresContract(
  name: string,
  openerOf: (budget: Partial<Budget>) => ShopOpener,
): void {
  it(`[living 1.12, 2.4] a procedure whose reducer never returns has failed (${name})`, async () => {
    const shop = await openerOf({ callMillisMax: 500 })(spinning);
    try {
      await shop.call('arm', []);
      // Nobody asks meanwhile: a request would have the database watched, too.
      const reopened = /^is reopened after a scheduled run: /;
      await expect
        .poll(() => shop.reports(), { timeout: 60_000 })
        .toContainEqual(expect.stringMatching(reopened));
      const text = 'The call ran longer than 500 ms and was stopped.';
      const states = () =>
        shop.rows('SELECT state, last_error FROM st_schedule WHERE row_key IS NOT NULL');
      await expect
        .poll(states, { timeout: 60_000 })
        .toEqual([['retrying', expect.objectContaining({ value: text })]]);
      expect(shop.messages()).toContainEqual(
        expect.stringContaining(`${text} (scheduled: table job, row 7, due 1970-01-01`),
      );
      expect(shop.handle.statistics().restarts).toBe(1);
    } finally {
      await shop.close();
    }
  });
}

import { afterEach, describe, expect, it } from 'vitest';
import { fillShop, heavyShop, readHeavily } from '../../test/support/heavy-reads.ts';
import { takeTurns } from '../../test/support/share.ts';
import { type Shop, shopOpener } from '../../test/support/shop.ts';

describe.each(['thread', 'process'] as const)('statements that hold much (%s)', (kind) => {
  let shop: Shop;
  afterEach(() => shop.close());

  it('[sql 8.4] never end the database: eight at once are answered or refused', async () => {
    shop = await shopOpener(kind, { workerHeapMebibytesMax: 64 })(heavyShop);
    await fillShop(shop, 150_000);
    const outcomes = await readHeavily(shop);
    expect(outcomes.some((outcome) => outcome.kind === 'result')).toBe(true);
    // Memory that they held is no longer counted.
    const [sorted] = await Promise.all([
      shop.query('SELECT * FROM point ORDER BY place, text'),
      shop.call('add', ['beside']),
    ]);
    expect(sorted).toMatchObject({ kind: 'result', rowCount: 150_000 });
    expect(shop.handle.statistics().restarts).toBe(0);
  }, 240_000);

  it('[sql 8.4] never end the database: a write counts its copies, too', async () => {
    shop = await shopOpener(kind)(heavyShop);
    await fillShop(shop, 25_000);
    const copy = (bytes: number) =>
      `INSERT INTO point (id, place, score, text)
        SELECT id + 1000000, place, score, text || '${'x'.repeat(bytes)}'
        FROM point`;
    const tooMuch = {
      kind: 'failed',
      error: {
        code: 'sql.overBudget',
        message: expect.stringMatching(/^The statement needs more than 384 MiB of memory for the/),
      },
    };
    expect(await shop.query(copy(7_600))).toMatchObject(tooMuch);
    expect(await shop.query(copy(3_600))).toMatchObject({ kind: 'result', inserted: 25_000 });
    expect(await shop.query("UPDATE point SET text = text || '.'")).toMatchObject(tooMuch);
    const deleting = 'DELETE FROM point WHERE id >= 1000000';
    expect(await shop.query(deleting)).toMatchObject({ kind: 'result', deleted: 25_000 });
    expect(shop.handle.statistics().restarts).toBe(0);
    expect(shop.reports()).toEqual([]);
  }, 240_000);

  takeTurns(kind);
});

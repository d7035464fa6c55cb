import { afterEach, describe, expect, it } from 'vitest';
import { fillShop, heavyShop, readHeavily } from '../../test/support/heavy-reads.ts';
import { type Shop, shopOpener } from '../../test/support/shop.ts';

describe.each(['thread', 'process'] as const)('statements that hold much (%s)', (kind) => {
  let shop: Shop;
  afterEach(() => shop.close());

  it('[sql] never end the database: eight at once are answered or refused', async () => {
    shop = await shopOpener(kind, { workerHeapMebibytesMax: 64 })(heavyShop);
    await fillShop(shop, 150_000);
    const outcomes = await readHeavily(shop);
    expect(outcomes.some((outcome) => outcome.kind === 'result')).toBe(true);
    // Nothing of what they held is still counted.
    const [sorted] = await Promise.all([
      shop.query('SELECT * FROM point ORDER BY place, text'),
      shop.call('add', ['beside']),
    ]);
    expect(sorted).toMatchObject({ kind: 'result', rowCount: 150_000 });
    expect(shop.handle.statistics().restarts).toBe(0);
  }, 60_000);
});

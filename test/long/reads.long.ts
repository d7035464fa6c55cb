import { describe, expect, it } from 'vitest';
import { fillShop, heavyShop, readHeavily } from '../support/heavy-reads.ts';
import { shopOpener } from '../support/shop.ts';

describe.each(['thread', 'process'] as const)('a million rows (%s)', (kind) => {
  it('[sql 8.4] are sorted, grouped and joined by eight at once, and nothing restarts', async () => {
    const shop = await shopOpener(kind)(heavyShop);
    try {
      await fillShop(shop, 1_000_000);
      for (let round = 0; round < 3; round++) {
        const outcomes = await readHeavily(shop);
        console.log(outcomes.map((one) => (one.kind === 'failed' ? one.error.message : 'rows')));
      }
      const alone = await shop.query('SELECT * FROM point ORDER BY place');
      if (alone.kind === 'failed') expect(alone.error.code).toBe('sql.overBudget');
    } finally {
      await shop.close();
    }
  });
});

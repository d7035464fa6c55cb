import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { ConsoleStage, hasChromium, nameOf, someForms } from './console-support.ts';
import { marketModule } from './market-module.ts';

describe.skipIf(!hasChromium)('the page Metrics', () => {
  let stage: ConsoleStage;

  beforeAll(async () => {
    stage = await ConsoleStage.open();
    await stage.publish('market', marketModule);
    await stage.call('market', 'fill', [1, 2_000]);
  }, 600_000);

  afterAll(async () => {
    await stage?.close();
  });

  it('[console 2.12] follows an hour of a database, and shows memory by table and index', async () => {
    const visitor = await stage.visit('db/market/metrics');
    const { page } = visitor;
    await page.getByRole('heading', { name: 'Metrics', level: 1 }).waitFor();
    const calls = page.getByRole('img', { name: /^Calls per second: all [\d.,]+, failed/ });
    await expect.poll(() => calls.count()).toBe(1);
    // A canvas that has been drawn on.
    const canvas = page.getByRole('region', { name: 'Calls per second' }).locator('canvas');
    await canvas.waitFor();
    const purchase = page.getByRole('row', { name: /^purchase 2,000/ });
    await purchase.getByText('purchase_customer_id_idx_btree').waitFor();
    for (let round = 0; round < 200; round += 1) await stage.call('market', 'bump', [1, 1]);
    const committed = page.getByRole('img', { name: /^Memory: in use [1-9]/ });
    await expect.poll(() => committed.count()).toBe(1);
    visitor.expectNoTroubles();
    await visitor.leave();
  });

  it('[console 2.12] shows the whole service to operators, and says so to others', async () => {
    const visitor = await stage.visit('metrics');
    visitor.expected.push(/403/);
    await visitor.page.getByText('You may not see this').waitFor();
    visitor.expectNoTroubles();
    await visitor.leave();
  });

  const looks = someForms();
  it(`[console 2.12] reads in every form (${nameOf(looks)})`, async () => {
    for (const form of looks) {
      const visitor = await stage.visit('db/market/metrics', { form });
      await visitor.page.getByRole('row', { name: /^purchase/ }).waitFor();
      await visitor.page.locator('canvas').first().waitFor();
      await visitor.shoot(`metrics-${form.name}`);
      await visitor.expectAccessible();
      await visitor.expectNoOverflow();
      visitor.expectNoTroubles();
      await visitor.leave();
    }
  });

  it('[console 2.12] is off for those who may not', async () => {
    const token = await stage.strangerToken();
    const visitor = await stage.visit('db/market/metrics', { token });
    visitor.expected.push(/403/);
    await visitor.page.getByText('You may not see this').waitFor();
    await visitor.leave();
  });
});

import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { ConsoleStage, hasChromium, nameOf, someForms } from './console-support.ts';
import { marketModule } from './market-module.ts';

describe.skipIf(!hasChromium)('the page Live', () => {
  let stage: ConsoleStage;

  beforeAll(async () => {
    stage = await ConsoleStage.open();
    await stage.publish('market', marketModule);
    await stage.call('market', 'fill', [1, 300]);
  }, 600_000);

  afterAll(async () => {
    await stage?.close();
  });

  const looks = someForms();
  const titled = '[console 2.5] shows who is connected and what they watch, and disconnects one';
  it(`${titled} (${nameOf(looks)})`, async () => {
    const query = 'SELECT status, COUNT(*) AS n FROM purchase GROUP BY status';
    const client = stage.sandbox.spawn(['subscribe', 'market', query, '--json']);
    const ended = new Promise<number | null>((resolve) => client.once('close', resolve));
    const visitor = await stage.visit('db/market/live');
    const { page } = visitor;
    const connections = page.getByRole('region', { name: 'Connections' });
    const watched = page.getByRole('row', { name: /GROUP BY status/ });
    await watched.getByText('incremental').waitFor();
    await stage.call('market', 'fill', [1_000, 10]);
    await expect.poll(() => watched.innerText()).toMatch(/\d ?(µs|ms)/);
    for (const form of looks) {
      const other = await stage.visit('db/market/live', { form });
      await other.page.getByRole('row', { name: /GROUP BY status/ }).waitFor();
      await other.shoot(`live-${form.name}`);
      await other.expectAccessible();
      await other.expectNoOverflow();
      other.expectNoTroubles();
      await other.leave();
    }
    const one = page.getByRole('cell', { name: '1', exact: true });
    const row = connections.getByRole('row').filter({ has: one });
    await row.getByRole('button', { name: /^Disconnect/ }).click();
    await page.getByRole('dialog').getByRole('button', { name: 'Disconnect' }).click();
    await page.getByText(/was disconnected/).waitFor();
    await ended;
    await page.getByText('Nobody watches a query').waitFor();
    visitor.expectNoTroubles();
    await visitor.leave();
  });

  it('[console 2.5] is for the owner', async () => {
    const token = await stage.strangerToken();
    const visitor = await stage.visit('db/market/live', { token });
    visitor.expected.push(/403/);
    await visitor.page.getByText('You may not see this').first().waitFor();
    await visitor.leave();
  });
});

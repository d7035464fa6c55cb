import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { ConsoleStage, hasChromium, nameOf, someForms } from './console-support.ts';
import { marketModule } from './market-module.ts';

describe.skipIf(!hasChromium)('the pages of the host', () => {
  let stage: ConsoleStage;

  beforeAll(async () => {
    stage = await ConsoleStage.open();
    await stage.publish('market', marketModule);
    await stage.publish('fair', marketModule);
    await stage.call('market', 'fill', [1, 1_500]);
  }, 600_000);

  afterAll(async () => {
    await stage?.close();
  });

  it('[console 2.1] lists databases with what they hold and do, and follows them', async () => {
    const visitor = await stage.visit('');
    const { page } = visitor;
    const market = page.getByRole('row', { name: /^market serving/ });
    await market.getByText('1,500').waitFor();
    await market.getByText('#1').waitFor();
    await stage.call('market', 'fill', [2_000, 100]);
    await market.getByText('1,600').waitFor();
    await market.getByRole('link', { name: 'market' }).click();
    await expect.poll(() => page.url()).toContain('/console/db/market/data');
    visitor.expectNoTroubles();
    await visitor.leave();
  });

  it('[console 2.1] deletes a database only after its name was typed', async () => {
    const visitor = await stage.visit('');
    const { page } = visitor;
    await page.getByRole('button', { name: 'Actions for fair' }).click();
    await page.getByRole('menuitem', { name: 'Delete…' }).click();
    const dialog = page.getByRole('dialog', { name: 'Delete fair' });
    const button = dialog.getByRole('button', { name: 'Delete' });
    await button.waitFor();
    expect(await button.getAttribute('aria-disabled')).toBe('true');
    await dialog.getByRole('textbox').fill('market');
    expect(await button.getAttribute('aria-disabled')).toBe('true');
    await dialog.getByRole('textbox').fill('fair');
    await visitor.shoot('host-delete-wide-light');
    await visitor.expectAccessible();
    await button.click();
    await page.getByText('fair was deleted').waitFor();
    await page.getByRole('row', { name: /^fair/ }).waitFor({ state: 'detached' });
    visitor.expectNoTroubles();
    await visitor.leave();
  });

  it('[console 2.1] says to others why they may not delete, and what to do without any', async () => {
    const admin = await stage.strangerToken();
    const { hex_identity: identity } = JSON.parse(atob(admin.split('.')[1] ?? '')) as {
      hex_identity: string;
    };
    const empty = await stage.visit('', { token: admin });
    await empty.page.getByText('No database yet').waitFor();
    await empty.shoot('host-empty-wide-light');
    await empty.expectAccessible();
    await stage.send(
      'PUT',
      `/v1/database/market/grants/${identity}`,
      JSON.stringify({ role: 'admin' }),
    );
    await empty.page.getByRole('button', { name: 'Actions for market' }).click();
    await empty.page.getByRole('menuitem', { name: 'Delete…' }).click();
    await empty.page.getByText('Only its owner, or an operator').waitFor();
    await empty.page.keyboard.press('Escape');
    await empty.page.getByRole('dialog').waitFor({ state: 'detached' });
    empty.expectNoTroubles();
    await empty.leave();
  });

  it('[console 2.1] opens a database by its name for those who have not signed in', async () => {
    const visitor = await stage.visit('', { token: null });
    const { page } = visitor;
    await page.getByRole('button', { name: 'Look around without signing in' }).click();
    await page.getByLabel('Name or identity of a database').fill('market');
    await visitor.expectAccessible();
    await page.keyboard.press('Enter');
    await page.getByRole('link', { name: 'purchase' }).waitFor();
    visitor.expectNoTroubles();
  });

  const looks = someForms();
  const titled = `[console 2.1] shows the service, and its settings to operators alone`;
  it(`${titled} (${nameOf(looks)})`, async () => {
    const visitor = await stage.visit('service');
    visitor.expected.push(/403/);
    await visitor.page.getByText('Version').waitFor();
    await visitor.page.getByText('You may not see this').waitFor();
    await visitor.page.getByText('You are not an operator of this host').waitFor();
    await visitor.page.getByText(`reducerdb start --operator ${stage.ownerIdentity}`).waitFor();
    await visitor.leave();
    await stage.restart(['--operator', stage.ownerIdentity]);
    for (const form of looks) {
      const operator = await stage.visit('service', { form });
      const row = operator.page.getByRole('row', { name: /^operators/ });
      await row.getByText('flag').waitFor();
      await operator.page.getByRole('searchbox').fill('console');
      await row.waitFor({ state: 'detached' });
      await operator.page.getByRole('row', { name: /^console/ }).waitFor();
      await operator.shoot(`service-${form.name}`);
      await operator.expectAccessible();
      await operator.expectNoOverflow();
      operator.expectNoTroubles();
      await operator.leave();
    }
  });
});

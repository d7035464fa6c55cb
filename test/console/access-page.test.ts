import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { ConsoleStage, hasChromium, nameOf, someForms } from './console-support.ts';
import { marketModule } from './market-module.ts';

describe.skipIf(!hasChromium)('the page Access', () => {
  let stage: ConsoleStage;

  beforeAll(async () => {
    stage = await ConsoleStage.open();
    await stage.publish('market', marketModule);
    await stage.call('market', 'hire', ['Ada', 'ada@example.com']);
  }, 600_000);

  afterAll(async () => {
    await stage?.close();
  });

  it('[console 2.11] says what everyone reads and calls, by asking as nobody', async () => {
    const visitor = await stage.visit('db/market/access');
    const { page } = visitor;
    const read = page.getByRole('region', { name: 'Tables for everyone' });
    await read.getByText('purchase').waitFor();
    expect(await read.getByText('ledger_note').count()).toBe(0);
    const call = page.getByRole('region', { name: 'Functions for everyone' });
    await call.getByText('hire').waitFor();
    visitor.expectNoTroubles();
    await visitor.leave();
  });

  it('[console 2.11] gives a role and takes it away', async () => {
    const identity = `c200${'ab'.repeat(30)}`;
    const visitor = await stage.visit('db/market/access?view=roles');
    const { page } = visitor;
    await page.getByText('Nobody has a role').waitFor();
    await page.getByLabel('Identity').fill('c200');
    await page.getByText('An identity has 64 hex digits.').waitFor();
    await page.getByLabel('Identity').fill(identity);
    await page.getByLabel('Role', { exact: true }).selectOption('developer');
    await page.getByRole('button', { name: 'Give' }).click();
    const row = page.getByRole('region', { name: 'Roles' }).getByRole('row', { name: /developer/ });
    await row.waitFor();
    const listed = await stage.send('GET', '/v1/database/market/grants');
    expect(listed).toContain(identity);
    await row.getByRole('button', { name: /^Take the role/ }).click();
    await page.getByRole('dialog').getByRole('button', { name: 'Take away' }).click();
    await page.getByText('Nobody has a role').waitFor();
    visitor.expectNoTroubles();
    await visitor.leave();
  });

  it('[console 2.11] makes a limited token, shows it once, and revokes it', async () => {
    const visitor = await stage.visit('db/market/access?view=tokens');
    const { page } = visitor;
    await page.getByRole('button', { name: 'New token' }).click();
    const dialog = page.getByRole('dialog', { name: 'New limited token' });
    await dialog.getByRole('switch', { name: 'those that everyone reads' }).click();
    await dialog.getByRole('checkbox', { name: 'customer' }).check();
    await dialog.getByLabel('Most rows of an answer').fill('10');
    await visitor.shoot('access-new-token-wide-light');
    await visitor.expectAccessible();
    await dialog.getByRole('button', { name: 'Make the token' }).click();
    const shown = page.getByRole('dialog', { name: 'Your new token' });
    const token = await shown.getByRole('region', { name: 'Token', exact: true }).innerText();
    const secret = /\S+\.\S+\.\S+/.exec(token)?.[0] ?? '';
    const configuration = shown.getByRole('region', { name: /^Configuration/ });
    expect(await configuration.innerText()).toContain(`"Authorization": "Bearer ${secret}"`);
    const ask = async (sql: string) =>
      fetch(`${stage.url}/v1/database/market/sql`, {
        method: 'POST',
        headers: { authorization: `Bearer ${secret}` },
        body: sql,
      }).then(({ status }) => status);
    expect(await ask('SELECT * FROM customer')).toBe(200);
    expect(await ask('SELECT * FROM purchase')).toBe(400);
    await shown.getByRole('button', { name: 'Done' }).click();
    expect(await page.content()).not.toContain(secret);
    await page.getByRole('button', { name: /^Revoke the token/ }).click();
    await page.getByRole('dialog').getByRole('button', { name: 'Revoke' }).click();
    await page.getByText('No limited token').waitFor();
    expect(await ask('SELECT * FROM customer')).toBe(401);
    visitor.expectNoTroubles();
    await visitor.leave();
  });

  it('[console 2.11] shows who did what, and the audit log to operators', async () => {
    const visitor = await stage.visit('db/market/access?view=activity&what=hire');
    const row = visitor.page.getByRole('row', { name: /hire/ });
    await row.getByText('done').waitFor();
    visitor.expectNoTroubles();
    await visitor.leave();
    const refused = await stage.visit('db/market/access?view=audit');
    refused.expected.push(/403/);
    await refused.page.getByText('You may not see this').waitFor();
    await refused.leave();
    await stage.restart(['--operator', stage.ownerIdentity]);
    const operator = await stage.visit('db/market/access?view=audit&search=create');
    await operator.page.getByRole('row', { name: /create database/ }).waitFor();
    operator.expectNoTroubles();
    await operator.leave();
  });

  const looks = someForms();
  it(`[console 2.11] reads in every form (${nameOf(looks)})`, async () => {
    for (const view of ['everyone', 'roles', 'tokens', 'activity']) {
      for (const form of looks) {
        const visitor = await stage.visit(`db/market/access?view=${view}`, { form });
        await visitor.page.getByRole('tab', { selected: true }).waitFor();
        await visitor.untilLoaded();
        await visitor.shoot(`access-${view}-${form.name}`);
        await visitor.expectAccessible();
        await visitor.expectNoOverflow();
        visitor.expectNoTroubles();
        await visitor.leave();
      }
    }
  }, 600_000);
});

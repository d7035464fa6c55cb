import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { ConsoleStage, forms, hasChromium } from './console-support.ts';

const hostile = '<img src=x onerror="globalThis.wasRun=1"><b>bold</b>';
const envModule = `
  import { schema, t } from 'reducerdb/server';
  const db = schema({});
  export default db;
  export const env = db.env({
    API_URL: t.string().optional(),
    KEY: t.secret().optional(),
    ITEMS_MAX: t.u16().optional(),
  });
`;

describe.skipIf(!hasChromium)('the page Env', () => {
  let stage: ConsoleStage;

  beforeAll(async () => {
    stage = await ConsoleStage.open();
    await stage.publish('shop', envModule);
  }, 400_000);

  afterAll(async () => {
    await stage?.close();
  });

  async function opened(options: Parameters<ConsoleStage['visit']>[1] = {}) {
    const visitor = await stage.visit('db/shop/env', options);
    visitor.page.setDefaultTimeout(60_000);
    const { page } = visitor;
    const row = (name: string) => page.getByRole('row').filter({ hasText: name });
    return { visitor, page, row };
  }

  it('[console 2.13] says what the program declares and what of it is missing, and sets a value', async () => {
    const { visitor, page, row } = await opened();
    await row('API_URL').getByText('not set').waitFor();
    await row('KEY').getByText('secret, optional').waitFor();
    await row('ITEMS_MAX').getByText('U16, optional').waitFor();
    await row('ITEMS_MAX').getByRole('button', { name: 'Set ITEMS_MAX' }).click();
    const dialog = page.getByRole('dialog', { name: 'Set ITEMS_MAX' });
    await dialog.getByRole('textbox', { name: /^Value/ }).fill('many');
    visitor.expected.push(/400/);
    await dialog.getByRole('button', { name: 'Set', exact: true }).click();
    await dialog.getByText(/its value must be a whole number/).waitFor();
    await dialog.getByRole('textbox', { name: /^Value/ }).fill('12');
    await visitor.expectAccessible();
    await dialog.getByRole('button', { name: 'Set', exact: true }).click();
    await row('ITEMS_MAX').getByText('12', { exact: true }).waitFor();
    expect(await stage.send('GET', '/v1/database/shop/env/ITEMS_MAX')).toContain('"value":"12"');
    await visitor.shoot('env-wide-light');
    await visitor.expectAccessible();
    visitor.expectNoTroubles();
  });

  it('[console 2.13] sets a secret, and shows its value nowhere', async () => {
    const { visitor, page, row } = await opened();
    const answers: string[] = [];
    page.on('response', async (answer) => {
      if (answer.url().includes('/env')) answers.push(await answer.text().catch(() => ''));
    });
    await row('KEY').getByRole('button', { name: 'Set KEY' }).click();
    const dialog = page.getByRole('dialog', { name: 'Set KEY' });
    expect(await dialog.getByLabel('Value', { exact: true }).getAttribute('type')).toBe('password');
    await dialog.getByLabel('Value', { exact: true }).fill('s3cr3t-of-mine');
    await dialog.getByRole('button', { name: 'Set', exact: true }).click();
    await expect.poll(() => row('KEY').getByText('not set').count()).toBe(0);
    await page.reload();
    await row('KEY').getByText('secret', { exact: true }).waitFor();
    expect(await page.content()).not.toContain('s3cr3t-of-mine');
    await row('KEY').getByRole('button', { name: 'Set KEY' }).click();
    expect(await dialog.getByLabel('Value', { exact: true }).inputValue()).toBe('');
    expect(answers.length).toBeGreaterThan(1);
    expect(answers.join()).not.toContain('s3cr3t-of-mine');
    visitor.expectNoTroubles();
  });

  it('[console 2.13] warns of a name that nothing reads, shows values as text, and deletes', async () => {
    const { visitor, page, row } = await opened();
    await page.getByRole('button', { name: 'Set a value' }).click();
    const dialog = page.getByRole('dialog', { name: 'Set a value' });
    await dialog.getByLabel('Name', { exact: true }).fill('lower');
    await dialog.getByText('Capital letters, digits and _, a letter first').waitFor();
    await dialog.getByLabel('Name', { exact: true }).fill('API_URI');
    await dialog.getByLabel('Value', { exact: true }).fill(hostile);
    await dialog.getByRole('button', { name: 'Set', exact: true }).click();
    await page.getByText(/did you mean `API_URL`/).waitFor();
    await row('API_URI').getByText(hostile).waitFor();
    expect(await page.evaluate(() => 'wasRun' in globalThis)).toBe(false);
    await row('API_URI').getByRole('button', { name: 'Delete API_URI' }).click();
    const confirm = page.getByRole('dialog', { name: 'Delete API_URI' });
    await confirm.getByRole('button', { name: 'Delete', exact: true }).click();
    await expect.poll(() => row('API_URI').count()).toBe(0);
    visitor.expectNoTroubles();
  });

  it('[console 2.13] lets a developer look and an admin set, and says so', async () => {
    const token = await stage.strangerToken();
    const claims = JSON.parse(String(Buffer.from(token.split('.')[1] ?? '', 'base64url')));
    const { visitor, page } = await opened({ token });
    visitor.expected.push(/403/);
    await page.getByText('You may not see this').waitFor();
    const grant = `/v1/database/shop/grants/${claims.hex_identity}`;
    await stage.send('PUT', grant, '{"role":"developer"}');
    await page.reload();
    const set = page.getByRole('button', { name: 'Set KEY' });
    await set.waitFor();
    await expect.poll(() => set.getAttribute('aria-disabled')).toBe('true');
    expect(await set.getAttribute('title')).toMatch(/^Needs /);
    visitor.expectNoTroubles();
  });

  it('[console 2.13] is usable in a narrow window', async () => {
    const { visitor, row } = await opened({ form: forms[3] });
    await row('KEY').waitFor();
    await visitor.expectNoOverflow();
    await visitor.shoot('env-narrow-dark');
    await visitor.expectAccessible();
    visitor.expectNoTroubles();
  });
});

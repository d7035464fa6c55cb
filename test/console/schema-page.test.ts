import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { ConsoleStage, hasChromium, nameOf, someForms } from './console-support.ts';
import { marketModule } from './market-module.ts';

describe.skipIf(!hasChromium)('the page Schema', () => {
  let stage: ConsoleStage;

  beforeAll(async () => {
    stage = await ConsoleStage.open();
    await stage.publish('market', marketModule);
  }, 600_000);

  afterAll(async () => {
    await stage?.close();
  });

  it('[console 2.7] lists tables with their columns, rules and indexes, and finds them', async () => {
    const visitor = await stage.visit('db/market/schema');
    const { page } = visitor;
    const customer = page.getByRole('region', { name: 'customer', exact: true });
    await customer.getByText('primary key').waitFor();
    const email = customer.getByRole('row', { name: /^email/ });
    expect(await email.innerText()).toMatch(/string\s+unique/);
    const purchase = page.getByRole('region', { name: 'purchase', exact: true });
    expect(await purchase.getByRole('row', { name: /^status/ }).innerText()).toContain(
      "'open' | 'paid' | 'shipped'",
    );
    expect(await purchase.getByRole('row', { name: /^customer_id/ }).innerText()).toContain(
      '→ customer',
    );
    await purchase.getByRole('list', { name: 'Indexes of purchase' }).waitFor();
    await page.getByRole('searchbox').fill('email');
    await purchase.waitFor({ state: 'detached' });
    await expect.poll(() => new URL(page.url()).searchParams.get('search')).toBe('email');
    visitor.expectNoTroubles();
  });

  it('[console 2.7] shows a schema of thousands of tables a part at a time', async () => {
    const count = 3_000;
    const source = `
      import { schema, t, table } from 'reducerdb/server';
      const word = (n) => 'q' + String(n).replace(/\\d/g, (digit) => 'abcdefghij'[digit]);
      const fields = Object.fromEntries(
        Array.from({ length: 20 }, (_, at) => [word(at) + 'Text', t.option(t.string())]),
      );
      const tables = Object.fromEntries(
        Array.from({ length: ${count} }, (_, at) => {
          const link = { [word((at + 1) % ${count}) + 'Id']: t.u32() };
          return [word(at), table({ public: true }, { id: t.u32().primaryKey(), ...link, ...fields })];
        }),
      );
      const db = schema(tables);
      export default db;
    `;
    await stage.publish('wide', source);
    const visitor = await stage.visit('db/wide/schema');
    const { page } = visitor;
    const panels = page.getByRole('link', { name: 'Rows', exact: true });
    await page.getByRole('button', { name: 'Show 50 more of 2,950' }).click();
    await expect.poll(() => panels.count()).toBe(100);
    await page.getByRole('searchbox').fill('qcjjj');
    await page
      .getByRole('region', { name: 'qcjjj', exact: true })
      .getByText('→ qa', { exact: true })
      .waitFor();
    await page.getByRole('searchbox').fill('');
    await page.getByRole('tab', { name: 'Diagram' }).click();
    await page.getByText('150 tables are drawn').waitFor();
    await page.getByText('2,850 more are in the list').waitFor();
    visitor.expectNoTroubles();
  }, 600_000);

  it('[console 2.7] says which tables are private', async () => {
    const visitor = await stage.visit('db/market/schema?search=ledger');
    const note = visitor.page.getByRole('region', { name: 'ledger_note', exact: true });
    await note.getByText('private').waitFor();
    visitor.expectNoTroubles();
  });

  const looks = someForms();
  const titled = '[console 2.7] draws a diagram that is moved by keys and leads to rows';
  it(`${titled} (${nameOf(looks)})`, async () => {
    for (const form of looks) {
      const visitor = await stage.visit('db/market/schema?view=diagram', { form });
      const diagram = visitor.page.getByRole('region', { name: /^Diagram/ });
      const box = diagram.getByRole('link', { name: /^purchase/ });
      await box.waitFor();
      // Of the table, and of the view with its rows.
      expect(await diagram.locator('path[class*="edge"]').count()).toBe(2);
      const before = await box.boundingBox();
      await diagram.focus();
      await visitor.page.keyboard.press('ArrowRight');
      await expect.poll(async () => (await box.boundingBox())?.x).toBeLessThan(before?.x ?? 0);
      await visitor.page.keyboard.press('0');
      await expect.poll(() => box.boundingBox()).toEqual(before);
      await visitor.shoot(`schema-diagram-${form.name}`);
      await visitor.expectAccessible();
      await visitor.expectNoOverflow();
      await box.press('Enter');
      await expect.poll(() => visitor.page.url()).toContain('/db/market/data?table=purchase');
      visitor.expectNoTroubles();
      await visitor.leave();
    }
  });

  it('[console 2.7] shows generated bindings, and what a deploy changed', async () => {
    const more = `
      export const praise = db.reducer({ name: t.string() }, () => undefined);
    `;
    await stage.publish('market', marketModule + more);
    const visitor = await stage.visit('db/market/schema?view=differences');
    const { page } = visitor;
    const item = page.getByRole('listitem').filter({ hasText: 'reducer praise' });
    await item.getByText('+ name: string').waitFor();
    await visitor.shoot('schema-differences-wide-light');
    await visitor.expectAccessible();
    await page.getByRole('combobox', { name: 'From deploy' }).selectOption({ label: 'Deploy 2' });
    await page.getByText('The same schema').waitFor();
    await page.getByRole('tab', { name: 'Bindings' }).click();
    const file = page.getByRole('button', { name: /praise/ });
    await file.click();
    await page
      .getByRole('region', { name: /praise/ })
      .getByText('name')
      .first()
      .waitFor();
    await visitor.shoot('schema-bindings-wide-light');
    await visitor.expectAccessible();
    visitor.expectNoTroubles();
    await visitor.leave();
  });
});

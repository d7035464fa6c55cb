import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { ConsoleStage, hasChromium, stageMillis, type Visitor } from './console-support.ts';
import { marketModule } from './market-module.ts';

describe.skipIf(!hasChromium)('the page of SQL', () => {
  let stage: ConsoleStage;

  beforeAll(async () => {
    stage = await ConsoleStage.open();
    await stage.publish('market', marketModule);
    await stage.call('market', 'fill', [1, 200]);
    await stage.call('market', 'note_down', [1, 'for the owner alone']);
  }, stageMillis);

  afterAll(async () => {
    await stage?.close();
  });

  const editor = (visitor: Visitor) => visitor.page.getByRole('textbox', { name: 'Statement' });
  const write = async (visitor: Visitor, sql: string) => {
    await editor(visitor).click();
    await visitor.page.keyboard.press('Control+a');
    await visitor.page.keyboard.press('Delete');
    await visitor.page.keyboard.insertText(sql);
    await visitor.page.keyboard.press('Escape');
  };
  const run = (visitor: Visitor) => visitor.page.keyboard.press('Control+Enter');
  const row = (visitor: Visitor, number: number) =>
    visitor.page
      .getByRole('table', { name: 'Result' })
      .locator(`[aria-rowindex="${number + 1}"] [role="cell"]`);
  const address = (sql: string) => `db/market/sql?sql=${encodeURIComponent(sql)}`;

  it('[console 2.3, 1.4] runs statements, and shows rows with their types and the time', async () => {
    const visitor = await stage.visit('db/market/sql');
    const { page } = visitor;
    await page.getByText('Nothing has run yet').waitFor();
    await visitor.shoot('sql-empty');
    await write(visitor, 'SELECT id, cents FROM purchase WHERE id <= 3 ORDER BY id');
    await run(visitor);
    await expect.poll(() => row(visitor, 3).allInnerTexts()).toEqual(['3', '111']);
    await page.getByText(/^3 rows, [\d.]+ (µs|ms)$/).waitFor();
    await page.getByRole('columnheader', { name: 'cents u32' }).waitFor();
    const inAddress = () => new URL(page.url()).searchParams.get('sql') ?? '';
    await expect.poll(inAddress).toContain('WHERE id <= 3');
    await visitor.shoot('sql-rows');
    await visitor.expectAccessible();
    await write(visitor, 'SELECT 1 AS one;\nSELECT 2 AS two;');
    await page.keyboard.press('Control+Home');
    await run(visitor);
    await page.getByRole('columnheader', { name: 'one' }).waitFor();
    await page.keyboard.press('Control+End');
    await page.keyboard.press('Shift+Home');
    await run(visitor);
    await page.getByRole('columnheader', { name: 'two' }).waitFor();
    visitor.expectNoTroubles();
  });

  it('[console 2.3, 1.3] shows a statement of an address, and does not run it', async () => {
    const visitor = await stage.visit(address('DELETE FROM ledger_note'));
    const { page } = visitor;
    await expect.poll(() => editor(visitor).innerText()).toContain('DELETE FROM ledger_note');
    await page.getByText('Nothing has run yet').waitFor();
    await page.reload();
    await expect.poll(() => editor(visitor).innerText()).toContain('DELETE FROM ledger_note');
    await visitor.untilLoaded();
    const count = 'SELECT COUNT(*) AS n FROM ledger_note';
    const answer = await stage.send('POST', '/v1/database/market/sql', count);
    expect(JSON.parse(answer)[0].rows).toEqual([[1]]);
    await editor(visitor).click();
    await run(visitor);
    await page.getByText(/0 inserted, 0 updated, 1 deleted/).waitFor();
    visitor.expectNoTroubles();
  });

  it('[console 2.3] underlines what is wrong, where it is', async () => {
    const visitor = await stage.visit(address('SELECT id,\n  nope FROM purchase'));
    visitor.expected.push(/status of 400/);
    await editor(visitor).click();
    await run(visitor);
    await visitor.page.getByText('`nope` is not in scope').first().waitFor();
    const marked = visitor.page.locator('.cm-lintRange-error');
    await expect.poll(() => marked.allInnerTexts()).toEqual(['nope']);
    await visitor.shoot('sql-error');
    await visitor.expectAccessible();
    visitor.expectNoTroubles();
  });

  it('[console 2.3] asks for the values of parameters', async () => {
    const sql = "SELECT id FROM purchase WHERE id > $1 AND note = $2 AND note <> ':no' ORDER BY id";
    const visitor = await stage.visit(address(sql));
    const form = visitor.page.getByRole('form', { name: 'Parameters' });
    await form.getByLabel('$1').fill('25');
    await form.getByLabel('$2').fill('gift wrapped');
    expect(await form.getByRole('textbox').count()).toBe(2);
    await visitor.page.getByRole('button', { name: 'Run', exact: true }).click();
    await expect.poll(() => row(visitor, 1).allInnerTexts()).toEqual(['30']);
    visitor.expectNoTroubles();
  });

  it('[console 2.3] completes tables, columns and functions', async () => {
    const visitor = await stage.visit('db/market/sql');
    await editor(visitor).click();
    const offered = visitor.page.locator('.cm-tooltip-autocomplete li');
    await visitor.page.keyboard.type('SELECT cust');
    await offered.filter({ hasText: 'customer_id' }).first().waitFor();
    await visitor.page.keyboard.press('Escape');
    await write(visitor, 'SELECT ');
    await visitor.page.keyboard.type('starts_w');
    await offered.filter({ hasText: 'starts_with' }).first().waitFor();
    await visitor.page.keyboard.press('Escape');
    await write(visitor, 'SELECT * FROM ');
    await visitor.page.keyboard.type('purc');
    await offered.filter({ hasText: 'purchase' }).first().waitFor();
    await visitor.shoot('sql-completion');
    await visitor.page.keyboard.press('Enter');
    expect(await editor(visitor).innerText()).toContain('SELECT * FROM purchase');
    visitor.expectNoTroubles();
  });

  it('[console 2.3, 1.4] follows changes while it is live', async () => {
    const sql = 'SELECT id, cents FROM purchase WHERE id = 7';
    const visitor = await stage.visit(address(sql));
    await visitor.page.getByRole('switch', { name: 'Live' }).check();
    await editor(visitor).click();
    await run(visitor);
    const [before] = await row(visitor, 1).nth(1).allInnerTexts();
    await visitor.page.getByText('Live', { exact: true }).nth(1).waitFor();
    await stage.call('market', 'bump', [7, 1]);
    await expect.poll(() => row(visitor, 1).allInnerTexts()).toEqual(['7', '260']);
    expect(before ?? '259').toBe('259');
    visitor.expectNoTroubles();
  });

  it('[console 2.3] shows a plan as a tree, with rows and times', async () => {
    const visitor = await stage.visit(address('SELECT * FROM purchase WHERE cents > 50'));
    await visitor.page.getByRole('button', { name: 'Explain' }).click();
    const plan = visitor.page.getByRole('region', { name: 'Plan' });
    await plan.getByText(/scan/i).first().waitFor();
    await plan
      .getByText(/\d (µs|ms)$/)
      .first()
      .waitFor();
    await visitor.shoot('sql-plan');
    await visitor.expectAccessible();
    visitor.expectNoTroubles();
  });

  it('[console 2.3] draws a result as lines and as bars, and exports it', async () => {
    const sql = 'SELECT at, cents FROM purchase ORDER BY id LIMIT 60';
    const visitor = await stage.visit(address(sql));
    const { page } = visitor;
    await page.getByRole('button', { name: 'Run', exact: true }).click();
    await page.getByRole('tab', { name: 'Chart' }).click();
    await page.getByRole('combobox', { name: 'X axis' }).selectOption('at');
    await page.getByRole('img', { name: 'cents by at, 60 points' }).locator('canvas').waitFor();
    await visitor.shoot('sql-chart');
    await page.getByRole('combobox', { name: 'Form', exact: true }).selectOption('bar');
    await page.getByRole('img', { name: 'cents by at, 60 points' }).locator('canvas').waitFor();
    await visitor.expectAccessible();
    await page.getByRole('button', { name: 'Export' }).click();
    const file = page.waitForEvent('download');
    await page.getByRole('menuitem', { name: 'Save as CSV' }).click();
    expect((await file).suggestedFilename()).toBe('result.csv');
    visitor.expectNoTroubles();
  });

  it('[console 2.3] keeps what was run and what was given a name, and exports them', async () => {
    const visitor = await stage.visit(address('SELECT 4 AS four'));
    const { page } = visitor;
    await page.getByRole('button', { name: 'Run', exact: true }).click();
    await page.getByRole('columnheader', { name: 'four' }).waitFor();
    await page.getByRole('button', { name: 'Statements' }).click();
    const panel = page.getByRole('dialog', { name: 'Statements' });
    await panel.getByLabel('Name').fill('My four');
    await panel.getByRole('button', { name: 'Save' }).click();
    await panel.getByText('My four').waitFor();
    await visitor.shoot('sql-saved');
    await visitor.expectAccessible();
    const file = page.waitForEvent('download');
    await panel.getByRole('button', { name: 'Export' }).click();
    expect((await file).suggestedFilename()).toBe('market-sql.json');
    await page.reload();
    await page.getByRole('button', { name: 'Statements' }).click();
    await panel.getByRole('tab', { name: 'History' }).click();
    await panel.getByText('SELECT 4 AS four').click();
    await expect.poll(() => editor(visitor).innerText()).toContain('SELECT 4 AS four');
    visitor.expectNoTroubles();
  });

  it('[console 2.3] says why a stranger may not read or write', async () => {
    const visitor = await stage.visit(address('SELECT * FROM ledger_note'), {
      token: await stage.strangerToken(),
    });
    visitor.expected.push(/status of 40[03]/);
    await visitor.page.getByRole('button', { name: 'Run', exact: true }).click();
    await visitor.page.getByText('no such table: `ledger_note`').first().waitFor();
    await write(visitor, "INSERT INTO empty (id, text) VALUES (1, 'x')");
    await run(visitor);
    await visitor.page.getByText('is not authorized to run SQL DML statements').first().waitFor();
    visitor.expectNoTroubles();
  });
});

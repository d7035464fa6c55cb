import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { ConsoleStage, hasChromium, stageMillis, type Visitor } from './console-support.ts';
import { marketModule } from './market-module.ts';

describe.skipIf(!hasChromium)('the page of data', () => {
  let stage: ConsoleStage;

  beforeAll(async () => {
    stage = await ConsoleStage.open();
    await stage.publish('market', marketModule);
    for (const name of ['Ada', 'Grace', 'Edsger']) {
      await stage.call('market', 'hire', [name, `${name}@example.com`]);
    }
    await stage.call('market', 'fill', [1, 2_000]);
    await stage.call('market', 'add_oddity', [1, 'round']);
    await stage.call('market', 'note_down', [1, 'for the owner alone']);
  }, stageMillis);

  afterAll(async () => {
    await stage?.close();
  });

  const grid = (visitor: Visitor, table: string) =>
    visitor.page.getByRole('grid', { name: `Rows of ${table}` });
  const cells = (visitor: Visitor, row: number) =>
    visitor.page.locator(`[role="row"][aria-rowindex="${row + 1}"] [role="gridcell"]`);
  const texts = (visitor: Visitor, row: number) => cells(visitor, row).allInnerTexts();

  it('[console 2.2] shows rows with the types of columns, and follows what changes', async () => {
    const visitor = await stage.visit('db/market/data?table=purchase');
    await expect.poll(() => texts(visitor, 1)).toEqual(expect.arrayContaining(['1', '37']));
    await visitor.page.getByText('2,000 rows').waitFor();
    const head = await grid(visitor, 'purchase').getByRole('columnheader').allInnerTexts();
    expect(head.map((text) => text.replace(/\s+/g, ' '))).toEqual(
      expect.arrayContaining(['id u64', 'customer_id u32', 'status enum', 'at timestamp']),
    );
    await visitor.page.getByText('Live', { exact: true }).nth(1).waitFor();
    await stage.call('market', 'bump', [1, 1]);
    await expect.poll(() => texts(visitor, 1)).toEqual(expect.arrayContaining(['1', '38']));
    await visitor.shoot('data-purchase');
    await visitor.expectAccessible();
    visitor.expectNoTroubles();
  });

  it('[console 2.2, 1.4] keeps filters, order and hidden columns in an address', async () => {
    const visitor = await stage.visit('db/market/data?table=purchase');
    await visitor.page.getByText('2,000 rows').waitFor();
    await visitor.page.getByRole('button', { name: 'Filter', exact: true }).click();
    await visitor.page.getByRole('combobox', { name: 'Column' }).selectOption('cents');
    await visitor.page.getByLabel('Condition').selectOption('>=');
    await visitor.page.getByLabel('Value').fill('many');
    await visitor.page.getByRole('button', { name: 'Add filter' }).click();
    await visitor.page.getByText('Write a whole number.').waitFor();
    await visitor.page.getByLabel('Value').fill('9990');
    await visitor.page.getByRole('button', { name: 'Add filter' }).click();
    await visitor.page.getByText('cents >= 9990', { exact: true }).waitFor();
    await visitor.page.getByRole('button', { name: /^cents/ }).click();
    await visitor.page.getByRole('button', { name: /^cents/ }).click();
    const cents = Array.from({ length: 2_000 }, (_, at) => ((at + 1) * 37) % 10_000);
    const most = String(Math.max(...cents));
    await expect.poll(() => texts(visitor, 1)).toEqual(expect.arrayContaining([most]));
    await visitor.page.getByRole('button', { name: 'Show and hide columns' }).click();
    await visitor.page.getByRole('menuitemcheckbox', { name: 'note' }).click();
    await visitor.page.keyboard.press('Escape');
    await grid(visitor, 'purchase').getByRole('columnheader', { name: /^note/ }).waitFor({
      state: 'detached',
    });
    const other = await stage.visit(new URL(visitor.page.url()).href.split('/console/')[1] ?? '');
    await other.page.getByText('cents >= 9990', { exact: true }).waitFor();
    await expect.poll(() => texts(other, 1)).toEqual(await texts(visitor, 1));
    expect(await texts(other, 1)).not.toContain('gift wrapped');
    await visitor.page.getByRole('button', { name: 'Remove this filter' }).click();
    await visitor.page.getByText('2,000 rows').waitFor();
    await visitor.page.goBack();
    await visitor.page.getByText('cents >= 9990', { exact: true }).waitFor();
    for (const each of [visitor, other]) each.expectNoTroubles();
  });

  it('[console 2.2] jumps to a row by its key, opens it, and follows references', async () => {
    const visitor = await stage.visit('db/market/data?table=purchase');
    await visitor.page.getByLabel('Jump to id').fill('1802');
    await visitor.page.keyboard.press('Enter');
    await expect.poll(() => texts(visitor, 1802)).toEqual(expect.arrayContaining(['1802']));
    await visitor.page.locator('[aria-rowindex="1803"] [role="rowheader"]').click();
    const panel = visitor.page.getByRole('dialog', { name: 'purchase 1802' });
    await panel.getByText('"none"').or(panel.getByText('shipped')).first().waitFor();
    expect(visitor.page.url()).toContain('row=1802');
    await visitor.shoot('data-row');
    await visitor.expectAccessible();
    await panel.getByRole('link', { name: 'Go to customer' }).click();
    await visitor.page.getByText('id = 3', { exact: true }).waitFor();
    await expect.poll(() => texts(visitor, 1)).toEqual(expect.arrayContaining(['3', 'Edsger']));
    await visitor.go('db/market/data?table=purchase&row=99999');
    await visitor.page.getByText('This row does not exist').waitFor();
    visitor.expectNoTroubles();
  });

  it('[console 2.2] copies chosen rows as JSON, CSV and SQL', async () => {
    const visitor = await stage.visit('db/market/data?table=customer');
    await expect.poll(() => texts(visitor, 2)).toEqual(expect.arrayContaining(['Grace']));
    await cells(visitor, 1).nth(1).click();
    await visitor.page.keyboard.press('Shift+ArrowDown');
    const copied = async (form: string) => {
      await visitor.page.getByRole('button', { name: 'Copy rows' }).click();
      await visitor.page.getByRole('menuitem', { name: `Copy as ${form}` }).click();
      await visitor.page.getByText('2 rows copied').last().waitFor();
      return visitor.page.evaluate(() => navigator.clipboard.readText());
    };
    expect(JSON.parse(await copied('JSON'))).toMatchObject([{ name: 'Ada' }, { name: 'Grace' }]);
    expect(await copied('CSV')).toMatch(/^id,name,email,joined\r\n1,Ada,Ada@example.com,\d{4}-/);
    expect(await copied('SQL')).toMatch(
      /^INSERT INTO customer \(id, name, email, joined\) VALUES \(1, 'Ada', 'Ada@example.com', TIME/,
    );
    visitor.expectNoTroubles();
  });

  it('[console 2.2] edits, inserts and deletes as one change set, tried and then applied', async () => {
    const visitor = await stage.visit('db/market/data?table=customer');
    const { page } = visitor;
    await expect.poll(() => texts(visitor, 3)).toEqual(expect.arrayContaining(['Edsger']));
    await cells(visitor, 1).nth(1).dblclick();
    await page.getByLabel('name, string').fill("Ada O'Lovelace");
    await page.keyboard.press('Enter');
    await page.getByText('1 change not applied').waitFor();
    await cells(visitor, 3).nth(1).click();
    await page.keyboard.press('Delete');
    await page.getByRole('button', { name: 'Insert' }).click();
    const form = page.getByRole('dialog', { name: 'New row of customer' });
    await form.getByLabel('joined').fill('yesterday');
    await form.getByLabel('name').fill('Barbara');
    await form.getByLabel('email').fill('barbara@example.com');
    await form.getByRole('button', { name: 'Add to the changes' }).click();
    await form.getByText('Write a time, such as').waitFor();
    await form.getByLabel('joined').fill('2026-02-17T10:30:45Z');
    await form.getByRole('button', { name: 'Add to the changes' }).click();
    await page.getByText('3 changes not applied').waitFor();
    await visitor.shoot('data-changes');
    await page.getByRole('button', { name: 'Review' }).click();
    const review = page.getByRole('dialog', { name: 'Changes of customer' });
    await review.getByText("UPDATE customer SET name = 'Ada O''Lovelace' WHERE id = 1;").waitFor();
    await review.getByText('DELETE FROM customer WHERE id = 3;').waitFor();
    await review.getByText('1 inserted').waitFor();
    await review.getByText('1 updated').waitFor();
    await review.getByText('1 deleted').waitFor();
    await visitor.shoot('data-review');
    await visitor.expectAccessible();
    await review.getByRole('button', { name: 'Apply exactly this' }).click();
    await page.getByText('The changes are applied').waitFor();
    await expect.poll(() => texts(visitor, 1)).toEqual(expect.arrayContaining(["Ada O'Lovelace"]));
    await expect.poll(() => texts(visitor, 3)).toEqual(expect.arrayContaining(['Barbara']));
    visitor.expectNoTroubles();
  });

  it('[console 2.2] shows what is wrong with changes, and drops them', async () => {
    const visitor = await stage.visit('db/market/data?table=customer');
    const { page } = visitor;
    await expect.poll(() => texts(visitor, 2)).toEqual(expect.arrayContaining(['Grace']));
    await cells(visitor, 2).nth(2).dblclick();
    await page.getByLabel('email, string').fill('Ada@example.com');
    await page.keyboard.press('Enter');
    await page.getByRole('button', { name: 'Review' }).click();
    await page.getByRole('dialog').getByRole('alert').waitFor();
    const apply = page.getByRole('button', { name: 'Apply exactly this' });
    expect(await apply.getAttribute('aria-disabled')).toBe('true');
    await page.getByRole('button', { name: 'Go on editing' }).click();
    await page.getByRole('button', { name: 'Discard' }).click();
    await page.getByText('not applied').waitFor({ state: 'detached' });
    expect(await texts(visitor, 2)).toContain('Grace@example.com');
    visitor.expectNoTroubles();
  });

  it('[console 2.2] keeps edits while one looks elsewhere, and asks before they are lost', async () => {
    const visitor = await stage.visit('db/market/data?table=customer');
    const { page } = visitor;
    await expect.poll(() => texts(visitor, 2)).toEqual(expect.arrayContaining(['Grace']));
    await cells(visitor, 2).nth(1).dblclick();
    await page.getByLabel('name, string').fill('Grace Hopper');
    await page.keyboard.press('Enter');
    await page.getByText('1 change not applied').waitFor();
    await page.getByRole('link', { name: 'purchase' }).click();
    await grid(visitor, 'purchase').waitFor();
    expect(await page.getByText('1 change not applied').count()).toBe(0);
    await page.getByRole('link', { name: 'Schema' }).click();
    await page.getByRole('heading', { name: 'Schema' }).waitFor();
    await page.goBack();
    await page.getByRole('link', { name: /customer.*1 not applied/s }).click();
    await page.getByText('1 change not applied').waitFor();
    await expect.poll(() => texts(visitor, 2)).toContain('Grace Hopper');
    const asked = page.waitForEvent('dialog');
    void page.reload().catch(() => undefined);
    const dialog = await asked;
    expect(dialog.type()).toBe('beforeunload');
    await dialog.dismiss();
    await page.getByText('1 change not applied').waitFor();
    await page.getByRole('button', { name: 'Discard' }).click();
    await page.getByText('not applied').waitFor({ state: 'detached' });
    await page.reload();
    await expect.poll(() => texts(visitor, 2)).toEqual(expect.arrayContaining(['Grace']));
    visitor.expectNoTroubles();
  });

  it('[console 2.2] shows views, system tables and every kind of value', async () => {
    const visitor = await stage.visit('db/market/data?table=oddity');
    await expect
      .poll(() => texts(visitor, 1))
      .toEqual(
        expect.arrayContaining([
          'true',
          '0.1',
          'text(round)',
          '{"x":3,"y":-4}',
          '"round"',
          '1 h 30 min',
        ]),
      );
    await visitor.shoot('data-oddity');
    await visitor.go('db/market/data?table=open');
    await expect.poll(() => texts(visitor, 1)).toEqual(expect.arrayContaining(['1']));
    const insert = visitor.page.getByRole('button', { name: 'Insert' });
    expect(await insert.getAttribute('title')).toBe('Views cannot be written.');
    await visitor.go('db/market/data?table=st_table');
    await expect
      .poll(() => visitor.page.getByRole('gridcell', { name: 'purchase' }).count())
      .toBe(1);
    visitor.expectNoTroubles();
  });

  it('[console 2.2] shows values whole in the open row, and writes variants without a value', async () => {
    const visitor = await stage.visit('db/market/data?table=oddity&row=1');
    const { page } = visitor;
    const panel = page.getByRole('dialog', { name: 'oddity 1' });
    const field = (name: string) => panel.getByRole('region', { name, exact: true });
    await field('pause').getByText('1 h 30 min (5400000000 µs)').waitFor();
    await field('bytes').getByText('0x726f756e64').waitFor();
    await visitor.go('db/market/data?table=oddity');
    await expect.poll(() => texts(visitor, 1)).toContain('text(round)');
    await page.getByRole('gridcell', { name: 'text(round)' }).dblclick();
    await page.getByLabel('shape, union').selectOption('nothing');
    await page.keyboard.press('Enter');
    await page.getByRole('button', { name: 'Review' }).click();
    const review = page.getByRole('dialog', { name: 'Changes of oddity' });
    await review.getByText("UPDATE oddity SET shape = 'nothing' WHERE id = 1;").waitFor();
    await review.getByText('1 updated').waitFor();
    await page.getByRole('button', { name: 'Go on editing' }).click();
    await page.getByRole('button', { name: 'Discard' }).click();
    visitor.expectNoTroubles();
  });

  it('[console 2.2] says what is empty, unknown and forbidden', async () => {
    const owner = await stage.visit('db/market/data?table=empty');
    await owner.page.getByText('empty has no rows').waitFor();
    await owner.shoot('data-empty');
    await owner.expectAccessible();
    await owner.go('db/market/data?table=gone');
    await owner.page.getByText('Table gone does not exist').waitFor();
    await owner.go('db/market/data?table=ledger_note');
    await expect.poll(() => texts(owner, 1)).toEqual(['1', 'for the owner alone']);
    owner.expectNoTroubles();
    const stranger = await stage.visit('db/market/data?table=ledger_note', {
      token: await stage.strangerToken(),
    });
    await stranger.page.getByText('ledger_note is private').waitFor();
    const why = stranger.page.getByText('Needs the role reader; you are a stranger here.');
    await why.first().waitFor();
    await stranger.shoot('data-forbidden');
    await stranger.expectAccessible();
    await stranger.go('db/market/data?table=customer');
    await expect.poll(() => texts(stranger, 2)).toEqual(expect.arrayContaining(['Grace']));
    const insert = stranger.page.getByRole('button', { name: 'Insert' });
    expect(await insert.getAttribute('title')).toContain('Needs the role admin');
    stranger.expected.push(/status of 40[03]/);
    await stranger.go('db/nowhere/data');
    stranger.expected.push(/status of 404/);
    await stranger.page.getByText('Not found', { exact: true }).waitFor();
  });

  it('[console 2.2] says that it loads, and what went wrong, and tries again', async () => {
    const visitor = await stage.visit('db/market/data?table=customer');
    const { page } = visitor;
    await expect.poll(() => texts(visitor, 2)).toEqual(expect.arrayContaining(['Grace']));
    visitor.expected.push(/ERR_FAILED/);
    let release = () => {};
    const held = new Promise<void>((resolve) => {
      release = resolve;
    });
    await page.route('**/sql?*', async (route) => {
      await held;
      await route.abort();
    });
    await page.getByRole('link', { name: 'purchase' }).click();
    await page.getByRole('status', { name: 'Loading purchase' }).waitFor();
    await visitor.shoot('data-loading');
    await visitor.expectAccessible();
    release();
    await page.getByText('The service does not answer', { exact: true }).waitFor();
    await visitor.shoot('data-failed');
    await visitor.expectAccessible();
    // It tries again by itself, and when somebody presses the button.
    await page.unroute('**/sql?*');
    await page.getByText('2,000 rows').waitFor();
    visitor.expectNoTroubles();
  });

  it('[console 2.2] resizes columns by mouse and by keyboard', async () => {
    const visitor = await stage.visit('db/market/data?table=customer');
    const { page } = visitor;
    const head = page.getByRole('columnheader', { name: /^name/ });
    const width = async () => Math.round((await head.boundingBox())?.width ?? 0);
    await expect.poll(() => texts(visitor, 2)).toEqual(expect.arrayContaining(['Grace']));
    const before = await width();
    const box = await head.boundingBox();
    const edge = (box?.x ?? 0) + (box?.width ?? 0);
    await page.mouse.move(edge, (box?.y ?? 0) + 10);
    await page.mouse.down();
    await page.mouse.move(edge + 80, (box?.y ?? 0) + 10);
    await page.mouse.up();
    await expect.poll(width).toBe(before + 80);
    await head.getByRole('button').focus();
    await page.keyboard.press('Alt+ArrowLeft');
    await expect.poll(width).toBe(before + 64);
    visitor.expectNoTroubles();
  });
});

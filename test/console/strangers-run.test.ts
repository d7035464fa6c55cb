import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { ConsoleStage, hasChromium, stageMillis, type Visitor } from './console-support.ts';
import { marketModule } from './market-module.ts';

describe.skipIf(!hasChromium)("a stranger's run", () => {
  let stage: ConsoleStage;

  beforeAll(async () => {
    stage = await ConsoleStage.open();
    await stage.sandbox.ok(['login', '--token', stage.ownerToken]);
    await stage.publish('market', marketModule);
    await stage.call('market', 'fill', [1, 200]);
  }, stageMillis);

  afterAll(async () => {
    await stage?.close();
  });

  /** What the command prints is the address; its code counts once. */
  async function placeOfCommand(): Promise<string> {
    const printed = await stage.sandbox.ok(['console', 'market', '--no-browser']);
    const address = /\/console\/(\S+)/.exec(printed)?.[1];
    if (address === undefined) throw new Error(`no address is printed: ${printed}`);
    return address;
  }

  /** A code that this window did not ask for signs nobody in before an answer. */
  async function answerYes({ page }: Visitor): Promise<void> {
    const question = page.getByRole('dialog', { name: /^Sign in as c200.*\?$/ });
    await question.getByRole('button', { name: 'Sign in', exact: true }).click();
  }

  const cell = ({ page }: Visitor, text: string) => {
    return page.getByRole('gridcell', { name: text, exact: true });
  };

  it(
    '[console 4.4] signs in, finds a wrong row and who wrote it, repairs it, and all see it',
    async () => {
      // Somebody else writes a row that is wrong: purchase 7 costs a cent more than its neighbours say.
      const culprit = await stage.strangerToken();
      const claims = String(Buffer.from(culprit.split('.')[1] ?? '', 'base64url'));
      const identity = String(JSON.parse(claims).hex_identity);
      await stage.callAs(culprit, 'market', 'bump', [7, 1]);

      // Sign in, by the code that the command prints.
      const first = await stage.visit(await placeOfCommand(), { token: null });
      await answerYes(first);
      await first.page.getByRole('link', { name: 'purchase' }).click();
      await first.page.getByText('200 rows').waitFor();
      const second = await stage.visit(await placeOfCommand(), { token: null });
      await answerYes(second);
      await second.page.getByRole('link', { name: 'purchase' }).click();
      await cell(second, '260').waitFor();

      // Find the faulty row: all others have 37 cents for each of their number.
      await first.page.getByRole('button', { name: 'Filter', exact: true }).click();
      await first.page.getByRole('combobox', { name: 'Column' }).selectOption('cents');
      await first.page.getByLabel('Value').fill('260');
      await first.page.getByRole('button', { name: 'Add filter' }).click();
      await first.page.getByText('1 row', { exact: true }).waitFor();
      await cell(first, '260').waitFor();

      // Trace who wrote it and when.
      await first.page.getByRole('rowheader').first().click();
      const row = first.page.getByRole('dialog', { name: 'purchase 7' });
      await row.getByRole('tab', { name: 'History' }).click();
      const changes = row.getByRole('list', { name: 'Changes of this row' }).locator('> li');
      await expect.poll(() => changes.count()).toBe(2);
      const [newest, oldest] = [changes.nth(0), changes.nth(1)];
      expect(await newest.innerText()).toMatch(
        /updated[\s\S]*bump[\s\S]*cents[\s\S]*259[\s\S]*260/,
      );
      expect(await newest.getByTitle(identity).count()).toBe(1);
      const wrote = await newest.locator('time').getAttribute('datetime');
      expect(Math.abs(Date.parse(wrote ?? '') - Date.now())).toBeLessThan(stageMillis);
      expect(await oldest.innerText()).toMatch(/inserted[\s\S]*fill/);
      expect(await oldest.getByTitle(stage.ownerIdentity).count()).toBeGreaterThan(0);
      expect(new URL(first.page.url()).searchParams.get('show')).toBe('history');
      await first.shoot('stranger-history');
      await first.expectAccessible();
      await first.page.keyboard.press('Escape');

      // Preview a repair. Nothing has happened yet.
      await cell(first, '260').dblclick();
      await first.page.getByLabel('cents, u32').fill('259');
      await first.page.keyboard.press('Enter');
      await first.page.getByRole('button', { name: 'Review' }).click();
      const review = first.page.getByRole('dialog', { name: 'Changes of purchase' });
      await review.getByText('UPDATE purchase SET cents = 259 WHERE id = 7;').waitFor();
      await review.getByText('1 updated').waitFor();
      expect(await cell(second, '260').count()).toBe(1);
      await second.page.getByTitle('Rows follow a subscription to').waitFor();

      // Apply exactly that, and see it in the second window, which nobody touches.
      await review.getByRole('button', { name: 'Apply exactly this' }).click();
      await first.page.getByText('The change is applied').waitFor();
      await cell(second, '259').waitFor();
      await cell(second, '260').waitFor({ state: 'detached' });

      // The repair stands in the history as well.
      await second.page.locator('[aria-rowindex="8"]').getByRole('rowheader').click();
      const mended = second.page.getByRole('dialog', { name: 'purchase 7' });
      await mended.getByRole('tab', { name: 'History' }).click();
      await mended.getByText('by a statement').waitFor();
      await second.shoot('stranger-mended');
      for (const visitor of [first, second]) visitor.expectNoTroubles();
    },
    stageMillis,
  );
});

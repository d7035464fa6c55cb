import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { ConsoleStage, forms, hasChromium, type Visitor } from './console-support.ts';
import { workshopModule } from './workshop-module.ts';

const hostile = '<img src=x onerror="globalThis.wasRun=1"><script>globalThis.wasRun=1</script>';

describe.skipIf(!hasChromium)('the page Logs', () => {
  let stage: ConsoleStage;

  beforeAll(async () => {
    stage = await ConsoleStage.open();
    await stage.publish('workshop', workshopModule);
    for (const [level, text] of [
      ['info', 'the quick fox'],
      ['debug', 'a detail'],
      ['warn', 'it gets warm'],
      ['error', 'it burns'],
    ]) {
      await stage.call('workshop', 'say', [level, text]);
    }
    await stage.call('workshop', 'add_job', ['paint', 'open']);
  }, 600_000);

  afterAll(async () => {
    await stage?.close();
  });

  const lines = ({ page }: Visitor) =>
    page.getByRole('region', { name: 'Log' }).getByRole('listitem');

  async function opened(query = '', options: Parameters<ConsoleStage['visit']>[1] = {}) {
    const visitor = await stage.visit(`db/workshop/logs${query}`, options);
    visitor.page.setDefaultTimeout(60_000);
    await visitor.page.getByRole('toolbar').waitFor();
    return visitor;
  }

  it('[console 2.6] shows what was logged, and follows what comes', async () => {
    const visitor = await opened();
    await lines(visitor).filter({ hasText: 'it burns' }).waitFor();
    await visitor.page.getByText('following').waitFor();
    await stage.call('workshop', 'say', ['info', 'that just came']);
    await lines(visitor).filter({ hasText: 'that just came' }).waitFor();
    await visitor.shoot('logs-wide-light');
    await visitor.expectAccessible();
    visitor.expectNoTroubles();
  });

  it('[console 2.6] pauses, says how much came meanwhile, and goes on', async () => {
    const visitor = await opened();
    const { page } = visitor;
    await page.getByText('following').waitFor();
    await lines(visitor).filter({ hasText: 'it burns' }).waitFor();
    await page.getByRole('button', { name: 'Pause' }).click();
    await stage.call('workshop', 'say', ['info', 'while it was paused']);
    await page.getByText('1 more').waitFor();
    expect(await lines(visitor).filter({ hasText: 'while it was paused' }).count()).toBe(0);
    await page.getByRole('button', { name: 'Go on' }).click();
    await lines(visitor).filter({ hasText: 'while it was paused' }).waitFor();
    visitor.expectNoTroubles();
  });

  it('[console 2.6] narrows by level, function and text, all of it in the address', async () => {
    const visitor = await opened('?level=warn');
    const { page } = visitor;
    await lines(visitor).filter({ hasText: 'it gets warm' }).waitFor();
    expect(await lines(visitor).count()).toBe(2);
    await page.getByLabel('Level').selectOption('');
    await page.getByLabel('Function').selectOption('add_job');
    await expect.poll(() => lines(visitor).count()).toBe(1);
    await lines(visitor).filter({ hasText: 'adding paint' }).waitFor();
    await page.getByLabel('Function').selectOption('');
    await page.getByLabel('Find in the log').fill('QUICK');
    await expect.poll(() => lines(visitor).count()).toBe(1);
    expect(page.url()).toContain('find=QUICK');
    await page.reload();
    await lines(visitor).filter({ hasText: 'the quick fox' }).waitFor();
    expect(await lines(visitor).count()).toBe(1);
    await page.getByLabel('Find in the log').fill('no such thing');
    await page.getByText('No line is like this').waitFor();
    await page.getByRole('button', { name: 'Show all lines' }).click();
    await lines(visitor).filter({ hasText: 'it burns' }).waitFor();
    visitor.expectNoTroubles();
  });

  it('[console 2.6] copies what is shown as NDJSON', async () => {
    const visitor = await opened('?find=it%20gets');
    const { page } = visitor;
    await lines(visitor).filter({ hasText: 'it gets warm' }).waitFor();
    await page.getByRole('button', { name: 'More about the log' }).click();
    await page.getByRole('menuitem', { name: 'Copy as NDJSON' }).click();
    await page.getByText('Copied 1 lines as NDJSON').waitFor();
    const copied = await page.evaluate(() => navigator.clipboard.readText());
    const [line = '', rest] = copied.split('\n');
    expect(JSON.parse(line)).toMatchObject({ level: 'Warn', message: 'it gets warm' });
    expect(rest).toBe('');
    visitor.expectNoTroubles();
  });

  it('[console 2.6] leads from a line and from a trace to the source', async () => {
    await stage.call('workshop', 'crash', []).catch(() => undefined);
    const visitor = await opened('?level=panic');
    const { page } = visitor;
    const crash = lines(visitor).filter({ hasText: 'it broke' }).first();
    await crash
      .getByRole('button', { name: /index\.ts:\d+/ })
      .first()
      .click();
    const marked = page.getByRole('dialog').locator('[aria-current]');
    await expect.poll(() => marked.textContent()).toContain('throw new TypeError');
    await page.keyboard.press('Escape');
    await page.getByLabel('Level').selectOption('');
    const line = lines(visitor).filter({ hasText: 'it burns' });
    await line.getByRole('button', { name: /index\.ts:\d+/ }).click();
    await expect.poll(() => marked.textContent()).toContain('console.error(text)');
    visitor.expectNoTroubles();
  });

  it('[console 2.6] follows again when the service is back', async () => {
    const visitor = await opened();
    const { page } = visitor;
    await lines(visitor).filter({ hasText: 'it burns' }).waitFor();
    await stage.service.stop();
    await page.getByText('connecting again').waitFor();
    stage.service = await stage.sandbox.start();
    await page.getByText('following').waitFor();
    await stage.call('workshop', 'say', ['info', 'after the restart']);
    await lines(visitor).filter({ hasText: 'after the restart' }).waitFor();
    visitor.expectNoTroubles();
  });

  it('[console 2.6] keeps only the lines in view in the page, of many', async () => {
    for (let round = 0; round < 300; round += 1) {
      await stage.call('workshop', 'say', ['info', `line ${round}`]);
    }
    const visitor = await opened();
    await lines(visitor).filter({ hasText: 'line 299' }).waitFor();
    expect(await lines(visitor).count()).toBeLessThan(100);
    // One who has scrolled away stays where they are, and can go back to the end.
    const region = visitor.page.getByRole('region', { name: 'Log' });
    await region.evaluate((element) => element.scrollTo(0, 0));
    await lines(visitor).filter({ hasText: 'Creating table' }).first().waitFor();
    await stage.call('workshop', 'say', ['info', 'the very newest']);
    await visitor.page.getByRole('button', { name: 'To the newest' }).click();
    await lines(visitor).filter({ hasText: 'the very newest' }).waitFor();
    visitor.expectNoTroubles();
  });

  it('[console 2.6] says that nothing was logged, and who may not see it', async () => {
    const visitor = await stage.visit('db/workshop/logs', { token: await stage.strangerToken() });
    visitor.expected.push(/403/);
    await visitor.page.getByText('You may not see this').waitFor();
    await visitor.expectAccessible();
    visitor.expectNoTroubles();
    const mine = await opened();
    await lines(mine).first().waitFor();
    await mine.page.getByRole('button', { name: 'More about the log' }).click();
    await mine.page.getByRole('menuitem', { name: 'Clear what is shown' }).click();
    await mine.page.getByText('Nothing was logged yet').waitFor();
    mine.expectNoTroubles();
  });

  it('[console 2.6] shows hostile lines as text, also in a narrow window', async () => {
    await stage.call('workshop', 'say', ['error', hostile]);
    const visitor = await opened('', { form: forms[3] });
    await lines(visitor).filter({ hasText: hostile }).waitFor();
    expect(await visitor.page.evaluate(() => 'wasRun' in globalThis)).toBe(false);
    await visitor.shoot('logs-narrow-dark');
    await visitor.expectNoOverflow();
    await visitor.expectAccessible();
    visitor.expectNoTroubles();
  });
});

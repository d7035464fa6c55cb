import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { ConsoleStage, forms, hasChromium, type Visitor } from './console-support.ts';
import { workshopModule } from './workshop-module.ts';

const hostile = '<img src=x onerror="globalThis.wasRun=1"><script>globalThis.wasRun=1</script>';

describe.skipIf(!hasChromium)('the page Functions', () => {
  let stage: ConsoleStage;

  beforeAll(async () => {
    stage = await ConsoleStage.open();
    await stage.publish('workshop', workshopModule);
  }, 600_000);

  afterAll(async () => {
    await stage?.close();
  });

  async function opened(query = '', options: Parameters<ConsoleStage['visit']>[1] = {}) {
    const visitor = await stage.visit(`db/workshop/functions${query}`, options);
    visitor.page.setDefaultTimeout(60_000);
    await visitor.page.getByRole('navigation', { name: 'Functions' }).waitFor();
    return visitor;
  }

  async function jobs(): Promise<string> {
    const sql = 'SELECT title, status FROM job ORDER BY id';
    const answer = await stage.send('POST', '/v1/database/workshop/sql', sql);
    return JSON.stringify(JSON.parse(answer)[0].rows);
  }

  const within = ({ page }: Visitor, name: string) => page.getByRole('region', { name });

  it('[console 2.4] lists functions of each kind with what their authors wrote', async () => {
    const visitor = await opened();
    const { page } = visitor;
    const list = page.getByRole('navigation', { name: 'Functions' });
    for (const name of ['add_job', 'sum', 'open_jobs', 'show_job', 'say']) {
      await list.getByRole('link', { name, exact: true }).waitFor();
    }
    await page.getByLabel('Find a function').fill('add');
    await expect.poll(() => list.getByRole('link').count()).toBe(1);
    await list.getByRole('link', { name: 'add_job' }).click();
    await page.getByText('Adds a job. The title is shown to everybody.').waitFor();
    await page.getByText('What is to be done.').waitFor();
    expect(page.url()).toContain('f=add_job');
    await visitor.expectAccessible();
    visitor.expectNoTroubles();
  });

  it('[console 2.4] calls as me, and shows the call with its outcome among the recent ones', async () => {
    const visitor = await opened('?f=add_job');
    const { page } = visitor;
    await page.getByLabel('title').fill('paint the door');
    await page.getByLabel('status').selectOption('paid');
    await page.getByRole('button', { name: 'Call as me' }).click();
    await within(visitor, 'Called').getByText('committed').waitFor();
    expect(await jobs()).toContain('paint the door');
    // What stands in the form is in the address, and comes back with it.
    await expect.poll(() => page.url()).toContain('paint');
    await page.reload();
    await expect.poll(() => page.getByLabel('title').inputValue()).toBe('paint the door');
    await page.getByRole('tab', { name: 'Recent calls' }).click();
    const row = page.getByRole('row').filter({ hasText: 'done' }).first();
    await row.waitFor();
    expect(await row.textContent()).toContain('c200');
    visitor.expectNoTroubles();
  });

  it('[console 2.4] previews rows side by side, and applies exactly that', async () => {
    await stage.call('workshop', 'add_job', ['sweep the floor', 'open']);
    const before = await jobs();
    const visitor = await opened('?f=finish_all');
    const { page } = visitor;
    await page.getByRole('button', { name: 'Preview' }).click();
    const changes = within(visitor, 'Changes in job');
    await changes.waitFor();
    const row = changes.getByRole('row').filter({ hasText: 'sweep the floor' });
    await row.locator('del').filter({ hasText: 'open' }).waitFor();
    await row.locator('ins').filter({ hasText: 'shipped' }).waitFor();
    await visitor.shoot('functions-preview');
    await visitor.expectAccessible();
    expect(await jobs()).toBe(before);
    expect(before).toContain('["sweep the floor",[0,[]]]');
    await page.getByRole('button', { name: 'Apply exactly' }).click();
    await within(visitor, 'Applied').getByText('committed').waitFor();
    expect(await jobs()).toContain('["sweep the floor",[2,[]]]');
    visitor.expectNoTroubles();
  });

  it('[console 2.4] applies nothing when it would come to something else by now', async () => {
    await stage.call('workshop', 'add_job', ['first', 'open']);
    const visitor = await opened('?f=finish_all');
    visitor.expected.push(/409/);
    const { page } = visitor;
    await page.getByRole('button', { name: 'Preview' }).click();
    await within(visitor, 'Changes in job').waitFor();
    await stage.call('workshop', 'add_job', ['came in between', 'open']);
    await page.getByRole('button', { name: 'Apply exactly' }).click();
    await page.getByText('This is what it would come to now.').waitFor();
    await within(visitor, 'Changes in job').getByText('came in between').waitFor();
    await page.getByRole('button', { name: 'Discard' }).click();
    await expect.poll(() => within(visitor, 'Preview').count()).toBe(0);
    visitor.expectNoTroubles();
  });

  it('[console 2.4] previews as another identity, which cannot be applied', async () => {
    const visitor = await opened('?f=add_job');
    const { page } = visitor;
    const other = 'c2'.padEnd(64, '7');
    await page.getByLabel('title').fill('by somebody else');
    await page.getByLabel('As another identity').fill(other);
    const call = page.getByRole('button', { name: 'Call as me' });
    expect(await call.getAttribute('aria-disabled')).toBe('true');
    await page.getByRole('button', { name: 'Preview' }).click();
    const preview = within(visitor, 'Preview');
    await preview.getByText('this can be looked at, and not applied').waitFor();
    await within(visitor, 'Changes in job').getByTitle(other).waitFor();
    await preview.getByText('adding by somebody else').waitFor();
    expect(await page.getByRole('button', { name: 'Apply exactly' }).count()).toBe(0);
    visitor.expectNoTroubles();
  });

  it('[console 2.4] has a field for each type, and says what is wrong with which', async () => {
    const visitor = await opened('?f=take_all');
    const { page } = visitor;
    const box = (name: string) => page.getByRole('textbox', { name, exact: true });
    const group = (name: string | RegExp) => page.getByRole('group', { name });
    await box('big u256').fill('-1');
    await page.getByRole('button', { name: 'Call as me' }).click();
    await page.getByText('Out of range for u256').waitFor();
    await page.getByText('Correct the fields that are marked red.').waitFor();
    await visitor.shoot('functions-faults');
    await visitor.expectAccessible();
    await box('big u256').fill(String(2n ** 200n));
    await box('small i8').fill('-5');
    await box('ratio f64').fill('0.25');
    await group(/^is_?on/i)
      .getByRole('switch')
      .check();
    await group('shape').getByRole('combobox').selectOption('text');
    await group('shape').getByRole('textbox').fill('round');
    await box('x i32').fill('3');
    await box('y i32').fill('4');
    await group('maybe').getByRole('switch').check();
    await group('maybe').getByRole('textbox').fill('7');
    for (const text of ['a', 'b']) {
      await page.getByRole('button', { name: 'Add an item to labels' }).click();
      await group('labels').getByRole('textbox').last().fill(text);
    }
    await box('bytes bytes').fill('"hi"');
    await box('pause duration').fill('1h30m');
    await box('at timestamp').fill('2026-01-31T12:00:00Z');
    await box('who identity').fill('ab'.repeat(32));
    await page.getByRole('button', { name: 'New' }).click();
    await page.getByRole('button', { name: 'Call as me' }).click();
    await within(visitor, 'Called').waitFor();
    const log = await stage.send('GET', '/v1/database/workshop/logs?num_lines=1');
    expect(log).toContain(
      `${2n ** 200n} -5 0.25 true text 3 7 a+b hi 5400000000 1769860800000000 64 `,
    );
    visitor.expectNoTroubles();
  });

  it('[console 2.4] shows a crash with its trace in the source, and the line itself', async () => {
    const visitor = await opened('?f=crash');
    visitor.expected.push(/530/);
    const { page } = visitor;
    await page.getByRole('button', { name: 'Call as me' }).click();
    const failed = within(visitor, 'Failed');
    await failed.getByText('Uncaught TypeError: it broke').waitFor();
    await failed
      .getByRole('button', { name: /index\.ts:\d+/ })
      .first()
      .click();
    const dialog = page.getByRole('dialog');
    await dialog.getByText('throw new TypeError(text);').waitFor();
    expect(await dialog.locator('[aria-current]').textContent()).toContain('throw new TypeError');
    expect(page.url()).toContain('source=');
    await visitor.expectAccessible();
    await page.keyboard.press('Escape');
    await expect.poll(() => page.url()).not.toContain('source=');
    visitor.expectNoTroubles();
  });

  it('[console 2.4] shows what a reducer refuses in its own words', async () => {
    const visitor = await opened('?f=add_job');
    visitor.expected.push(/530/);
    await visitor.page.getByRole('button', { name: 'Call as me' }).click();
    await within(visitor, 'Failed').getByText('a job needs a title').waitFor();
    visitor.expectNoTroubles();
  });

  it('[console 2.4] calls procedures, leads to the rows of views, and asks handlers', async () => {
    const visitor = await opened('?f=sum');
    const { page } = visitor;
    await page.getByLabel('a', { exact: false }).first().waitFor();
    const fields = page.getByRole('form', { name: 'Call sum' }).getByRole('textbox');
    await fields.nth(0).fill('20');
    await fields.nth(1).fill('22');
    await page.getByRole('button', { name: 'Call as me' }).click();
    await within(visitor, 'Called').getByText('42').waitFor();
    await page.getByRole('link', { name: 'open_jobs' }).click();
    const link = page.getByRole('link', { name: 'open its rows' });
    expect(await link.getAttribute('href')).toContain('/data?table=open_jobs');
    await page.getByRole('link', { name: 'show_job' }).click();
    await page.getByRole('textbox', { name: 'id' }).fill('12');
    await page.getByRole('button', { name: 'Send as me' }).click();
    await within(visitor, 'Answer').getByText('job 12').waitFor();
    visitor.expectNoTroubles();
  });

  it('[console 2.4] says to a stranger why what is off is off', async () => {
    const visitor = await opened('?f=add_job', { token: await stage.strangerToken() });
    visitor.expected.push(/403/);
    const { page } = visitor;
    const preview = page.getByRole('button', { name: 'Preview' });
    await expect.poll(() => preview.getAttribute('aria-disabled')).toBe('true');
    expect(await preview.getAttribute('title')).toContain('developer');
    expect(await page.getByLabel('As another identity').count()).toBe(0);
    await page.getByRole('tab', { name: 'Recent calls' }).click();
    await page.getByText('You may not see this').waitFor();
    visitor.expectNoTroubles();
  });

  it('[console 2.4] shows hostile arguments, rows and errors as text', async () => {
    const visitor = await opened('?f=add_job');
    visitor.expected.push(/404|400|530/);
    const { page } = visitor;
    await page.getByLabel('title').fill(hostile);
    await page.getByRole('button', { name: 'Preview' }).click();
    await within(visitor, 'Changes in job').getByText(hostile).waitFor();
    await visitor.go(
      `db/workshop/functions?f=${encodeURIComponent(hostile)}&source=${encodeURIComponent(hostile)}`,
    );
    await page.getByText('This function does not exist').waitFor();
    expect(await page.evaluate(() => 'wasRun' in globalThis)).toBe(false);
    visitor.expectNoTroubles();
  });

  it('[console 1.5], [console 2.4] works in a narrow window, by keyboard', async () => {
    const [, , , form] = forms;
    const visitor = await opened('', { form });
    const { page } = visitor;
    await visitor.expectNoOverflow();
    await visitor.shoot('functions-list-narrow-dark');
    const list = page.getByRole('navigation', { name: 'Functions' });
    await list.getByRole('link', { name: 'add_job', exact: true }).focus();
    await page.keyboard.press('Enter');
    await page.getByLabel('title').focus();
    await page.keyboard.type('by keyboard');
    await page.getByLabel('status').focus();
    await page.getByRole('button', { name: 'Preview' }).focus();
    await page.keyboard.press('Enter');
    await within(visitor, 'Changes in job').waitFor();
    await visitor.shoot('functions-preview-narrow-dark');
    await visitor.expectNoOverflow();
    await visitor.expectAccessible();
    await page.getByRole('link', { name: 'All functions' }).click();
    await list.getByRole('link', { name: 'take_all' }).waitFor();
    visitor.expectNoTroubles();
  });
});

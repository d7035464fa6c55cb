import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { writtenFrom } from '../service/written-module.ts';
import { ConsoleStage, forms, hasChromium } from './console-support.ts';

const hostile = '<img src=x onerror="globalThis.wasRun=1"><b>bold</b>';

/** A module that says `word`; with another table if asked. */
function moduleSaying(word: string, hasExtra = false): string {
  return `
    import { SenderError, schema, t, table } from 'reducerdb/server';
    const note = table({ public: true }, { id: t.u32().primaryKey(), text: t.string() });
    const extra = table({ public: true }, { id: t.u32().primaryKey() });
    const db = schema(${hasExtra ? '{ note, extra }' : '{ note }'});
    export default db;
    export const tell = db.reducer(() => { throw new SenderError('${word}'); });
    export const keep = db.reducer({ id: t.u32() }, (ctx, { id }) => {
      ctx.db.${hasExtra ? 'extra.insert({ id })' : "note.insert({ id, text: 'kept' })"};
    });
  `;
}

describe.skipIf(!hasChromium)('the page Deploys', () => {
  let stage: ConsoleStage;

  async function publish(source: string, message: string): Promise<void> {
    const query = new URLSearchParams({ host_type: 'Js', message });
    await stage.send('PUT', `/v1/database/shop?${query}`, await writtenFrom(source));
  }

  async function word(): Promise<string> {
    return stage.call('shop', 'tell', []).then(
      () => '',
      (error: unknown) => String(error),
    );
  }

  beforeAll(async () => {
    stage = await ConsoleStage.open();
    await publish(moduleSaying('one'), 'the first version');
    await publish(moduleSaying('two'), hostile);
  }, 400_000);

  afterAll(async () => {
    await stage?.close();
  });

  async function opened(query = '', options: Parameters<ConsoleStage['visit']>[1] = {}) {
    const visitor = await stage.visit(`db/shop/deploys${query}`, options);
    visitor.page.setDefaultTimeout(60_000);
    const deploy = (number: number) =>
      visitor.page.getByRole('region', { name: `Deploy ${number}`, exact: true });
    return { visitor, page: visitor.page, deploy };
  }

  it('[console 2.8] lists who published what and when, messages as text', async () => {
    const { visitor, page, deploy } = await opened();
    await deploy(2).getByText('running').waitFor();
    await deploy(2).getByText(hostile).waitFor();
    await deploy(2).getByText('published').waitFor();
    await deploy(1).getByText('the first version').waitFor();
    await deploy(1).getByText('created the database').waitFor();
    await deploy(1).getByRole('button', { name: 'Copy identity' }).waitFor();
    const off = deploy(2).getByRole('button', { name: 'Roll back to it' });
    expect(await off.getAttribute('title')).toBe('Its program runs now.');
    const link = deploy(2).getByRole('link', { name: 'Difference of the schema from deploy 1' });
    expect(await link.getAttribute('href')).toContain('/schema?view=differences&from=1&to=2');
    expect(await page.evaluate(() => 'wasRun' in globalThis)).toBe(false);
    await visitor.shoot('deploys-wide-light');
    await visitor.expectAccessible();
    visitor.expectNoTroubles();
  });

  it('[console 2.8] puts an earlier program back once its number is typed', async () => {
    const { visitor, page, deploy } = await opened();
    await deploy(1).getByRole('button', { name: 'Roll back to it' }).click();
    const dialog = page.getByRole('dialog', { name: 'Roll back to deploy 1' });
    await dialog.getByText('Rows stay as they are now.').waitFor();
    expect(page.url()).toContain('back=1');
    const act = dialog.getByRole('button', { name: 'Roll back' });
    expect(await act.getAttribute('aria-disabled')).toBe('true');
    await dialog.getByLabel('Message').fill('the first was better');
    await dialog.getByLabel('Type 1 to confirm').fill('1');
    await visitor.expectAccessible();
    expect(await word()).toContain('two');
    await act.click();
    await deploy(3).getByText('running').waitFor();
    await deploy(3).getByText('put back deploy 1').waitFor();
    await deploy(3).getByText('the first was better').waitFor();
    // Its program runs again, if by another deploy.
    const again = deploy(1).getByRole('button', { name: 'Roll back to it' });
    await expect.poll(() => again.getAttribute('title')).toBe('Its program runs now.');
    expect(await word()).toContain('one');
    visitor.expectNoTroubles();
  });

  it('[console 2.8] shows a plan, follows, and says what a rollback would lose', async () => {
    const { visitor, page, deploy } = await opened();
    visitor.expected.push(/400|409/);
    await deploy(3).waitFor();
    await publish(moduleSaying('three', true), 'one more table');
    await deploy(4).getByText('one more table').waitFor();
    await deploy(4)
      .getByText(/Created table|extra/)
      .last()
      .waitFor();
    await stage.call('shop', 'keep', [1]);
    await deploy(1).getByRole('button', { name: 'Roll back to it' }).click();
    const dialog = page.getByRole('dialog', { name: 'Roll back to deploy 1' });
    await dialog.getByText(/table `extra`/).waitFor();
    expect(await dialog.getByRole('button', { name: 'Roll back' }).count()).toBe(0);
    await page.keyboard.press('Escape');
    await expect.poll(() => dialog.count()).toBe(0);
    expect(await word()).toContain('three');
    visitor.expectNoTroubles();
  });

  it('[console 2.8] says who may not see it, and is usable in a narrow window', async () => {
    const stranger = await opened('', { token: await stage.strangerToken() });
    stranger.visitor.expected.push(/403/);
    await stranger.page.getByText('You may not see this').waitFor();
    stranger.visitor.expectNoTroubles();
    const { visitor, deploy } = await opened('', { form: forms[3] });
    await deploy(1).waitFor();
    await visitor.expectNoOverflow();
    await visitor.shoot('deploys-narrow-dark');
    await visitor.expectAccessible();
    visitor.expectNoTroubles();
  });
});

import { writeFileSync } from 'node:fs';
import path from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { ConsoleStage, forms, hasChromium } from './console-support.ts';
import { workshopModule } from './workshop-module.ts';

const hostile = '<img src=x onerror="globalThis.wasRun=1"><b>bold</b>';

describe.skipIf(!hasChromium)('the page Backups', () => {
  let stage: ConsoleStage;
  const data = ['--data-dir', 'data'];

  beforeAll(async () => {
    stage = await ConsoleStage.open(data);
    const config = path.join(stage.sandbox.folder, 'data/config.toml');
    writeFileSync(config, '[repository.near]\nurl = "../near"\n');
    await stage.sandbox.ok(['backup', 'init', '--repository', 'near', ...data]);
    await stage.restart(data);
    await stage.publish('workshop', workshopModule);
    await stage.call('workshop', 'add_job', ['paint', 'open']);
  }, 400_000);

  afterAll(async () => {
    await stage?.close();
  });

  async function opened(query = '', options: Parameters<ConsoleStage['visit']>[1] = {}) {
    const visitor = await stage.visit(`db/workshop/backups${query}`, options);
    visitor.page.setDefaultTimeout(60_000);
    const panel = (name: string) => visitor.page.getByRole('region', { name, exact: true });
    return { visitor, page: visitor.page, panel };
  }

  it('[console 2.13] shows the history, takes a snapshot, and keeps the job through a reload', async () => {
    const { visitor, page, panel } = await opened();
    const history = panel('History on this service');
    await history.getByText('Oldest kept').waitFor();
    await history.getByText('Kept for').waitFor();
    await history.getByRole('button', { name: 'Take a snapshot' }).click();
    await panel('Snapshot').getByText('done', { exact: true }).waitFor();
    expect(page.url()).toContain('job=');
    await history.getByText(/^of commit \d/).waitFor();
    await page.reload();
    await panel('Snapshot').getByText('done', { exact: true }).waitFor();
    await visitor.shoot('backups-wide-light');
    await visitor.expectAccessible();
    await panel('Snapshot').getByRole('button', { name: 'Close' }).click();
    await expect.poll(() => page.url()).not.toContain('job=');
    visitor.expectNoTroubles();
  });

  it('[console 2.13] checks all files, also by replaying the log', async () => {
    const { visitor, panel } = await opened();
    const history = panel('History on this service');
    await history.getByRole('switch').check();
    await history.getByRole('button', { name: 'Check all files' }).click();
    const job = panel('Check of all files');
    await job.getByText('done', { exact: true }).waitFor();
    // Words, not JSON.
    expect(await job.innerText()).not.toMatch(/[[{]"/);
    await job.locator('dl').waitFor();
    visitor.expectNoTroubles();
  });

  it('[console 2.13] backs up to a repository, and says what is wrong with its name', async () => {
    const { visitor, page, panel } = await opened();
    visitor.expected.push(/400|404/);
    const repository = panel('Backups in a repository');
    await repository.getByText('What a repository holds is for operators.').waitFor();
    await repository.getByLabel('Repository').fill('far');
    await repository.getByRole('button', { name: 'Back up now' }).click();
    await page.getByText('The backup did not begin').waitFor();
    await repository.getByLabel('Repository').fill('near');
    await repository.getByRole('button', { name: 'Back up now' }).click();
    await panel('Backup').getByText('done', { exact: true }).waitFor();
    const command = panel('Restoring').getByText(
      'reducerdb backup restore latest --database workshop --repository near --as workshop-copy',
    );
    await command.waitFor();
    visitor.expectNoTroubles();
  });

  it('[console 2.13] shows operators what the repository holds, names as text', async () => {
    await stage.restart([...data, '--operator', stage.ownerIdentity]);
    const { visitor, page, panel } = await opened('?repository=near');
    visitor.expected.push(/400|404/);
    const row = panel('Backups in a repository').getByRole('row').filter({ hasText: 'not tested' });
    await row.waitFor();
    expect(await row.textContent()).toMatch(/(KiB|MiB)/);
    await visitor.go(`db/workshop/backups?repository=${encodeURIComponent(hostile)}`);
    await panel('Restoring').getByText(hostile).first().waitFor();
    await page.getByRole('alert').getByText(/./).first().waitFor();
    expect(await page.evaluate(() => 'wasRun' in globalThis)).toBe(false);
    visitor.expectNoTroubles();
  });

  it('[console 2.13] says who may not, and is usable in a narrow window', async () => {
    const stranger = await opened('', { token: await stage.strangerToken() });
    stranger.visitor.expected.push(/403/);
    await stranger.page.getByText('You may not see this').waitFor();
    const snapshot = stranger.page.getByRole('button', { name: 'Take a snapshot' });
    expect(await snapshot.getAttribute('title')).toMatch(/^Needs /);
    stranger.visitor.expectNoTroubles();
    const { visitor, panel } = await opened('', { form: forms[3] });
    await panel('History on this service').getByText('Oldest kept').waitFor();
    await visitor.expectNoOverflow();
    await visitor.shoot('backups-narrow-dark');
    await visitor.expectAccessible();
    visitor.expectNoTroubles();
  });
});

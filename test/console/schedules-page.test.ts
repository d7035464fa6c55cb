import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { ConsoleStage, forms, hasChromium } from './console-support.ts';
import { workshopModule } from './workshop-module.ts';

const hostile = '<img src=x onerror="globalThis.wasRun=1">';
const bareModule = `
  import { schema } from 'reducerdb/server';
  export default schema({});
`;

describe.skipIf(!hasChromium)('the page Schedules', () => {
  let stage: ConsoleStage;

  beforeAll(async () => {
    stage = await ConsoleStage.open();
    await stage.publish('workshop', workshopModule);
    await stage.publish('bare', bareModule);
    await stage.call('workshop', 'plan', [60, false]);
  }, 400_000);

  afterAll(async () => {
    await stage?.close();
  });

  async function opened(options: Parameters<ConsoleStage['visit']>[1] = {}) {
    const visitor = await stage.visit('db/workshop/schedules', options);
    visitor.page.setDefaultTimeout(60_000);
    const panel = visitor.page.getByRole('region', { name: 'tick', exact: true });
    return { visitor, page: visitor.page, panel };
  }

  it('[console 2.9] shows when a schedule is due, runs it now, and skips a run', async () => {
    const { visitor, page, panel } = await opened();
    await panel.getByText('armed', { exact: true }).waitFor();
    await panel.getByText('1 row armed').waitFor();
    await panel.getByText(/in 59 min|in 1 h/).waitFor();
    await panel.getByText('never').waitFor();
    await panel.getByRole('button', { name: 'Run now' }).click();
    await panel.getByText('1, 0 failed').waitFor();
    await panel.getByText('committed').waitFor();
    await panel.getByText(/in 1 h|in 59 min/).waitFor();
    await panel.getByRole('button', { name: 'Skip' }).click();
    await page.getByText('Skipped the next run of tick').waitFor();
    // A run that was skipped is none: the next one is an interval later.
    await panel.getByText(/in 1 h|in 2 h/).waitFor();
    await panel.getByText('1, 0 failed').waitFor();
    await visitor.shoot('schedules-wide-light');
    await visitor.expectAccessible();
    visitor.expectNoTroubles();
  });

  it('[console 2.9] pauses and resumes one, and all of them', async () => {
    const { visitor, page, panel } = await opened();
    await panel.getByRole('button', { name: 'Pause' }).click();
    await panel.getByText('paused', { exact: true }).waitFor();
    expect(await panel.getByRole('button', { name: 'Run now' }).getAttribute('title')).toBe(
      'It is paused.',
    );
    await panel.getByRole('button', { name: 'Resume' }).click();
    await panel.getByText('armed', { exact: true }).waitFor();
    await page.getByRole('button', { name: 'Pause all' }).click();
    await page.getByText('All schedules are paused').waitFor();
    await page.getByRole('button', { name: 'Resume all' }).click();
    await expect.poll(() => page.getByText('All schedules are paused').count()).toBe(0);
    visitor.expectNoTroubles();
  });

  it('[console 2.9] shows failures with the last error, and follows', async () => {
    const { visitor, panel } = await opened();
    await panel.waitFor();
    await stage.call('workshop', 'plan', [1, true]);
    await panel.getByText('2 rows armed').waitFor();
    await panel.getByRole('button', { name: 'Run now' }).click();
    await panel.getByText('the schedule broke').waitFor();
    await panel.getByText(/, 1 failed/).waitFor();
    const link = panel.getByRole('link', { name: 'Its errors in the log' });
    expect(await link.getAttribute('href')).toContain('/logs?f=beat');
    visitor.expectNoTroubles();
  });

  it('[console 2.9] says what would be there, and who may not see it', async () => {
    const bare = await stage.visit('db/bare/schedules');
    await bare.page.getByText('This module has no schedules').waitFor();
    bare.expectNoTroubles();
    const { visitor, page } = await opened({ token: await stage.strangerToken() });
    visitor.expected.push(/403/);
    await page.getByText('You may not see this').waitFor();
    expect(await page.getByRole('button', { name: 'Pause all' }).getAttribute('title')).toMatch(
      /^Needs /,
    );
    await visitor.expectAccessible();
    visitor.expectNoTroubles();
  });

  it('[console 2.9] is usable in a narrow window, and shows a hostile filter as text', async () => {
    const { visitor, page, panel } = await opened({ form: forms[3] });
    await panel.waitFor();
    await visitor.expectNoOverflow();
    await visitor.shoot('schedules-narrow-dark');
    await visitor.expectAccessible();
    await visitor.go(`db/workshop/schedules?find=${encodeURIComponent(hostile)}`);
    await page.getByText('No schedule has such a name').waitFor();
    expect(await page.evaluate(() => 'wasRun' in globalThis)).toBe(false);
    visitor.expectNoTroubles();
  });
});

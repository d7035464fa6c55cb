import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { ConsoleStage, hasChromium, narrow, stageMillis } from './console-support.ts';
import { marketModule } from './market-module.ts';

describe.skipIf(!hasChromium)('the frame of the console', () => {
  let stage: ConsoleStage;

  beforeAll(async () => {
    stage = await ConsoleStage.open();
    await stage.publish('market', marketModule);
    await stage.call('market', 'fill', [1, 50]);
  }, stageMillis);

  afterAll(async () => {
    await stage?.close();
  });

  it('[console 1.5] asks who one is, and takes a token or nobody', async () => {
    const visitor = await stage.visit('db/market/data?table=purchase', { token: null });
    const { page } = visitor;
    await page.getByRole('heading', { name: 'Sign in' }).waitFor();
    await visitor.shoot('sign-in');
    await visitor.expectAccessible();
    await page.getByLabel('Token').fill('no token at all');
    await page.getByRole('button', { name: 'Sign in', exact: true }).click();
    await page.getByText('This is not a token').waitFor();
    await page.getByLabel('Token').fill(stage.ownerToken);
    await page.keyboard.press('Enter');
    await page.getByTitle(/^Signed in: .*, owner$/).waitFor();
    // Nothing of it is in a cookie or an address.
    expect(await page.context().cookies()).toEqual([]);
    expect(page.url()).not.toContain(stage.ownerToken);
    await page.reload();
    await page.getByTitle(/^Signed in: .*, owner$/).click();
    visitor.expected.push(/status of 40[0-9]/);
    await page.getByRole('menuitem', { name: 'Sign out' }).click();
    await page.getByRole('button', { name: 'Look around without signing in' }).click();
    await page.getByTitle(/^Signed in: Not signed in/).waitFor();
    await page.getByRole('gridcell', { name: '37', exact: true }).waitFor();
    visitor.expectNoTroubles();
  });

  it('[console 1.3] signs in by a code in the fragment, which counts once', async () => {
    const { path } = JSON.parse(await stage.send('POST', '/v1/console/codes'));
    const place = String(path).replace('/console/', '');
    const visitor = await stage.visit(place, { token: null });
    const { page } = visitor;
    const dialog = page.getByRole('dialog', { name: /^Sign in as c200.*\?$/ });
    await dialog.getByTitle(stage.ownerIdentity).waitFor();
    await visitor.expectAccessible();
    // Nobody is signed in before the answer.
    expect(await page.evaluate(() => sessionStorage.getItem('reducerdb.session'))).toBe(null);
    await dialog.getByRole('button', { name: 'Sign in', exact: true }).click();
    await page.getByTitle(/^Signed in: c200/).waitFor();
    await page.getByRole('link', { name: 'market' }).waitFor();
    expect(page.url()).toBe(`${stage.url}/console/`);
    const session = await page.evaluate(() => sessionStorage.getItem('reducerdb.session'));
    expect(session).not.toContain(stage.ownerToken);
    await page.getByTitle(/^Signed in: c200/).click();
    await page.getByRole('menuitem', { name: 'Sign out' }).click();
    await page.getByRole('heading', { name: 'Sign in' }).waitFor();
    // The token is worth nothing any more.
    const [, token = ''] = String(session).split(' ');
    const headers = { authorization: `Bearer ${token}` };
    const answer = await fetch(`${stage.url}/v1/database/market/rights`, { headers });
    expect(answer.status).toBe(401);
    visitor.expectNoTroubles();
    const late = await stage.visit(place, { token: null });
    late.expected.push(/status of 4\d\d/);
    await late.page.getByRole('alert').waitFor();
    await late.page.getByRole('heading', { name: 'Sign in' }).waitFor();
    late.expectNoTroubles();
  });

  it('[console 1.3] signs nobody in by the link of a stranger, and trusts what it began', async () => {
    const code = async () => {
      const { path } = JSON.parse(await stage.send('POST', '/v1/console/codes'));
      return String(path).replace('/console/', '');
    };
    const visitor = await stage.visit(await code(), { token: null });
    const { page } = visitor;
    await page.getByRole('button', { name: 'Do not sign in' }).click();
    await page.getByRole('heading', { name: 'Sign in' }).waitFor();
    const kept = () => page.evaluate(() => sessionStorage.getItem('reducerdb.session'));
    expect(await kept()).toBe(null);
    // As the button that leads to an issuer notes it; the note counts once.
    await page.evaluate(() => sessionStorage.setItem('reducerdb.login', String(Date.now())));
    await visitor.go('service');
    await visitor.go(await code());
    await page.getByTitle(/^Signed in: c200/).waitFor();
    expect(await page.evaluate(() => sessionStorage.getItem('reducerdb.login'))).toBe(null);
    visitor.expectNoTroubles();
  });

  it('[console 1.3] asks before an address replaces who is signed in', async () => {
    const stranger = await stage.strangerToken();
    const headers = { authorization: `Bearer ${stranger}` };
    const made = await fetch(`${stage.url}/v1/console/codes`, { method: 'POST', headers });
    const { path } = (await made.json()) as { readonly path: string };
    const visitor = await stage.visit(path.replace('/console/', ''));
    const { page } = visitor;
    const dialog = page.getByRole('dialog', { name: 'Sign in as somebody else?' });
    await dialog.waitFor();
    await visitor.expectAccessible();
    await dialog.getByRole('button', { name: 'Stay as I am' }).click();
    const kept = () => page.evaluate(() => sessionStorage.getItem('reducerdb.session'));
    expect(await kept()).toBe(`token ${stage.ownerToken}`);
    visitor.expectNoTroubles();
    const bad = await stage.visit(`#code=${'x'.repeat(43)}`);
    bad.expected.push(/status of 401/);
    await bad.page.getByText('you are signed in as before').waitFor();
    await bad.page.getByTitle(/^Signed in: c200/).waitFor();
    const failed = await stage.visit('#error=The%20login%20was%20refused', { token: null });
    await failed.page.getByRole('alert').getByText('The login was refused').waitFor();
    failed.expectNoTroubles();
  });

  it('[console 1.5] finds pages, tables, functions and databases by a few letters', async () => {
    const visitor = await stage.visit('db/market/data?table=customer');
    const { page } = visitor;
    await page.getByRole('link', { name: 'purchase' }).waitFor();
    await page.keyboard.press('Control+k');
    await page.getByRole('combobox').fill('prch');
    await page.getByRole('option', { name: /purchase/, selected: true }).waitFor();
    await visitor.shoot('palette');
    await visitor.expectAccessible();
    await page.keyboard.press('Enter');
    await page.getByRole('grid', { name: 'Rows of purchase' }).waitFor();
    await page.keyboard.press('Control+k');
    await page.getByRole('combobox').fill('note_down');
    await page.getByRole('option', { name: /note_down.*reducer/s }).waitFor();
    await page.getByRole('combobox').fill('market');
    await page.getByRole('option', { name: /market.*database/s }).waitFor();
    // The host and the database have a page of that name, and neither stays when others are found.
    await page.getByRole('combobox').fill('metrics');
    await page.getByRole('option', { name: /Metrics.*page of the host/s }).waitFor();
    expect(await page.getByRole('option', { name: /Metrics/ }).count()).toBe(2);
    await page.getByRole('combobox').fill('zzzz');
    await page.getByText('Nothing has such a name').waitFor();
    expect(await page.getByRole('option').count()).toBe(0);
    await page.keyboard.press('Escape');
    await page.getByRole('combobox').waitFor({ state: 'detached' });
    visitor.expectNoTroubles();
  });

  it('[console 1.5] works by keyboard alone, with the focus in view', async () => {
    const visitor = await stage.visit('db/market/data?table=purchase');
    const { page } = visitor;
    await page.getByRole('gridcell', { name: '37', exact: true }).waitFor();
    await page.getByRole('heading', { level: 1 }).waitFor({ state: 'attached' });
    await page.keyboard.press('Tab');
    await page.keyboard.press('Enter');
    const outlines = new Set<string>();
    for (let presses = 0; presses < 60; presses += 1) {
      await page.keyboard.press('Tab');
      const seen = await page.evaluate(() => {
        const element = document.activeElement;
        if (element === null || element === document.body) return 'none';
        return element.role === 'grid' ? 'grid' : getComputedStyle(element).outlineStyle;
      });
      outlines.add(seen);
      if (seen === 'grid') break;
    }
    expect([...outlines].filter((style) => style === 'none')).toEqual([]);
    expect(outlines).toContain('grid');
    await page.keyboard.press('ArrowDown');
    await page.keyboard.press('ArrowDown');
    await page.keyboard.press('Space');
    // With its fields: until then another dialog says that it loads.
    await page.getByRole('dialog', { name: 'purchase 2' }).getByText('cents').first().waitFor();
    await page.keyboard.press('Escape');
    await page.getByRole('dialog').waitFor({ state: 'detached' });
    visitor.expectNoTroubles();
  });

  it('[console 1.5] has its navigation behind a button where there is little room', async () => {
    const visitor = await stage.visit('db/market/data', {
      form: { size: narrow, scheme: 'light' },
    });
    const { page } = visitor;
    await page.getByRole('button', { name: 'Open the navigation' }).click();
    const drawer = page.getByRole('dialog', { name: 'Navigation' });
    await drawer.getByRole('link', { name: 'Databases' }).waitFor();
    await visitor.shoot('drawer-narrow');
    await drawer.getByRole('link', { name: 'Databases' }).click();
    await page.getByRole('heading', { name: 'Databases' }).waitFor();
    expect(await drawer.count()).toBe(0);
    visitor.expectNoTroubles();
  });

  it('[console 1.4] shows that the connection is lost, and heals without a reload', async () => {
    const visitor = await stage.visit('db/market/data?table=purchase');
    const { page } = visitor;
    visitor.expected.push(/WebSocket|ERR_|status of 503|Failed to fetch dynamically/);
    await page.getByRole('gridcell', { name: '37', exact: true }).waitFor();
    await page.evaluate(() => Object.assign(globalThis, { isSamePage: true }));
    await stage.service.stop('SIGKILL');
    await page.getByText('Reconnecting…').waitFor();
    await visitor.shoot('lost');
    stage.service = await stage.sandbox.start();
    await page.getByText('Reconnecting…').waitFor({ state: 'detached' });
    await stage.call('market', 'bump', [1, 1]);
    await page.getByRole('gridcell', { name: '38', exact: true }).waitFor();
    expect(await page.evaluate(() => 'isSamePage' in globalThis)).toBe(true);
    visitor.expectNoTroubles();
  });

  it('[console 1.2] loads a page when it is opened, and nothing from elsewhere', async () => {
    const visitor = await stage.visit('');
    const { page } = visitor;
    await page.getByRole('link', { name: 'market' }).waitFor();
    const loaded = () =>
      page.evaluate(() => performance.getEntriesByType('resource').map(({ name }) => name));
    expect((await loaded()).filter((name) => name.includes('data-page'))).toEqual([]);
    await page.getByRole('link', { name: 'market' }).click();
    await page.getByRole('grid').or(page.getByText('has no rows')).first().waitFor();
    const files = await loaded();
    expect(files.filter((name) => name.includes('data-page')).length).toBeGreaterThan(0);
    expect(files.filter((name) => !name.startsWith(stage.url))).toEqual([]);
    const policy = (await fetch(`${stage.url}/console/`)).headers.get('content-security-policy');
    expect(policy).toContain("default-src 'self'");
    expect(policy).not.toContain('unsafe');
    visitor.expectNoTroubles();
  });
});

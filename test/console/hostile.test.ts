import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { ConsoleStage, hasChromium, stageMillis } from './console-support.ts';

/** What would run if it were markup, an address or a part of a statement. */
const hostile = [
  '<img src=x onerror="globalThis.pwned=1">',
  '<script>globalThis.pwned=1</script>',
  'javascript:globalThis.pwned=1',
  '"><svg onload=globalThis.pwned=1>',
  '{{constructor.constructor("globalThis.pwned=1")()}}',
  "'; DROP TABLE note; --",
  '\u202Eevil\u0000\u0007\n\r\t',
  '=HYPERLINK("http://example.com")',
];

const module = `
  import { schema, t, table } from 'reducerdb/server';
  const Kind = t.enum('Kind', { said: t.string(), plain: t.unit() });
  const note = table(
    { public: true, name: 'note' },
    {
      id: t.u32().primaryKey(),
      text: t.string(),
      kind: Kind,
      labels: t.array(t.string()),
      bytes: t.array(t.u8()),
      maybe: t.option(t.string()),
    },
  );
  const db = schema({ note });
  export default db;
  export const write = db.reducer({ id: t.u32(), text: t.string() }, (ctx, { id, text }) => {
    ctx.db.note.insert({
      id,
      text,
      kind: { tag: 'said', value: text },
      labels: [text],
      bytes: new TextEncoder().encode(text),
      maybe: text,
    });
  });
`;

describe.skipIf(!hasChromium)('hostile data', () => {
  let stage: ConsoleStage;

  beforeAll(async () => {
    stage = await ConsoleStage.open();
    await stage.publish('trap', module);
    for (const [at, text] of hostile.entries()) await stage.call('trap', 'write', [at, text]);
  }, stageMillis);

  afterAll(async () => {
    await stage?.close();
  });

  it('[console 1.6] is text in the grid, in an open row, and in the address', async () => {
    const visitor = await stage.visit('db/trap/data?table=note');
    const { page } = visitor;
    const isSafe = async () => {
      expect(await page.evaluate(() => 'pwned' in globalThis)).toBe(false);
      expect(
        await page.locator('main img, main script, main [onload], main [onclick]').count(),
      ).toBe(0);
    };
    await page
      .getByText(hostile[0] ?? '', { exact: true })
      .first()
      .waitFor();
    await isSafe();
    for (const at of hostile.keys()) {
      await visitor.go(`db/trap/data?table=note&row=${at}`);
      await page
        .getByRole('dialog', { name: `note ${at}` })
        .getByText('as text')
        .or(page.getByRole('dialog').getByRole('region', { name: 'maybe' }))
        .first()
        .waitFor();
      await isSafe();
    }
    for (const text of hostile) {
      const name = encodeURIComponent(text);
      await visitor.go(`db/trap/data?table=${name}&where=${name}&sort=${name}&hide=${name}`);
      await page.getByText('does not exist').waitFor();
      await isSafe();
      await visitor.go(`db/trap/data?table=note&where=text:%3D:${encodeURIComponent(name)}`);
      await page.getByRole('button', { name: 'Remove this filter' }).waitFor();
      await isSafe();
    }
    const { rows } = JSON.parse(
      (await stage.send('POST', '/v1/database/trap/sql', 'SELECT COUNT(*) AS n FROM note')).slice(
        1,
        -1,
      ),
    );
    expect(rows).toEqual([[hostile.length]]);
    visitor.expectNoTroubles();
  });

  it('[console 1.6] is seen, and no formula in a spreadsheet', async () => {
    const visitor = await stage.visit('db/trap/data?table=note');
    const { page } = visitor;
    const cell = (row: number) =>
      page.locator(`[role="row"][aria-rowindex="${row + 2}"] [role="gridcell"]`).nth(1);
    await expect.poll(() => cell(6).innerText()).toBe('⟨U+202E⟩evil⟨U+0000⟩⟨U+0007⟩⏎⏎⇥');
    await cell(7).click();
    await page.getByRole('button', { name: 'Copy rows' }).click();
    await page.getByRole('menuitem', { name: 'Copy as CSV' }).click();
    await page.getByText('1 row copied').waitFor();
    const copied = await page.evaluate(() => navigator.clipboard.readText());
    expect(copied).toContain(`7,"'=HYPERLINK(""http://example.com"")",`);
    visitor.expectNoTroubles();
  });

  it('[console 1.6] is text in results, names of columns, errors and kept statements', async () => {
    const [markup = ''] = hostile;
    const quoted = markup.replaceAll('"', '""');
    const sql = `SELECT text AS "${quoted}", '${markup}' AS said FROM note ORDER BY id`;
    const visitor = await stage.visit(`db/trap/sql?sql=${encodeURIComponent(sql)}`);
    const { page } = visitor;
    const isSafe = async () => {
      expect(await page.evaluate(() => 'pwned' in globalThis)).toBe(false);
      expect(await page.locator('main img, main [onload], dialog img').count()).toBe(0);
    };
    await page.getByRole('button', { name: 'Run', exact: true }).click();
    await page.getByRole('columnheader', { name: markup }).waitFor();
    await page.getByRole('table').getByText(markup, { exact: true }).first().waitFor();
    await isSafe();
    visitor.expected.push(/status of 400/);
    await visitor.go(`db/trap/sql?sql=${encodeURIComponent(`SELECT "${quoted}" FROM note`)}`);
    await page.getByRole('button', { name: 'Run', exact: true }).click();
    await page.getByRole('alert').getByText('onerror').first().waitFor();
    await isSafe();
    await page.getByRole('button', { name: 'Statements' }).click();
    const panel = page.getByRole('dialog', { name: 'Statements' });
    await panel.getByLabel('Name').fill(markup);
    await panel.getByRole('button', { name: 'Save' }).click();
    await panel.getByText(markup, { exact: true }).waitFor();
    await panel.getByRole('tab', { name: 'History' }).click();
    await panel.getByText('AS said').waitFor();
    await isSafe();
    visitor.expectNoTroubles();
  });
});

import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { someOf } from '../support/share.ts';
import { type AskOptions, ask, type Mode } from './mcp-support.ts';
import { MigratedModules } from './migrated-module.ts';
import { type Person, Running } from './running.ts';

/** The plan of a publish by MCP. */

let running: Running;
let owner: Person;
let modules: MigratedModules;
let first: Uint8Array<ArrayBuffer>;
let second: Uint8Array<ArrayBuffer>;
let throwing: Uint8Array<ArrayBuffer>;
let refused: Uint8Array<ArrayBuffer>;

const modes: readonly Mode[] = [
  { name: 'host-wide', path: '/v1/mcp', database: { database: 'shop' } },
  { name: 'in a database', path: '/v1/database/shop/mcp', database: {} },
];

const moduleOf = (columns: string) => `
  import { schema, t, table } from 'reducerdb/server';
  const db = schema({ item: table({ public: true }, { id: t.u32().primaryKey(), ${columns} }) });
  export default db;
  export const init = db.init((ctx) => {
    ctx.db.item.insert({ id: 1, name: 'cup' } as never);
  });
`;

beforeAll(async () => {
  running = await Running.start();
  owner = await running.person();
  modules = new MigratedModules();
  first = await modules.build(moduleOf('name: t.string()'));
  const sized = moduleOf('name: t.string(), size: t.u32()');
  const add = (fill: string) => `m.addColumn('item', 'size', { fill: ${fill} })`;
  const down = "m.dropColumn('item', 'size')";
  second = await modules.build(sized, [{ steps: add('() => 7'), down, from: first }]);
  const throws = add("() => { throw new Error('no size'); }");
  throwing = await modules.build(sized, [{ steps: throws, from: first }]);
  refused = await modules.build(sized);
  await running.upload('shop', first, owner);
}, 120_000);
afterAll(async () => {
  await running.stop();
  modules.remove();
});

const textOf = (program: Uint8Array) => new TextDecoder().decode(program);

async function preview(mode: Mode, program: string, more: Partial<AskOptions> = {}) {
  const options = { mode, as: owner, features: 'preview', ...more };
  const answer = await ask(running, options, 'preview_publish', { program });
  const { structuredContent, isError, content } = answer;
  const plan = structuredContent as unknown as Record<string, unknown> | undefined;
  return { plan, isError, texts: content.map(({ text }) => text) };
}

describe.each(someOf(modes, 2))('preview_publish $name', (mode) => {
  it('[living 5.10, mcp B24] shows the plan that the command shows, and publishes nothing', async () => {
    const { plan, isError, texts } = await preview(mode, textOf(second));
    const { text } = await running.plan('shop', second, owner, '&style=NoColor&trial=true');
    const { AutoMigrate } = JSON.parse(text);
    const { trial, token, break_clients, migrate_plan } = AutoMigrate;
    expect(isError).toBe(false);
    expect(plan).toEqual({
      ...{ database: 'shop', plan: 'update', reason: null, text: migrate_plan },
      ...{ break_clients, token, warnings: [], succeeds: true },
      trial: { ...trial, seconds: expect.any(Number), back: expect.any(Object) },
    });
    expect(plan?.trial).toMatchObject({
      tables: [
        {
          ...{ rows_before: 1, rows_after: 1 },
          samples: [{ after: [{ table: 'item', row: { id: 1, name: 'cup', size: 7 } }] }],
        },
      ],
      back: { possible: true, tried: true },
    });
    expect(texts).toEqual([
      'Nothing has happened: a publish of this moment would succeed, and disconnect 0 clients. ' +
        'Going back works.',
      expect.stringMatching(/^«data (\w+)»\n\{"database":"shop",.*\}\n«\/data \1»$/),
      expect.stringContaining(`: reducerdb publish shop --token ${token}`),
    ]);
    expect(await running.rows('shop', 'SELECT * FROM item')).toEqual([[1, 'cup']]);
    expect(await running.rows('shop', 'SELECT id FROM st_migration', owner)).toEqual([]);
  });

  it('[living 5.10] says why a publish would fail, or has no plan', async () => {
    const failing = await preview(mode, textOf(throwing));
    expect(failing.plan).toMatchObject({
      ...{ succeeds: false, plan: 'update' },
      trial: { failure: expect.stringMatching(/table item, row with id 1: no size/), back: null },
    });
    expect(failing.texts[0]).toContain('would fail');
    expect(failing.texts).toHaveLength(2);
    expect((await preview(mode, textOf(refused))).plan).toMatchObject({
      ...{ succeeds: false, plan: 'refused', token: null, trial: null },
      reason: expect.stringContaining("m.addColumn('item', 'size'"),
    });
  });

  it('[mcp B24] is for those who may publish, within its bound', async () => {
    const stranger = await running.person();
    const { isError, texts } = await preview(mode, textOf(second), { as: stranger });
    expect([isError, texts[0]]).toEqual([true, expect.stringContaining(': update database')]);
    const large = await preview(mode, ' '.repeat(1_536 * 1024 + 1));
    expect([large.isError, large.texts[0]]).toEqual([true, 'program must have at most 1.5 MiB']);
    const broken = await preview(mode, 'export default {');
    expect(broken.isError).toBe(true);
    // No session but one with the feature has it.
    const plain = ask(running, { mode, as: owner }, 'preview_publish', { program: '' });
    await expect(plain).rejects.toThrow('-32602 unknown tool: preview_publish');
  });
});

it('[living 5.10, mcp B24] the token publishes exactly that program', async () => {
  const [, mode] = modes;
  if (mode === undefined) throw new Error('there are two modes');
  const { plan } = await preview(mode, textOf(second));
  const query = `&policy=BreakClients&token=${plan?.token}`;
  expect((await running.upload('shop', throwing, owner, query)).status).toBe(400);
  expect((await running.upload('shop', second, owner, query)).status).toBe(200);
  expect(await running.rows('shop', 'SELECT * FROM item')).toEqual([[1, 'cup', 7]]);
});

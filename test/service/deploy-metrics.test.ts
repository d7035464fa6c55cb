import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { MigratedModules } from './migrated-module.ts';
import { type Person, Running } from './running.ts';

/** What the metrics say of deploys; of canaries: `canary.test.ts`. */

let running: Running;
let owner: Person;
let stranger: Person;
let modules: MigratedModules;
let first: Uint8Array<ArrayBuffer>;
let second: Uint8Array<ArrayBuffer>;
let throwing: Uint8Array<ArrayBuffer>;

const moduleOf = (columns: string) => `
  import { schema, t, table } from 'reducerdb/server';
  const db = schema({ item: table({ public: true }, { id: t.u32().primaryKey(), ${columns} }) });
  export default db;
  export const fill = db.reducer({ count: t.u32() }, (ctx, { count }) => {
    for (let id = 0; id < count; id += 1) ctx.db.item.insert({ id, name: 'a' } as never);
  });
`;

beforeAll(async () => {
  running = await Running.start();
  owner = await running.person();
  stranger = await running.person();
  modules = new MigratedModules();
  first = await modules.build(moduleOf('name: t.string()'));
  const sized = moduleOf('name: t.string(), size: t.u32()');
  const down = "m.dropColumn('item', 'size')";
  const add = (fill: string) => `m.addColumn('item', 'size', { fill: ${fill} })`;
  second = await modules.build(sized, [{ steps: add('() => 1'), down, from: first }]);
  const throws = add("() => { throw new Error('never'); }");
  throwing = await modules.build(sized, [{ steps: throws, from: first }]);
}, 120_000);
afterAll(async () => {
  await running.stop();
  modules.remove();
});

async function update(program: Uint8Array<ArrayBuffer>, as = owner) {
  const { token } = JSON.parse((await running.plan('shop', program, owner)).text).AutoMigrate;
  return running.upload('shop', program, as, `&policy=BreakClients&token=${token}`);
}

/** The metrics about deploys, by name and outcome. */
async function figures(): Promise<Record<string, number>> {
  const { text } = await running.ask('GET', '/v1/metrics');
  const found = text.matchAll(
    /^reducerdb_(deploys_total|migration_\w+)\{database="[0-9a-f]{64}"(?:,outcome="(\w+)")?\} (.+)$/gm,
  );
  return Object.fromEntries(
    [...found].map(([, name = '', outcome = name, value]) => [outcome, Number(value)]),
  );
}

describe('[living 5.11] the metrics', () => {
  it('count deploys by outcome, and say what the last update has taken', async () => {
    expect(await figures()).toEqual({});
    await running.upload('shop', first, owner);
    const nothing = { refused: 0, rolled_back: 0, canary_rolled_back: 0 };
    expect(await figures()).toEqual({ published: 1, ...nothing });
    await running.call('shop', 'fill', [7]);
    expect((await update(throwing)).status).toBe(400);
    expect(await figures()).toEqual({ published: 1, ...nothing, refused: 1 });
    expect((await update(second, stranger)).status).toBe(403);
    expect((await update(second)).status).toBe(200);
    const after = await figures();
    expect(after).toMatchObject({ published: 2, refused: 1, migration_rows: 7 });
    expect(after.migration_seconds).toBeGreaterThan(0);
    expect(after.migration_pause_seconds).toBeGreaterThan(0);
    expect(after.migration_pause_seconds).toBeLessThanOrEqual(after.migration_seconds ?? 0);
    // A program that runs already is no deploy.
    expect((await update(second)).status).toBe(200);
    const plan = await running.ask('POST', '/v1/database/shop/rollback?dry_run=true', {
      as: owner,
    });
    const query = `policy=BreakClients&token=${JSON.parse(plan.text).token}`;
    await running.ask('POST', `/v1/database/shop/rollback?${query}`, { as: owner });
    expect(await figures()).toMatchObject({ published: 2, refused: 1, rolled_back: 1 });
  });

  it('say nothing of databases that are gone', async () => {
    await running.ask('DELETE', '/v1/database/shop', { as: owner });
    expect(await figures()).toEqual({});
  });
});

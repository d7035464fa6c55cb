import { describe, expect, it } from 'vitest';
import { buildModule } from '../src/bundle/build-module.ts';
import type { ProgramSource } from '../src/database/program-source.ts';
import { filesOf, inFolder, type MigratedProject } from './support/migration-program.ts';
import { type Shop, shopOpener } from './support/shop.ts';

const module = (tables: string, names: string, reducers = '') => `
import { schema, table, t } from 'reducerdb/server';
${tables}
const db = schema({ ${names} });
export default db;
export const noop = db.reducer({}, () => {});
${reducers}
`;

const first = module(
  `const userRow = table({ public: true }, {
    id: t.u64().primaryKey().autoInc(), fullName: t.string().index(), age: t.string(),
  });
  const city = table({ public: true }, { id: t.u32().primaryKey(), label: t.string().unique() });
  const log = table({}, { line: t.string() });`,
  'userRow, city, log',
  `export const init = db.init((ctx) => {
    for (const age of ['41', '7', '19']) ctx.db.userRow.insert({ fullName: 'User ' + age, age });
    ctx.db.city.insert({ id: 1, label: 'Ulm' });
    ctx.db.log.insert({ line: 'made' });
  });`,
);

const second = module(
  `const person = table({ public: true }, {
    id: t.u64().primaryKey().autoInc(), name: t.string().index(), age: t.u8(), home: t.string(),
    rank: t.u32().default(7),
  });
  const city = table({ public: true }, { id: t.u32().primaryKey(), label: t.string().unique() });
  const total = table({ public: true }, { people: t.u64(), at: t.timestamp() });`,
  'person, city, total',
  `export const join = db.reducer({}, (ctx) => {
    ctx.db.person.insert({ name: 'New', age: 1, home: '' });
  });`,
);

const people = `
  steps: (m) => [
    m.renameTable('userRow', 'person'),
    m.renameColumn('person', 'fullName', 'name'),
    m.changeColumn('person', 'age', { using: (old) => Number(old.age) }),
    m.addColumn('person', 'home', { fill: (old) => 'of ' + old.fullName }),
    m.dropTable('log', { rows: 'discard' }),
    m.run((tx) => {
      tx.new.total.insert({ people: tx.old.userRow.count(), at: tx.timestamp });
      for (const city of tx.old.city.iter()) {
        tx.new.city.id.update({ ...city, label: city.label.toUpperCase() });
      }
    }),
    m.assert('SELECT COUNT(*) = 3 FROM person WHERE age > 5', 'all have ages'),
    m.assert((tx) => tx.new.person.count() === tx.old.userRow.count(), 'none is lost'),
  ],`;

const project: MigratedProject = {
  module: second,
  migrations: [{ id: '0001-people', before: first, options: people }],
};

async function built(given: MigratedProject): Promise<ProgramSource> {
  const files = await filesOf(given);
  const { program } = await inFolder(files, buildModule);
  return { kind: 'js', bytes: program };
}

async function update(shop: Shop, program: ProgramSource): Promise<unknown> {
  const plan = await shop.handle.plan(program);
  if (plan.kind === 'manual') return plan;
  const permission = { policy: 'breakClients', token: plan.token } as const;
  return shop.handle.update(program, permission, 10_000);
}

const withShop = shopOpener('local');

describe('[living 5.3] a publish of a program with migrations', () => {
  it('applies them once, and numbers go on where they were', async () => {
    const shop = await withShop(first);
    const program = await built(project);
    const plan = await shop.handle.plan(program);
    expect(plan).toMatchObject({
      kind: 'automatic',
      text: expect.stringContaining('▸ Renamed table userRow to person'),
    });
    await update(shop, program);
    const people = [
      [1n, 'User 41', 41, 'of User 41', 7],
      [2n, 'User 7', 7, 'of User 7', 7],
      [3n, 'User 19', 19, 'of User 19', 7],
    ];
    expect(await shop.rows('SELECT * FROM person ORDER BY id')).toEqual(people);
    expect(await shop.rows('SELECT label FROM city')).toEqual([['ULM']]);
    expect(await shop.rows('SELECT people FROM total')).toEqual([[3n]]);
    await shop.call('join');
    await shop.reopen();
    expect(await shop.rows("SELECT id FROM person WHERE name = 'New'")).toEqual([[4n]]);
    const more = await built({ ...project, module: `${second}\n// edited\n` });
    await update(shop, more);
    expect(await shop.rows('SELECT people FROM total')).toEqual([[3n]]);
    await shop.close();
  });

  it('applies several at once, in their order', async () => {
    const shop = await withShop(first);
    const middle = first
      .replace('age: t.string(),', 'age: t.string(), city: t.string(),')
      .replace('const log = table({}, { line: t.string() });', '')
      .replace(', log }', ' }')
      .replace("ctx.db.log.insert({ line: 'made' });", '')
      .replace('age });', "age, city: '' });");
    const last = module(
      `const userRow = table({ public: true }, {
        id: t.u64().primaryKey().autoInc(), fullName: t.string().index(), age: t.string(),
        rank: t.u32().default(3),
      });
      const city = table({ public: true }, { id: t.u32().primaryKey(), label: t.string().unique() });
      const home = table({ public: true }, { id: t.u64().primaryKey().autoInc(), city: t.string() });`,
      'userRow, city, home',
    );
    const program = await built({
      module: last,
      migrations: [
        {
          id: '0001-cities',
          before: first,
          options: `steps: (m) => [
            m.mapRows('userRow', (old, read) => old.age === '7' ? undefined : {
              ...old, city: read.old.city.id.find(1)?.label ?? 'none',
            }),
            m.dropTable('log', { rows: 'discard' }),
          ],`,
        },
        {
          id: '0002-homes',
          before: middle,
          options: `steps: (m) => [
            m.splitTable('userRow', { into: {
              userRow: ({ id, fullName, age }) => ({ id, fullName, age }),
              home: ({ city }) => [{ city }, { city: city + '!' }],
            } }),
          ],`,
        },
        {
          id: '0003-count',
          before: last.replace('rank: t.u32().default(3),', ''),
          options: `steps: (m) => [
            m.run((tx) => { tx.new.home.insert({ city: String(tx.old.home.count()) }); }),
            m.assert('SELECT COUNT(*) = 5 FROM home', 'five homes'),
          ],`,
        },
      ],
    });
    await update(shop, program);
    expect(await shop.rows('SELECT * FROM userRow ORDER BY id')).toEqual([
      [1n, 'User 41', '41', 3],
      [3n, 'User 19', '19', 3],
    ]);
    const homes = await shop.rows('SELECT * FROM home ORDER BY id');
    expect(homes.map(([id]) => id)).toEqual([1n, 2n, 3n, 4n, 5n]);
    expect(homes.map(([, city]) => city)).toEqual(['Ulm', 'Ulm!', 'Ulm', 'Ulm!', '4']);
    await shop.reopen();
    expect(await shop.rows('SELECT * FROM home ORDER BY id')).toEqual(homes);
    await shop.close();
  });

  it('is refused where the file was edited, and where a step fails, and changes nothing', async () => {
    const shop = await withShop(first);
    const failing = people.replace('COUNT(*) = 3', 'COUNT(*) = 4');
    const program = await built({
      module: second,
      migrations: [{ id: '0001-people', before: first, options: failing }],
    });
    await expect(update(shop, program)).rejects.toThrow('all have ages');
    expect(await shop.rows('SELECT COUNT(*) AS n FROM userRow')).toEqual([[3n]]);
    await update(shop, await built(project));
    expect(await update(shop, program)).toMatchObject({
      kind: 'manual',
      reason: expect.stringContaining('migration 0001-people was edited after it was applied'),
    });
    await shop.close();
  });
});

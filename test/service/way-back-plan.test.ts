import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { MigratedModules } from './migrated-module.ts';
import { type Person, Running } from './running.ts';

/** The way back, tried before it is needed, on programs with real `down` steps. */

type Program = Uint8Array<ArrayBuffer>;

let running: Running;
let owner: Person;
let modules: MigratedModules;
let first: Program;

const moduleOf = (columns: string, more = '') => `
  import { schema, t, table } from 'reducerdb/server';
  const db = schema({
    item: table({ public: true }, { id: t.u32().primaryKey(), ${columns} }), ${more}
  });
  export default db;
  export const init = db.init((ctx) => {
    for (let id = 1; id <= 3; id += 1) ctx.db.item.insert({ id, name: 'item ' + id } as never);
  });
`;
const initial = moduleOf('name: t.string()');
const named = moduleOf('title: t.string(), length: t.u32()');
const steps = `
  m.renameColumn('item', 'name', 'title'),
  m.addColumn('item', 'length', { fill: (old) => old.name.length }),
`;
const goesBack = `m.dropColumn('item', 'length'), m.renameColumn('item', 'title', 'name')`;

beforeAll(async () => {
  running = await Running.start();
  owner = await running.person();
  modules = new MigratedModules();
  first = await modules.build(initial);
}, 120_000);
afterAll(async () => {
  await running.stop();
  modules.remove();
});

async function withDown(down: string | undefined): Promise<Program> {
  const migration = { steps, from: first, ...(down !== undefined && { down }) };
  return modules.build(named, [migration]);
}

async function planOf(database: string, program: Program) {
  const { text } = await running.plan(database, program, owner, '&style=NoColor&trial=true');
  return JSON.parse(text).AutoMigrate;
}

async function publish(database: string, program: Program) {
  const { token } = JSON.parse((await running.plan(database, program, owner)).text).AutoMigrate;
  const query = `&policy=BreakClients&token=${token}`;
  expect((await running.upload(database, program, owner, query)).status).toBe(200);
}

async function rollback(database: string, query: string) {
  const { status, text } = await running.ask('POST', `/v1/database/${database}/rollback?${query}`, {
    as: owner,
  });
  return { status, text, answer: status === 200 ? JSON.parse(text) : undefined };
}

async function rollBackTo(database: string, deploy: number) {
  const { answer } = await rollback(database, `deploy=${deploy}&dry_run=true`);
  const query = `deploy=${deploy}&policy=BreakClients&token=${answer.token}`;
  expect((await rollback(database, query)).status).toBe(200);
}

describe('[living 5.10] a plan tries `down` as well', () => {
  it('shows the rows there and back, and what a roll back then does', async () => {
    await running.upload('there', first, owner);
    const program = await withDown(goesBack);
    const { trial } = await planOf('there', program);
    expect(trial.back).toMatchObject({
      ...{ possible: true, reason: null, tried: true, migrations: ['0001-x'] },
      ...{ lost: [], changed: [], conflicts: [], assertions: [] },
      tables: [{ before: 'item', after: 'item', rows_before: 3, rows_after: 3 }],
    });
    expect(trial.back.tables[0].samples[0]).toEqual({
      before: { id: 1, title: 'item 1', length: 6 },
      after: [{ table: 'item', row: { id: 1, name: 'item 1' } }],
    });
    await publish('there', program);
    const { answer } = await rollback('there', 'dry_run=true&trial=true');
    expect(answer).toMatchObject({ of: 1, trial: { failure: null, back: null } });
    expect(answer.trial.tables[0].samples[2]).toEqual({
      before: { id: 3, title: 'item 3', length: 6 },
      after: [{ table: 'item', row: { id: 3, name: 'item 3' } }],
    });
    // Nothing of the trials is there.
    expect(await running.rows('there', 'SELECT title FROM item WHERE id = 3')).toEqual([
      ['item 3'],
    ]);
    await rollBackTo('there', 1);
    expect(await running.rows('there', 'SELECT name FROM item WHERE id = 3')).toEqual([['item 3']]);
  });

  it('names table and key where going back throws, and still publishes', async () => {
    await running.upload('thrown', first, owner);
    const program = await withDown(`m.mapRows('item', (old) => {
      if (old.id === 2) throw new Error('no way back');
      return { id: old.id, name: old.title };
    })`);
    const { trial } = await planOf('thrown', program);
    const reason = expect.stringMatching(/0001-x.*table item, row with id 2: no way back/);
    expect(trial).toMatchObject({ failure: null, back: { possible: false, tried: true, reason } });
    await publish('thrown', program);
    const { answer } = await rollback('thrown', 'dry_run=true&trial=true');
    expect(answer.trial.failure).toEqual(reason);
  });

  it('counts rows that come back as others', async () => {
    await running.upload('changed', first, owner);
    const program = await withDown(`m.mapRows('item', ({ id, title }) =>
      id === 1 ? undefined : { id, name: id === 2 ? title.toUpperCase() : title })`);
    const { trial } = await planOf('changed', program);
    expect(trial.back).toMatchObject({ possible: true, changed: [{ table: 'item', rows: 2 }] });
  });

  it('says what would be lost where there is no `down`', async () => {
    await running.upload('lost', first, owner);
    const { trial } = await planOf('lost', await withDown(undefined));
    expect(trial.back).toMatchObject({
      ...{ possible: false, tried: false, migrations: ['0001-x'] },
      reason: expect.stringContaining('declares no `down` steps'),
      lost: [
        { table: 'item', column: 'title', rows: 3 },
        { table: 'item', column: 'length', rows: 3 },
      ],
    });
  });

  it('says so of changes that need no migration', async () => {
    await running.upload('plain', first, owner);
    const note = await modules.build(moduleOf("name: t.string(), note: t.string().default('')"));
    expect((await planOf('plain', note)).trial.back).toMatchObject({
      ...{ possible: false, tried: false, migrations: [] },
      lost: [{ table: 'item', column: 'note', rows: 3 }],
    });
    const extra = await modules.build(moduleOf('name: t.string()', 'extra: table({}, {}),'));
    expect((await planOf('plain', extra)).trial.back).toMatchObject({ possible: true, lost: [] });
  });
});

describe('[living 5.3] an applied migration whose file is deleted', () => {
  it('is named by the plan and in the log, once', async () => {
    await running.upload('deleted', first, owner);
    await publish('deleted', await withDown(goesBack));
    const lacking = await modules.build(named);
    const warning = 'The program lacks migrations that this database has applied: 0001-x. Its rows';
    const plan = await planOf('deleted', lacking);
    expect(plan).toMatchObject({ warnings: [expect.stringContaining(warning)] });
    await publish('deleted', lacking);
    const logged = async () => {
      return (await running.ask('GET', '/v1/database/deleted/logs', { as: owner })).text;
    };
    await expect.poll(logged).toContain(warning);
    const later = await modules.build(`${named} export const again = db.reducer(() => {});`);
    const again = await planOf('deleted', later);
    expect(again).not.toHaveProperty('warnings');
    expect(again.token).not.toBe(plan.token);
    // As it says: there is no way back past it, but to the program that has the file.
    expect(await rollback('deleted', 'deploy=1&dry_run=true')).toMatchObject({
      ...{ status: 400, text: expect.stringContaining('0001-x cannot be undone') },
    });
    await rollBackTo('deleted', 2);
    await rollBackTo('deleted', 1);
    expect(await running.rows('deleted', 'SELECT name FROM item WHERE id = 2')).toEqual([
      ['item 2'],
    ]);
  });
});

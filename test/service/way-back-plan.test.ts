import { writeFileSync } from 'node:fs';
import path from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { type RunningService, Sandbox } from './harness.ts';
import { MigratedModules } from './migrated-module.ts';

/** The way back, tried before it is needed: by the command, on programs with real `down` steps. */

let sandbox: Sandbox;
let service: RunningService;
let modules: MigratedModules;
let first: Uint8Array<ArrayBuffer>;

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
  sandbox = await Sandbox.make();
  service = await sandbox.start();
  modules = new MigratedModules();
  first = await modules.build(initial);
}, 120_000);
afterAll(async () => {
  await service?.stop();
  sandbox?.remove();
  modules?.remove();
});

let fileCount = 0;

function fileOf(program: Uint8Array): string {
  fileCount += 1;
  const file = path.join(sandbox.folder, `program-${fileCount}.js`);
  writeFileSync(file, program);
  return file;
}

const publish = (database: string, file: string, ...flags: string[]) =>
  sandbox.run(['publish', database, '--js-path', file, '-y', ...flags]);

async function withDown(down: string | undefined, module = named): Promise<string> {
  const migration = { steps, from: first, ...(down !== undefined && { down }) };
  return fileOf(await modules.build(module, [migration]));
}

async function planOf(database: string, file: string) {
  const { code, stdout } = await publish(database, file, '--plan', '--json');
  return { code, ...JSON.parse(stdout) };
}

describe('[living 5.10] `publish --plan` tries `down` as well', { timeout: 240_000 }, () => {
  it('shows the rows there and back, and what `rollback` then does', async () => {
    await publish('there', fileOf(first));
    const file = await withDown(goesBack);
    const plan = await planOf('there', file);
    expect(plan).toMatchObject({ code: 0, succeeds: true });
    expect(plan.trial.back).toMatchObject({
      ...{ possible: true, reason: null, tried: true, migrations: ['0001-x'] },
      ...{ lost: [], changed: [], conflicts: [], assertions: [] },
      tables: [{ before: 'item', after: 'item', rows_before: 3, rows_after: 3 }],
    });
    expect(plan.trial.back.tables[0].samples[0]).toEqual({
      before: { id: 1, title: 'item 1', length: 6 },
      after: [{ table: 'item', row: { id: 1, name: 'item 1' } }],
    });
    const { stdout } = await publish('there', file, '--plan');
    expect(stdout).toContain('Then the `down` steps of 0001-x were tried on that');
    expect(stdout).toMatch(/Going back works\.\s+All rows come back as they are\./);
    expect((await publish('there', file, '--break-clients')).code).toBe(0);
    // Nothing of the trials is there.
    const titles = await sandbox.ok(['sql', 'there', 'SELECT title FROM item']);
    expect(titles).toContain('item 3');
    const undo = JSON.parse(await sandbox.ok(['rollback', 'there', '--plan', '--json']));
    expect(undo).toMatchObject({ of: 1, succeeds: true, trial: { failure: null, back: null } });
    expect(undo.trial.tables[0].samples[2]).toEqual({
      before: { id: 3, title: 'item 3', length: 6 },
      after: [{ table: 'item', row: { id: 3, name: 'item 3' } }],
    });
    const shown = await sandbox.ok(['rollback', 'there', '--plan']);
    expect(shown).toMatch(/^Deploy 1, program [0-9a-f]{12}\n/);
    expect(shown).toContain('Tried on the rows of this moment, and thrown away:');
    expect(await sandbox.ok(['sql', 'there', 'SELECT title FROM item'])).toContain('item 3');
    await sandbox.ok(['rollback', 'there', '-y', '--break-clients']);
    expect(await sandbox.ok(['sql', 'there', 'SELECT name FROM item'])).toContain('item 3');
  });

  it('names table and key where going back throws, and still publishes', async () => {
    await publish('thrown', fileOf(first));
    const down = `m.mapRows('item', (old) => {
      if (old.id === 2) throw new Error('no way back');
      return { id: old.id, name: old.title };
    })`;
    const file = await withDown(down);
    const plan = await planOf('thrown', file);
    const reason = expect.stringMatching(/0001-x.*table item, row with id 2: no way back/);
    expect(plan).toMatchObject({ code: 0, succeeds: true });
    expect(plan.trial.back).toMatchObject({ possible: false, tried: true, reason });
    const { stdout } = await publish('thrown', file, '--plan');
    expect(stdout).toMatch(/Going back would fail: .*row with id 2: no way back/);
    await publish('thrown', file, '--break-clients');
    const undo = await sandbox.run(['rollback', 'thrown', '--plan', '--json']);
    expect(undo.code).toBe(1);
    expect(JSON.parse(undo.stdout)).toMatchObject({ succeeds: false, trial: { failure: reason } });
  });

  it('counts rows that come back as others', async () => {
    await publish('changed', fileOf(first));
    const down = `m.mapRows('item', ({ id, title }) =>
      id === 1 ? undefined : { id, name: id === 2 ? title.toUpperCase() : title })`;
    const file = await withDown(down);
    const { trial } = await planOf('changed', file);
    expect(trial.back).toMatchObject({ possible: true, changed: [{ table: 'item', rows: 2 }] });
    const { stdout } = await publish('changed', file, '--plan');
    expect(stdout).toMatch(/Rows that do not come back as they are:\n {2}item: 2 rows/);
  });

  it('says what would be lost where there is no `down`', async () => {
    await publish('lost', fileOf(first));
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
    await publish('plain', fileOf(first));
    const note = moduleOf("name: t.string(), note: t.string().default('')");
    const file = fileOf(await modules.build(note));
    const { trial } = await planOf('plain', file);
    expect(trial.back).toMatchObject({
      ...{ possible: false, tried: false, migrations: [] },
      lost: [{ table: 'item', column: 'note', rows: 3 }],
    });
    const { stdout } = await publish('plain', file, '--plan');
    expect(stdout).toMatch(/Going back would lose:\n {2}column note of table item: 3 rows/);
    const extra = fileOf(
      await modules.build(moduleOf('name: t.string()', 'extra: table({}, {}),')),
    );
    expect((await planOf('plain', extra)).trial.back).toMatchObject({ possible: true, lost: [] });
  });

  it('refuses `rollback --json` without `--plan`', async () => {
    const { code, stderr } = await sandbox.run(['rollback', 'plain', '--json']);
    expect([code, stderr]).toEqual([2, expect.stringContaining('--json needs --plan')]);
  });
});

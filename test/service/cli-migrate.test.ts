import { existsSync, readdirSync, readFileSync, writeFileSync } from 'node:fs';
import path from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { buildModule } from '../../src/bundle/build-module.ts';
import { logIn, writeModule } from './cli-support.ts';
import { type RunningService, Sandbox } from './harness.ts';
import type { Remote } from './remote.ts';

let sandbox: Sandbox;
let service: RunningService;
let owner: Remote;
let count = 0;

beforeAll(async () => {
  sandbox = await Sandbox.make();
  service = await sandbox.start();
  owner = await logIn(sandbox);
});
afterAll(async () => {
  await service.stop();
  sandbox.remove();
});

const source = (tables: string) => `
  import { schema, t, table } from 'reducerdb/server';
  const db = schema({ ${tables} });
  export default db;
`;
const userTable =
  'user: table({}, { id: t.u32().primaryKey(), fullName: t.string(), age: t.u8() })';
const personTable =
  'person: table({}, { id: t.u32().primaryKey(), fullName: t.string(), years: t.u8(), ' +
  'mail: t.string() })';

/** A project whose database has the table `user`; the module has `person` by now. */
async function project(next = personTable): Promise<{ folder: string; database: string }> {
  count += 1;
  const database = `people-${count}`;
  const folder = writeModule(sandbox, database, source(userTable));
  const program = new Uint8Array((await buildModule(folder)).program);
  expect(await owner.upload(database, program)).toMatchObject({ status: 200 });
  writeFileSync(path.join(folder, 'src/index.ts'), source(next));
  return { folder, database };
}

const filesOf = (folder: string) => {
  const place = path.join(folder, 'migrations');
  return existsSync(place) ? readdirSync(place).sort() : [];
};

describe('migrate new', () => {
  it('[living 5.1] compares with the database, asks, and writes the steps with typed old rows', async () => {
    const { folder, database } = await project();
    const { code, stdout, stderr } = await sandbox.run(
      ['migrate', 'new', 'people', folder, '--database', database],
      { input: 'what\n\n1\n' },
    );
    expect([code, stderr]).toEqual([
      0,
      expect.stringContaining('`what` is not one of the numbers.'),
    ]);
    expect(stdout).toContain(
      'Table `user` is not in the module any more. What became of it?\n' +
        '  1  it is now `person`\n  2  it is gone, with its rows\n1 to 2 [1]: ',
    );
    expect(stdout).toContain('Column `age` of table `person` is not in the module any more.');
    expect(stdout).toContain(
      'migrations/0001-people.ts: 3 steps; 1 of them throws until you write',
    );
    expect(stdout).toContain('  to be written: addColumn person.mail\n');
    expect(filesOf(folder)).toEqual(['0001-people.schema.json', '0001-people.ts']);
    const text = readFileSync(path.join(folder, 'migrations/0001-people.ts'), 'utf8');
    const from = /from: '([0-9a-f]{64})'/.exec(text)?.[1];
    expect(text.replace(from ?? '', 'HASH')).toBe(`import { migration } from 'reducerdb/server';

/** The rows of all tables as they are before this migration. */
interface Before {
  user: {
    id: number;
    fullName: string;
    age: number;
  };
}

export default migration<Before>({
  id: '0001-people',
  from: 'HASH',
  steps: (m) => [
    m.renameTable('user', 'person'),
    m.renameColumn('person', 'age', 'years'),
    m.addColumn('person', 'mail', {
      fill: () => {
        throw new Error('return the value for person.mail (string)');
      },
    }),
  ],
});
`);
    const schema = readFileSync(path.join(folder, 'migrations/0001-people.schema.json'), 'utf8');
    expect(JSON.parse(schema)).toMatchObject({
      hash: from,
      tables: { user: { fullName: 'String' } },
    });
  });

  it('[cli 7.12, living 5.1] takes what is likely with --yes, and says so', async () => {
    const { folder, database } = await project();
    const given = ['migrate', 'new', 'people', folder, '--database', database, '--yes'];
    const { code, stderr } = await sandbox.run(given);
    expect(code).toBe(0);
    expect(stderr).toContain('Table `user` is now `person`: this is likely (--yes).');
    expect(stderr).toContain(
      'Column `age` of table `person` is now `years`: this is likely (--yes).',
    );
  });

  it('[living 5.1] writes nothing where nobody answers, or for a name that no file has', async () => {
    const { folder, database } = await project();
    const unanswered = await sandbox.run(['migrate', 'new', 'x', folder, '--database', database]);
    expect(unanswered.code).toBe(1);
    expect(unanswered.stderr).toContain('--yes takes what is likely. Nothing was written.');
    const named = await sandbox.run([
      'migrate',
      'new',
      'Split Names',
      folder,
      '--database',
      database,
    ]);
    expect(named.code).toBe(2);
    expect(named.stderr).toContain('`Split Names` cannot name a migration.');
    expect(filesOf(folder)).toEqual([]);
  });

  it('[living 5.1] has nothing to do for the same tables, and needs something to compare with', async () => {
    const { folder, database } = await project(userTable);
    const same = await sandbox.ok(['migrate', 'new', 'x', folder, '--database', database]);
    expect(same).toContain('there is nothing to migrate');
    const alone = await sandbox.run(['migrate', 'new', 'x', folder]);
    expect([alone.code, alone.stderr]).toEqual([
      1,
      expect.stringContaining('name the database that is to be migrated with --database'),
    ]);
    const unknown = await sandbox.run(['migrate', 'new', 'x', folder, '--database', 'no-such']);
    expect([unknown.code, unknown.stderr]).toEqual([1, expect.stringContaining('no-such')]);
    expect(filesOf(folder)).toEqual([]);
  });

  it('[living 5.1] begins with the last file where there is no database, and on top of none that is not published', async () => {
    const { folder, database } = await project();
    await sandbox.ok(['migrate', 'new', 'people', folder, '--database', database, '--yes']);
    const onTop = await sandbox.run(['migrate', 'new', 'more', folder, '--database', database]);
    expect([onTop.code, onTop.stderr]).toEqual([
      1,
      expect.stringContaining('0001-people is not published yet.'),
    ]);
    const module = source(personTable.replace('mail: t.string()', 'mail: t.u8()'));
    writeFileSync(path.join(folder, 'src/index.ts'), module);
    const stdout = await sandbox.ok(['migrate', 'new', 'more', folder]);
    expect(stdout).toContain('migrations/0002-more.ts: 1 step.');
    const text = readFileSync(path.join(folder, 'migrations/0002-more.ts'), 'utf8');
    expect(text).toContain(
      "m.changeColumn('person', 'mail', { using: (old) => Number(old.mail) })",
    );
  }, 240_000);
});

import { describe, expect, it } from 'vitest';
import { filesOf, inFolder, type MigratedProject } from '../../test/support/migration-program.ts';
import { loadProgram } from '../../test/support/module-under-test.ts';
import { emptyCatalog } from '../schema/build-catalog.ts';
import { decodeRawModule } from '../schema/decode-raw-module.ts';
import { sha256 } from '../values/sha256.ts';
import { BuildError } from './build-error.ts';
import { buildModule } from './build-module.ts';
import { readProgramFiles } from './program-files.ts';

const module = (column: string) => `
import { schema, table, t } from 'reducerdb/server';
/** Who there is. */
const user = table({}, { ${column} });
const db = schema({ user });
export default db;
/** Adds one. */
export const add = db.reducer({}, () => {});
`;

const project: MigratedProject = {
  module: module('name: t.string()'),
  migrations: [
    {
      id: '0001-names',
      before: module('label: t.string()'),
      options: "  steps: (m) => [m.renameColumn('user', 'label', 'name')],",
    },
    {
      id: '0002-again',
      before: module('name: t.string()'),
      options: `
        steps: (m) => [m.mapRows('user', (old) => helped(old)), m.assert('SELECT 1 = 1', 'holds')],
        down: () => [],`,
      head: "import { helped } from '../src/helped.ts';",
    },
  ],
};

const helped = { 'src/helped.ts': 'export const helped = <T>(row: T): T => row;\n' };
const text = (program: Uint8Array): string => new TextDecoder().decode(program);

async function built(changes: Readonly<Record<string, string | undefined>> = {}) {
  const files = { ...(await filesOf(project)), ...helped, ...changes };
  const kept = Object.entries(files).filter(([, content]) => content !== undefined);
  return inFolder(Object.fromEntries(kept) as Record<string, string>, buildModule);
}

async function errorOf(changes: Readonly<Record<string, string | undefined>>): Promise<string> {
  const error = await built(changes).then(
    () => undefined,
    (reason: unknown) => reason,
  );
  expect(error).toBeInstanceOf(BuildError);
  return (error as Error).message;
}

describe('[living 5.2] the migrations of a project', () => {
  it('are in the description of its program, in their order', async () => {
    const files = await filesOf(project);
    const { program } = await built();
    const { runner } = await loadProgram(program, emptyCatalog);
    const { migrations, reducers } = decodeRawModule(runner.describe());
    expect(reducers.map(({ sourceName }) => sourceName)).toEqual(['add']);
    expect(migrations).toMatchObject([
      {
        id: '0001-names',
        steps: [{ kind: 'renameColumn', table: 'user', from: 'label', to: 'name' }],
        down: undefined,
      },
      {
        id: '0002-again',
        steps: [
          { kind: 'mapRows', table: 'user', reads: false },
          { kind: 'assert', text: 'holds', sql: 'SELECT 1 = 1' },
        ],
        down: [],
      },
    ]);
    const source = files['migrations/0001-names.ts'] ?? '';
    const hash = sha256(new TextEncoder().encode(source));
    expect(migrations[0]?.hash).toEqual(hash);
    const other = await built({ 'migrations/0001-names.ts': source.replaceAll('\n', '\r\n') });
    const again = await loadProgram(other.program, emptyCatalog);
    expect(decodeRawModule(again.runner.describe()).migrations[0]?.hash).toEqual(hash);
  });

  it('are among its sources, and leave its doc comments as they are', async () => {
    const { program } = await built();
    const sources = readProgramFiles(program).files.map(({ name }) => name);
    expect(sources).toContain('migrations/0001-names.ts');
    expect(sources.filter((name) => name.includes('entry'))).toEqual([]);
    const docs = /reducerdb-docs=(.*)/.exec(text(program))?.[1] ?? '{}';
    expect(JSON.parse(docs)).toMatchObject({
      functions: { add: { text: 'Adds one.' } },
      tables: { user: { text: 'Who there is.' } },
    });
  });

  it('make the same program in any folder', async () => {
    const [one, other] = [await built(), await built()];
    expect(text(one.program)).toBe(text(other.program));
  });

  it('leave a project without them as it is', async () => {
    const files = { 'src/index.ts': module('name: t.string()') };
    const plain = await inFolder(files, buildModule);
    const empty = await inFolder({ ...files, 'migrations/README.md': '' }, buildModule);
    expect(text(empty.program)).toBe(text(plain.program));
    expect(text(plain.program)).not.toContain('attachMigrations');
  });

  it('are not those of another file that is built by itself', async () => {
    const files = { ...(await filesOf(project)), ...helped };
    const other = { ...files, 'src/other.ts': module('name: t.string()') };
    const { program } = await inFolder(other, (folder) => buildModule(`${folder}/src/other.ts`));
    expect(text(program)).not.toContain('attachMigrations');
  });

  it.each<[string, Record<string, string | undefined>, string]>([
    [
      'without the schema before',
      { 'migrations/0001-names.schema.json': undefined },
      'migrations/0001-names.schema.json is missing: it holds the schema that',
    ],
    [
      'with another schema',
      { 'migrations/0001-names.schema.json': '{}' },
      'migrations/0001-names.schema.json cannot be used: its `definition`',
    ],
    [
      'without a migration beside a schema',
      { 'migrations/0001-names.ts': undefined },
      'migrations/0001-names.schema.json has no migration beside it: remove it',
    ],
    [
      'under another name',
      { 'migrations/names.ts': '' },
      'migrations/names.ts has no name of a migration: four digits',
    ],
    [
      'with two of one number',
      { 'migrations/0001-others.ts': '', 'migrations/0001-others.schema.json': '' },
      'migrations/0001-others.schema.json cannot be used: it is not JSON',
    ],
    ['of another language', { 'migrations/0003-x.sql': '' }, 'migrations/0003-x.sql is not a'],
    [
      'without an id',
      { 'migrations/0001-names.ts': 'export default 7;' },
      "migrations/0001-names.ts has no `id` as a plain text: write id: '0001-names', the name",
    ],
    [
      'with the id of another',
      { 'migrations/0001-names.ts': "export default migration({ id: '0009-x', steps });" },
      "migrations/0001-names.ts has id '0009-x': write id: '0001-names'",
    ],
    [
      'with another schema in `from`',
      { 'migrations/0001-names.ts': "export default migration({ id: '0001-names', from: 'x' });" },
      "migrations/0001-names.ts has from 'x': write from: '",
    ],
  ])('are refused %s', async (_, changes, words) => {
    expect(await errorOf(changes)).toContain(words);
  });

  it('are refused where two have one number', async () => {
    const files = await filesOf(project);
    const other = {
      'migrations/0001-other.schema.json': files['migrations/0001-names.schema.json'],
      'migrations/0001-other.ts': files['migrations/0001-names.ts']?.replace('1-names', '1-other'),
    };
    expect(await errorOf(other)).toContain(
      'migrations/0001-names.ts and 0001-other.ts have one number: give the later one the next',
    );
  });

  it('must be what a file exports, which the program checks when it is loaded', async () => {
    const files = await filesOf(project);
    const source = files['migrations/0001-names.ts'] ?? '';
    const wrong = source.replace('export default migration(', 'export default Object(');
    const { program } = await built({ 'migrations/0001-names.ts': wrong });
    await expect(loadProgram(program, emptyCatalog)).rejects.toThrow(
      'migrations/0001-names.ts must have a migration as default export',
    );
  });
});

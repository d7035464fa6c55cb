import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { type Person, Running } from './running.ts';
import { written } from './written-module.ts';

let running: Running;
let owner: Person;
let developer: Person;

const module = (more: Readonly<Record<string, string>>) =>
  written({
    says: 'late' in more ? 'two' : 'one',
    tables: {
      note: '{ public: true }, { id: t.u32().primaryKey(), text: t.string() }',
      secret: '{}, { id: t.u32().primaryKey() }',
      ...more,
    },
    exports: `
      export const add = db.reducer({ id: t.u32() }, () => undefined);
    `,
  });

beforeAll(async () => {
  running = await Running.start();
  owner = await running.person();
  developer = await running.person();
  const late = '{ public: true }, { id: t.u32().primaryKey() }';
  for (const more of [{}, { late }]) {
    const { status, text } = await running.upload('notes', await module(more), owner);
    if (status !== 200) throw new Error(text);
  }
  await running.grant('notes', 'developer', developer, owner);
}, 180_000);
afterAll(() => running.stop());

const get = async (path: string, as: Person = owner) => {
  const { status, text } = await running.ask('GET', `/v1/database/notes/${path}`, { as });
  return { status, body: text.startsWith('{') ? JSON.parse(text) : text };
};

describe('[http 18.6] the schema of a deploy', () => {
  it('is that of the program of then, and of now', async () => {
    const now = await get('schema?version=10');
    expect(await get('deploys/2/schema?version=10', developer)).toEqual(now);
    const earlier = await get('deploys/1/schema?version=10', developer);
    expect(earlier.status).toBe(200);
    expect(JSON.stringify(now.body)).toContain('"late"');
    expect(JSON.stringify(earlier.body)).not.toContain('"late"');
    expect(JSON.stringify(earlier.body)).toContain('"text"');
    expect((await get('deploys/1/schema?version=10', developer)).body).toEqual(earlier.body);
  });

  it('is there for deploys that are kept, and for those who may see deploys', async () => {
    expect(await get('deploys/9/schema?version=10')).toEqual({
      status: 404,
      body: 'There is no deploy 9; `reducerdb deploys` lists them',
    });
    expect((await get('deploys/x/schema?version=10')).status).toBe(400);
    expect((await get('deploys/1/schema')).status).toBe(400);
    const stranger = await running.person();
    const refused = await get('deploys/1/schema?version=10', stranger);
    expect(refused.status).toBe(403);
    expect(refused.body).toMatch(/: view deploys$/);
  });
});

interface GeneratedFile {
  readonly path: string;
  readonly text: string;
}

describe('[http 18.6] bindings', () => {
  it('are those that the command generates', async () => {
    const { status, body } = await get('bindings');
    expect(status).toBe(200);
    const files: GeneratedFile[] = body.files;
    const index = files.find(({ path }) => path === 'index.ts');
    expect(index?.text).toContain("from 'reducerdb/client'");
    expect(files.map(({ path }) => path)).toEqual(
      expect.arrayContaining(['index.ts', 'note_table.ts', 'add_reducer.ts', 'types.ts']),
    );
    expect(files.map(({ path }) => path)).not.toContain('secret_table.ts');
    expect(index?.text).toContain("from './note_table'");
  });

  it('say which two things would get the same name, as often as one asks', async () => {
    // The names of files have no case.
    const named = (name: string) => `{ public: true, name: '${name}' }, { id: t.u32() }`;
    const names = ['zz_\u00df', 'zz_\u1e9e'];
    const tables = Object.fromEntries(names.map((name) => [name, named(name)]));
    const program = await written({ tables });
    expect(await running.upload('alike', program, owner)).toMatchObject({ status: 200 });
    const ask = () => running.ask('GET', '/v1/database/alike/bindings');
    const { status, text } = await ask();
    expect([status, text]).toEqual([422, expect.stringContaining('rename one of them')]);
    expect(await ask()).toMatchObject({ status, text });
  });

  it('have what the caller can see, and imports as they are wanted', async () => {
    const all = await get('bindings?include_private=true&import_extension=ts', developer);
    const paths = all.body.files.map(({ path }: GeneratedFile) => path);
    expect(paths).toContain('secret_table.ts');
    expect(all.body.files[0].path).not.toBe('');
    const index = all.body.files.find(({ path }: GeneratedFile) => path === 'index.ts');
    expect(index.text).toContain("from './note_table.ts'");
    const agent = await running.agent('notes', { tables: ['note'], reducers: [] }, owner);
    const few = (await get('bindings?include_private=true', agent)).body.files;
    expect(few.map(({ path }: GeneratedFile) => path)).not.toContain('secret_table.ts');
    expect(few.map(({ path }: GeneratedFile) => path)).not.toContain('add_reducer.ts');
    expect((await get('bindings?import_extension=mjs')).status).toBe(400);
  });
});

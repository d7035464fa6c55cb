import { mkdirSync, writeFileSync } from 'node:fs';
import path from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { logIn, writeModule } from './cli-support.ts';
import { type RunningService, Sandbox } from './harness.ts';
import type { Remote } from './remote.ts';

const index = `import { SenderError, schema, t, table } from 'reducerdb/server';
import { checked } from './checked.ts';
import { twice } from 'twice';
const note = table({ public: true }, { id: t.u32().primaryKey(), text: t.string() });
const db = schema({ note });
export default db;

/** Adds a note. */
export const addNote = db.reducer({ id: t.u32(), text: t.string() }, (ctx, { id, text }) => {
  if (text === '') throw new SenderError('a note has a text');
  ctx.db.note.insert({ id: twice(id), text: checked(text) });
});
`;
const checked = `export function checked(text: string): string {
  return text.trim();
}
`;

let sandbox: Sandbox;
let service: RunningService;
let owner: Remote;

beforeAll(async () => {
  sandbox = await Sandbox.make();
  service = await sandbox.start();
  owner = await logIn(sandbox);
  const folder = writeModule(sandbox, 'notes', index);
  writeFileSync(path.join(folder, 'src/checked.ts'), checked);
  const twice = path.join(folder, 'node_modules/twice');
  mkdirSync(twice, { recursive: true });
  writeFileSync(path.join(twice, 'package.json'), '{ "name": "twice", "main": "index.js" }');
  writeFileSync(path.join(twice, 'index.js'), 'export const twice = (n) => 2 * n;\n');
  writeFileSync(path.join(twice, 'index.d.ts'), 'export const twice: (n: number) => number;\n');
  await sandbox.ok(['publish', 'notes', '-p', folder]);
}, 120_000);
afterAll(async () => {
  await service.stop();
  sandbox.remove();
});

async function ask(query = '', token: string | undefined = owner.token) {
  const where = `${sandbox.url}/v1/database/notes/source${query}`;
  const headers = { authorization: `Bearer ${token}` };
  const answer = await fetch(where, { headers });
  return { status: answer.status, text: await answer.text() };
}
const json = async (query = '') => JSON.parse((await ask(query)).text);

describe('GET …/source', () => {
  it('[ease 4.9] lists what was published', async () => {
    expect(await json()).toEqual({
      program: expect.stringMatching(/^[0-9a-f]{64}$/),
      kind: 'sources',
      files: expect.arrayContaining([
        { file: 'src/index.ts', lines: 12 },
        { file: 'src/checked.ts', lines: 3 },
      ]),
      functions: [{ name: 'add_note', kind: 'reducer', file: 'src/index.ts', lines: '8-12' }],
      left_out: expect.arrayContaining(['reducerdb', 'twice']),
    });
  });

  it('[ease 4.9] has each file whole, its lines, and those of a function', async () => {
    const whole = await json('?file=src%2Findex.ts');
    expect(whole).toMatchObject({ kind: 'sources', lines: '1-12', of: 12, text: index });
    const lines = await json('?file=src%2Fchecked.ts&lines=2-');
    expect(lines).toMatchObject({ lines: '2-3', text: checked.split('\n').slice(1).join('\n') });
    const { text } = await json('?function=addNote');
    expect(text).toBe(index.slice(index.indexOf('/** Adds')));
  });

  it('[ease 4.9] has the lines of functions of submodules, by their full names', async () => {
    const nested = [
      "import { schema } from 'reducerdb/server';",
      "import * as noteBook from './notes.ts';",
      'export default schema({ noteBook });',
    ];
    const notes = [
      "import { schema } from 'reducerdb/server';",
      'const db = schema({});',
      'export default db;',
      '/** Adds a note. */',
      'export const addNote = db.reducer(() => {});',
    ];
    const folder = writeModule(sandbox, 'nested', nested.join('\n'));
    writeFileSync(path.join(folder, 'src/notes.ts'), notes.join('\n'));
    await sandbox.ok(['publish', 'nested', '-p', folder]);
    const listed = await sandbox.ok(['source', 'nested']);
    expect(listed).toContain(' noteBook.add_note | reducer | src/notes.ts:4-5');
    const shown = await sandbox.ok(['source', 'nested', 'noteBook.addNote']);
    expect(shown).toContain('/** Adds a note. */\nexport const addNote');
  });

  it('[ease 4.9] says what is wrong', async () => {
    expect(await ask('?function=ad_notes')).toEqual({
      status: 404,
      text: 'the source has no function `ad_notes`\nhint: Did you mean `add_note`?',
    });
    expect((await ask('?file=src%2Fnone.ts')).status).toBe(404);
    expect((await ask('?file=twice')).status).toBe(404);
    expect((await ask('?lines=1-2')).text).toMatch(/^`lines` needs `file`\nhint: There is `src\//);
    expect((await ask('?file=src%2Findex.ts&lines=13')).status).toBe(400);
  });

  it('[ease 4.9] [ruling 2.3] is closed to strangers, and to tokens without the feature', async () => {
    const made = await fetch(`${sandbox.url}/v1/identity`, { method: 'POST' });
    const stranger = (await made.json()) as { token: string };
    const refused = await ask('', stranger.token);
    expect(refused.status).toBe(403);
    expect(refused.text).toMatch(
      / is not authorized to perform action on database .*: view source$/,
    );
    const tokenOf = async (...flags: string[]) =>
      (await sandbox.ok(['token', 'create', 'notes', ...flags])).trim();
    expect((await ask('', await tokenOf('--tables', 'note'))).status).toBe(403);
    expect((await ask('', await tokenOf('--features', 'source'))).status).toBe(200);
  });
});

describe('reducerdb source', () => {
  it('[ease 4.9] prints lists, functions, files and lines', async () => {
    const listed = await sandbox.ok(['source', 'notes']);
    expect(listed).toMatch(/ FILE +\| LINES /);
    expect(listed).toMatch(/ add_note \| reducer \| src\/index\.ts:8-12 /);
    expect(listed).toMatch(/Not shown: .*twice/);
    const code = await sandbox.ok(['source', 'notes', 'add_note']);
    expect(code).toBe(index.slice(index.indexOf('/** Adds')));
    const lines = ['--file', 'src/checked.ts', '--lines', '2'];
    expect(await sandbox.ok(['source', 'notes', ...lines])).toBe('  return text.trim();\n');
    const asJson = JSON.parse(await sandbox.ok(['source', 'notes', 'add_note', '--json']));
    expect(asJson).toMatchObject({ lines: '8-12', of: 12 });
  });

  it('[ease 4.9] refuses what does not go together, and says what there is', async () => {
    const both = await sandbox.run(['source', 'notes', 'add_note', '--lines', '1']);
    expect([both.code, both.stderr]).toEqual([
      2,
      expect.stringContaining('a function excludes --file and --lines'),
    ]);
    const unknown = await sandbox.run(['source', 'notes', 'ad_note']);
    expect([unknown.code, unknown.stderr]).toEqual([
      1,
      expect.stringContaining('Did you mean `add_note`?'),
    ]);
  });
});

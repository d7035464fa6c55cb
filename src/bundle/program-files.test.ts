import { mkdirSync, mkdtempSync, realpathSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { limits } from '../limits.ts';
import { buildModule } from './build-module.ts';
import { splitMap } from './inline-map.ts';
import { programAsFile, readProgramFiles } from './program-files.ts';

const files = {
  'project/package.json': '{ "name": "under-test" }\n',
  'project/src/index.ts': `import { t } from 'reducerdb/server';
import { twice } from 'twice';
import { shared } from '../../shared/shared.ts';
import { db } from './schema.ts';

export { default } from './schema.ts';
/**
 * Adds.
 */
export const addOne = db.reducer(
  { number: t.u32() },
  (ctx, { number }) => {
    const text = \`
const inText = 1;
  \${twice(number)}
\`;
    console.log(text, shared);
  },
);

const helper = db.reducer({}, () => {
  console.log('help');
});
export const short = db.reducer({}, () => {}); // one line
export { helper as renamed };
export const group = db.exportGroup({
  /** In a group. */
  first: db.reducer({}, () => {
    console.log('first');
  }),
  second: helper,
  third: db.reducer({}, () => {
    console.log('third');
  }),
});
`,
  'project/src/schema.ts': `import { schema } from 'reducerdb/server';
/** Unused, so that it is not part of the program. */
export const unused = 1;
export const db = schema({});
export default db;
`,
  'project/node_modules/twice/package.json': '{ "name": "twice", "main": "index.js" }\n',
  'project/node_modules/twice/index.js':
    'export const twice = (n) => { /* of a package */ console.log(n); return 2 * n; };\n',
  'shared/shared.ts': "export const shared = ['outside'];\n",
};

let root = '';
let program: Uint8Array = new Uint8Array();

beforeAll(async () => {
  root = realpathSync(mkdtempSync(path.join(tmpdir(), 'program-files-')));
  for (const [name, text] of Object.entries(files)) {
    mkdirSync(path.join(root, path.dirname(name)), { recursive: true });
    writeFileSync(path.join(root, name), text);
  }
  ({ program } = await buildModule(path.join(root, 'project')));
});
afterAll(() => rmSync(root, { recursive: true }));

const bytesOf = (text: string) => new TextEncoder().encode(text);

/** A program with this source map. */
function withMap(map: unknown, code = 'export default 1;\n'): Uint8Array {
  const text = typeof map === 'string' ? map : JSON.stringify(map);
  const url = `data:application/json;base64,${Buffer.from(text).toString('base64')}`;
  return bytesOf(`${code}//# sourceMappingURL=${url}\n`);
}

describe('the files of a program', () => {
  it('[ease 4.9] are those of its project, byte for byte', () => {
    const read = readProgramFiles(program);
    expect(read.kind).toBe('sources');
    const byName = Object.fromEntries(read.files.map(({ name, text }) => [name, text]));
    expect(byName).toEqual({
      'src/index.ts': files['project/src/index.ts'],
      'src/schema.ts': files['project/src/schema.ts'],
    });
  });

  it('[ease 4.9] leave out packages and what is outside of the project, but for the names', () => {
    const { leftOut, files: shown } = readProgramFiles(program);
    expect([...leftOut].sort()).toEqual(['../shared/shared.ts', 'reducerdb', 'twice']);
    expect(JSON.stringify(shown)).not.toMatch(/of a package|'outside'/);
  });

  it('[ease 4.9] know the lines of the functions of submodules, by their full names', async () => {
    const first = "import { schema } from 'reducerdb/server';\n";
    const inner = (name: string, entries: string) =>
      `${first}${entries}export const ${name} = db.reducer(() => {});\n`;
    const folder = path.join(root, 'nested');
    const sources = {
      'src/index.ts': inner(
        'top',
        "import * as guilds from './guilds.ts';\nimport * as other from './text.ts';\n" +
          'const db = schema({ guilds, again: guilds });\nexport default db;\n' +
          'export const all = db.exportGroup({ of: guilds.join && db.reducer(() => {}) });\n' +
          'console.log(other);\n',
      ),
      'src/guilds.ts': inner(
        'join',
        "import * as rooms from './rooms.ts';\nconst db = schema({ 'inner_rooms': rooms });\n" +
          'export { db as default };\n',
      ),
      'src/rooms.ts': inner('open', 'const db = schema({});\nexport default db;\n'),
      'src/text.ts': 'export const none = 1;\n',
    };
    mkdirSync(path.join(folder, 'src'), { recursive: true });
    for (const [name, text] of Object.entries(sources)) {
      writeFileSync(path.join(folder, name), text);
    }
    const { functions } = readProgramFiles((await buildModule(folder)).program);
    const places = functions.map(({ name, file, first, last }) => [name, file, first, last]);
    expect(places).toEqual([
      ['of', 'src/index.ts', 6, 6],
      ['top', 'src/index.ts', 8, 8],
      ['guilds.join', 'src/guilds.ts', 5, 5],
      ['again.join', 'src/guilds.ts', 5, 5],
      ['guilds.inner_rooms.open', 'src/rooms.ts', 4, 4],
      ['again.inner_rooms.open', 'src/rooms.ts', 4, 4],
    ]);
  });

  it('[ease 4.9] know the lines of each function, its doc comment included', () => {
    const { functions } = readProgramFiles(program);
    const lines = files['project/src/index.ts'].split('\n');
    const found = Object.fromEntries(
      functions.map(({ name, file, first, last }) => {
        expect(file).toBe('src/index.ts');
        return [name, [lines[first - 1]?.trim(), lines[last - 1]?.trim(), last - first + 1]];
      }),
    );
    expect(found).toEqual({
      addOne: ['/**', ');', 13],
      renamed: ['const helper = db.reducer({}, () => {', '});', 3],
      short: ['export const short = db.reducer({}, () => {}); // one line', expect.any(String), 1],
      first: ['/** In a group. */', '}),', 4],
      second: ['const helper = db.reducer({}, () => {', '});', 3],
      third: ['third: db.reducer({}, () => {', '}),', 3],
    });
  });

  it('[ease 4.9] are the text of the program where it carries no sources', () => {
    const { code } = splitMap(new TextDecoder().decode(program));
    const bundle = (text: string) => ({
      kind: 'bundle',
      files: [{ name: 'bundle.js', text }],
      leftOut: [],
      functions: [],
    });
    expect(readProgramFiles(bytesOf(code))).toEqual(bundle(code));
    const elsewhere = `${code}//# sourceMappingURL=bundle.js.map\n`;
    expect(readProgramFiles(bytesOf(elsewhere))).toEqual(bundle(elsewhere));
    expect(programAsFile(program)).toEqual(bundle(code));
  });

  it.each([
    ['is not JSON', '{'],
    ['is null', 'null'],
    ['has no sources', { version: 3, sections: [] }],
    ['has no texts', { sources: ['src/index.ts'], mappings: '' }],
    ['has texts of another kind', { sources: ['src/index.ts'], sourcesContent: [1] }],
    [
      'names it with line ends',
      { sources: ['a\nb', 'a\u2028b', '\u202ea'], sourcesContent: ['a', 'b', 'c'] },
    ],
    ['names nothing', { sources: [null, 7, ''], sourcesContent: ['a', 'b', 'c'] }],
  ])('[ease 4.9] are the text of the program where its map %s', (_, map) => {
    expect(readProgramFiles(withMap(map))).toMatchObject({
      kind: 'bundle',
      files: [{ name: 'bundle.js', text: 'export default 1;\n' }],
    });
  });

  it.each([
    ['/home/ann/secret.ts', '/home/ann/secret.ts'],
    ['..\\shared.ts', '..\\shared.ts'],
    ['C:/code/secret.ts', 'C:/code/secret.ts'],
    ['file:///code/secret.ts', 'file:///code/secret.ts'],
    ['src/../../secret.ts', 'src/../../secret.ts'],
    ['node_modules/@scope/one/index.js', '@scope/one'],
    ['packages/a/node_modules/two/lib/index.js', 'two'],
    ['reducerdb/server/schema.ts', 'reducerdb'],
  ])('[ease 4.9] leave out %s', (source, named) => {
    const map = { sources: ['src/index.ts', source], sourcesContent: ['own', 'secret'] };
    const read = readProgramFiles(withMap(map));
    expect(read).toMatchObject({ kind: 'sources', leftOut: [named] });
    expect(read.files).toEqual([{ name: 'src/index.ts', text: 'own' }]);
  });

  it('[ease 4.9] are bounded', () => {
    const long = 'x'.repeat(limits.sourceCharactersMax);
    const map = { sources: ['a.ts', 'b.ts', 'c.ts'], sourcesContent: ['1', long, '3'] };
    const read = readProgramFiles(withMap(map));
    expect(read.files.map(({ name }) => name)).toEqual(['a.ts', 'c.ts']);
    expect(read.leftOut).toEqual(['b.ts']);
    const tall = '\n'.repeat(limits.sourceLinesMax);
    const lines = { sources: ['a.ts', 'b.ts'], sourcesContent: [tall, '1'] };
    expect(readProgramFiles(withMap(lines)).leftOut).toEqual(['a.ts']);
    for (const text of [`${long}y`, tall, ' '.repeat(limits.sourceMapCharactersMax + 1)]) {
      const expected = { kind: 'bundle', files: [], leftOut: ['bundle.js'], functions: [] };
      expect(readProgramFiles(bytesOf(text))).toEqual(expected);
      expect(programAsFile(bytesOf(text))).toEqual(expected);
    }
  });
});

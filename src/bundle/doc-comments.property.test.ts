import { existsSync, mkdtempSync, readdirSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { fileURLToPath } from 'node:url';
import fc from 'fast-check';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { someRuns } from '../../test/support/share.ts';
import { buildModule } from './build-module.ts';
import { leadingObjects } from './object-entries.ts';
import { readDocs } from './program-docs.ts';

const root = fileURLToPath(new URL('../..', import.meta.url));
let folder = '';

beforeAll(() => {
  folder = mkdtempSync(path.join(tmpdir(), 'doc-comments-'));
});
afterAll(() => rmSync(folder, { recursive: true, force: true }));

/** Builds with and without doc comments, checks that nothing else differs, and returns them. */
async function docsOf(location: string) {
  const [{ program }, without] = await Promise.all([
    buildModule(location),
    buildModule(location, { docs: false }),
  ]);
  const text = new TextDecoder().decode(program);
  const lines = text.split('\n').filter((line) => !line.startsWith('//# reducerdb-docs='));
  expect(lines.join('\n')).toBe(new TextDecoder().decode(without.program));
  expect(readDocs(without.program).functions.size).toBe(0);
  return readDocs(program);
}

const docsOfText = (text: string) => {
  const file = path.join(folder, 'index.ts');
  writeFileSync(file, text);
  return docsOf(file);
};

describe('building with doc comments', () => {
  const projects = ['test/fixtures/modules', 'examples', 'templates', 'bench/modules'].flatMap(
    (parent) => readdirSync(path.join(root, parent)).map((name) => path.join(root, parent, name)),
  );

  it('[mcp B20] changes nothing else in the modules of this repository', async () => {
    const modules = projects.filter((project) => existsSync(path.join(project, 'src/index.ts')));
    expect(modules.length).toBeGreaterThan(10);
    for (const project of modules) await docsOf(project);
  });

  it('[mcp B20] changes nothing else in the sources of its rooms', async () => {
    const rooms = ['values', 'schema', 'store', 'sql', 'live', 'log', 'database', 'server'];
    const files = rooms.flatMap((room) =>
      readdirSync(path.join(root, 'src', room), { recursive: true, encoding: 'utf8' })
        .filter((name) => name.endsWith('.ts') && !/\.(test|bench|d)\.ts$/.test(name))
        .map((name) => path.join(root, 'src', room, name)),
    );
    const imports = files.map((file) => `export * from ${JSON.stringify(file)};`);
    const docs = await docsOfText(`${imports.join('\n')}\nexport default 1;`);
    // Classes and functions are not declarations of a module; builders and tables of words are.
    expect(docs.functions.size).toBeGreaterThan(20);
    expect(docs.functions.get('strangerRights')?.text).toBe('Rights of everyone else.');
  });
});

// biome-ignore-start lint/suspicious/noTemplateCurlyInString: the texts are programs.
/** Statements in which something looks like a doc comment, or like the end of one. */
const distractions = [
  'const NAME = "/** text */";',
  "const NAME = '*/ /** text';",
  'const NAME = `\n/** template */\nvar x1 = 1;\n`;',
  'const NAME = `${[`/** nested */`, { a: `}` }]}\n/** after */`;',
  'const NAME = /[/**]*/',
  'const NAME = /["\'`/*]/g',
  'const NAME = 1 / 2 / 3;',
  '// line /** comment */',
  '/* plain /* comment */',
  '/** of a type */\ntype NAME = { /** of a member */ a: string };',
  '/** of an interface */\ninterface NAME { a: "/**" }',
  '/** of nothing */;',
  '/** of a block */ { /** of something in it */ const NAME = 1; }',
  'function NAME() { /** inside */ return /re/.test("}") ? `${1}` : "*/"; }',
  'class NAME { /** of a field */ a = 1; static { /** of a block */ } }',
  'if (1) /** of a statement */ void 0;',
  'const NAME = ({ /** of a key */ a: 1 }).a / 2; /** of the next, which is none */',
  'declare const NAME: string; /* */',
  'enum NAME { /** of a case */ A, B }',
  'namespace NAME { /** inside */ export const a = 1; }',
  'const NAME = <T,>(a: T /** of an argument */) => a;',
  'const [NAME] = [/** of an item */ 1];',
  'label: for (;;) { break label; }',
];
// biome-ignore-end lint/suspicious/noTemplateCurlyInString: the texts are programs.

const comments = [
  { text: '/** WORD */', says: true },
  { text: '/**\n * WORD\n */', says: true },
  { text: '/**WORD*/\n\n// line\n', says: true },
  { text: '/* other */ /** WORD */ /* more */', says: true },
  { text: '/** other */\n/** WORD */\r\n', says: true },
  { text: '/* WORD */', says: false },
  { text: '// WORD\n', says: false },
  { text: '/** WORD */;', says: false },
  { text: '', says: false },
] as const;

const declarations = [
  (name: string) => `export const ${name} = f({ a: 1 }, () => {});`,
  (name: string) => `const ${name} = f(\`\${1}/** x */\`); export { ${name} };`,
  (name: string) => `let ${name}_ = f("/** x */"); export { ${name}_ as ${name} };`,
  (name: string) => `export\n  var ${name} = f(/[/**]*/, /** x */ 1), ${name}_ = 1;`,
];

it('[mcp B20] random modules: what stands before a name is said of it', async () => {
  const statement = fc.record({
    before: fc.array(fc.constantFrom(...distractions), { maxLength: 3 }),
    comment: fc.constantFrom(...comments),
    declaration: fc.constantFrom(...declarations),
  });
  const property = fc.asyncProperty(fc.array(statement, { minLength: 1 }), async (statements) => {
    const expected = new Map<string, string>();
    let counter = 0;
    const text = statements.map(({ before, comment, declaration }, at) => {
      const named = before.map((line) => {
        counter += 1;
        return line.replaceAll('NAME', `n${counter}`);
      });
      if (comment.says) expected.set(`x${at}`, `About ${at}.`);
      const own = `;${comment.text.replace('WORD', `About ${at}.`)} ${declaration(`x${at}`)}`;
      return [...named, own].join('\n');
    });
    const docs = await docsOfText(
      `const f = (...all: unknown[]) => all;\n${text.join('\n')}\nexport default f;`,
    );
    const said = [...docs.functions].filter(([, { text }]) => text !== '');
    expect(new Map(said.map(([name, { text }]) => [name, text]))).toEqual(expected);
  });
  await fc.assert(property, { numRuns: 40 });
});

it('[mcp B20] random text: reading the arguments of a call ends', () => {
  const pieces = [
    'f(',
    '{',
    '}',
    ')',
    '(',
    '`',
    '${',
    '"',
    "'",
    '/',
    '*',
    '\\',
    '[',
    ']',
    ',',
    ':',
  ];
  const more = ['a', 'get ', '=>', '\n', '//', '/*', '*/', ' ', '...', '\u2028', '\u{1f600}', ';'];
  const text = fc.array(fc.constantFrom(...pieces, ...more), { maxLength: 60 });
  fc.assert(
    fc.property(text, fc.nat(60), (parts, offset) => {
      const program = `f(${parts.join('')}`;
      for (const { nameOffset, valueOffset } of leadingObjects(program, 0, () => offset).flat()) {
        expect(nameOffset).toBeLessThan(program.length);
        expect(valueOffset).toBeLessThanOrEqual(program.length);
      }
    }),
    { numRuns: someRuns(20_000) },
  );
});

it('[mcp B20] texts of any length: reading the arguments of a call goes on', () => {
  for (const value of [`"${'\\n'.repeat(1e7)}"`, `/[${'/'.repeat(1e7)}]/`, '/**/ '.repeat(1e6)]) {
    const keys = leadingObjects(`f({ a: ${value}, b })`, 0, () => undefined).flat();
    expect(keys.map(({ key }) => key)).toEqual(['a', 'b']);
  }
});

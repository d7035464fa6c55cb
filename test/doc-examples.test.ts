import { execFile } from 'node:child_process';
import { mkdirSync, mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { createRequire } from 'node:module';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { fileURLToPath } from 'node:url';
import { promisify } from 'node:util';
import { afterAll, describe, expect, it } from 'vitest';

const root = fileURLToPath(new URL('..', import.meta.url));
const folder = mkdtempSync(path.join(tmpdir(), 'reducerdb-examples-'));
afterAll(() => rmSync(folder, { recursive: true, force: true }));

/** What the examples in the comments of the module library may take for granted. */
const given = `
import * as library from 'reducerdb/server';
const { schema, t, table } = library;
const heroTable = table(
  { public: true },
  {
    owner: t.identity().primaryKey(),
    nick: t.string().unique(),
    level: t.u8().default(1),
  },
);
const lineTable = table(
  { indexes: [{ accessor: 'byRoom', algorithm: 'btree', columns: ['room', 'sentAt'] }] },
  { id: t.u64().primaryKey().autoInc(), room: t.string(), sentAt: t.timestamp(), text: t.string() },
);
const module = schema({ hero: heroTable, line: lineTable });
const builder = library.makeQueryBuilder(module.schemaType);
const handler = module.httpHandler(() => new library.SyncResponse());
type Module = typeof module;
declare global {
  var hero: typeof heroTable;
  var db: Module;
  var ctx: library.ReducerCtx<Module> & library.ViewCtx<Module>;
  var from: typeof builder;
  var row: library.Infer<typeof heroTable.rowType>;
  var error: unknown;
  var value: unknown;
  var text: string;
  var lastSeen: library.Timestamp;
  var board: typeof handler;
  var clear: typeof handler;
  var expression: library.BooleanExpr;
  var Thread: library.StringBuilder;
}
`;

interface Example {
  readonly name: string;
  readonly code: string;
}

function examplesOf(room: string): Example[] {
  const names = readdirSync(path.join(root, 'src', room)).filter((name) =>
    /^[^.]+\.ts$/.test(name),
  );
  return names.flatMap((name) => {
    const source = readFileSync(path.join(root, 'src', room, name), 'utf8');
    const blocks = [...source.matchAll(/@example\n \* ```ts\n([\s\S]*?) \* ```/g)];
    return blocks.map(([, code = ''], index) => ({
      name: `${name.replace('.ts', '')}-${index}.ts`,
      code: code.replace(/^ \* ?/gm, ''),
    }));
  });
}

/** What the examples in the comments of the client library may take for granted. */
const givenToClients = `
import * as library from 'reducerdb/client';
import { schema, t, table } from 'reducerdb/server';
const heroTable = table(
  { public: true },
  { owner: t.identity().primaryKey(), nick: t.string().unique(), level: t.u8().default(1) },
);
const module = schema({ hero: heroTable });
const rename = module.reducer({ nick: t.string() }, () => {});
const say = module.reducer({ text: t.string() }, () => {});
const ping = module.reducer(() => {});
const TradeError = t.enum('TradeError', { TooPoor: t.u32(), NoSuchHero: t.unit() });
const trade = module.reducer({ throws: TradeError }, { gold: t.u32() }, () => {});
export default module;
export { ping, rename, say, trade };
const tavernClient = library.connect<typeof import('./given.ts')>({ uri: '', database: '' });
declare global {
  var heroTable: library.SchemaDescription['tables'][string];
  var client: typeof tavernClient;
  var counter: library.Readable<number>;
  var expression: library.BooleanExpr;
  var error: unknown;
  var text: string;
}
`;

describe('the examples in the comments of the module library', () => {
  it('compile', async () => {
    const examples = [...examplesOf('declare'), ...examplesOf('server')];
    expect(examples.length).toBeGreaterThan(90);
    const settings = path.join(root, 'examples/chat/tsconfig.json');
    expect(await complaints(examples, 'server', { given, settings })).toBe('');
  });
});

describe('the examples in the comments of the client library', () => {
  it('compile', async () => {
    const examples = examplesOf('client').map(withModule);
    expect(examples.length).toBeGreaterThan(30);
    const settings = path.join(root, 'test/types/client/tsconfig.json');
    expect(await complaints(examples, 'client', { given: givenToClients, settings })).toBe('');
  });
});

/** What the examples in the comments of the hooks may take for granted besides. */
const givenToComponents = `${givenToClients}
import * as react from 'react';
const hero = table({ name: 'hero' }, { nick: t.string(), level: t.u8() });
const queries = library.makeQueryBuilder(library.schema({ hero }).schemaType);
const described = {
  reducers: { rename: library.reducerSchema('rename', { nick: t.string() }) },
  procedures: { heroCount: library.procedureSchema('hero_count', {}, t.u64()) },
};
declare global {
  var createElement: typeof react.createElement;
  var tables: typeof queries;
  var reducers: typeof described.reducers;
  var procedures: typeof described.procedures;
}
`;

describe('the examples in the comments of the hooks', () => {
  it('compile', async () => {
    const examples = examplesOf('react').map(withModule);
    expect(examples.length).toBeGreaterThan(15);
    const settings = path.join(root, 'test/types/client/tsconfig.json');
    expect(await complaints(examples, 'react', { given: givenToComponents, settings })).toBe('');
  });
});

/** The module's type is at hand in examples as it is in programs. */
function withModule({ name, code }: Example): Example {
  const line = "import type * as tavern from './given.ts';\n";
  return { name, code: code.includes('typeof tavern') ? line + code : code };
}

/** What the compiler says about examples that import from `reducerdb/<entry>`. */
async function complaints(
  examples: readonly Example[],
  entry: 'server' | 'client' | 'react',
  { given: start, settings: base }: { readonly given: string; readonly settings: string },
): Promise<string> {
  const place = path.join(folder, entry);
  mkdirSync(place);
  writeFileSync(path.join(place, 'package.json'), '{"type":"module"}');
  writeFileSync(path.join(place, 'given.ts'), start);
  for (const { name, code } of examples) {
    const imports = importsFor(code, entry);
    // An example that returns something is the inside of a function.
    const isBody = /^return\b/m.test(code);
    writeFileSync(
      path.join(place, name),
      imports + (isBody ? `export function body() {\n${code}}\n` : code),
    );
  }
  const sources = ['server', 'client', 'react'].map((room) => {
    return [`reducerdb/${room}`, [path.join(root, 'src', room, 'index.ts')]] as const;
  });
  const settings = {
    extends: base,
    // An example is not a program: what it declares is there to be read.
    compilerOptions: {
      paths: {
        ...Object.fromEntries(sources),
        react: [path.join(root, 'node_modules/@types/react/index.d.ts')],
      },
      noUnusedLocals: false,
      noUnusedParameters: false,
      verbatimModuleSyntax: false,
    },
    include: [place, ...(entry === 'server' ? [path.join(root, 'src/engine-globals.d.ts')] : [])],
  };
  writeFileSync(path.join(place, 'tsconfig.json'), JSON.stringify(settings));
  const compiler = createRequire(import.meta.url).resolve('typescript/package.json');
  const tsc = path.join(path.dirname(compiler), 'bin/tsc');
  const run = promisify(execFile)(process.execPath, [tsc, '-p', place]);
  const { stdout } = await run.catch((error: { stdout: string }) => error);
  return stdout;
}

/** Names of the entry; who writes components has types of the client at hand, too. */
function importsFor(code: string, entry: string): string {
  const own = exportedNames(entry);
  const others = exportedNames('client').filter((name) => /^[A-Z]/.test(name));
  const line = (names: readonly string[], from: string) => {
    const used = names.filter((name) => mentions(code, name));
    return `import { ${used.join(', ')} } from 'reducerdb/${from}';\n`;
  };
  return line(own, entry) + (entry === 'react' ? line(others, 'client') : '');
}

function exportedNames(entry: string): string[] {
  const index = readFileSync(path.join(root, 'src', entry, 'index.ts'), 'utf8');
  return [...index.matchAll(/^export (?:type )?\{([^}]*)\}/gm)]
    .flatMap(([, list = '']) => list.split(','))
    .map((item) =>
      item
        .trim()
        .replace('type ', '')
        .replace(/^.* as /, ''),
    )
    .filter((name) => name !== '');
}

/** The example uses the name and does not declare it itself. */
function mentions(code: string, name: string): boolean {
  const isUsed = new RegExp(`(?<![\\w.'])${name}\\b(?!:)`).test(code);
  return isUsed && !new RegExp(`\\b(const|type|function) (\\{[^}]*\\b)?${name}\\b`).test(code);
}

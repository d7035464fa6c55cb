import { execFile } from 'node:child_process';
import { mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
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

describe('the examples in the comments of the module library', () => {
  const examples = [...examplesOf('declare'), ...examplesOf('server')];

  it('compile', async () => {
    expect(examples.length).toBeGreaterThan(90);
    const exported = exportedNames();
    writeFileSync(path.join(folder, 'package.json'), '{"type":"module"}');
    writeFileSync(path.join(folder, 'given.ts'), given);
    for (const { name, code } of examples) {
      const used = exported.filter((exportedName) => mentions(code, exportedName));
      const imports = `import { ${used.join(', ')} } from 'reducerdb/server';\n`;
      // An example that returns something is the inside of a function.
      const isBody = /^return\b/m.test(code);
      writeFileSync(
        path.join(folder, name),
        imports + (isBody ? `export function body() {\n${code}}\n` : code),
      );
    }
    const settings = {
      extends: path.join(root, 'examples/chat/tsconfig.json'),
      compilerOptions: { paths: { 'reducerdb/server': [path.join(root, 'src/server/index.ts')] } },
      include: [folder, path.join(root, 'src/engine-globals.d.ts')],
    };
    writeFileSync(path.join(folder, 'tsconfig.json'), JSON.stringify(settings));
    const compiler = createRequire(import.meta.url).resolve('typescript/package.json');
    const tsc = path.join(path.dirname(compiler), 'bin/tsc');
    const run = promisify(execFile)(process.execPath, [tsc, '-p', folder]);
    const { stdout } = await run.catch((error: { stdout: string }) => error);
    expect(stdout).toBe('');
  });
});

function exportedNames(): string[] {
  const index = readFileSync(path.join(root, 'src/server/index.ts'), 'utf8');
  return [...index.matchAll(/^export (?:type )?\{([^}]*)\}/gm)]
    .flatMap(([, list = '']) => list.split(','))
    .map((item) => item.trim().replace('type ', ''))
    .filter((name) => name !== '');
}

/** The example uses the name and does not declare it itself. */
function mentions(code: string, name: string): boolean {
  const isUsed = new RegExp(`(?<![\\w.'])${name}\\b(?!:)`).test(code);
  return isUsed && !new RegExp(`\\b(const|type|function) ${name}\\b`).test(code);
}

import {
  cpSync,
  mkdirSync,
  mkdtempSync,
  realpathSync,
  rmSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { fileURLToPath } from 'node:url';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { readSourceMap } from '../module/javascript/source-map.ts';
import { BuildError } from './build-error.ts';
import { buildModule } from './build-module.ts';
import { linkProgram } from './link.ts';
import { typeCheck } from './type-check.ts';

let root = '';

beforeEach(() => {
  root = realpathSync(mkdtempSync(path.join(tmpdir(), 'build-module-')));
});

afterEach(() => {
  rmSync(root, { recursive: true, force: true });
});

function write(files: Readonly<Record<string, string>>): void {
  for (const [name, text] of Object.entries(files)) {
    const file = path.join(root, name);
    mkdirSync(path.dirname(file), { recursive: true });
    writeFileSync(file, text);
  }
}

const text = (program: Uint8Array): string => new TextDecoder().decode(program);

async function buildError(location = root): Promise<string> {
  const error = await buildModule(location).then(
    () => undefined,
    (reason: unknown) => reason,
  );
  expect(error).toBeInstanceOf(BuildError);
  return (error as Error).message;
}

const sdkModule = `import { schema } from 'reducerdb/server';
import { Identity } from 'reducerdb';
const spacetimedb = schema({});
export default spacetimedb;
export const touch = spacetimedb.reducer({}, () => { new Identity(1n); });
`;

describe('buildModule', () => {
  it('[abi 1.1] makes one module with its map and constants inside', async () => {
    write({
      'src/index.ts':
        "import { two } from './lib/two.ts';\nexport default { two, e: process.env.NODE_ENV };\n",
      'src/lib/two.ts': 'export const two: number = 2;\n',
    });
    const program = text((await buildModule(root)).program);
    expect(program).toContain('e: "production"');
    expect(program).toMatch(/export \{\s+\w+ as default\s+\};/);
    const encoded = /sourceMappingURL=data:application\/json;base64,(\S+)\n$/.exec(program)?.[1];
    const map = JSON.parse(Buffer.from(encoded ?? '', 'base64').toString()) as {
      sources: string[];
      sourcesContent: string[];
    };
    expect(map.sources).toEqual(['src/lib/two.ts', 'src/index.ts']);
    expect(map.sourcesContent[0]).toContain('two: number');
  });

  it('finds our own package where the project has none, under our name', async () => {
    write({ 'src/index.ts': sdkModule });
    const { program, warnings } = await buildModule(root);
    expect(warnings).toEqual([]);
    const { script, imports } = await linkProgram(program);
    expect(imports).toEqual([]);
    expect(script).not.toContain('node:');
    const ownFolder = fileURLToPath(new URL('../..', import.meta.url));
    const decoded = text(program) + Buffer.from(text(program).split('base64,')[1] ?? '', 'base64');
    expect(decoded).not.toContain(ownFolder);
    expect(decoded).not.toContain(root);
    expect(decoded).toContain('"reducerdb/server/');
  });

  it('prefers the package that the project has installed', async () => {
    write({
      'src/index.ts': "import { x } from 'reducerdb/server';\nexport default { x };\n",
      'node_modules/reducerdb/package.json':
        '{ "type": "module", "exports": { "./server": "./dist/server/index.js" } }',
      'node_modules/reducerdb/dist/server/index.js': 'export const x = "installed";\n',
    });
    const { program } = await buildModule(root);
    expect(text(program)).toContain('"installed"');
    expect(Buffer.from(text(program).split('base64,')[1] ?? '', 'base64').toString()).toContain(
      '"reducerdb/server/index.js"',
    );
  });

  it('names the sources of a package that is a link as those of any other', async () => {
    write({
      'app/src/index.ts': "import { x } from 'reducerdb/server';\nexport default { x };\n",
      'clone/package.json':
        '{ "type": "module", "exports": { "./server": "./dist/server/index.js" } }',
      'clone/dist/server/index.js': 'export const x = "linked";\n',
    });
    mkdirSync(path.join(root, 'app/node_modules'));
    symlinkSync(path.join(root, 'clone'), path.join(root, 'app/node_modules/reducerdb'));
    const { program } = await buildModule(path.join(root, 'app'));
    const map = Buffer.from(text(program).split('base64,')[1] ?? '', 'base64').toString();
    expect(JSON.parse(map).sources).toEqual(['reducerdb/server/index.js', 'src/index.ts']);
  });

  it('gives the same bytes wherever the project is', async () => {
    write({ 'src/index.ts': sdkModule });
    const first = await buildModule(root);
    const other = realpathSync(mkdtempSync(path.join(tmpdir(), 'elsewhere-')));
    try {
      cpSync(root, path.join(other, 'deep/er'), { recursive: true });
      const second = await buildModule(path.join(other, 'deep/er'));
      expect(Buffer.from(second.program).equals(Buffer.from(first.program))).toBe(true);
    } finally {
      rmSync(other, { recursive: true, force: true });
    }
  });

  it('takes the entry from package.json, or a single file', async () => {
    write({
      'package.json': '{ "main": "module/start.ts" }',
      'module/start.ts': 'export default { from: "start" };',
      'other.ts': 'export default { from: "other" };',
    });
    expect(text((await buildModule(root)).program)).toContain('"start"');
    expect(text((await buildModule(path.join(root, 'other.ts'))).program)).toContain('"other"');
  });

  it('leads from the linked script back to the TypeScript', async () => {
    write({
      'src/index.ts':
        'interface Unused { a: string }\n\nexport function fail(): never {\n' +
        '  throw new Error("here");\n}\nexport default {};\n',
    });
    const { script, sourceMap } = await linkProgram((await buildModule(root)).program);
    const lines = script.split('\n');
    const line = lines.findIndex((part) => part.includes('throw new Error("here")'));
    const column = lines[line]?.indexOf('throw') ?? -1;
    expect(readSourceMap(sourceMap).originalPosition(line + 1, column + 1)).toEqual({
      source: 'src/index.ts',
      line: 4,
      column: 3,
    });
  });
});

describe('what buildModule refuses', () => {
  it('is a place without a module', async () => {
    expect(await buildError(path.join(root, 'nowhere'))).toContain('there is no module at');
    expect(await buildError()).toContain('has no entry file: neither src/index.ts');
  });

  it('is told with file, line, column and the line itself', async () => {
    write({ 'src/index.ts': "export default 1;\nimport { x } from './missing.ts';\nx;\n" });
    expect(await buildError()).toBe(
      'src/index.ts:2:19: Could not resolve "./missing.ts"\n\n' +
        "  2 | import { x } from './missing.ts';\n" +
        '    |                   ^^^^^^^^^^^^^^',
    );
    write({ 'src/index.ts': 'export default {\n\tname: = 1,\n};\n' });
    expect(await buildError()).toBe(
      'src/index.ts:2:8: Unexpected "="\n\n  2 | \tname: = 1,\n    | \t      ^',
    );
    write({
      'src/index.ts': "import { y } from './a.ts';\nexport default y;\n",
      'src/a.ts': 'export {};\n',
    });
    expect(await buildError()).toContain('src/index.ts:1:10: No matching export');
  });

  it('is I/O', async () => {
    for (const name of ['node:fs', 'fs', 'node:process', 'child_process', 'fs/promises']) {
      write({ 'src/index.ts': `import * as io from '${name}';\nexport default io;\n` });
      const message = await buildError();
      expect(message).toContain(
        `src/index.ts:1:21: "${name}" is not available: modules have no I/O`,
      );
      expect(message).toContain('note: a module runs inside the database');
    }
  });

  it('is not a package that has the name of one of the machine', async () => {
    write({
      'src/index.ts': "import { on } from 'events';\nexport default { on };\n",
      'node_modules/events/package.json': '{ "main": "index.js" }',
      'node_modules/events/index.js': 'exports.on = "own";\n',
    });
    expect(text((await buildModule(root)).program)).toContain('"own"');
  });

  it('is a module without a default export', async () => {
    write({ 'src/index.ts': 'export const a = 1;\n' });
    expect(await buildError()).toBe(
      'src/index.ts: must export schema as default export, as in: export default db',
    );
  });

  it('[ease 2.1] is the library of another server, with the line to change', async () => {
    write({
      'package.json': '{}',
      'src/index.ts': "import { schema } from 'spacetimedb/server';\nexport default schema({});\n",
    });
    expect(await buildError()).toBe(
      'src/index.ts:1:24: "spacetimedb/server" is the library of another server: ' +
        'change it to "reducerdb/server"\n\n' +
        "  1 | import { schema } from 'spacetimedb/server';\n" +
        '    |                        ^^^^^^^^^^^^^^^^^^^^\n\n' +
        'note: `reducerdb migrate-from-spacetimedb` changes a whole project',
    );
    const error = await buildModule(root).catch((reason: unknown) => reason);
    expect(error).toMatchObject({ isMovedImport: true });
  });

  it('[ease 2.1] is no error where that library is installed, but a warning', async () => {
    write({
      'package.json': '{}',
      'node_modules/spacetimedb/package.json': '{"main":"index.js","type":"module"}',
      'node_modules/spacetimedb/index.js': "export const schema = () => 'theirs';",
      'src/index.ts': "import { schema } from 'spacetimedb';\nexport default schema();\n",
    });
    const { program, warnings } = await buildModule(root);
    expect(text(program)).toContain('theirs');
    expect(warnings).toHaveLength(1);
    expect(warnings[0]).toContain('src/index.ts:1:24: "spacetimedb" is the library of another');
  });

  it('is a package that is not there', async () => {
    write({ 'src/index.ts': "import 'left-pad';\nexport default 1;\n" });
    expect(await buildError()).toContain('src/index.ts:1:8: Could not resolve "left-pad"');
    write({ 'src/index.ts': "import 'reducerdb/client';\nexport default 1;\n" });
    expect(await buildError()).toContain('Could not resolve "reducerdb/client"');
  });
});

describe('typeCheck', () => {
  const settings = '{ "compilerOptions": { "strict": true, "types": [] }, "include": ["src"] }';

  it('is skipped, with the reason, where it cannot be done', async () => {
    write({ 'src/index.ts': 'export default 1;' });
    expect(await typeCheck(root)).toMatchObject({ kind: 'skipped' });
    write({ 'tsconfig.json': settings });
    const result = await typeCheck(root);
    expect(result.kind === 'skipped' && result.notice).toContain('npm install -D typescript');
  });

  it('runs the compiler of the project', async () => {
    write({ 'src/index.ts': 'export default 1;\n', 'tsconfig.json': settings });
    const own = fileURLToPath(new URL('../../node_modules', import.meta.url));
    symlinkSync(own, path.join(root, 'node_modules'));
    expect(await typeCheck(root)).toEqual({ kind: 'passed' });
    write({ 'src/index.ts': 'const a: string = 1;\nexport default a;\n' });
    const result = await typeCheck(root);
    expect(result.kind === 'failed' && result.diagnostics).toContain('src/index.ts(1,7): error');
  });
});

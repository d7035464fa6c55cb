import { mkdirSync, mkdtempSync, realpathSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { sameBytes } from '../values/bytes.ts';
import { BuildError } from './build-error.ts';
import { buildModule } from './build-module.ts';
import { ModuleBuilder } from './module-builder.ts';

let root = '';
let builder: ModuleBuilder;

beforeEach(() => {
  root = realpathSync(mkdtempSync(path.join(tmpdir(), 'module-builder-')));
  builder = new ModuleBuilder(root);
});

afterEach(async () => {
  await builder.dispose();
  rmSync(root, { recursive: true, force: true });
});

function write(name: string, text: string): void {
  const file = path.join(root, name);
  mkdirSync(path.dirname(file), { recursive: true });
  writeFileSync(file, text);
}

const module = (text: string) => `import { schema } from 'reducerdb/server';
import { word } from './word.ts';
const db = schema({});
export default db;
/** Says it. */
export const say = db.reducer({}, () => { console.log(word, '${text}'); });
`;

describe('ModuleBuilder', () => {
  it('[console 3.2] gives the program that a single build gives, after each change', async () => {
    write('src/word.ts', "export const word = 'one';\n");
    for (const text of ['first', 'second', 'third']) {
      write('src/index.ts', module(text));
      const { program, sources } = await builder.build();
      expect(sameBytes(program, (await buildModule(root)).program)).toBe(true);
      expect(sources).toContain(path.join(root, 'src/index.ts'));
      expect(sources).toContain(path.join(root, 'src/word.ts'));
    }
    write('src/word.ts', "export const word = 'two';\n");
    expect(sameBytes((await builder.build()).program, (await buildModule(root)).program)).toBe(
      true,
    );
  });

  it('[console 3.2] names the place of a fault, and builds again without it', async () => {
    write('src/word.ts', "export const word = 'one';\n");
    write('src/index.ts', `${module('text')}const x = ;\n`);
    const error = await builder.build().catch((reason: unknown) => reason);
    expect(error).toBeInstanceOf(BuildError);
    expect((error as Error).message).toContain('src/index.ts:7:11: Unexpected ";"');
    expect((error as Error).message).toContain('7 | const x = ;');
    write('src/index.ts', module('text'));
    expect(sameBytes((await builder.build()).program, (await buildModule(root)).program)).toBe(
      true,
    );
    rmSync(path.join(root, 'src/word.ts'));
    await expect(builder.build()).rejects.toThrow('Could not resolve "./word.ts"');
  });

  it('[console 3.2] finds another entry', async () => {
    const plain = "import { schema } from 'reducerdb/server';\nexport default schema({});\n";
    write('src/main.ts', plain);
    write('package.json', '{ "main": "src/main.ts" }');
    const before = (await builder.build()).program;
    write('src/index.ts', `export const more = 1;\n${plain}`);
    const { program } = await builder.build();
    expect(sameBytes(program, (await buildModule(root)).program)).toBe(true);
    expect(sameBytes(program, before)).toBe(false);
  });
});

import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { buildModule } from '../src/bundle/build-module.ts';
import { openTestDatabase, type TestDatabase } from '../src/testing/index.ts';

const source = `
import { schema, t } from 'reducerdb/server';
const db = schema({});
export default db;
export const run = db.procedure({}, t.string(), () => {
  const url = new URL('../b?x=1', 'https://Db.example.com:443/a/c');
  url.searchParams.append('y', 'ä &');
  const copy = structuredClone({ at: new Date(5), map: new Map([[1, url.href]]) });
  const text = new TextDecoder().decode(new TextEncoder().encode('ü'));
  return [copy.map.get(1), atob(btoa('abc')), text, typeof URLSearchParams].join(' ');
});
export const large = db.procedure({}, t.string(), () => {
  const text = 'x'.repeat(1_000_000);
  return String(new URL('http://h/' + text + '?' + text).href.length);
});
`;

let folder: string;
let db: TestDatabase;

beforeAll(async () => {
  folder = mkdtempSync(path.join(tmpdir(), 'web-globals-'));
  mkdirSync(path.join(folder, 'src'));
  writeFileSync(path.join(folder, 'package.json'), '{"type":"module"}');
  writeFileSync(path.join(folder, 'src/index.ts'), source);
  db = await openTestDatabase({ module: folder });
});
afterAll(async () => {
  await db.close();
  rmSync(folder, { recursive: true, force: true });
});

describe('[abi 3.6] globals of the web', () => {
  it('are there for the sources of a module, in the sandbox', async () => {
    const text = 'https://db.example.com/b?x=1&y=%C3%A4+%26 abc ü function';
    expect(await db.call('run')).toBe(text);
    expect(await db.call('large')).toBe('2000010');
  });

  it('are not in a program that names none of them, or declares its own', async () => {
    const program = async (more: string) => {
      const file = path.join(folder, 'src/other.ts');
      writeFileSync(
        file,
        `import { schema } from 'reducerdb/server';\n${more}\nexport default schema({});`,
      );
      return new TextDecoder().decode((await buildModule(file)).program).split('//# source')[0];
    };
    const [bare, own, used] = [
      await program(''),
      await program('class URL {}\nconsole.log(new URL());'),
      await program('console.log(new URL("http://h").href);'),
    ];
    expect(bare).not.toContain('searchParams');
    expect(own).not.toContain('searchParams');
    expect(used).toContain('searchParams');
    expect(used).not.toContain('could not be cloned');
  });
});

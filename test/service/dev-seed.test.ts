import path from 'node:path';
import { afterEach, describe, expect, it } from 'vitest';
import { DevDesk, edit } from './dev-support.ts';

const desks: DevDesk[] = [];

async function desk(files: Readonly<Record<string, unknown>> = {}): Promise<DevDesk> {
  const made = await DevDesk.make(files);
  desks.push(made);
  return made;
}

afterEach(async () => {
  for (const one of desks.splice(0)) await one.remove();
});

/** Typed by the bindings of the project. */
const typedSeed = `import type { DbConnection } from './web/module_bindings/index.ts';
export default async (connection: DbConnection) => {
  await connection.reducers.add({ name: 'seeded' });
};
`;
const plainSeed = `export default async (connection: any) => {
  await connection.reducers.add({ name: 'plain' });
};
`;
const all = 'SELECT name FROM items ORDER BY id';

describe('the seed of reducerdb dev', () => {
  it('[console 3.4] runs once on an empty database, by the bindings; --reset starts over', async () => {
    const own = await desk({
      'service.json': {
        database: 'shop',
        'module-path': '.',
        generate: [{ 'out-dir': 'web/module_bindings' }],
      },
      'seed.ts': typedSeed,
    });
    const first = own.dev(['--server-only']);
    await first.says('seeded by seed.ts');
    await first.says('watching.');
    expect(await first.sql(all)).toEqual([['seeded']]);
    await first.call('add', ['tea']);
    await first.quit();
    const second = await own.watching();
    expect(await second.sql(all)).toEqual([['seeded'], ['tea']]);
    expect(second.output).not.toContain('seeded by');
    await second.quit();
    const third = await own.watching(['--reset']);
    expect(await third.sql(all)).toEqual([['seeded']]);
    expect(third.output).toContain('reset and published shop');
  });

  it('[console 3.4] runs without bindings, and shows how it fails', async () => {
    const own = await desk({ 'seed.ts': plainSeed });
    const run = await own.watching();
    expect(await run.sql(all)).toEqual([['plain']]);
    edit(path.join(own.folder, 'seed.ts'), 'connection.reducers.add(', 'connection.reducers.none(');
    run.line('r');
    await run.says('[seed] ');
    await run.says('seed.ts has failed: correct it and press r');
    edit(path.join(own.folder, 'seed.ts'), 'export default', 'export default = ');
    run.line('r');
    await run.says('seed.ts:1:');
    edit(path.join(own.folder, 'seed.ts'), 'export default = ', 'export default');
    edit(path.join(own.folder, 'seed.ts'), 'connection.reducers.none(', 'connection.reducers.add(');
    run.line('r');
    await run.says('seeded by seed.ts');
    expect(await run.sql(all)).toEqual([['plain']]);
  });

  it('[console 3.4] has keys: r resets, s asks SQL, c names the console, t tests, q quits', async () => {
    const manifest = { name: 'shop', private: true, type: 'module' };
    const own = await desk({
      'package.json': { ...manifest, scripts: { test: 'node test.mjs' } },
      'test.mjs': "console.log('one test'); process.exitCode = process.argv.length - 2;\n",
    });
    const run = await own.watching();
    await run.call('add', ['tea']);
    run.line('s');
    run.line('SELECT name FROM items');
    await run.says('"tea"');
    run.line('SELECT wrong FROM items');
    await run.says('Error: ');
    run.line('.exit');
    await run.says('watching again');
    run.line('c');
    await run.says(`console: ${own.sandbox.url}/console/#code=`);
    run.line('t');
    await run.says('[test] one test');
    await run.says('tests: passed');
    run.line('r');
    await run.says(/reset and published shop in \d+ ms/);
    expect(await run.sql(all)).toEqual([]);
    run.line('q');
    expect(await run.ended).toBe(0);
  });
});

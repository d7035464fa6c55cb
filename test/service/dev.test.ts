import { existsSync } from 'node:fs';
import path from 'node:path';
import { afterEach, describe, expect, it } from 'vitest';
import { DevDesk, devModule, edit, isAlive } from './dev-support.ts';

const desks: DevDesk[] = [];

async function desk(files: Readonly<Record<string, unknown>> = {}): Promise<DevDesk> {
  const made = await DevDesk.make(files);
  desks.push(made);
  return made;
}

afterEach(async () => {
  for (const one of desks.splice(0)) await one.remove();
});

const place = 'process.env.VITE_REDUCERDB_URL, process.env.VITE_REDUCERDB_DATABASE';
const next = 'process.env.NEXT_PUBLIC_REDUCERDB_URL, process.env.NEXT_PUBLIC_REDUCERDB_DATABASE';
/** A front end that prints where it is, like those of build tools, and stays. */
const frontEnd = `console.log('pid', process.pid, ${place}, ${next});
console.log('  Local:   http://localhost:5199/');
setInterval(() => {}, 1000);
`;

describe('reducerdb dev', () => {
  it('[console 3.1] starts a service, publishes, writes bindings and runs the front end', async () => {
    const own = await desk({
      'service.json': {
        database: 'shop',
        'module-path': '.',
        generate: [{ 'out-dir': 'web/module_bindings' }],
        dev: { run: 'node web/server.js' },
      },
      'web/server.js': frontEnd,
      '.gitignore': 'node_modules',
    });
    const run = own.dev();
    await run.says(`service: ${own.sandbox.url}, with its data in .reducerdb/`);
    await run.says(/created shop in \d+ ms/);
    await run.says('bindings: web/module_bindings');
    await run.says(`database: shop   console: ${own.sandbox.url}/console/`);
    await run.says('front end: node web/server.js');
    const line = await run.says('[web] pid');
    const twice = `${own.sandbox.url} shop ${own.sandbox.url} shop`;
    expect(line.endsWith(twice)).toBe(true);
    await run.says(`page: http://localhost:5199/   console: ${own.sandbox.url}/console/`);
    expect(own.read('web/module_bindings/index.ts')).toContain('items');
    expect(own.read('.gitignore')).toBe('node_modules\n.reducerdb/\n');
    expect((await run.call('add', ['tea'])).status).toBe(200);
    await run.says(/INFO: add src\/index\.ts:\d+: adding tea/);
    const [frontEndPid, servicePid] = [Number(line.split(' ')[2]), run.servicePid];
    expect(await run.quit()).toBe(0);
    await expect.poll(() => isAlive(frontEndPid) || isAlive(servicePid)).toBe(false);
  });

  it('[console 3.1] finds the script `dev` of the project, but never itself', async () => {
    const manifest = { name: 'shop', private: true, type: 'module' };
    const own = await desk({
      'package.json': { ...manifest, scripts: { dev: 'node web.js' } },
      'web.js': frontEnd,
    });
    const first = own.dev();
    await first.says('front end: npm run dev');
    await first.says('[web] pid');
    await first.quit();
    own.write({ 'package.json': { ...manifest, scripts: { dev: 'reducerdb dev --port 1' } } });
    const second = own.dev();
    await second.says('front end: none');
    await second.quit();
    own.write({ 'package.json': { ...manifest, scripts: { dev: 'npm run all', all: 'x' } } });
    const inside = await own.sandbox.run(['dev'], {
      cwd: own.folder,
      env: { REDUCERDB_INSIDE_DEV: '1' },
    });
    expect(inside.code).toBe(2);
    expect(inside.stderr).toContain('reducerdb dev runs this command already');
  });

  it('[console 3.1] shows where a reducer crashed, in the sources', async () => {
    const crash =
      "export const crash = db.reducer({}, () => {\n  throw new TypeError('bad luck');\n});";
    const own = await desk({ 'src/index.ts': devModule('', crash) });
    const run = await own.watching();
    await run.call('crash', []);
    await run.says('bad luck');
    await run.says('src/index.ts:13');
  });

  it('[console 3.1] needs a module project, and says how to make one', async () => {
    const own = await desk();
    const empty = await own.sandbox.run(['dev', '--module-path', 'nothing'], { cwd: own.folder });
    expect(empty.code).toBe(1);
    expect(empty.stderr).toContain('nothing is not a module project: it has no package.json');
    expect(empty.stderr).toContain('reducerdb init');
    const named = await own.sandbox.run(['dev', 'Not A Name'], { cwd: own.folder });
    expect(named.code).toBe(2);
    expect(named.stderr).toContain('`Not A Name`');
    expect(existsSync(path.join(own.folder, '.reducerdb'))).toBe(false);
  });

  it('[console 3.2] has a saved program answer, and keeps the old one if it cannot be built', async () => {
    const own = await desk();
    const run = await own.watching();
    const file = path.join(own.folder, 'src/index.ts');
    edit(file, "'adding '", "'having '");
    await run.says(/published shop in \d+ ms/);
    await run.call('add', ['tea']);
    await run.says('having tea');
    edit(file, "console.log('having ' + name);", "console.log('having ' + );");
    await run.says('src/index.ts:9:27: Unexpected ")"');
    await run.says("9 |   console.log('having ' + );");
    await run.says('The old program stays in force.');
    await run.call('add', ['milk']);
    await run.says('having milk');
    edit(file, "'having ' + )", "'having ' + name)");
    await run.says('shop runs this program already');
    edit(file, "'having ' + name", "'again ' + name");
    await run.says(/published shop in \d+ ms/);
    await run.call('add', ['salt']);
    await run.says('again salt');
    expect(await run.sql('SELECT name FROM items ORDER BY id')).toEqual([
      ['tea'],
      ['milk'],
      ['salt'],
    ]);
  });

  it('[console 3.2] follows files that the module begins to import, and none that it does not', async () => {
    const own = await desk();
    const run = await own.watching();
    const file = path.join(own.folder, 'src/index.ts');
    edit(file, 'const db', "import { word } from './word.ts';\nconst db");
    edit(file, "'adding '", 'word');
    await run.says('Could not resolve "./word.ts"');
    own.write({ 'src/word.ts': "export const word = 'one';\n" });
    await run.says(/published shop in \d+ ms/);
    own.write({ 'src/other.ts': "export const word = 'none';\n" });
    own.write({ 'src/word.ts': "export const word = 'two ';\n" });
    await run.says(/published shop in \d+ ms/);
    await run.call('add', ['tea']);
    await run.says('two tea');
  });

  it('[console 3.2] shows type errors beside, which stop nothing', async () => {
    const own = await desk();
    own.installTypes();
    const run = await own.watching();
    const file = path.join(own.folder, 'src/index.ts');
    edit(file, 'export const add', 'const wrong: string = 7;\nexport const add');
    edit(file, "'adding '", 'wrong');
    await run.says(/published shop in \d+ ms/);
    await run.says('type errors (they stop nothing):');
    await run.says(/src\/index\.ts\(8,7\): error TS2322/);
    expect((await run.call('add', ['tea'])).status).toBe(200);
    edit(file, 'const wrong: string = 7;', "const wrong = 'right';");
    await run.says('types are fine again');
  });
});

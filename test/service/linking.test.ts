import { spawn } from 'node:child_process';
import {
  cpSync,
  existsSync,
  readdirSync,
  readFileSync,
  rmSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs';
import path from 'node:path';
import { afterEach, beforeAll, describe, expect, it } from 'vitest';
import { limits } from '../../src/limits.ts';
import { buildText } from '../support/build-text.ts';
import { freePort, RunningService, root, Sandbox } from './harness.ts';

const source = (word: string) => `
  import { schema, table, t } from 'reducerdb/server';
  const note = table({ public: true }, { id: t.u32().primaryKey().autoInc(), text: t.string() });
  const db = schema({ note });
  export default db;
  export const write = db.reducer({ text: t.string() }, (ctx, { text }) => {
    ctx.db.note.insert({ id: 0, text: '${word} ' + text });
  });`;

const repeated = (piece: string, bytes: number) => piece.repeat(Math.floor(bytes / piece.length));
const numbered = (count: number, piece: (index: number) => string) =>
  Array.from({ length: count }, (_, index) => piece(index)).join('');
const quotedName = (index: number) => `"importExpression${index}",`;
const withMap = (map: object) =>
  'export default {};\n//# sourceMappingURL=data:application/json;base64,' +
  Buffer.from(JSON.stringify(map)).toString('base64');

/** Texts that are hard on the bundler; each is refused, in words, whatever they are. */
const bombs: Readonly<Record<string, string>> = {
  '800 KB of (': repeated('(', 800_000),
  '2 MB of importExpressionN': `export default [${numbered(90_000, quotedName)}]`,
  'a list in a list': repeated('[', 1_000_000),
  'a block in a block': repeated('{', 1_000_000),
  'a template in a template': repeated('`$' + '{', 1_000_000),
  'not not': `export default ${repeated('!', 900_000)}1`,
  'a chain of ?:': `export default ${repeated('a?b:', 900_000)}1`,
  'a chain of =>': `export default ${repeated('a=>', 900_000)}1`,
  'a chain of else if': `if(a);${repeated('else if(a);', 900_000)}`,
  'a chain of members': `export default a${repeated('.a', 900_000)}`,
  'a chain of +': `export default 1${repeated('+a', 900_000)}`,
  'a million functions': numbered(1_000_000, (n) => `function f${n}(){}\n`),
  'a million numbers': `export default [${repeated('1e9,', 4_000_000)}]`,
  'a long name': `export const ${repeated('x', 8_000_000)} = 1;`,
  'a long template': `export default \`${repeated('x', 8_000_000)}\`;`,
  'a source map with a long name': withMap({
    version: 3,
    sources: [repeated('x', 20_000_000)],
    names: [],
    mappings: 'AAAA',
  }),
  'a source map of empty lines': withMap({
    version: 3,
    sources: ['a'],
    names: [],
    mappings: repeated(';', 20_000_000),
  }),
};

const most = limits.programNestingMax;

/** Deep, but not too deep to be linked: the engine that compiles it must survive, too. */
const deep: Readonly<Record<string, string>> = {
  brackets: `export default ${'('.repeat(most)}1${')'.repeat(most)}`,
  lists: `export default ${'['.repeat(most)}${']'.repeat(most)}`,
  blocks: `${'{'.repeat(most)}${'}'.repeat(most)}`,
  '?:': `export default ${'a?b:'.repeat(2_000)}1`,
  '!': `export default ${'!'.repeat(2_000)}1`,
  '=>': `export default ${'a=>'.repeat(2_000)}1`,
  'else if': `if(a);${'else if(a);'.repeat(2_000)}`,
  '+': `export default 1${'+a'.repeat(2_000)}`,
  members: `export default a${'.a'.repeat(2_000)}`,
  calls: `export default a${'()'.repeat(2_000)}`,
};

describe('linking', { timeout: 600_000 }, () => {
  let sandbox: Sandbox;
  let service: RunningService;
  let token: string;
  let one: Uint8Array;
  let two: Uint8Array;

  const publish = async (name: string, body: Uint8Array | string) => {
    const where = `${service.url}/v1/database/${name}?host_type=Js`;
    const headers = { authorization: `Bearer ${token}` };
    const answer = await fetch(where, {
      method: 'PUT',
      headers,
      body: typeof body === 'string' ? body : new Uint8Array(body),
    });
    return { status: answer.status, text: await answer.text() };
  };
  const call = async (name: string, text: string) => {
    const where = `${service.url}/v1/database/${name}/call/write`;
    const body = JSON.stringify([text]);
    const headers = { 'content-type': 'application/json' };
    return (await fetch(where, { method: 'POST', headers, body })).status;
  };
  const texts = async (name: string) => {
    const where = `${service.url}/v1/database/${name}/sql`;
    const answer = await fetch(where, { method: 'POST', body: 'SELECT text FROM note' });
    const [{ rows }] = (await answer.json()) as [{ rows: string[][] }];
    return rows.flat();
  };
  const start = async (flags: readonly string[] = []) => {
    sandbox = await Sandbox.make();
    const data = ['--data-dir', path.join(sandbox.folder, 'data')];
    service = await sandbox.start([...data, ...flags]);
    const answer = await fetch(`${service.url}/v1/identity`, { method: 'POST' });
    token = ((await answer.json()) as { token: string }).token;
  };
  const linked = () => {
    const databases = path.join(sandbox.folder, 'data/databases');
    return readdirSync(databases, { recursive: true, encoding: 'utf8' }).filter((name) =>
      name.endsWith('.linked'),
    );
  };
  /** Processes that link for the service. */
  const linkers = () => {
    const { pid } = service.child;
    const children = readFileSync(`/proc/${pid}/task/${pid}/children`, 'utf8').split(' ');
    return children.filter(Boolean).map(Number);
  };

  beforeAll(async () => {
    one = (await buildText(source('one'))).bytes;
    two = (await buildText(source('two'))).bytes;
  });
  afterEach(async () => {
    await service.stop('SIGKILL');
    sandbox.remove();
  });

  it('of a hostile program keeps nobody from publishing, calling or reopening', async () => {
    await start();
    expect((await publish('neighbour', one)).status).toBe(200);
    let count = 0;
    let round = 0;
    const heavy = publish('heavy', repeated('a;', 30_000_000));
    expect((await publish('meanwhile', two)).status).toBe(200);
    expect((await heavy).status).toBe(500);
    for (const [name, bomb] of Object.entries(bombs)) {
      let isOver = false;
      const attack = publish('victim', bomb).finally(() => {
        isOver = true;
      });
      do {
        expect(await call('neighbour', name), name).toBe(200);
        count += 1;
        await new Promise((resolve) => setTimeout(resolve, 50));
      } while (!isOver);
      const { status, text } = await attack;
      expect([400, 500], `${name}: ${text.slice(0, 200)}`).toContain(status);
      expect(text, name).not.toMatch(/esbuild|service was stopped|undefined/);
      round += 1;
      expect((await publish('again', round % 2 === 0 ? one : two)).status, name).toBe(200);
    }
    expect(await texts('neighbour')).toHaveLength(count);
    expect(service.child.exitCode).toBe(null);
  });

  it('of deep programs ends in words, and ends no worker', async () => {
    await start();
    expect((await publish('neighbour', one)).status).toBe(200);
    for (const [name, text] of Object.entries(deep)) {
      const answer = await publish('victim', text);
      expect(answer.status, name).toBe(500);
      expect(answer.text, name).not.toMatch(/thread|worker|process/);
      expect(await call('neighbour', name), name).toBe(200);
    }
  });

  it.runIf(existsSync('/proc/self/statm'))(
    'goes on when a linker is killed, and leaves none behind when the service is',
    async () => {
      await start();
      const attack = publish('large', repeated('a;', 4_000_000));
      await expect.poll(() => linkers().length).toBeGreaterThan(0);
      for (const pid of linkers()) process.kill(pid, 'SIGKILL');
      expect((await publish('other', one)).status).toBe(200);
      await attack;
      const again = publish('larger', repeated('a;', 20_000_000)).catch(() => undefined);
      await expect.poll(() => linkers().length).toBeGreaterThan(0);
      const pids = linkers();
      await service.stop('SIGKILL');
      await again;
      const commandOf = (pid: number) => {
        const file = `/proc/${pid}/cmdline`;
        return existsSync(file) ? readFileSync(file, 'utf8') : '';
      };
      await expect.poll(() => pids.filter((pid) => commandOf(pid) !== '')).toEqual([]);
    },
  );

  for (const isolation of ['thread', 'process']) {
    it(`is not done again when databases are opened (${isolation})`, async () => {
      await start(['--isolation', isolation]);
      expect((await publish('shop', one)).status).toBe(200);
      expect((await publish('shop', two)).status).toBe(200);
      expect((await publish('desk', one)).status).toBe(200);
      expect(await call('shop', 'a')).toBe(200);
      await expect.poll(() => linked().length).toBe(3);
      await service.stop();

      // The same package, whose linker ends as soon as it is started.
      const lamed = path.join(root, `node_modules/.cache/reducerdb/lamed-${process.pid}`);
      cpSync(path.join(root, 'dist'), path.join(lamed, 'dist'), { recursive: true });
      cpSync(path.join(root, 'package.json'), path.join(lamed, 'package.json'));
      symlinkSync(path.join(root, 'node_modules'), path.join(lamed, 'node_modules'));
      writeFileSync(path.join(lamed, 'dist/host/linker-main.bundle.mjs'), 'process.exit(1);\n');
      const port = await freePort();
      const flags = [
        '--listen-addr',
        `127.0.0.1:${port}`,
        '--log-level',
        'warn',
        '--isolation',
        isolation,
      ];
      const folders = ['--root-dir', path.join(sandbox.folder, 'root'), 'start'];
      const data = ['--data-dir', path.join(sandbox.folder, 'data')];
      const args = [path.join(lamed, 'dist/cli/main.js'), ...folders, ...flags, ...data];
      try {
        service = new RunningService(spawn(process.execPath, args), `http://127.0.0.1:${port}`);
        await service.untilReady();
        expect(await call('shop', 'b')).toBe(200);
        expect(await call('desk', 'c')).toBe(200);
        expect(await texts('shop')).toEqual(['two a', 'two b']);
        expect(await publish('fresh', one)).toMatchObject({
          status: 500,
          text: expect.stringContaining('the linker ended twice (exit code 1); try again'),
        });
      } finally {
        rmSync(lamed, { recursive: true });
      }
    });
  }

  it('is done again for data of an earlier version, and for files that are damaged', async () => {
    await start();
    expect((await publish('shop', one)).status).toBe(200);
    expect(await call('shop', 'a')).toBe(200);
    const [name = ''] = linked();
    const file = path.join(sandbox.folder, 'data/databases', name);
    const good = readFileSync(file);
    for (const spoil of ['gone', 'damaged'] as const) {
      await service.stop();
      if (spoil === 'gone') rmSync(path.dirname(file), { recursive: true });
      else writeFileSync(file, good.subarray(0, 200));
      service = await sandbox.start(['--data-dir', path.join(sandbox.folder, 'data')]);
      expect(await call('shop', spoil)).toBe(200);
      expect(readFileSync(file).equals(good), spoil).toBe(true);
      expect(service.output.includes('links its program again'), spoil).toBe(spoil === 'damaged');
    }
    expect(await texts('shop')).toEqual(['one a', 'one gone', 'one damaged']);
  });
});

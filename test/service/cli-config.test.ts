import path from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { itemsModule, writeBundle, writeFiles } from './cli-support.ts';
import { type RunningService, Sandbox } from './harness.ts';

let sandbox: Sandbox;
let service: RunningService;

beforeAll(async () => {
  sandbox = await Sandbox.make();
  service = await sandbox.start();
  const bundle = await writeBundle(sandbox, 'module', itemsModule());
  for (const database of ['one', 'two', 'loose']) {
    await sandbox.ok(['publish', database, '-j', bundle]);
    await sandbox.ok(['call', database, 'add', `row of ${database}`]);
  }
});
afterAll(async () => {
  await service.stop();
  sandbox.remove();
});

const query = 'SELECT name FROM items';

/** A folder whose project names these databases. */
function project(...databases: string[]): string {
  const name = `project-${databases.join('-')}`;
  const [first, ...others] = databases.map((database) => ({ database }));
  const cwd = path.join(sandbox.folder, name);
  if (first !== undefined) writeFiles(cwd, { 'service.json': { ...first, children: others } });
  else writeFiles(cwd, { 'empty.txt': '' });
  return cwd;
}

const missing = (argument: string) => ({
  code: 2,
  stdout: '',
  stderr: expect.stringContaining(
    `Error: the following required arguments were not provided:\n  ${argument}`,
  ),
});

/** What the rows say tells which database was asked. */
async function asked(databases: string[], ...args: string[]): Promise<string | undefined> {
  const text = await sandbox.ok(args, { cwd: project(...databases) });
  return text.match(/row of (\w+)/)?.[1];
}

describe('without a target, or with --no-config', () => {
  it('[cli 3.5] a database is required', async () => {
    for (const cwd of [project(), project('one')]) {
      for (const args of [['logs'], ['delete'], ['lock'], ['describe', '--json'], ['sql', query]]) {
        const flags = cwd === project() ? [] : ['--no-config'];
        expect(await sandbox.run([...args, ...flags], { cwd })).toMatchObject(
          missing('<database>'),
        );
      }
    }
    expect(await asked([], 'sql', 'loose', query)).toBe('loose');
    expect(await asked(['one'], 'sql', '--no-config', 'loose', query)).toBe('loose');
  });
});

describe('with one target', () => {
  it('[cli 3.5] it is meant when no database is given', async () => {
    expect(await asked(['one'], 'sql', query)).toBe('one');
    const cwd = project('one');
    expect(await sandbox.ok(['logs', '-n', '1'], { cwd })).not.toBe('');
    expect(await sandbox.ok(['lock'], { cwd })).toContain('Database one is now locked.');
    expect(await sandbox.ok(['unlock'], { cwd })).toContain('Database one is now unlocked.');
    expect(await sandbox.ok(['describe', 'table', 'items', '--json'], { cwd })).toContain('items');
  });

  it('[cli 3.5] another database is used as given', async () => {
    const cwd = project('one');
    expect(await sandbox.ok(['lock', 'loose'], { cwd })).toContain('Database loose is now locked.');
    expect(await sandbox.ok(['unlock', 'loose'], { cwd })).toContain('loose');
    expect(await asked(['one'], 'sql', 'loose', query)).toBe('loose');
  });

  it('[cli 3.5] call takes its name for the database, any other for the function', async () => {
    const cwd = project('one');
    await sandbox.ok(['call', 'one', 'add', 'with a name'], { cwd });
    await sandbox.ok(['call', 'add', 'without a name'], { cwd });
    const rows = await sandbox.ok(['sql', query], { cwd });
    expect(rows).toContain('with a name');
    expect(rows).toContain('without a name');
    const loose = await sandbox.run(['call', 'loose', 'add', 'x'], { cwd });
    expect(loose.code).toBe(1);
    expect(loose.stderr).toContain('No such reducer OR procedure `loose` for database `one`');
    const hint = '`loose` is a database, but the project configuration of this folder selects';
    expect(loose.stderr).toContain(hint);
    expect(loose.stderr).toContain('Leave out `loose`, or pass --no-config to call `loose`.');
    const unknown = await sandbox.run(['call', 'no-such', 'add', 'x'], { cwd });
    expect(unknown.stderr).not.toContain('--no-config');
    expect(await sandbox.run(['call', 'one'], { cwd })).toMatchObject(missing('<function>'));
    expect(await sandbox.run(['call'], { cwd })).toMatchObject(missing('<function>'));
  });
});

describe('with a target that is not there', () => {
  it('[cli 3.5] the error says where its name comes from, and what to do', async () => {
    const cwd = project('absent');
    const advice =
      'Error: `absent` not found\n' +
      'The server has no such database: see `reducerdb list`.\n' +
      'The project configuration of this folder names it. Publish it with `reducerdb publish`, ' +
      'or pass --no-config to name another database.\n';
    for (const words of [['call', 'loose', 'add', 'x'], ['sql', query], ['logs']]) {
      const { code, stderr } = await sandbox.run(words, { cwd });
      expect(code).toBe(1);
      expect(stderr).toContain(advice);
    }
    const other = await sandbox.run(['sql', 'gone', query], { cwd });
    expect(other.stderr).toContain('`gone` not found');
    expect(other.stderr).not.toContain('project configuration');
  });
});

describe('with several targets', () => {
  it('[cli 3.5] a database is required', async () => {
    const cwd = project('one', 'two');
    for (const args of [['logs'], ['lock'], ['describe', '--json'], ['sql', query], ['call']]) {
      expect(await sandbox.run(args, { cwd })).toMatchObject(missing('<database>'));
    }
  });

  it('[cli 3.5] one is chosen by its name', async () => {
    expect(await asked(['one', 'two'], 'sql', 'two', query)).toBe('two');
    const cwd = project('one', 'two');
    expect(await sandbox.ok(['lock', 'two'], { cwd })).toContain('Database two is now locked.');
    await sandbox.ok(['unlock', 'two'], { cwd });
    await sandbox.ok(['call', 'two', 'add', 'x'], { cwd });
    await sandbox.ok(['describe', 'two', '--json'], { cwd });
  });

  it('[cli 3.5] call refuses a first word that is none of them', async () => {
    const { code, stderr } = await sandbox.run(['call', 'add', 'x'], {
      cwd: project('one', 'two'),
    });
    expect(code).toBe(1);
    expect(stderr).toContain(
      'Error: Multiple databases found in config: one, two. Please specify which database to ' +
        "use, or pass --no-config to use 'add' directly.",
    );
  });

  it('[cli 3.5] sql takes the first of two words, even if it is none of them', async () => {
    expect(await asked(['one', 'two'], 'sql', 'loose', query)).toBe('loose');
  });
});

describe('describe', () => {
  it('[cli 3.5] keeps to the databases of the project', async () => {
    for (const cwd of [project('one'), project('one', 'two')]) {
      const { code, stderr } = await sandbox.run(['describe', 'loose', '--json'], { cwd });
      expect(code).toBe(1);
      expect(stderr).toContain(
        "Error: Database 'loose' is not in the config file. If you want to run against a " +
          'database outside of the current project, pass --no-config.',
      );
      await sandbox.ok(['describe', 'loose', '--json', '--no-config'], { cwd });
    }
    const surplus = await sandbox.run(['describe', 'one', 'column', 'x', '--json']);
    expect(surplus).toMatchObject({ code: 2, stdout: '' });
  });
});

describe('the server', () => {
  it('[cli 1.3] is that of the flag, else of the target, else the default one', async () => {
    const cwd = path.join(sandbox.folder, 'servers');
    const dead = 'http://127.0.0.1:9';
    writeFiles(cwd, {
      'service.json': {
        database: 'one',
        server: 'local',
        children: [{ database: 'two', server: dead }],
      },
    });
    expect(await sandbox.ok(['sql', 'one', query], { cwd })).toContain('row of one');
    const far = await sandbox.run(['sql', 'two', query], { cwd });
    expect(far.stderr).toContain('could not reach the reducerdb host at http://127.0.0.1:9');
    expect(await sandbox.ok(['sql', 'two', query, '-s', 'local'], { cwd })).toContain('row of two');
    expect(await sandbox.ok(['sql', 'two', query, '--no-config'], { cwd })).toContain('row of two');
    expect(await sandbox.ok(['sql', 'two', query, '-s', sandbox.url], { cwd })).toContain('two');
    const host = `127.0.0.1:${sandbox.port}`;
    expect(await sandbox.ok(['sql', 'two', query, '-s', host], { cwd })).toContain('row of two');
  });

  it('[cli 4.2] of an overlay is for publish alone', async () => {
    const cwd = path.join(sandbox.folder, 'overlay');
    writeFiles(cwd, {
      'service.json': { database: 'main', 'js-path': '../module.js' },
      'service.local.json': { database: 'mine' },
      'service.dev.json': { database: 'dev' },
      'service.dev.local.json': '{ database: "my-dev", /* only here */ }',
    });
    expect(await sandbox.ok(['publish'], { cwd })).toContain('database with name: mine,');
    expect(await sandbox.ok(['publish', '--env', 'dev'], { cwd })).toContain('name: my-dev,');
    const file = path.join(cwd, 'service.json');
    expect(await sandbox.ok(['publish', '--env', 'dev', '-y'], { cwd })).toContain(
      `Using configuration from ${file}`,
    );
    expect(await sandbox.ok(['describe', '--json'], { cwd })).toContain('items');
  });

  it('[cli 4.2] file that is damaged stops the commands that read it, and no other', async () => {
    const cwd = path.join(sandbox.folder, 'damaged');
    writeFiles(cwd, { 'service.json': '{ database: ' });
    const { code, stderr } = await sandbox.run(['sql', query], { cwd });
    expect(code).toBe(1);
    expect(stderr).toContain('service.json is not JSON5');
    await sandbox.ok(['sql', 'one', query, '--no-config'], { cwd });
    await sandbox.ok(['server', 'list'], { cwd });
    await sandbox.ok(['login', 'show'], { cwd });
  });
});

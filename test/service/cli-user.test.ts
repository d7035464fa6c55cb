import { once } from 'node:events';
import {
  chmodSync,
  existsSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  realpathSync,
  statSync,
  writeFileSync,
} from 'node:fs';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import path from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { writeFiles } from './cli-support.ts';
import { freePort, type RunningService, Sandbox } from './harness.ts';

let sandbox: Sandbox;
let service: RunningService;

beforeAll(async () => {
  sandbox = await Sandbox.make();
  service = await sandbox.start();
});
afterAll(async () => {
  await service.stop();
  sandbox.remove();
});

describe('login', () => {
  const nobody = 'You are not logged in. Run `reducerdb login` to log in.\n';
  const file = () => path.join(sandbox.folder, 'root/config/cli.toml');

  it('[cli 7.2] takes an identity from the server, shows it, and forgets it', async () => {
    expect(await sandbox.ok(['login', 'show'])).toBe(nobody);
    expect(await sandbox.ok(['logout'])).toBe('You are not logged in.\n');
    const { code, stdout, stderr } = await sandbox.run(['login']);
    expect({ code, stdout }).toEqual({ code: 0, stdout: '' });
    const identity = stderr.match(/c200[0-9a-f]{60}/)?.[0];
    expect(stderr).toBe(
      `Saving config to ${file()}.\n` +
        'We have logged in directly to your target server.\n' +
        'WARNING: This login will NOT work for any other servers.\n' +
        `Logged in with identity ${identity}\n`,
    );
    expect(statSync(file()).mode & 0o777).toBe(0o600);
    expect(await sandbox.ok(['login', 'show'])).toBe(`You are logged in as ${identity}\n`);
    const shown = await sandbox.ok(['login', 'show', '--token']);
    const token = shown.match(/^Your auth token \(don't share this!\) is (\S+)$/m)?.[1] ?? '';
    expect(token.split('.')).toHaveLength(3);
    expect(await sandbox.ok(['logout'])).toBe(`Logged out (identity ${identity}).\n`);
    expect(await sandbox.ok(['login', 'show'])).toBe(nobody);
    expect(readFileSync(file(), 'utf8')).not.toContain(token);

    expect(await sandbox.ok(['login', '--token', token])).toBe(
      `Logged in with identity ${identity}\nToken saved.\n`,
    );
    expect(await sandbox.ok(['login', 'show'])).toBe(`You are logged in as ${identity}\n`);
    const again = await sandbox.run(['login', '--server-issued-login', sandbox.url]);
    expect(again.code).toBe(0);
    expect(again.stderr).not.toContain(identity);
  });

  it('[cli 7.2] refuses what is no token', async () => {
    const { code, stderr } = await sandbox.run(['login', '--token', 'nonsense']);
    expect(code).toBe(1);
    expect(stderr).toContain('That is not a token');
  });

  it('[cli 4.1] says where a damaged configuration is', async () => {
    const damaged = path.join(sandbox.folder, 'damaged.toml');
    writeFileSync(damaged, 'default_server = ');
    const { code, stderr } = await sandbox.run(['--config-path', damaged, 'login', 'show']);
    expect(code).toBe(1);
    expect(stderr).toContain(`${damaged} cannot be read as configuration`);
  });

  it('[cli 4.1, 4.3] keeps its files where XDG says', async () => {
    const config = path.join(sandbox.folder, 'xdg');
    const env = { XDG_CONFIG_HOME: config, HOME: sandbox.folder };
    await sandbox.ok(['login', '--server', sandbox.url], { env, isPlain: true });
    expect(existsSync(path.join(config, 'reducerdb/cli.toml'))).toBe(true);
    // What is empty or relative is as good as unset.
    for (const [at, unset] of [undefined, '', 'here'].entries()) {
      const home = path.join(sandbox.folder, `home ${at}`);
      const bare = { HOME: home, XDG_CONFIG_HOME: unset };
      await sandbox.ok(['login', '--server', sandbox.url], { env: bare, isPlain: true });
      expect(existsSync(path.join(home, '.config/reducerdb/cli.toml'))).toBe(true);
    }
  });
});

describe('[cli 1.4, 7.2] tokens and servers', () => {
  const config = () => path.join(sandbox.folder, 'root/config/cli.toml');
  const shown = async (cwd = sandbox.folder) => {
    const text = await sandbox.ok(['login', 'show'], { cwd });
    return text.match(/c200[0-9a-f]{60}/)?.[0] ?? text;
  };

  it('each server has its own identity, and a login keeps what it replaces', async () => {
    await sandbox.ok(['login']);
    const first = await shown();
    const port = await freePort();
    const flags = ['--data-dir', path.join(sandbox.folder, 'other'), '--development'];
    const other = await sandbox.startAt(port, flags);
    const there = await sandbox.ok(['list', '--server', other.url]);
    expect(there).toMatch(/^No databases found for c200/);
    expect(there).not.toContain(first);
    expect(await sandbox.ok(['list', '--server', other.url])).toBe(there);
    expect(await shown()).toBe(first);
    expect(await sandbox.ok(['list', '--server', `http://localhost:${sandbox.port}`])).toContain(
      first,
    );

    const second = await sandbox.run(['login']);
    expect(second.stderr).toContain('The identity that was saved before is kept');
    expect(await sandbox.ok(['login', 'list'])).toMatch(
      new RegExp(`${first} \\| ${sandbox.url} +\\| replaced`),
    );
    await sandbox.ok(['login', '--identity', first]);
    expect(await shown()).toBe(first);

    // The service of another project's `dev`: no identity is taken there unasked.
    const file = path.join(sandbox.folder, 'third.toml');
    const server = `nickname = "dev"\nhost = "127.0.0.1:${port}"\nprotocol = "http"`;
    writeFileSync(file, `default_server = "dev"\n[[server_configs]]\n${server}\n`);
    const unasked = await sandbox.run(['--config-path', file, 'list']);
    expect([unasked.code, unasked.stderr]).toEqual([
      1,
      expect.stringContaining('is the one that reducerdb dev runs for a project'),
    ]);
    expect(readFileSync(file, 'utf8')).not.toContain('identity_token');
    await other.stop();
  });

  it('a token is sent to no server that only a project names', async () => {
    const seen: string[] = [];
    const recorder = createServer(({ method, url, headers }, answer) => {
      seen.push(`${method} ${url} ${headers.authorization}`);
      answer.writeHead(404).end();
    }).listen(0, '127.0.0.1');
    await once(recorder, 'listening');
    const { port } = recorder.address() as AddressInfo;
    const cwd = path.join(sandbox.folder, 'clone');
    const server = `http://127.0.0.1:${port}`;
    writeFiles(cwd, { 'service.json': { database: 'x', server } });
    for (const args of [['sql', 'SELECT 1'], ['list'], ['logs']]) await sandbox.run(args, { cwd });
    expect(seen.length).toBeGreaterThan(0);
    expect(seen.filter((line) => !line.endsWith('undefined'))).toEqual([]);

    const token = (await sandbox.ok(['login', 'show', '--token'])).match(/ey\S+/)?.[0] ?? '';
    const elsewhere = ['--config-path', path.join(sandbox.folder, 'unbound.toml')];
    await sandbox.ok([...elsewhere, 'login', '--token', token]);
    const far = 'https://db.invalid';
    writeFiles(cwd, { 'service.json': { database: 'x', server: far } });
    const held = await sandbox.run([...elsewhere, 'list'], { cwd });
    expect([held.code, held.stderr]).toEqual([
      1,
      expect.stringContaining(`Nothing was sent to ${far}. Only the project names`),
    ]);
    seen.length = 0;
    await sandbox.run([...elsewhere, 'list', '--server', server], { cwd });
    expect(seen[0]).toContain(`Bearer ${token}`);
    recorder.close();
  });

  it('in a project whose dev runs, its identity is shown, and none of yours replaced', async () => {
    const cwd = path.join(realpathSync(sandbox.folder), 'with-dev');
    const state = { url: sandbox.url, pid: process.pid, owner: process.pid, folder: cwd };
    writeFiles(cwd, { 'service.json': { database: 'x' }, '.reducerdb/dev.json': state });
    const before = [readFileSync(config(), 'utf8'), await shown()];
    const { stdout } = await sandbox.run(['list'], { cwd });
    const [identity = ''] = /c200[0-9a-f]{60}/.exec(stdout) ?? [];
    expect(before[1]).not.toBe(identity);
    expect([readFileSync(config(), 'utf8'), await shown()]).toEqual(before);
    expect(existsSync(path.join(cwd, '.reducerdb/token'))).toBe(true);
    expect(await shown(cwd)).toBe(identity);
  });
});

describe('server', () => {
  it('[cli 7.3] lists what is saved, with a mark at the default one', async () => {
    expect(await sandbox.run(['server', 'list'])).toEqual({
      code: 0,
      stderr: '',
      stdout:
        ` DEFAULT | HOSTNAME${' '.repeat(15 - 8)}| PROTOCOL | NICKNAME \n`.replace(
          `HOSTNAME${' '.repeat(7)}`,
          'HOSTNAME'.padEnd(`127.0.0.1:${sandbox.port}`.length + 1),
        ) +
        `---------+-${'-'.repeat(`127.0.0.1:${sandbox.port}`.length)}-+----------+----------\n` +
        ` ***     | 127.0.0.1:${sandbox.port} | http     | local    \n`,
    });
  });

  it('[cli 7.3] adds, edits, chooses and removes', async () => {
    const host = `localhost:${sandbox.port}`;
    const usage = 'reducerdb server add [options] <nickname> [url]';
    expect(await sandbox.ok(['server', 'add', '--help'])).toContain(usage);
    expect(await sandbox.ok(['server', 'add', '--url', `http://${host}`, 'near'])).toBe(
      `Host: ${host}\nProtocol: http\n`,
    );
    // [ease 5.2] the address is an argument, too, in either order.
    for (const words of [
      ['there', `http://${host}`],
      [`http://${host}`, 'again'],
    ]) {
      await sandbox.ok(['server', 'add', ...words]);
    }
    await sandbox.ok(['server', 'remove', 'there']);
    await sandbox.ok(['server', 'remove', 'again']);
    const twice = await sandbox.run(['server', 'add', '--url', `http://${host}`, 'near']);
    expect(twice.code).toBe(1);
    const config = () => readFileSync(path.join(sandbox.folder, 'root/config/cli.toml'), 'utf8');
    expect(config()).toContain('BEGIN PUBLIC KEY');
    await sandbox.ok(['server', 'set-default', 'near']);
    expect(await sandbox.ok(['server', 'list'])).toMatch(/^ \*\*\* +\| localhost/m);
    await sandbox.ok(['server', 'edit', 'near', '--new-name', 'closer', '--no-fingerprint']);
    expect(await sandbox.ok(['server', 'list'])).toMatch(/^ \*\*\* .* closer +$/m);
    await sandbox.ok([
      'server',
      'edit',
      'closer',
      '--url',
      'https://db.example',
      '--no-fingerprint',
    ]);
    expect(await sandbox.ok(['server', 'list'])).toMatch(/^ \*\*\* +\| db\.example +\| https/m);
    await sandbox.ok([
      'server',
      'add',
      '--url',
      'http://10.0.0.1:1',
      'far',
      '-d',
      '--no-fingerprint',
    ]);
    await sandbox.ok(['server', 'remove', 'closer']);
    expect(await sandbox.ok(['server', 'list'])).not.toContain('closer');
    await sandbox.ok(['server', 'remove', 'far']);
    const without = await sandbox.run(['list']);
    expect(without.code).toBe(1);
    expect(without.stderr).toContain('reducerdb server set-default');
    await sandbox.ok(['server', 'set-default', 'local']);
    for (const args of [
      ['remove', 'far'],
      ['set-default', 'far'],
      ['edit', 'far'],
      ['fingerprint', 'far'],
    ]) {
      const { code, stderr } = await sandbox.run(['server', ...args]);
      expect(code).toBe(1);
      expect(stderr).toContain('No such saved server configuration: far');
    }
    const bad = await sandbox.run(['server', 'add', '--url', 'nonsense', 'x']);
    expect(bad.code).toBe(1);
    expect((await sandbox.run(['server', 'add', 'x'])).code).toBe(2);
  });

  it('[cli 7.3] pings', async () => {
    expect(await sandbox.ok(['server', 'ping', 'local'])).toBe(
      `Server is online: ${sandbox.url}\n`,
    );
    expect(await sandbox.ok(['server', 'ping', `${sandbox.url}/elsewhere`])).toBe(
      `Server returned 404 (Not Found): ${sandbox.url}/elsewhere\n`,
    );
    const gone = await sandbox.run(['server', 'ping', 'http://127.0.0.1:9']);
    expect(gone).toMatchObject({ code: 1, stdout: '' });
  });

  it('[cli 7.3] saves the key of a server, and asks when it changes', async () => {
    const key = await (await fetch(`${sandbox.url}/v1/identity/public-key`)).text();
    expect(await sandbox.ok(['server', 'fingerprint', 'local'])).toBe(`${key.trim()}\n`);
    const file = path.join(sandbox.folder, 'root/config/cli.toml');
    const saved = readFileSync(file, 'utf8');
    expect(saved).toContain('ecdsa_public_key');
    const changed = saved.replace(/ecdsa_public_key = .*/, 'ecdsa_public_key = "another"');
    writeFileSync(file, changed);
    const question = 'Replace it with this one? [y/N]';
    const no = await sandbox.run(['server', 'fingerprint', 'local'], { input: 'n\n' });
    expect(no.stdout).toContain(question);
    expect(readFileSync(file, 'utf8')).toBe(changed);
    await sandbox.ok(['server', 'fingerprint', 'local'], { input: 'y\n' });
    expect(readFileSync(file, 'utf8')).toBe(saved);
  });

  it('[cli 4.3, 7.3] clears the data of a stopped service, and nothing else', async () => {
    const data = path.join(sandbox.folder, 'to-clear');
    const none = 'Local database not found. Nothing has been deleted.\n';
    expect(await sandbox.ok(['server', 'clear', '--data-dir', data, '-y'])).toBe(none);
    mkdirSync(data);
    writeFileSync(path.join(data, 'letter.txt'), 'mine');
    expect(await sandbox.ok(['server', 'clear', '--data-dir', data, '-y'])).toBe(none);
    const port = await freePort();
    const busy = await sandbox.startAt(port, ['--data-dir', data]);
    const refused = await sandbox.run(['server', 'clear', '--data-dir', data, '-y']);
    expect(refused.code).toBe(1);
    expect(refused.stderr).toContain('cannot take lock on database');
    expect(await busy.stop()).toBe(0);

    const hesitant = await sandbox.run(['server', 'clear', '--data-dir', data], { input: 'n\n' });
    expect(hesitant.code).toBe(0);
    expect(hesitant.stdout).toContain(
      'Are you sure you want to delete all data from the local database? [y/N]',
    );
    expect(existsSync(path.join(data, 'registry'))).toBe(true);
    const named = { env: { REDUCERDB_DATA_DIR: 'to-clear' } };
    expect(await sandbox.ok(['verify'], named)).toContain('intact');
    expect(await sandbox.ok(['server', 'clear', '-y'], named)).toBe(`Deleted database: ${data}\n`);
    // Tokens, the audit log and ledgers outlive the data.
    expect(readdirSync(data).sort()).toEqual([
      'audit',
      'keys',
      'ledger',
      'letter.txt',
      'low-signed-since',
      'signing-key',
    ]);
  });
});

describe('init', () => {
  it('[cli 7.1] makes a project that publishes and runs as it is', async () => {
    const text = await sandbox.ok(['init', 'My First App!']);
    const folder = path.join(sandbox.folder, 'my-first-app');
    expect(text).toContain(`Created my-first-app in ${folder}.`);
    expect(readdirSync(folder).sort()).toEqual([
      '.gitignore',
      'README.md',
      'package.json',
      'service.json',
      'service.local.json',
      'src',
      'tsconfig.json',
    ]);
    const manifest = JSON.parse(readFileSync(path.join(folder, 'package.json'), 'utf8'));
    expect(manifest.name).toBe('my-first-app');
    // This is a clone: until a release is there, nobody finds the package by its name.
    const [, own = ''] = /^file:(.*)$/.exec(manifest.dependencies.reducerdb) ?? [];
    expect(readFileSync(path.join(folder, own, 'package.json'), 'utf8')).toContain('"reducerdb"');
    const published = await sandbox.ok(['publish'], { cwd: folder });
    expect(published).toContain('Created new database with name: my-first-app,');
    await sandbox.ok(['call', 'add_task', 'write a reducer'], { cwd: folder });
    expect(await sandbox.ok(['sql', 'SELECT id, title, done FROM task'], { cwd: folder })).toBe(
      ' id | title             | done  \n' +
        '----+-------------------+-------\n' +
        ' 1  | "write a reducer" | false \n',
    );
    const inside = path.join(folder, 'src');
    expect(await sandbox.ok(['logs'], { cwd: inside })).toContain('task 1 added');
  });

  it('[ease 5.3] begins with an example of the package', async () => {
    const listed = await sandbox.ok(['init', '--list-examples']);
    expect(listed).toMatch(/^agent: .*\nchat: People with names.*\nhelpdesk: .*\n$/);
    const text = await sandbox.ok(['init', 'my-desk', '--example', 'helpdesk']);
    const folder = path.join(sandbox.folder, 'my-desk');
    expect(text).toContain(`Created my-desk in ${folder}, from the example helpdesk.`);
    const json = (file: string) => JSON.parse(readFileSync(path.join(folder, file), 'utf8'));
    const { name, dependencies, devDependencies } = json('package.json');
    expect([name, dependencies.reducerdb]).toEqual(['my-desk', expect.stringMatching(/^file:/)]);
    expect([dependencies.react, devDependencies.vite]).toEqual([
      ...[expect.any(String), expect.any(String)],
    ]);
    const settings = json('tsconfig.json');
    expect([
      settings.include,
      settings.compilerOptions.types,
      settings.compilerOptions.paths,
    ]).toEqual([['src'], ['reducerdb/globals'], undefined]);
    expect(json('web/tsconfig.json').compilerOptions).not.toHaveProperty('paths');
    expect(json('service.json').generate).toHaveLength(1);
    expect(json('service.local.json')).toEqual({ database: 'my-desk' });
    await sandbox.ok(['init', '--example', 'chat']);
    const chat = path.join(sandbox.folder, 'chat');
    expect(await sandbox.ok(['publish'], { cwd: chat })).toContain('with name: chat,');
    const unknown = await sandbox.run(['init', 'x', '--example', 'live-chat']);
    expect([unknown.code, unknown.stderr]).toEqual([
      1,
      'Error: No such example: live-chat. Available: agent, chat, helpdesk\n',
    ]);
    const both = await sandbox.run(['init', 'x', '--example', 'chat', '--template', 'basic']);
    expect(both.code).toBe(2);
  });

  it('[cli 7.1] lists templates', async () => {
    const lines = (await sandbox.ok(['init', '--template'])).trimEnd().split('\n');
    const names = lines.map((line) => line.split(': ')[0]);
    expect(names.join(', ')).toBe(
      'react, vue, svelte, solid, next, vanilla, node, agent, game, basic',
    );
    const help = await sandbox.ok(['init', '--help']);
    for (const line of lines) expect(help.replaceAll(/ {2,}/g, ': ')).toContain(line);
    for (const [name, hint] of [
      ['nonsense', ''],
      ['recat', ' Did you mean react?'],
      ['../react', ''],
      ['shared/page', ''],
    ] as const) {
      const unknown = await sandbox.run(['init', 'untouched', '--template', name]);
      expect([unknown.code, unknown.stderr]).toEqual([
        1,
        `Error: No such template: ${name}.${hint} Available: ${names.join(', ')}\n`,
      ]);
    }
    expect(existsSync(path.join(sandbox.folder, 'untouched'))).toBe(false);
  });

  it('[cli 1.2, 7.1] asks before it writes into a folder with files, and keeps them', async () => {
    const folder = path.join(sandbox.folder, 'taken');
    mkdirSync(folder);
    writeFileSync(path.join(folder, '.gitignore'), 'mine\n');
    const no = await sandbox.run(['init', 'taken'], { input: 'n\n' });
    expect(no).toMatchObject({ code: 1, stderr: 'Error: Nothing was created.\n' });
    const unasked = await sandbox.run(['init', 'taken']);
    expect(unasked.code).toBe(1);
    expect(unasked.stderr).toContain(
      'Nobody can answer here, so the answer is no; --yes answers yes.',
    );
    expect(readdirSync(folder)).toEqual(['.gitignore']);
    await sandbox.ok(['init', 'taken', '--yes']);
    expect(readFileSync(path.join(folder, '.gitignore'), 'utf8')).toBe('mine\n');
    expect(existsSync(path.join(folder, 'gitignore'))).toBe(false);
    expect(existsSync(path.join(folder, 'src/index.ts'))).toBe(true);
  });

  it('[cli 7.1] makes it elsewhere, and says what is missing', async () => {
    await sandbox.ok(['init', '--project-path', 'deep/er', '--lang', 'typescript']);
    expect(existsSync(path.join(sandbox.folder, 'deep/er/package.json'))).toBe(true);
    for (const [args, words] of [
      [['init'], 'PROJECT_NAME is required in non-interactive mode'],
      [['init', 'x', '--lang', 'ts', '-t', 'basic'], 'Cannot specify both --template and --lang'],
      [['init', 'x', '--lang', 'cobol'], '`cobol` is not supported'],
      [['init', 'x', '--server-only', '-t', 'vue'], '--server-only is the template basic'],
      [['init', '!!!'], 'must contain a letter or digit'],
      [['init', './!!!'], '`!!!` must contain a letter or digit'],
      [['init', '/'], '`/` must contain a letter or digit'],
      [['init', 'a/b', '--project-path', 'c'], '`a/b` is a path, and --project-path names'],
    ] as const) {
      const { code, stderr } = await sandbox.run(args);
      expect({ args, code }).toEqual({ args, code: 2 });
      expect(stderr).toContain(words);
    }
  });

  it('[cli 7.1] makes it in the folder that a path names, by the name of that folder', async () => {
    const nameIn = (folder: string) => {
      const file = path.join(folder, 'service.local.json');
      return JSON.parse(readFileSync(file, 'utf8')).database;
    };
    const { folder } = sandbox;
    for (const [name, made] of [
      [path.join(folder, 'Absolute App'), 'Absolute App'],
      ['some/dir', 'some/dir'],
      ['./here/', 'here'],
      ['other/../flat', 'flat'],
    ] as const) {
      const text = await sandbox.ok(['init', name]);
      expect(text).toContain(`in ${path.join(folder, made)}.`);
      expect(existsSync(path.join(folder, made, 'src/index.ts'))).toBe(true);
    }
    expect(nameIn(path.join(folder, 'Absolute App'))).toBe('absolute-app');
    expect(nameIn(path.join(folder, 'some/dir'))).toBe('dir');
    // As a flag, a folder is no other than as a name.
    await sandbox.ok(['init', '--project-path', 'flagged/dir']);
    expect(nameIn(path.join(folder, 'flagged/dir'))).toBe('dir');
    await sandbox.ok(['init', 'My Name', '--project-path', 'flagged/other']);
    expect(nameIn(path.join(folder, 'flagged/other'))).toBe('my-name');
    const current = path.join(folder, 'Current');
    mkdirSync(path.join(current, 'deep'), { recursive: true });
    const asked = await sandbox.run(['init', '..'], { cwd: path.join(current, 'deep') });
    expect(asked.stderr).toContain('Nothing was created.');
    const text = await sandbox.ok(['init', '.', '--yes'], { cwd: current });
    expect(text).not.toContain('cd ');
    expect(nameIn(current)).toBe('current');
    expect(existsSync(path.join(current, 'package.json'))).toBe(true);
  });

  it('[cli 1] says what the file system refused, without a stack', async () => {
    const folder = path.join(sandbox.folder, 'read-only');
    mkdirSync(folder);
    chmodSync(folder, 0o500);
    if (process.getuid?.() === 0) return;
    const { code, stderr } = await sandbox.run(['init', 'x'], { cwd: folder });
    expect(code).toBe(1);
    expect(stderr).toMatch(/^Error: EACCES: .*\n$/);
  });
});

import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { fixture, writeModule } from './cli-support.ts';
import { lastingPort, type RunningService, Sandbox } from './harness.ts';

let sandbox: Sandbox;
let service: RunningService;
/** Another user of the same service. */
let other: Sandbox;

beforeAll(async () => {
  sandbox = await Sandbox.make();
  other = await Sandbox.make(sandbox.port);
  service = await sandbox.start();
  await sandbox.ok(['publish', 'inn', '--module-path', fixture('inn')]);
});
afterAll(async () => {
  await service.stop();
  sandbox.remove();
  other.remove();
});

const identityOf = async (database: string) =>
  (await fetch(`${sandbox.url}/v1/database/${database}/identity`)).text();

describe('the command line', () => {
  it('[cli 9.1] publishes, calls, queries and shows the log', async () => {
    const published = await sandbox.run(['publish', 'round', '--module-path', fixture('inn')]);
    expect(published).toMatchObject({
      code: 0,
      stdout: [
        `Publishing module ${fixture('inn')} to database 'round'`,
        `Uploading to local => ${sandbox.url}`,
        'Checking for breaking changes...',
        'Publishing module...',
        `Created new database with name: round, identity: ${await identityOf('round')}`,
        '',
      ].join('\n'),
    });
    expect(await sandbox.run(['call', 'round', 'add_person', '"Ada"'])).toEqual({
      code: 0,
      stdout: '',
      stderr: '',
    });
    expect(await sandbox.run(['sql', 'round', 'SELECT id, name FROM person'])).toEqual({
      code: 0,
      stdout: ' id | name  \n----+-------\n 1  | "Ada" \n',
      stderr: '',
    });
    const { code, stdout } = await sandbox.run(['logs', 'round']);
    expect(code).toBe(0);
    expect(stdout).toMatch(/^\S+Z {2}INFO: add_person src\/index\.ts:\d+: person 1 added$/m);
  });

  it('[cli 1] without a command prints help and exits with 2', async () => {
    const { code, stdout, stderr } = await sandbox.run([]);
    expect({ code, stdout }).toEqual({ code: 2, stdout: '' });
    expect(stderr).toContain('Usage: reducerdb');
  });

  it.each([
    ['start', '--listen-addr'],
    ['init', '--template'],
    ['build', '--module-path'],
    ['publish', '--delete-data [=when]'],
    ['publish', '--plan'],
    ['migrate', 'new [options] <name> [dir]'],
    ['call', '[database] <function> [arguments...]'],
    ['sql', '--interactive'],
    ['describe', '[reducer|table <name>]'],
    ['logs', '--level-exact'],
    ['mcp', 'SERVICE_DB_NAME'],
    ['list', '--server'],
    ['rename', '--to <name>'],
    ['lock', '--yes'],
    ['unlock', '--no-config'],
    ['delete', '--yes'],
    ['login', '--token [token]'],
    ['logout', 'forget'],
    ['server', 'set-default'],
    ['verify', '--data-dir'],
    ['repair', '--keep <part>'],
    ['keys', 'rotate'],
    ['recover-owner', '--identity'],
  ])('[cli 1] has help for %s, which names %s', async (command, words) => {
    const helped = await sandbox.run(['help', command]);
    expect(helped).toMatchObject({ code: 0, stderr: '' });
    expect(helped.stdout).toContain(words);
    expect(await sandbox.run([command, '--help'])).toEqual(helped);
  });

  it('[cli 7.4] prints its version', async () => {
    const { stdout } = await sandbox.run(['--version']);
    expect(stdout).toMatch(/^reducerdb \d+\.\d+\.\d+\n$/);
    expect(await sandbox.run(['version'])).toEqual({ code: 0, stdout, stderr: '' });
  });

  it.each([
    [['nonsense'], "unknown command 'nonsense'"],
    [['call', '--loud'], "unknown option '--loud'"],
    [['rename', 'inn'], "required option '--to <name>'"],
    // A misspelled option is what is wrong, not the one that it was meant to be.
    [['cluster', 'set', 'inn', '--copys', '3'], "unknown option '--copys'"],
    [['rename', '--to', 'inn2'], "missing required argument 'database'"],
    [['publish', '--yes=maybe'], 'Expected one or more of: all, remote'],
    [['publish', '--delete-data=maybe'], '--delete-data must be one of always, on-conflict, never'],
    [['publish', '-p', 'a', '-j', 'b'], 'cannot be combined'],
    [['publish', 'inn', '--plan', '--cancel'], '--plan and --cancel cannot be combined'],
    [['publish', 'inn', '--token', '0x1', '-c'], '--token and --delete-data cannot be combined'],
    [['publish', 'inn', '--json'], '--json goes with --plan'],
    [['migrate', 'new', 'No Name'], '`No Name` cannot name a migration.'],
    [['login', '--token'], '--token requires the token'],
    [['call'], '<database>'],
    [['call', 'inn'], '<function>'],
    [['sql', 'inn'], '<query>'],
    [['sql', 'SELECT * FROM person'], '<database>'],
    [['logs'], '<database>'],
    [['delete'], '<database>'],
    [['server', 'add', 'near'], 'the address of the server is missing'],
    [['logs', 'inn', '--level', 'loud'], '--level must be one of trace'],
    [['logs', 'inn', '--level-exact'], '--level-exact requires --level'],
    [['logs', 'inn', '-n', 'x'], '--num-lines must be a whole number'],
    [['logs', 'inn', '--format', 'xml'], '--format must be text or json'],
  ])('[cli 1] exits with 2 for %j', async (args, words) => {
    const { code, stdout, stderr } = await sandbox.run(args);
    expect({ code, stdout }).toEqual({ code: 2, stdout: '' });
    expect(stderr).toContain(words);
  });

  it('[cli 1.3] says how to reach a server that it does not reach', async () => {
    const gone = await sandbox.run(['list', '--server', 'http://127.0.0.1:9']);
    expect(gone).toMatchObject({ code: 1, stdout: '' });
    expect(gone.stderr).toContain('could not reach the reducerdb host at http://127.0.0.1:9');
    const unknown = await sandbox.run(['list', '--server', 'moon']);
    expect(unknown).toMatchObject({ code: 1, stdout: '' });
    expect(unknown.stderr).toContain('No such saved server configuration: moon');
  });

  it('[cli 1.3] tells a program that is no service of ours from one', async () => {
    const page = createServer((_, answer) => {
      answer.setHeader('content-type', 'text/html; charset=utf-8').end('<html></html>');
    });
    const port = await new Promise<number>((resolve) => {
      page.listen(0, '127.0.0.1', () => resolve((page.address() as AddressInfo).port));
    });
    const server = `http://127.0.0.1:${port}`;
    for (const words of [['list'], ['logs', 'inn'], ['server', 'ping', server]]) {
      const flags = words[0] === 'server' ? [] : ['--server', server];
      const { code, stdout, stderr } = await sandbox.run([...words, ...flags]);
      expect({ words, code, stdout }).toEqual({ words, code: 1, stdout: '' });
      expect(stderr).toContain(`Error: ${server} answers with a page (status 200)`);
    }
    page.close();
  });

  it('[cli 1.4] passes on what the server says to a bad token', async () => {
    const stray = await Sandbox.make(sandbox.port);
    const token = `${Buffer.from('{"alg":"ES256"}').toString('base64url')}.${Buffer.from(
      '{"iss":"localhost","sub":"x"}',
    ).toString('base64url')}.AAAA`;
    await stray.ok(['login', '--token', token]);
    const { code, stderr } = await stray.run(['sql', 'inn', 'SELECT * FROM person']);
    stray.remove();
    expect(code).toBe(1);
    expect(stderr).toMatch(
      /^Error: Invalid token: .*\nThis server does not accept your saved token\. /,
    );
  });

  it('[cli 1.4] names the identity that it had before, where the server has changed', async () => {
    const moved = await Sandbox.make(await lastingPort());
    const identities: string[] = [];
    for (const folder of ['one', 'two', 'one']) {
      const started = await moved.start(['--data-dir', folder]);
      if (identities.length < 2) {
        await moved.ok(['login']);
        const shown = await moved.ok(['login', 'show']);
        identities.push(shown.trim().split(' ').at(-1) ?? '');
      } else {
        const { code, stderr } = await moved.run(['list']);
        expect(code).toBe(1);
        const [advice] = stderr.match(/reducerdb login --identity [0-9a-f]{64}/) ?? [stderr];
        expect(advice).toBe(`reducerdb login --identity ${identities[0]}`);
        await moved.ok(advice.split(' ').slice(1));
        await moved.ok(['list']);
      }
      await started.stop();
    }
    moved.remove();
  }, 60_000);

  it('[cli 2.4] says in words why a database cannot be renamed', async () => {
    await sandbox.ok(['publish', 'spare', '--module-path', fixture('inn')]);
    const taken = await sandbox.run(['rename', 'spare', '--to', 'inn']);
    expect(taken).toMatchObject({ code: 1, stdout: '' });
    expect(taken.stderr).toBe('Error: Cannot rename to inn because it already is in use.\n');
    await other.ok(['login']);
    const others = await other.run(['rename', 'spare', '--to', 'theirs']);
    expect(others).toMatchObject({ code: 1, stdout: '' });
    expect(others.stderr).toBe('Error: You may not rename this database.\n');
  });
});

describe('call', () => {
  it('[cli 3.1] takes strings without quotes and identities as hex', async () => {
    const folder = writeModule(
      sandbox,
      'words',
      `import { schema, t, table } from 'reducerdb/server';
      const said = table({ public: true }, { text: t.string(), who: t.identity(), n: t.i64() });
      const db = schema({ said });
      export default db;
      export const say = db.reducer(
        { text: t.string(), who: t.identity(), n: t.i64() },
        (ctx, row) => { ctx.db.said.insert(row); },
      );`,
    );
    await sandbox.ok(['publish', 'words', '-p', folder]);
    const who = 'c2'.padStart(64, '0');
    for (const [text, identity, number] of [
      ['plain words', who, '-5'],
      ['"quoted"', `0x${who}`, '9007199254740993'],
      ['17', who, '0'],
      ['["list"]', JSON.stringify([`0x${who}`]), '1'],
      ['', who, '2'],
    ] as const) {
      await sandbox.ok(['call', 'words', 'say', text, identity, number]);
    }
    const rows = await sandbox.ok(['sql', 'words', 'SELECT text, n FROM said', '--format', 'json']);
    expect(rows.match(/"rows":(\[\[.*?\]\])/)?.[1]).toBe(
      '[["plain words",-5],["quoted",9007199254740993],["17",0],["[\\"list\\"]",1],["",2]]',
    );
  });

  it('[cli 3.1] explains an unknown name with the names that there are', async () => {
    const { code, stdout, stderr } = await sandbox.run(['call', 'inn', 'ad_person', 'x']);
    expect({ code, stdout }).toEqual({ code: 1, stdout: '' });
    expect(stderr).toContain(
      'Error: No such reducer OR procedure `ad_person` for database `inn` resolving to identity ' +
        `\`${await identityOf('inn')}\`.\n\nDid you mean: add_person?\n\n` +
        'Here are some existing reducers:\n- add_person(name: String)\n',
    );
    expect(stderr).not.toContain('set_up');
  });

  it('[ease 5.2] describes tables and functions for people', async () => {
    const text = await sandbox.ok(['describe', 'inn']);
    expect(text).toContain(
      [
        'Tables',
        '  banned (private)',
        '    who  Identity  primary key',
        '  person (public)',
        '    id     U32       primary key, auto-increment',
        '    name   String',
        '    guest  Identity',
        '',
      ].join('\n'),
    );
    expect(text).toContain('\nReducers\n');
    expect(text).toContain('\n  add_person(name: String)\n');
    expect(text).toContain('\n  set_up() (runs when the database is created)\n');
    const wide = await sandbox.ok(['describe', 'inn', 'table', 'wide']);
    expect(wide).toMatch(/^Tables\n {2}wide \(public\)\n/);
    expect(wide).toContain('    maybe   String?\n');
    expect(wide).not.toContain('person');
    expect(await sandbox.ok(['describe', 'inn', 'reducer', 'addPerson'])).toBe(
      'Reducers\n  add_person(name: String)\n',
    );
    expect(await sandbox.run(['describe', 'inn', 'table', 'persn'])).toEqual({
      code: 1,
      stdout: '',
      stderr: 'Error: No such table: persn\nDid you mean: person?\n',
    });
  });

  it('[ease 5.2] lists at most ten functions for an unknown name', async () => {
    const names = [...'abcdefghijkl'].map((letter) => `step_${letter}`);
    const source = `import { schema } from 'reducerdb/server';
      const db = schema({});
      export default db;
      ${names.map((name) => `export const ${name} = db.reducer(() => {});`).join('\n')}`;
    await sandbox.ok(['publish', 'steps', '-p', writeModule(sandbox, 'steps', source)]);
    const { stderr } = await sandbox.run(['call', 'steps', 'stepA2']);
    expect(stderr).toContain('Did you mean: step_a');
    expect(stderr).toContain('- step_j()\n… and 2 more: reducerdb describe steps\n');
    expect(stderr).not.toContain('- step_k()');
  });

  it('[ease 5.2] publishes with the token and the server of one variable', async () => {
    await sandbox.ok(['publish', 'shipped', '-p', fixture('inn')]);
    const line = await sandbox.ok(['token', 'create', 'shipped', '--ci']);
    const [, value = ''] = /^REDUCERDB_TOKEN=(http:\/\/\S+)\n$/.exec(line) ?? [];
    expect(value).toMatch(new RegExp(`^http://[\\w.-]+@127\\.0\\.0\\.1:${sandbox.port}$`));
    // Somewhere else: nothing is saved, and the default server is another one.
    const elsewhere = await Sandbox.make();
    try {
      const env = { REDUCERDB_TOKEN: value };
      const text = await elsewhere.ok(['publish', 'shipped', '-p', fixture('inn')], { env });
      expect(text).toContain('Updated database with name: shipped');
      expect(text).not.toContain(value);
      // It publishes there and nowhere else, and its token goes to its server alone.
      const refused = await elsewhere.run(['publish', 'inn', '-p', fixture('inn')], { env });
      expect(refused.code).toBe(1);
      const broken = { REDUCERDB_TOKEN: 'x' };
      expect((await elsewhere.run(['list'], { env: broken })).stderr).toContain('https://‹token›@');
    } finally {
      elsewhere.remove();
    }
    expect((await sandbox.run(['token', 'create', 'shipped', '--ci', '--read-only'])).stderr).toBe(
      'Error: --read-only limits tokens of agents: it cannot be combined with --ci\n',
    );
  });

  it('[ease 5.2] accepts --no-browser, which has nothing to open', async () => {
    const fresh = await Sandbox.make(sandbox.port);
    const { code, stderr } = await fresh.run(['login', '--no-browser']);
    fresh.remove();
    expect({ code, stderr }).toMatchObject({ code: 0 });
    expect(stderr).toContain('Logged in with identity');
  });

  it('[cli 3.1] explains arguments that do not fit', async () => {
    const { code, stderr } = await sandbox.run(['call', 'inn', 'add_person']);
    expect(code).toBe(1);
    expect(stderr).toContain(
      'Invalid arguments provided for reducer `add_person` for database `inn`',
    );
    expect(stderr).toContain('  add_person(name: String)');
    expect(stderr.match(/invalid arguments for reducer add_person/g)).toHaveLength(1);
    expect(stderr).toMatch(/`name` is missing: 0 values were given for 1 parameter$/m);
    expect(stderr).toMatch(/^Usage: reducerdb call inn add_person <name: String>$/m);
  });

  it('[ease 1.6] says what would be an argument', async () => {
    const { stderr } = await sandbox.run(['call', 'inn', 'add_wide', 'x']);
    expect(stderr).toContain('`big`: "x" is not an integer (');
    expect(stderr).toContain('; expected a whole number, e.g. 42');
    const broken = await sandbox.run(['call', 'inn', 'add_wide', '[']);
    expect(broken.stderr).toContain('argument big: `[` is not JSON');
  });

  it('[cli 3.1] passes on what the reducer said', async () => {
    expect(await sandbox.run(['call', 'inn', 'refuse', 'we are full'])).toEqual({
      code: 1,
      stdout: '',
      stderr: `Error: we are full\n`,
    });
  });

  it('[ease 5.4] shows the owner on this machine why a reducer crashed, and where', async () => {
    const crashed = await sandbox.run(['call', 'inn', 'crash']);
    expect(crashed.stderr).toBe(
      'Error: The instance encountered a fatal error.\n' +
        'Uncaught Error: the cellar is on fire, at src/index.ts:66:9\n',
    );
    const stranger = await other.run(['call', 'inn', 'crash']);
    expect(stranger.stderr).toContain("The module's log says why: reducerdb logs inn\n");
    expect(stranger.stderr).not.toContain('cellar');
    expect(await sandbox.ok(['sql', 'inn', 'SELECT * FROM visit'])).toBe(
      ' id | what \n----+------\n',
    );
  });

  it('[cli 1.1] calls as nobody with --anonymous', async () => {
    await sandbox.ok(['call', 'inn', 'count_visit']);
    await sandbox.ok(['call', 'inn', 'count_visit', '--anonymous']);
    const rows = await sandbox.ok(['sql', 'inn', 'SELECT * FROM visit', '--format', 'json']);
    expect(JSON.parse(rows)[0].rows).toHaveLength(2);
    const hidden = await sandbox.run(['sql', 'inn', 'SELECT * FROM secret', '--anonymous']);
    expect(hidden).toMatchObject({ code: 1, stdout: '' });
    expect(await sandbox.ok(['sql', 'inn', 'SELECT words FROM secret'])).toContain('"swordfish"');
  });
});

describe('describe', () => {
  it('[cli 2.6] prints the newest definition, indented and with all digits', async () => {
    const text = await sandbox.ok(['describe', 'inn', '--json']);
    expect(text.split('\n').slice(0, 3)).toEqual(['{', '  "sections": [', '    {']);
    const shown = await sandbox.ok(['login', 'show', '--token']);
    const token = /\S+\.\S+\.\S+/.exec(shown)?.[0];
    const headers = { authorization: `Bearer ${token}` };
    const schema = await fetch(`${sandbox.url}/v1/database/inn/schema?version=10`, { headers });
    expect(JSON.parse(text)).toEqual(await schema.json());
  });

  it('[cli 2.6] prints one table or reducer, by either of its names', async () => {
    for (const [kind, name, source] of [
      ['table', 'person', 'person'],
      ['reducer', 'add_person', 'addPerson'],
      ['reducer', 'addPerson', 'addPerson'],
    ] as const) {
      const text = await sandbox.ok(['describe', 'inn', kind, name, '--json']);
      expect(JSON.parse(text).source_name).toBe(source);
    }
    const { code, stderr } = await sandbox.run(['describe', 'inn', 'table', 'nothing', '--json']);
    expect(code).toBe(1);
    expect(stderr).toContain('No such table: nothing');
  });
});

describe('databases', () => {
  it('[cli 1.2, 2.2, 2.3] are locked against deletion, and unlocked', async () => {
    await sandbox.ok(['publish', 'precious', '-p', fixture('ledger')]);
    const identity = await identityOf('precious');
    expect(await sandbox.ok(['lock', 'precious'])).toBe(
      'Database precious is now locked. It cannot be deleted until unlocked.\n',
    );
    const refused = await sandbox.run(['delete', 'precious', '--yes']);
    expect(refused).toMatchObject({ code: 1, stdout: '' });
    expect(refused.stderr).toContain('locked');
    expect(await sandbox.ok(['unlock', 'precious'])).toBe('Database precious is now unlocked.\n');

    const question =
      `Are you sure you want to delete database precious (${identity})? ` +
      'This action cannot be undone. [y/N]';
    const hesitant = await sandbox.run(['delete', 'precious'], { input: 'n\n' });
    expect(hesitant.code).toBe(0);
    expect(hesitant.stdout).toContain(question);
    expect(hesitant.stdout).toContain('Aborting');
    expect(await sandbox.run(['delete', 'precious'])).toMatchObject({
      code: 1,
      stderr:
        'Nobody can answer here, so the answer is no; --yes answers yes.\nError: Nothing was done.\n',
    });
    const sure = await sandbox.run(['delete', '-y', 'precious']);
    expect(sure).toMatchObject({
      code: 0,
      stdout: `Deleted database precious (${identity}).\n`,
      stderr: 'Skipping confirmation due to --yes\n',
    });
    expect((await fetch(`${sandbox.url}/v1/database/precious`)).status).toBe(404);
  });

  it('[cli 2.4] are renamed, and found by the new name alone', async () => {
    await sandbox.ok(['publish', 'before', '-p', fixture('ledger')]);
    const identity = await identityOf('before');
    expect(await sandbox.ok(['rename', '--to', 'after', identity])).toBe(
      `Name set to after for identity ${identity}.\n`,
    );
    expect(await identityOf('after')).toBe(identity);
    expect((await fetch(`${sandbox.url}/v1/database/before/identity`)).status).toBe(404);
    const taken = await sandbox.run(['rename', '--to', 'inn', 'after']);
    expect(taken.code).toBe(1);
  });

  it('[cli 2.5] are listed with their names', async () => {
    const mine = await sandbox.ok(['list']);
    expect(mine).toMatch(
      /^Associated databases for user [0-9a-f]{64}:\n\n Database Name\(s\) \| Identity +\n-+\+-+\n/,
    );
    expect(mine).toMatch(new RegExp(`^ inn +\\| ${await identityOf('inn')} $`, 'm'));
    expect(await other.ok(['list'])).toMatch(/^No databases found for [0-9a-f]{64}\.\n$/);
  });

  it('[cli 1] belong to their owner', async () => {
    await other.ok(['login']);
    for (const args of [
      ['logs', 'inn'],
      ['lock', 'inn'],
      ['delete', 'inn', '-y'],
    ]) {
      const { code, stderr } = await other.run(args);
      expect({ args, code }).toEqual({ args, code: 1 });
      expect(stderr).toContain('Error: ');
    }
  });
});

describe('logs', () => {
  it('[cli 2.7] shows levels, last lines and records', async () => {
    await sandbox.run(['call', 'inn', 'refuse', 'no room']);
    const all = await sandbox.ok(['logs', 'inn']);
    expect(all).toMatch(/^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(\.\d{6})?Z {2}INFO: refuse: no room$/m);
    expect(all).toMatch(/^\S+ {2}INFO: Database initialized$/m);
    expect(all).not.toContain('__spacetimedb__');
    const errors = await sandbox.ok(['logs', 'inn', '--level', 'error']);
    expect(errors).not.toContain(' INFO: ');
    const debug = await sandbox.ok(['logs', 'inn', '-l', 'debug', '--level-exact']);
    expect(debug).toMatch(/^(\S+ DEBUG: leave \S+: left: [0-9a-f]{64}\n)+$/);
    const last = await sandbox.ok(['logs', 'inn', '-n', '1', '--format', 'json']);
    expect(last.match(/\n/g)).toHaveLength(1);
    expect(JSON.parse(last)).toMatchObject({ ts: expect.any(Number), level: expect.any(String) });
  });

  it('[cli 2.7] follows with the last ten, until the service stops', async () => {
    const child = sandbox.spawn(['logs', 'inn', '--follow']);
    let text = '';
    child.stdout?.on('data', (chunk) => {
      text += chunk;
    });
    const ended = new Promise((resolve) => child.on('close', resolve));
    await expect.poll(() => text.match(/^\d{4}-\d\d-\d\dT.*\n/gm)).toHaveLength(10);
    await sandbox.ok(['call', 'inn', 'add_person', 'Grace']);
    await expect.poll(() => text).toMatch(/person \d+ added\n/);
    await service.stop();
    expect(await ended).toBe(0);
    service = await sandbox.start();
  });
});

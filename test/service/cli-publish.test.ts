import { existsSync, mkdirSync, readFileSync, symlinkSync } from 'node:fs';
import path from 'node:path';
import { afterAll, beforeAll, beforeEach, describe, expect, it } from 'vitest';
import { itemsModule, logIn, writeBundle, writeFiles, writeModule } from './cli-support.ts';
import { type RunningService, root, Sandbox } from './harness.ts';
import type { Remote } from './remote.ts';

let sandbox: Sandbox;
let service: RunningService;
let owner: Remote;

/** Bundles of one table in versions that differ as a plan does. */
const bundles = { first: '', compatible: '', breaking: '', manual: '' };

beforeAll(async () => {
  sandbox = await Sandbox.make();
  service = await sandbox.start();
  owner = await logIn(sandbox);
  const idle = 'export const idle = db.reducer(() => {});';
  bundles.first = await writeBundle(sandbox, 'first', itemsModule());
  bundles.compatible = await writeBundle(sandbox, 'compatible', itemsModule('', '', idle));
  const added = ', extra: t.u32().default(9)';
  bundles.breaking = await writeBundle(sandbox, 'breaking', itemsModule(added));
  bundles.manual = await writeBundle(sandbox, 'manual', itemsModule(', extra: t.u32()'));
});
afterAll(async () => {
  await service.stop();
  sandbox.remove();
});

/** Two names of the package for one class; a program whose names differ does not load. */
const twoEntries = `
  import { Identity } from 'reducerdb/values';
  import { Identity as Served } from 'reducerdb/server';
  if (Identity !== Served) throw new Error('there are two of a class');
`;

let count = 0;
let database: string;
/** A new database of the first version with one row. */
async function makeDatabase(): Promise<void> {
  count += 1;
  database = `items-${count}`;
  const program = new Uint8Array(readFileSync(bundles.first));
  expect(await owner.upload(database, program)).toMatchObject({ status: 200 });
  await call(database, 'add', 'kept');
}

/** Calls a reducer, which must succeed. */
async function call(called: string, reducer: string, ...args: string[]): Promise<void> {
  expect(await owner.call(called, reducer, args)).toMatchObject({ status: 200 });
}

const publish = (bundle: string, flags: readonly string[] = [], input = '') =>
  sandbox.run(['publish', database, '-j', bundle, ...flags], { input });

/** Names of the rows, or nothing when the rows were deleted. */
async function rows(): Promise<unknown[]> {
  return (await owner.rows(database, 'SELECT name FROM items')).flat();
}

const deletion = 'This will DESTROY the current';
const breakQuestion =
  'The above changes will BREAK existing clients. Do you want to proceed? [y/N]';

describe('publish over a database, refused', () => {
  beforeAll(makeDatabase);
  afterAll(async () => {
    expect(await rows()).toEqual(['kept']);
  });

  it('[migrations 10] shows the plan, and asks before a change that breaks clients', async () => {
    for (const input of ['', 'n\n', 'maybe\n']) {
      const { code, stdout, stderr } = await publish(bundles.breaking, [], input);
      expect(code).toBe(1);
      expect(stderr).toContain('Error: Publishing aborted by user');
      expect(stdout).toContain('extra');
      expect(stdout).not.toContain('\u001b');
      expect(stdout).toContain(breakQuestion);
      expect(stdout).not.toContain('Publishing module...');
    }
  });

  it.each([[[]], [['--delete-data=never']], [['--yes']], [['--break-clients']]])(
    '[migrations 10] does not change what needs the hand of a person, with %j',
    async (flags) => {
      const { code, stdout, stderr } = await publish(bundles.manual, flags);
      expect(code).toBe(1);
      expect(stdout).toContain('Aborting publish due to required manual migration.');
      expect(stderr).toContain(
        'Error: Aborting because publishing would require manual migration or deletion of data ' +
          'and --delete-data was not specified.',
      );
    },
  );

  it('[migrations 10] says where a new column goes that is not the last one', async () => {
    const text = itemsModule(', extra: t.u32().default(9)').replace(
      '{ id: t.u32().primaryKey().autoInc(), name: t.string(), extra: t.u32().default(9) }',
      '{ extra: t.u32().default(9), id: t.u32().primaryKey().autoInc(), name: t.string() }',
    );
    const { code, stdout } = await publish(await writeBundle(sandbox, 'between', text));
    expect(code).toBe(1);
    expect(stdout).toContain('Reordering table items requires a manual migration');
    expect(stdout).toContain('Put a new column last in its table, and give it a default.');
  });

  it('[migrations 10] asks before it deletes on a conflict', async () => {
    const { code, stdout } = await publish(bundles.manual, ['--delete-data=on-conflict'], 'n\n');
    expect(code).toBe(1);
    expect(stdout).toContain('Proceeding with database clear due to --delete-data=on-conflict.');
    expect(stdout).toContain(
      `This will DESTROY the current ${database} module, and ALL corresponding data.`,
    );
    expect(stdout).toContain(`Are you sure you want to proceed? [deleting ${database}] [y/N]`);
    expect(stdout).toContain('Aborted.');
  });

  it.each([[['--delete-data']], [['-c']], [['--delete-data=always']], [['--clear-database']]])(
    '[migrations 10] asks before it deletes in any case, with %j',
    async (flags) => {
      const { code, stdout } = await publish(bundles.first, [...flags, '--yes=remote']);
      expect(code).toBe(1);
      expect(stdout).not.toContain('Checking for breaking changes...');
      expect(stdout).toContain(deletion);
    },
  );

  it('[cli 2.1] is refused to everybody but its owner', async () => {
    const other = await Sandbox.make(sandbox.port);
    for (const flags of [[], ['-c', '-y']]) {
      const args = ['publish', database, '-j', bundles.first, ...flags];
      const stolen = await other.run(args);
      expect(stolen.code).toBe(1);
      expect(stolen.stderr).toContain(
        `The database ${database} is not registered to the identity you provided.`,
      );
      const anonymous = await other.run([...args, '--anonymous']);
      expect(anonymous.code).toBe(1);
      expect(anonymous.stderr).toContain(
        `You need to be logged in as the owner of ${database} to publish to ${database}`,
      );
    }
    other.remove();
  });

  it('[cli 2.1] asks before it goes to another machine', async () => {
    const remote = 'http://database.example:3000';
    const { code, stdout, stderr } = await publish(bundles.first, ['--server', remote], 'n\n');
    expect(code).toBe(1);
    expect(stdout).toContain('You are about to publish to a non-local server: database.example');
    expect(stdout).toContain('Are you sure you want to proceed? [y/N]');
    expect(stderr).toContain('Error: Publish aborted by user.');
  });
});

describe('publish over a database', () => {
  beforeEach(makeDatabase);

  it('[migrations 10] keeps the rows at a compatible change, whatever --delete-data', async () => {
    for (const [bundle, ...flags] of [
      [bundles.compatible],
      [bundles.first, '--delete-data=never'],
      [bundles.compatible, '--delete-data=on-conflict'],
    ] as const) {
      const { code, stdout } = await publish(bundle, flags);
      expect(code).toBe(0);
      expect(stdout).toContain('Checking for breaking changes...');
      expect(stdout).not.toContain(deletion);
      expect(stdout).toContain(`Updated database with name: ${database}, identity: c200`);
    }
    await call(database, 'idle');
    expect(await rows()).toEqual(['kept']);
  });

  it.each([
    [[], 'YES\n'],
    [['--break-clients'], ''],
    [['-y=remote,break-clients'], ''],
    [['--delete-data=on-conflict', '--yes=break-clients'], ''],
  ])('[migrations 10] breaks clients and keeps the rows, with %j and %j', async (flags, input) => {
    const { code, stdout } = await publish(bundles.breaking, flags, input);
    expect(code).toBe(0);
    expect(stdout).not.toContain(deletion);
    expect(await rows()).toEqual(['kept']);
    expect(await owner.rows(database, 'SELECT extra FROM items')).toEqual([[9]]);
  });

  it('[migrations 10] deletes the rows on a conflict', async () => {
    const { code } = await publish(bundles.manual, ['--delete-data=on-conflict'], 'y\n');
    expect(code).toBe(0);
    expect(await rows()).toEqual([]);
  });

  it('[cli 2.1] takes no option for the name of the database', async () => {
    const { code } = await sandbox.run(['publish', '-y', '-c', database, '-j', bundles.manual]);
    expect(code).toBe(0);
    expect(await rows()).toEqual([]);
  });
});

describe('publish', () => {
  it('[cli 2.1] makes a database without a name', async () => {
    const { code, stdout } = await sandbox.run(['publish', '-j', bundles.first]);
    expect(code).toBe(0);
    const identity = stdout.match(/^Created new database with identity: (c200[0-9a-f]{60})$/m)?.[1];
    expect(stdout).toContain(`Publishing module ${bundles.first}\n`);
    await call(identity ?? '', 'add', 'x');
    const again = await sandbox.ok(['publish', identity ?? '', '-j', bundles.compatible]);
    expect(again).toContain(`Updated database with identity: ${identity}\n`);
  });

  it('[cli 2.1] takes a bundle, which build makes', async () => {
    const built = await sandbox.run(['build', '--module-path', 'first']);
    expect(built).toMatchObject({ code: 0, stdout: 'Build finished successfully.\n' });
    const bundle = path.join(sandbox.folder, 'first/dist/bundle.js');
    expect(existsSync(bundle)).toBe(true);
    const { code, stdout } = await sandbox.run(['publish', 'bundled', '--js-path', bundle]);
    expect(code).toBe(0);
    expect(stdout).toContain(`Publishing module ${bundle} to database 'bundled'`);
    const missing = await sandbox.run(['publish', 'bundled', '--js-path', 'no.js']);
    expect(missing.code).toBe(1);
  });

  it('[cli 5.1] carries each class of the package once, and no places in it', async () => {
    const source = itemsModule('', '', 'export const made = db.reducer(() => Identity.zero());');
    const folder = writeModule(sandbox, 'entries', `${twoEntries}${source}`);
    const modules = path.join(folder, 'node_modules');
    mkdirSync(modules);
    for (const isInstalled of [false, true]) {
      if (isInstalled) symlinkSync(root, path.join(modules, 'reducerdb'));
      await sandbox.ok(['build', '-p', folder]);
      const text = readFileSync(path.join(folder, 'dist/bundle.js'), 'utf8');
      expect(text.match(/class \w*Identity\w* /g)).toHaveLength(1);
      const map = Buffer.from(text.split('base64,')[1] ?? '', 'base64').toString();
      // Places of the author's code alone, with the package by its name.
      expect(JSON.parse(map).sources).toEqual(['src/index.ts', 'reducerdb/module-sdk']);
      expect(await sandbox.run(['publish', 'entries', '-p', folder])).toMatchObject({ code: 0 });
    }
  });

  it('[cli 5.1] shows where a module does not build', async () => {
    const broken = writeModule(sandbox, 'broken', "import { x } from './nowhere.ts';\nx();");
    for (const args of [
      ['build', '-p', broken],
      ['publish', 'broken', '-p', broken],
    ]) {
      const { code, stderr } = await sandbox.run(args);
      expect(code).toBe(1);
      expect(stderr).toContain('src/index.ts:1:');
      expect(stderr).not.toMatch(/^\s+at /m);
    }
    const noProject = await sandbox.run(['build', '-p', sandbox.folder]);
    expect(noProject).toMatchObject({ code: 1 });
    expect(noProject.stderr).toContain('no package.json');
  });

  it('[cli 5.1, living 1.11] shows the crons that cannot be read', async () => {
    const crons = `
      export const nightly = db.cron('0 3 * * *', { timeZone: 'Europe/Berlin' }, () => {});
      export const wrong = db.cron('0 25 * * *', () => {});
      export const nowhere = db.cron('@daily', { timeZone: 'Mars' }, () => {});`;
    const folder = writeModule(sandbox, 'crons', itemsModule('', '', crons));
    for (const args of [
      ['build', '-p', folder],
      ['publish', 'crons', '-p', folder],
    ]) {
      const { code, stderr } = await sandbox.run(args);
      expect(code).toBe(1);
      expect(stderr).toMatch(
        /src\/index\.ts:\d+:20: cron `wrong`: hour 25 is not from 0 to 23 \(character 3 of `/,
      );
      expect(stderr).toMatch(/src\/index\.ts:\d+:20: cron `nowhere`: `Mars` is not the name of a /);
      expect(stderr).toContain("export const wrong = db.cron('0 25 * * *', () => {});");
      expect(stderr).not.toContain('nightly');
      expect(existsSync(path.join(folder, 'dist/bundle.js'))).toBe(false);
    }
  });

  it('[cli 5.1] stops at type errors when the project has a compiler', async () => {
    const folder = writeModule(sandbox, 'typed', itemsModule('', '', 'const wrong: number = "x";'));
    const modules = path.join(folder, 'node_modules');
    mkdirSync(modules);
    symlinkSync(path.join(root, 'node_modules/.bin'), path.join(modules, '.bin'));
    symlinkSync(root, path.join(modules, 'reducerdb'));
    const settings = path.join(root, 'templates/basic/tsconfig.json');
    writeFiles(folder, { 'tsconfig.json': readFileSync(settings, 'utf8') });
    const { code, stderr } = await sandbox.run(['build', '-p', folder]);
    expect(code).toBe(1);
    expect(stderr).toContain("Type 'string' is not assignable to type 'number'");
    expect(existsSync(path.join(folder, 'dist/bundle.js'))).toBe(false);
  });

  it('[cli 2.1] shows what a refused module did wrong', async () => {
    const failing = writeModule(
      sandbox,
      'failing',
      itemsModule('', '', "export const init = db.init(() => { throw new Error('bad start'); });"),
    );
    const { code, stderr } = await sandbox.run(['publish', 'failing', '-p', failing]);
    expect(code).toBe(1);
    expect(stderr).toContain('Error: ');
    expect((await fetch(`${sandbox.url}/v1/database/failing`)).status).toBe(404);
    const named = await sandbox.run(['publish', 'Not A Name', '-j', bundles.first]);
    expect(named.code).toBe(1);
    expect(named.stderr).toContain('database name');
  });
});

describe('publish with a project file', () => {
  beforeEach(makeDatabase);

  const project = (config: unknown) => {
    const folder = path.join(sandbox.folder, `project-${database}`);
    writeFiles(folder, { 'service.json': config });
    return folder;
  };

  it('[cli 2.1] publishes all targets in order, or the ones that a pattern names', async () => {
    const cwd = project({
      'module-path': '../first',
      database: `${database}-a`,
      children: [
        { database: `${database}-b` },
        { database: `${database}-z`, 'module-path': '../compatible' },
      ],
    });
    const all = await sandbox.run(['publish'], { cwd });
    expect(all.code).toBe(0);
    expect(all.stdout.startsWith(`Using configuration from ${cwd}/service.json\n`)).toBe(true);
    const created = [...all.stdout.matchAll(/Created new database with name: ([^,]+)/g)];
    expect(created.map(([, name]) => name)).toEqual(
      ['a', 'b', 'z'].map((it) => `${database}-${it}`),
    );
    await call(`${database}-z`, 'idle');

    const one = await sandbox.ok(['publish', `${database}-b`], { cwd });
    expect(one.match(/Updated database/g)).toHaveLength(1);
    const two = await sandbox.ok(['publish', `${database}-?`, '-p', '../compatible', '-y'], {
      cwd,
    });
    expect(two.match(/Updated database/g)).toHaveLength(3);
    const none = await sandbox.run(['publish', 'other'], { cwd });
    expect(none.code).toBe(1);
    expect(none.stderr).toContain(
      `No database target matches 'other'. Available databases: ${database}-a, ` +
        `${database}-b, ${database}-z`,
    );
  });

  it('[cli 2.1] prints a plan as JSON alone, and else the command that publishes it', async () => {
    const cwd = project({ 'module-path': '../compatible', database });
    const shown = await sandbox.run(['publish', '--plan', '--json'], { cwd });
    expect(JSON.parse(shown.stdout)).toMatchObject({ database, plan: 'update', succeeds: true });
    expect(shown.stderr).toContain(`Using configuration from ${cwd}/service.json\n`);
    const flags = ['--js-path', bundles.compatible, '--server', service.url, '--no-config'];
    const text = await sandbox.ok(['publish', database, ...flags, '--plan'], { cwd });
    const command = text.trimEnd().split('\n').at(-1) ?? '';
    const words = command.replace('To publish exactly this: reducerdb ', '').split(' ');
    expect(words.slice(0, -1)).toEqual(['publish', database, ...flags, '--token']);
    expect(await sandbox.ok(words, { cwd })).toContain(`Updated database with name: ${database}`);
  });

  it('[cli 2.1] uses the only target for another name', async () => {
    const cwd = project({
      'module-path': '../compatible',
      'break-clients': true,
      database: 'mine',
    });
    const text = await sandbox.ok(['publish', database], { cwd });
    expect(text).toContain(`Updated database with name: ${database}`);
    await call(database, 'idle');
  });

  it('[cli 4.2] publishes as nobody when the target says so', async () => {
    const cwd = project({ 'module-path': '../first', anonymous: true, database });
    const { code, stderr } = await sandbox.run(['publish'], { cwd });
    expect(code).toBe(1);
    expect(stderr).toContain('You need to be logged in as the owner');
  });
});

import { appendFileSync, readdirSync } from 'node:fs';
import path from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { writeModule } from './cli-support.ts';
import { type RunningService, Sandbox } from './harness.ts';
import { notesModule } from './notes-module.ts';

let sandbox: Sandbox;
let service: RunningService;
/** Identities of the saved user, and of somebody else, who has a configuration of their own. */
let owner: string;
let friend: string;

const friendly = () => ['--config-path', path.join(sandbox.folder, 'friend.toml')];

beforeAll(async () => {
  sandbox = await Sandbox.make();
  const identities: string[] = [];
  const first = await sandbox.start();
  for (const flags of [[], friendly()]) {
    const server = ['--server', sandbox.url];
    const { stderr } = await sandbox.run([...flags, 'login', ...server]);
    identities.push(stderr.match(/c200[0-9a-f]{60}/)?.[0] ?? '');
  }
  [owner = '', friend = ''] = identities;
  await first.stop();
  service = await sandbox.start(['--operator', owner]);
  writeModule(sandbox, 'notes', notesModule);
  await sandbox.ok(['publish', 'notes', ...fromFolder()]);
  await sandbox.ok(['sql', 'notes', "INSERT INTO secret (id, text) VALUES (1, 'a'), (2, 'b')"]);
}, 90_000);
afterAll(async () => {
  await service.stop();
  sandbox.remove();
});

/** As the friend. */
const asFriend = (...args: string[]) =>
  sandbox.run([...friendly(), ...args, '--server', sandbox.url]);

const fromFolder = () => ['--module-path', path.join(sandbox.folder, 'notes'), '--yes'];

const moment = /\d{4}-\d\d-\d\d \d\d:\d\d:\d\d UTC/;

describe('grant, revoke and grants', () => {
  it('[cli 2.9] give, show and take roles', async () => {
    expect(await sandbox.ok(['grants', 'notes'])).toBe(
      'Nobody but the owner has a role in notes.\n',
    );
    const select = ['sql', 'notes', 'SELECT id FROM secret'];
    expect((await asFriend(...select)).code).toBe(1);
    expect(await sandbox.ok(['grant', 'notes', `0x${friend}`, '--role', 'reader'])).toBe(
      `${friend} is now reader of notes.\n`,
    );
    expect(await asFriend(...select)).toMatchObject({ code: 0 });
    const [header, , row] = (await sandbox.ok(['grants', 'notes'])).split('\n');
    expect(header).toMatch(/^ IDENTITY +\| ROLE +\| GRANTED BY +\| GRANTED AT +$/);
    expect(row).toContain(` ${friend} | reader | ${owner} | `);
    expect(row).toMatch(moment);
    expect(await sandbox.ok(['revoke', 'notes', friend])).toBe(
      `${friend} has no role in notes now.\n`,
    );
    expect((await asFriend(...select)).code).toBe(1);
  });

  it('refuse what makes no sense', async () => {
    const king = await sandbox.run(['grant', 'notes', friend, '--role', 'king']);
    expect(king).toMatchObject({
      code: 2,
      stderr: expect.stringContaining('--role must be one of'),
    });
    expect((await sandbox.run(['grant', 'notes', friend])).code).toBe(2);
    const nobody = await sandbox.run(['grant', 'notes', 'ada', '--role', 'reader']);
    expect(nobody.code).toBe(1);
    expect(nobody.stderr).toContain('`ada` is not an identity (64 hex digits).');
    const notTheirs = await asFriend('grant', 'notes', friend, '--role', 'reader');
    expect(notTheirs.code).toBe(1);
    expect(notTheirs.stderr).toMatch(/is not authorized to perform action .*: grant roles\n$/);
    const others = await asFriend('grants', 'notes');
    expect(others.stderr).toMatch(/is not authorized to perform action .*: view grants\n$/);
  });
});

describe('token', () => {
  it('[cli 2.9] create prints the token alone, which may what the flags say', async () => {
    const flags = ['--reducers', 'addNote', '--tables', 'secret, note', '--expires', '1h'];
    const { code, stdout, stderr } = await sandbox.run([
      ...['token', 'create', '--database', 'notes', '--max-rows', '1'],
      ...flags,
    ]);
    expect(code).toBe(0);
    expect(stdout).toMatch(/^[\w-]+\.[\w-]+\.[\w-]+\n$/);
    expect(stderr).toMatch(
      /^Token [0-9a-f-]{36} for notes; it expires [^\n]* UTC\.\nAnyone who has it acts as c200/,
    );
    const as = { authorization: `Bearer ${stdout.trim()}` };
    const ask = async (body: string) => {
      const where = `${sandbox.url}/v1/database/notes/sql`;
      const answer = await fetch(where, { method: 'POST', body, headers: as });
      return [answer.status, await answer.text()] as const;
    };
    expect((await ask('SELECT id FROM secret LIMIT 1'))[0]).toBe(200);
    expect((await ask('SELECT id FROM secret'))[1]).toContain('more than 1 rows');
    expect((await ask('DELETE FROM note'))[1]).toContain('is not authorized to run SQL DML');
  });

  it('[cli 2.9] list shows what they may, and revoke ends them', async () => {
    const id = (text: string) => text.match(/^Token (\S+)/)?.[1] ?? '';
    const blind = await sandbox.run(['token', 'create', 'notes', '--write-by-preview']);
    expect([blind.code, blind.stderr]).toEqual([
      0,
      expect.stringContaining('hint: without --tables'),
    ]);
    const [, blindId = ''] = /^Token (\S+) for/.exec(blind.stderr) ?? [];
    await sandbox.ok(['token', 'revoke', 'notes', blindId]);
    const made = await sandbox.run(['token', 'create', 'notes', '--read-only']);
    expect(made.stderr).not.toContain('hint');
    const writer = await sandbox.run([
      ...['token', 'create', 'notes', '--tables', 'note', '--reducers', '', '--sql-writes'],
      ...['--features', 'preview, logs'],
    ]);
    const looker = await sandbox.run([
      ...['token', 'create', 'notes', '--tables', 'note', '--sql-writes'],
      ...['--features', 'read-only'],
    ]);
    expect(made.stderr).toContain('; it does not expire.');
    const [header, , ...rows] = (await sandbox.ok(['token', 'list', 'notes'])).split('\n');
    expect(header?.split('|').map((cell) => cell.trim())).toEqual([
      ...['ID', 'READS', 'CALLS', 'SQL WRITES', 'MAX ROWS', 'FEATURES', 'EXPIRES', 'CREATED', 'BY'],
    ]);
    const cells = (text: string) =>
      rows
        .find((row) => row.includes(id(text)))
        ?.split('|')
        .map((cell) => cell.trim());
    const byOwner = [expect.stringMatching(moment), owner];
    expect(cells(made.stderr)).toEqual([
      ...[id(made.stderr), 'what anyone can', 'nothing', 'no', '', '', 'never'],
      ...byOwner,
    ]);
    expect(cells(writer.stderr)).toEqual([
      ...[id(writer.stderr), 'note', 'nothing', 'yes', '', 'preview, logs', 'never'],
      ...byOwner,
    ]);
    expect(cells(looker.stderr)).toEqual([
      ...[id(looker.stderr), 'note', 'nothing', 'no', '', 'read-only', 'never'],
      ...byOwner,
    ]);
    expect(await sandbox.ok(['token', 'revoke', 'notes', id(made.stderr)])).toBe(
      `The token ${id(made.stderr)} is revoked.\n`,
    );
    const again = ['token', 'revoke', '--database', 'notes', id(made.stderr)];
    expect(await sandbox.run(again)).toMatchObject({
      code: 1,
      stderr: `Error: No such token: ${id(made.stderr)}\n`,
    });
    expect(await sandbox.ok(['token', 'list', 'notes'])).not.toContain(id(made.stderr));
  });

  it.each([
    [['--expires', 'soon'], 2, 'Expected a duration such as 90s, 1h or 7d.'],
    [['--max-rows', '0'], 2, 'Expected a whole number above zero.'],
    [['--tables', 'nots'], 1, '`tables`: there is no table or view `nots`'],
    [['--sql-writes'], 1, '`sql_writes` needs `tables`'],
    [['--features', 'fly'], 1, '`features`: there is no `fly`; there are preview, explain, logs'],
  ])('create %j is refused', async (flags, code, text) => {
    const refused = await sandbox.run(['token', 'create', 'notes', ...flags]);
    expect(refused).toMatchObject({ code, stdout: '', stderr: expect.stringContaining(text) });
  });

  it('[cli 2.9] give-up ends the saved token after a question, or another one', async () => {
    const leaver = ['--config-path', path.join(sandbox.folder, 'leaver.toml')];
    await sandbox.ok([...leaver, 'login', '--server', sandbox.url]);
    const args = [...leaver, 'token', 'give-up', '--server', sandbox.url];
    const hesitant = await sandbox.run(args, { input: 'n\n' });
    expect(hesitant).toMatchObject({ code: 0, stdout: expect.stringContaining('Aborting') });
    expect(await sandbox.ok([...leaver, 'login', 'show'])).toContain('You are logged in as');
    const agent = (await sandbox.ok(['token', 'create', 'notes'])).trim();
    expect(await sandbox.ok([...args, '--token', agent])).toMatch(/^The token of c200/);
    const used = await fetch(`${sandbox.url}/v1/ping?token=${agent}`);
    expect([used.status, await used.text()]).toEqual([401, 'Invalid token: Revoked']);
    expect(await sandbox.ok([...args, '--yes'])).toMatch(/^The token of c200\w+ is revoked\.\n$/);
    expect(await sandbox.ok([...leaver, 'login', 'show'])).toContain('You are not logged in.');
  });
});

describe('audit', () => {
  it('[cli 7.10] shows operators who did what, as a table or as it is kept', async () => {
    const [header, , ...rows] = (await sandbox.ok(['audit', '-n', '1000'])).trimEnd().split('\n');
    expect(header).toMatch(/^ TIME +\| BY +\| FROM +\| DID +\| DATABASE +\| +$/);
    const [published] = rows;
    expect(published).toMatch(
      /^ 20\d\d-\d\d-\d\dT[\d:.]+Z \| c200[0-9a-f]{12} +\| \S*127\.0\.0\.1/,
    );
    expect(published).toContain(owner.slice(0, 16));
    const text = rows.join('\n');
    expect(text).toContain('| grant role');
    expect(text).toContain(`role=reader`);
    expect(text).toContain('grant roles (refused)');
    const last = await sandbox.ok(['audit', '--num-lines', '1', '--format', 'json']);
    expect(JSON.parse(last)).toMatchObject({ action: 'give up token', outcome: 'done' });
    const refused = await asFriend('audit');
    expect(refused).toMatchObject({
      code: 1,
      stderr: expect.stringMatching(
        new RegExp(`^Error: ${friend} is not an operator of this host\\nIts configuration names`),
      ),
    });
  });

  it('list --all shows operators every database', async () => {
    await sandbox.ok([
      ...friendly(),
      'publish',
      'theirs',
      '--server',
      sandbox.url,
      ...fromFolder(),
    ]);
    const [header, , ...rows] = (await sandbox.ok(['list', '--all'])).trimEnd().split('\n');
    expect(header).toMatch(/^ Database Name\(s\) +\| Identity +\| Owner +\| State +$/);
    expect(rows.map((row) => row.split('|').map((cell) => cell.trim()))).toEqual([
      ['notes', expect.stringMatching(/^c200/), owner, 'serving'],
      ['theirs', expect.stringMatching(/^c200/), friend, 'serving'],
    ]);
    const refused = await asFriend('list', '--all');
    expect(refused.stderr).toContain(`${friend} is not an operator of this host`);
  });

  it('[cli 7.10] reads a data folder while a service uses it, with a line that was cut', async () => {
    const data = path.join(sandbox.folder, 'root/data');
    const online = await sandbox.ok(['audit', '-n', '1000']);
    expect(await sandbox.ok(['audit', '-n', '1000', '--data-dir', data])).toBe(online);
    const [file = ''] = readdirSync(path.join(data, 'audit'));
    appendFileSync(path.join(data, 'audit', file), '{"time":"2026');
    expect(await sandbox.ok(['audit', '-n', '1', '--data-dir', data])).toContain(
      'line={"time":"2026',
    );
    expect(await sandbox.ok(['audit', '--data-dir', sandbox.folder])).toBe(
      'The audit log is empty.\n',
    );
    expect((await sandbox.run(['audit', '-n', 'many'])).code).toBe(2);
    expect((await sandbox.run(['audit', '--format', 'xml'])).code).toBe(2);
  });
});

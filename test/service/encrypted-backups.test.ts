import { chmodSync, existsSync, mkdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import path from 'node:path';
import { afterAll, beforeAll, expect, it } from 'vitest';
import { newIdentity } from '../../src/backup/encryption.ts';
import { entries } from './backups-module.ts';
import { jobEnd } from './backups-support.ts';
import { logIn } from './cli-support.ts';
import { type RunningService, Sandbox } from './harness.ts';
import { Remote } from './remote.ts';

let sandbox: Sandbox;
let service: RunningService;
let owner: Remote;
let friend: Remote;
let key: string;

const inSandbox = (name: string) => path.join(sandbox.folder, name);

beforeAll(async () => {
  sandbox = await Sandbox.make();
  const { identity, recipient } = await newIdentity();
  key = `# a key\n${identity}\n`;
  mkdirSync(inSandbox('data'));
  const recipients = `recipients = ["${recipient}"]`;
  const tables = [
    '[repository.near]\nurl = "../near"',
    `[repository.blind]\nurl = "../blind"\n${recipients}`,
    `[repository.safe]\nurl = "../safe"\n${recipients}\nidentity-file = "key.txt"`,
  ];
  writeFileSync(inSandbox('data/config.toml'), `${tables.join('\n')}\n`);
  for (const name of ['near', 'blind', 'safe']) {
    await sandbox.ok(['backup', 'init', '--repository', name, '--data-dir', 'data']);
  }
  const first = await sandbox.start(['--data-dir', 'data']);
  owner = await logIn(sandbox);
  await first.stop();
  service = await sandbox.start(['--data-dir', 'data', '--operator', owner.identity]);
  friend = await Remote.of(sandbox.url);
  expect((await owner.upload('shop', await entries())).status).toBe(200);
  for (const n of [1, 2, 3]) await owner.call('shop', 'add', [n]);
}, 120_000);
afterAll(async () => {
  await service.stop();
  sandbox.remove();
});

const numbers = async (database: string) =>
  (await owner.rows(database, 'SELECT n FROM entry ORDER BY id')).flat();

async function job(where: string, body: object) {
  const { status, text } = await owner.ask('POST', where, JSON.stringify(body));
  expect({ status, text }).toMatchObject({ status: 202 });
  return jobEnd(owner, JSON.parse(text).job);
}

const backUp = (repository: string) => job('/v1/database/shop/backup', { repository });
const restore = (body: object) => job('/v1/database/shop/restore', body);
const grantsOf = async (database: string) =>
  (await owner.ask('GET', `/v1/database/${database}/grants`)).text;

it('[history 5.10] restores from an encrypted repository with the key that its table names', async () => {
  for (const repository of ['blind', 'safe']) {
    expect(await backUp(repository)).toMatchObject({ state: 'done' });
  }
  expect((await restore({ repository: 'blind', as: 'copy', dry_run: true })).error).toBe(
    'the repository blind is encrypted, and this service has no key that opens it; name a file ' +
      'with one in config.toml, as identity-file of [repository.blind], and start the service again',
  );
  const from = { repository: 'safe', as: 'copy' };
  expect((await restore(from)).error).toBe(
    'the identity file of [repository.safe] cannot be read: ENOENT',
  );
  const file = inSandbox('data/key.txt');
  writeFileSync(file, key, { mode: 0o644 });
  if (process.platform !== 'win32') {
    expect((await restore(from)).error).toContain('can be read by others; chmod 600 it');
  }
  chmodSync(file, 0o600);
  expect(await restore(from)).toMatchObject({ state: 'done' });
  expect(await numbers('copy')).toEqual([1, 2, 3]);
  // The command reads the same file when it opens the repository itself.
  const verify = ['backup', 'verify', '--repository', 'safe', '--data-dir', 'data'];
  expect(await sandbox.ok([...verify, '--deep'])).toMatch(/^Backup \w+: ok, tested/);
  rmSync(file);
});

it('[history 5.10] flags that do not reach the service are refused before anything starts', async () => {
  const one = ['backup', 'restore', 'latest', '--database', 'shop', '--as', 'other'];
  const file = ['--identity-file', 'key.txt'];
  const refused: readonly (readonly [readonly string[], string])[] = [
    [[...one, '--repository', 'safe', ...file], '--identity-file does not reach the service'],
    [[...one, '--repository', 'safe', '--passphrase'], '--passphrase does not reach the service'],
    [[...one, '--repository', './safe'], 'gives it a name there, as [repository.NAME]'],
    [[...one, '--in-place', '--repository', 'safe'], '--as is for a new database'],
    [['backup', 'create', 'shop', '--repository', './safe'], 'To write one database there'],
    [['backup', 'create', 'shop', '--repository', 'safe', ...file], '--identity-file is for a'],
    [['backup', 'create', 'shop', '--repository', 'safe', '--keys'], '--keys is for a whole host'],
    [['backup', 'list', '--repository', 'safe', ...file], '--identity-file is for a place'],
  ];
  for (const [args, text] of refused) {
    const stderr = expect.stringContaining(text);
    expect(await sandbox.run([...args])).toMatchObject({ code: 2, stdout: '', stderr });
  }
  expect(await owner.ask('GET', '/v1/database/other')).toMatchObject({ status: 404 });
  const body = JSON.stringify({ repository: 'safe', keys: true });
  expect(await owner.ask('POST', '/v1/database/shop/backup', body)).toMatchObject({ status: 400 });
});

it('[history 5.23, 5.25] roles and schedules come with a copy when asked, and not otherwise', async () => {
  const role = JSON.stringify({ role: 'reader' });
  const granted = await owner.ask('PUT', `/v1/database/shop/grants/${friend.identity}`, role);
  expect(granted).toMatchObject({ status: 200 });
  await owner.call('shop', 'soon', [1_500, 'tick']);
  expect(await backUp('near')).toMatchObject({ state: 'done' });
  const plain = await restore({ repository: 'near', as: 'plain' });
  expect(plain.result).toMatchObject({ schedules_paused: true });
  const asked = { with_grants: true, run_schedules: true };
  const whole = await restore({ repository: 'near', as: 'whole', ...asked });
  expect(whole.result).toMatchObject({ schedules_paused: false });
  expect(await grantsOf('plain')).not.toContain(friend.identity);
  expect(await grantsOf('whole')).toContain(friend.identity);
  const ran = async (database: string) =>
    (await owner.rows(database, 'SELECT what FROM ran')).flat();
  await expect.poll(() => ran('whole'), { timeout: 60_000 }).toEqual(['tick']);
  await expect.poll(() => ran('shop'), { timeout: 60_000 }).toEqual(['tick']);
  expect(await ran('plain')).toEqual([]);
}, 120_000);

it('[history 5.23] a database that is gone returns with its identity and names', async () => {
  const from = { repository: 'near', database: 'shop', same_identity: true };
  expect((await restore(from)).error).toContain('restore it in place, or without --same-identity');
  const { text: identity } = await owner.ask('GET', '/v1/database/shop/identity');
  expect(await owner.ask('DELETE', '/v1/database/shop')).toMatchObject({ status: 200 });
  expect(await restore(from)).toMatchObject({ state: 'done', result: { database: identity } });
  expect(await owner.ask('GET', '/v1/database/shop/identity')).toMatchObject({ text: identity });
  expect(await numbers('shop')).toEqual([1, 2, 3]);
});

it('[history 5.11] keys are backed up encrypted only, and tokens stay valid with them', async () => {
  const all = ['backup', 'create', '--all', '--keys', '--repository'];
  expect(await sandbox.run([...all, 'near'])).toMatchObject({
    code: 1,
    stderr: expect.stringContaining('keys are only backed up encrypted; make the repository with'),
  });
  const made = await sandbox.ok([...all, 'safe']);
  expect(made).toMatch(/^Backup \w+ in safe: 4 databases, /);
  expect(made).toMatch(/^ {2}registry at .*\n/m);
  expect(made).toMatch(/^ {2}shop at /m);
  writeFileSync(inSandbox('apart.txt'), key, { mode: 0o600 });
  const whole = ['backup', 'restore', 'latest', '--all', '--repository', './safe', '--yes'];
  const locked = await sandbox.run([...whole, '--data-dir', 'locked']);
  expect(locked).toMatchObject({ code: 1, stderr: expect.stringContaining('is encrypted') });
  const args = [...whole, '--data-dir', 'new', '--identity-file', 'apart.txt'];
  expect(await sandbox.run([...args, '--at', '-1'])).toMatchObject({
    code: 2,
    stderr: expect.stringContaining('--at is for one database: a whole host is restored as of'),
  });
  await sandbox.ok(args);
  expect(existsSync(inSandbox('locked'))).toBe(false);
  await service.stop();
  service = await sandbox.start(['--data-dir', 'new', '--operator', owner.identity]);
  expect(await numbers('shop')).toEqual([1, 2, 3]);
  expect(readFileSync(inSandbox('new/config.toml'), 'utf8')).toContain('identity-file');
}, 60_000);

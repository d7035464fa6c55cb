import { existsSync, mkdirSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import path from 'node:path';
import { afterAll, beforeAll, expect, it } from 'vitest';
import { entries } from './backups-module.ts';
import { logIn } from './cli-support.ts';
import { type RunningService, Sandbox } from './harness.ts';
import type { Remote } from './remote.ts';

let sandbox: Sandbox;
let service: RunningService;
let owner: Remote;

const flags = () => ['--data-dir', 'data', '--operator', owner.identity];

beforeAll(async () => {
  sandbox = await Sandbox.make();
  mkdirSync(path.join(sandbox.folder, 'data'));
  const config = '[repository.near]\nurl = "../repository"\n';
  writeFileSync(path.join(sandbox.folder, 'data/config.toml'), config);
  await sandbox.ok(['backup', 'init', '--repository', 'near', '--data-dir', 'data']);
  const first = await sandbox.start(['--data-dir', 'data']);
  owner = await logIn(sandbox);
  await first.stop();
  service = await sandbox.start(flags());
  expect((await owner.upload('shop', await entries())).status).toBe(200);
  for (let n = 1; n <= 10; n++) await owner.call('shop', 'add', [n]);
}, 120_000);
afterAll(async () => {
  await service.stop();
  sandbox.remove();
});

const numbers = async (database: string) =>
  (await owner.rows(database, 'SELECT n FROM entry ORDER BY id')).flat();
const ten = [1, 2, 3, 4, 5, 6, 7, 8, 9, 10];

/** The ids of backups, the newest first. */
async function backupsIn(repository: string): Promise<string[]> {
  const listed = await sandbox.ok(['backup', 'list', '--repository', repository, '--json']);
  return JSON.parse(listed).backups.map((one: { id: string }) => one.id);
}

/** What a command prints as JSON, after lines that say how far it is. */
function resultIn(printed: string) {
  return JSON.parse(printed.trim().split('\n').at(-1) ?? '');
}

it('[history 5.8] streams a backup to a folder of this machine, and resumes it', async () => {
  const args = ['backup', 'create', 'shop', '--to', './mine', '--json'];
  const first = resultIn(await sandbox.ok(args));
  expect(first).toMatchObject({
    repository: path.join(sandbox.folder, 'mine'),
    new_objects: expect.any(Number),
    databases: [{ names: ['shop'], position: expect.stringMatching(/^[\da-f]{16}\.\d+\./) }],
  });
  expect(first.bytes).toBe(first.new_bytes);
  expect(first.new_objects).toBeGreaterThan(0);
  await owner.call('shop', 'add', [11]);
  const second = resultIn(await sandbox.ok(args));
  expect(second.new_objects).toBe(1);
  expect(await backupsIn('./mine')).toEqual([second.backup, first.backup]);
  const verify = ['backup', 'verify', '--repository', './mine'];
  const short = String(first.backup).slice(0, 9);
  expect(await sandbox.ok([...verify, short])).toContain(`Backup ${first.backup}: present`);
  expect(await sandbox.ok(verify)).toMatch(/^Backup \w+: present \(/);
  expect(await sandbox.ok([...verify, '--read'])).toMatch(/^Backup \w+: ok \(/);
  expect(await sandbox.ok([...verify, '--deep'])).toMatch(/^Backup \w+: ok, tested \(/);
  const strange = await owner.ask('GET', '/v1/database/shop/backup/objects/..%2F..%2Fconfig.toml');
  expect(strange).toMatchObject({ status: 404 });
});

it('[cli 2.17, history 5.20, history 5.21] plans first, and restores by name', async () => {
  const created = await sandbox.ok(['backup', 'create', 'shop', '--repository', 'near']);
  expect(created).toMatch(/^Backup \w{12} in near: at [\da-f]{16}\.\d+\.[\da-f]{8}, /);
  const restore = ['backup', 'restore', 'latest', '--database', 'shop'];
  expect(await sandbox.run(restore)).toMatchObject({ code: 2 });
  expect(await sandbox.run([...restore, '--as', 'shop'])).toMatchObject({
    code: 1,
    stderr: expect.stringContaining('the database shop exists; use --in-place or another --as'),
  });
  const dry = await sandbox.ok([...restore, '--in-place', '--dry-run']);
  expect(dry).toContain('replaces the present state');
  expect(dry).toMatch(/: from (?:the first commit|20\S+ \S+ UTC) to 20/);
  await owner.call('shop', 'add', [12]);
  expect(await sandbox.run([...restore, '--in-place'])).toMatchObject({
    code: 1,
    stderr: expect.stringContaining('the answer is no; --yes=in-place answers yes'),
  });
  const refused = await sandbox.run([...restore, '--in-place'], { input: 'shopp\n' });
  expect(refused).toMatchObject({
    code: 1,
    stderr: expect.stringContaining('Nothing was changed'),
  });
  expect(await numbers('shop')).toEqual([...ten, 11, 12]);
  const done = await sandbox.run([...restore, '--in-place'], { input: 'shop\n' });
  expect(done).toMatchObject({ code: 0, stdout: expect.stringContaining('replaced-1') });
  expect(await numbers('shop')).toEqual([...ten, 11]);
  expect(await sandbox.ok(['backup', 'list', '--local', 'shop'])).toMatch(/NUMBER[\s\S]*1 /);
  const back = [...restore.slice(0, 2), '--database', 'shop', '--replaced', '1', '--yes=in-place'];
  expect(await sandbox.ok(back)).toContain('Brought back replaced-1');
  expect(await numbers('shop')).toEqual([...ten, 11, 12]);
});

it('[history 5.6, history 5.11] restores a whole host into an empty folder', async () => {
  await owner.call('shop', 'soon', [3_600_000, 'later']);
  const made = resultIn(await sandbox.ok(['backup', 'create', '--all', '--json']));
  expect(made.databases).toHaveLength(2);
  await owner.call('shop', 'add', [13]);
  await service.stop();
  rmSync(path.join(sandbox.folder, 'data/databases'), { recursive: true });
  rmSync(path.join(sandbox.folder, 'data/registry'), { recursive: true });
  const all = ['backup', 'restore', 'latest', '--all', '--repository', './repository', '--yes'];
  const unasked = [...all.slice(0, -1), '--data-dir', 'unasked'];
  expect(await sandbox.run(unasked)).toMatchObject({
    code: 1,
    stderr: expect.stringContaining('the answer is no; --yes answers yes'),
  });
  expect(existsSync(path.join(sandbox.folder, 'unasked'))).toBe(false);
  const listed = ['backup', 'list', '--repository', 'near', '--data-dir', 'data'];
  expect(await sandbox.ok(listed)).toMatch(/ registry, shop /);
  expect(await sandbox.run([...all, '--data-dir', 'data'])).toMatchObject({
    code: 1,
    stderr: expect.stringContaining('data is not empty; restore a host into an empty folder'),
  });
  expect(await sandbox.ok([...all, '--data-dir', 'new'])).toContain('Restored.');
  expect(existsSync(path.join(sandbox.folder, 'new/config.toml'))).toBe(true);
  expect(readdirSync(path.join(sandbox.folder, 'new/audit')).length).toBeGreaterThan(0);
  const keys = ['--jwt-key-dir', path.join(sandbox.folder, 'data/keys')];
  service = await sandbox.start(['--data-dir', 'new', '--operator', owner.identity, ...keys]);
  expect(await numbers('shop')).toEqual([...ten, 11, 12]);
  const shown = await owner.ask('GET', '/v1/database/shop');
  expect(JSON.parse(shown.text)).toMatchObject({ schedules_paused: true });
  await sandbox.ok(['schedules', 'resume', 'shop']);
  const resumed = await owner.ask('GET', '/v1/database/shop');
  expect(JSON.parse(resumed.text)).not.toHaveProperty('schedules_paused');
  expect((await owner.call('shop', 'add', [14])).status).toBe(200);
}, 60_000);

it('[history 5.19] prune says what it would remove, and keeps the last backup', async () => {
  const prune = ['backup', 'prune', '--repository', './mine', '--keep-last', '1'];
  const plan = await sandbox.ok([...prune, '--dry-run']);
  const before = await backupsIn('./mine');
  const [newest = '', oldest = ''] = before;
  expect(plan).toMatch(new RegExp(`^ ${oldest} .*remove[\\s\\S]*^ ${newest} .*keep`, 'm'));
  expect(plan).toMatch(/^1 backup to remove, 1 to keep; \d+ objects? \(.*\) that nothing needs/m);
  expect(await sandbox.run(prune)).toMatchObject({
    code: 1,
    stderr: expect.stringContaining('the answer is no; --yes answers yes'),
  });
  expect(await backupsIn('./mine')).toEqual(before);
  await sandbox.ok([...prune, '--yes']);
  expect(await backupsIn('./mine')).toEqual([newest]);
});

it('[history 5.20] names what is wrong with a repository', async () => {
  mkdirSync(path.join(sandbox.folder, 'empty'));
  const list = (repository: string) => sandbox.run(['backup', 'list', '--repository', repository]);
  expect(await list('./empty')).toMatchObject({
    code: 1,
    stderr: expect.stringContaining(
      'is no backup repository: reducerdb-repository.json is missing',
    ),
  });
  expect((await list('s3://bucket')).stderr).toContain('set REDUCERDB_S3_ACCESS_KEY_ID');
});

it('[history 5.10] an empty passphrase makes no repository, and another one opens none', async () => {
  const at = path.join(sandbox.folder, 'sealed');
  const init = ['backup', 'init', '--repository', './sealed', '--passphrase'];
  for (const [input, text] of [
    ['\n', 'The passphrase is empty'],
    [undefined, 'Nobody can type a passphrase here'],
  ] as const) {
    const refused = await sandbox.run(init, input === undefined ? {} : { input });
    expect(refused).toMatchObject({ code: 1, stderr: expect.stringContaining(text) });
    expect(existsSync(at)).toBe(false);
  }
  expect(await sandbox.run(init, { input: 'a long one\n' })).toMatchObject({ code: 0 });
  const facts = JSON.parse(readFileSync(path.join(at, 'reducerdb-repository.json'), 'utf8'));
  expect(facts).toMatchObject({ recipients: [expect.any(String)], identity: expect.any(String) });
  const to = ['backup', 'create', 'shop', '--to', './sealed'];
  expect(await sandbox.run([...to, '--passphrase'], { input: 'another\n' })).toMatchObject({
    code: 1,
    stderr: expect.stringContaining('the passphrase does not open'),
  });
  await sandbox.ok(to);
  const verify = ['backup', 'verify', '--repository', './sealed', '--read'];
  expect(await sandbox.run(verify)).toMatchObject({
    code: 1,
    stderr: expect.stringContaining('is encrypted; none of the given identities opens it'),
  });
  const opened = await sandbox.run([...verify, '--passphrase'], { input: 'a long one\n' });
  expect(opened).toMatchObject({ code: 0, stdout: expect.stringContaining(': ok (') });
}, 60_000);

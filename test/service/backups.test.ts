import { mkdirSync, writeFileSync } from 'node:fs';
import path from 'node:path';
import { setTimeout as wait } from 'node:timers/promises';
import { afterAll, beforeAll, expect, it } from 'vitest';
import { entries } from './backups-module.ts';
import { initRepository, jobEnd } from './backups-support.ts';
import { logIn } from './cli-support.ts';
import { type RunningService, Sandbox } from './harness.ts';
import { Remote } from './remote.ts';

let sandbox: Sandbox;
let service: RunningService;
let owner: Remote;

beforeAll(async () => {
  sandbox = await Sandbox.make();
  owner = await configure(sandbox);
  service = await sandbox.start(['--data-dir', 'data', '--operator', owner.identity]);
  expect((await owner.upload('shop', await entries())).status).toBe(200);
}, 120_000);
afterAll(async () => {
  await service.stop();
  sandbox.remove();
});

/** Gives a service a repository, and its first caller the rights of its operator. */
async function configure(of: Sandbox): Promise<Remote> {
  mkdirSync(path.join(of.folder, 'data'), { recursive: true });
  const repository = path.join(of.folder, 'repository');
  const archive = path.join(of.folder, 'archive');
  writeFileSync(
    path.join(of.folder, 'data/config.toml'),
    `[repository.near]\nurl = ${JSON.stringify(repository)}\n` +
      `[repository.archive]\nurl = ${JSON.stringify(archive)}\n` +
      `[archive]\nrepository = "archive"\ninterval = "1s"\n`,
  );
  await initRepository(repository);
  await initRepository(archive);
  const first = await of.start(['--data-dir', 'data']);
  const remote = await logIn(of);
  await first.stop();
  return remote;
}

async function start(database: string, what: string, body: object): Promise<string> {
  const answer = await owner.ask('POST', `/v1/database/${database}/${what}`, JSON.stringify(body));
  expect(answer).toMatchObject({ status: 202 });
  return JSON.parse(answer.text).job;
}

async function run(database: string, what: string, body: object) {
  const end = await jobEnd(owner, await start(database, what, body));
  expect(end).toMatchObject({ state: 'done' });
  return end.result;
}

const numbers = async (database: string) =>
  (await owner.rows(database, 'SELECT n FROM entry ORDER BY id')).flat();

async function addUpTo(last: number): Promise<void> {
  const known = (await numbers('shop')).length;
  for (let n = known + 1; n <= last; n++) {
    expect((await owner.call('shop', 'add', [n])).status).toBe(200);
  }
}

const upTo = (last: number) => Array.from({ length: last }, (_, index) => index + 1);

it('[history 5.5, history 5.23] restores a database to a new name, with all of its rows', async () => {
  await addUpTo(20);
  const made = await run('shop', 'backup', { repository: 'near' });
  expect(made).toMatchObject({ repository: 'near', databases: [{ fault: null }] });
  await addUpTo(25);
  const result = await run('shop', 'restore', { repository: 'near', as: 'copy' });
  expect(result).toMatchObject({ names: ['copy'], schedules_paused: true, replaces: false });
  expect(await numbers('copy')).toEqual(upTo(20));
  expect(await numbers('shop')).toEqual(upTo(25));
  // The next value is one that the copy has not seen.
  expect((await owner.call('copy', 'add', [99])).status).toBe(200);
  const ids = (await owner.rows('copy', 'SELECT id FROM entry ORDER BY id')).flat().map(Number);
  expect(new Set(ids).size).toBe(21);
  expect(Math.max(...ids)).toBe(ids.at(-1));
});

it('[history 5.25] restores the state of one commit, by offset, position and time', async () => {
  await addUpTo(28);
  const status = await owner.ask('GET', '/v1/database/shop/history/status');
  const { offset } = JSON.parse(status.text);
  await addUpTo(30);
  await wait(5);
  const time = new Date().toISOString();
  await wait(5);
  await addUpTo(35);
  const made = await run('shop', 'backup', { repository: 'near', history: true });
  const [{ position }] = made.databases;
  const from = { repository: 'near', database: 'shop', in_place: true };
  const refused = await jobEnd(owner, await start('copy', 'restore', from));
  expect(refused.error).toContain('--force-foreign restores it in place all the same');
  const into = { ...from, force_foreign: true };
  await run('copy', 'restore', { ...into, at: String(offset) });
  expect(await numbers('copy')).toEqual(upTo(28));
  await run('copy', 'restore', { ...into, at: time });
  expect(await numbers('copy')).toEqual(upTo(30));
  const epoch = position.split('.')[0];
  await run('copy', 'restore', { ...into, at: `${epoch}.${offset}` });
  expect(await numbers('copy')).toEqual(upTo(28));
});

it('[history 5.20, history 5.28] answers what cannot be restored, and changes nothing', async () => {
  const post = (body: object) =>
    owner.ask('POST', '/v1/database/shop/restore', JSON.stringify({ repository: 'near', ...body }));
  expect(await post({})).toMatchObject({
    status: 400,
    text: 'Say where to restore it: `as` a new name, or `in_place`',
  });
  expect(await post({ as: 'shop' })).toMatchObject({
    status: 409,
    text: 'the database shop exists; use --in-place or another --as',
  });
  expect(await post({ as: 'x', repository: 'far' })).toMatchObject({
    status: 400,
    text: expect.stringContaining('names no repository `far`'),
  });
  expect(await post({ as: 'x', at: '2026-11-22T10:00:00' })).toMatchObject({ status: 400 });
  const failed = async (body: object) =>
    (await jobEnd(owner, JSON.parse((await post(body)).text).job)).error;
  expect(await failed({ as: 'x', at: '1999-01-01T00:00:00Z' })).toContain('is outside of what');
  expect(await failed({ as: 'x', backup: '0123456789ab' })).toContain('holds no backup');
  const { text } = await owner.ask('GET', '/v1/databases');
  const names = JSON.parse(text).databases.flatMap((one: { names: string[] }) => one.names);
  expect(names).not.toContain('x');
});

it('[history 5.24] restores in place, and brings the replaced log back', async () => {
  const total = (await numbers('shop')).length;
  await run('shop', 'backup', { repository: 'near' });
  await addUpTo(total + 5);
  const result = await run('shop', 'restore', { repository: 'near', in_place: true });
  expect(result).toMatchObject({ replaces: true, replaced: 1 });
  expect(await numbers('shop')).toEqual(upTo(total));
  await addUpTo(total + 2);
  const { text } = await owner.ask('GET', '/v1/database/shop/backup/replaced');
  expect(JSON.parse(text).replaced).toMatchObject([{ number: 1 }]);
  await run('shop', 'restore', { replaced: 1 });
  expect(await numbers('shop')).toEqual(upTo(total + 5));
  await service.stop('SIGKILL');
  service = await sandbox.start(['--data-dir', 'data', '--operator', owner.identity]);
  expect(await numbers('shop')).toEqual(upTo(total + 5));
  await addUpTo(total + 7);
  expect(await numbers('shop')).toEqual(upTo(total + 7));
}, 60_000);

it('[history 5.12] archives new commits, up to which another name is restored', async () => {
  const last = (await numbers('shop')).length + 3;
  await addUpTo(last);
  const lag = async () => {
    const { text } = await owner.ask('GET', '/v1/metrics');
    const line = text.split('\n').find((one) => one.startsWith('reducerdb_archive_lag_seconds'));
    return line?.split(' ').at(-1);
  };
  await wait(1_500);
  await expect.poll(lag, { timeout: 30_000 }).toBe('0');
  const from = { repository: 'archive', database: 'shop', in_place: true, force_foreign: true };
  await run('copy', 'restore', from);
  expect(await numbers('copy')).toEqual(upTo(last));
  const listed = await owner.ask('GET', '/v1/backups?repository=archive');
  const { archives } = JSON.parse(listed.text);
  const ofShop = archives.filter(({ names }: { names: string[] }) => names.includes('shop'));
  expect(ofShop.length).toBeGreaterThan(0);
  const table = await sandbox.ok(['backup', 'list', '--repository', 'archive']);
  expect(table).toMatch(/^ ARCHIVE OF +\| FROM +\| TO +\| SIZE/m);
  expect(table).toMatch(/^ shop +\| the first commit +\| 20[\d-]+ [\d:]+ UTC +\| [\d.]+ \w+/m);
}, 60_000);

it('[history 5.28] shows the admins of a database its own backups, and nothing of others', async () => {
  const ask = (of: Remote, database: string) =>
    of.ask('GET', `/v1/database/${database}/backup?repository=near`);
  const other = await Remote.of(service.url);
  expect((await other.upload('booth', await entries())).status).toBe(200);
  const body = JSON.stringify({ repository: 'near' });
  const whole = await owner.ask('POST', '/v1/backups', body);
  const { backup: id } = (await jobEnd(owner, JSON.parse(whole.text).job)).result;
  const backups = async (of: Remote, database: string) =>
    JSON.parse((await ask(of, database)).text).backups;
  const [ofBooth, ...earlier] = await backups(other, 'booth');
  expect(earlier).toEqual([]);
  expect(ofBooth).toMatchObject({ id, whole: true, databases: [{ names: ['booth'] }] });
  const ofShop = await backups(owner, 'shop');
  expect(ofShop[0]).toMatchObject({ id, databases: [{ names: ['shop'] }] });
  expect(ofShop.length).toBeGreaterThan(1);
  expect(await ask(other, 'shop')).toMatchObject({ status: 403 });
  const table = (more: string[]) => sandbox.ok(['backup', 'list', 'booth', ...more]);
  const place = path.join(sandbox.folder, 'repository');
  for (const more of [
    ['--repository', 'near'],
    ['--repository', place],
  ]) {
    expect(await table(more)).toMatch(new RegExp(`^ ${id} +\\| [^|]+\\| booth +\\|`, 'm'));
    expect(await table(more)).not.toContain('shop');
  }
}, 60_000);

it('[mcp B23] an agent backs up and lists, but does not restore', async () => {
  const rpc = async (method: string, params: object, by = owner) => {
    const body = JSON.stringify({ jsonrpc: '2.0', id: 1, method, params });
    const { text } = await by.ask(
      'POST',
      '/v1/database/shop/mcp?features=backup,answer-schemas',
      body,
    );
    return JSON.parse(text).result;
  };
  const { tools } = await rpc('tools/list', {});
  const names = tools.map(({ name }: { name: string }) => name);
  expect(names.filter((name: string) => /backup|restore/.test(name))).toEqual([
    'create_backup',
    'list_backups',
  ]);
  const args = { arguments: { repository: 'near' } };
  const made = await rpc('tools/call', { name: 'create_backup', ...args });
  expect(made.structuredContent).toMatchObject({ repository: 'near', backup: expect.any(String) });
  const listed = await rpc('tools/call', { name: 'list_backups', ...args });
  expect(listed.structuredContent.backups[0]).toMatchObject({
    id: made.structuredContent.backup,
    position: made.structuredContent.position,
  });
  const stranger = await Remote.of(service.url);
  const refused = await rpc('tools/call', { name: 'create_backup', ...args }, stranger);
  expect(refused).toMatchObject({
    isError: true,
    content: [{ text: expect.stringContaining('back up database') }],
  });
  const unknown = await rpc('tools/call', {
    name: 'create_backup',
    arguments: { repository: 'x' },
  });
  expect(unknown.content[0].text).toContain('names no repository `x`');
});

it('[history 3.21, history 5.24] counts replaced logs, and forgets them with the history', async () => {
  const facts = async () => {
    const status = await owner.ask('GET', '/v1/database/copy/history/status');
    const replaced = await owner.ask('GET', '/v1/database/copy/backup/replaced');
    const metrics = await owner.ask('GET', '/v1/metrics');
    return {
      bytes: JSON.parse(status.text).bytes.replaced,
      logs: JSON.parse(replaced.text).replaced,
      isShown: /^reducerdb_history_bytes\{[^}]*kind="replaced"/m.test(metrics.text),
    };
  };
  const before = await facts();
  expect(before.bytes).toBeGreaterThan(0);
  expect(before.isShown).toBe(true);
  const known = (await numbers('copy')).length;
  // The archive may need the history itself for a while; nobody needs these.
  await jobEnd(owner, await start('copy', 'history/forget', { before: '-0', confirm: 'copy' }));
  expect(await facts()).toMatchObject({ bytes: 0, logs: [] });
  expect(await numbers('copy')).toHaveLength(known);
}, 60_000);

it('[history 4.3, history 4.4] an owner alone forgets and restores, and the audit log has it', async () => {
  const stranger = await Remote.of(service.url);
  const asked = [
    ['backup', {}, 'back up database'],
    ['restore', { in_place: true }, 'restore database'],
    ['history/forget', { before: '-0', confirm: 'shop' }, 'change history settings'],
  ] as const;
  for (const [what, body, refused] of asked) {
    const path = `/v1/database/shop/${what}`;
    const answer = await stranger.ask('POST', path, JSON.stringify(body));
    expect([answer.status, answer.text]).toEqual([403, expect.stringContaining(refused)]);
  }
  const { text } = await owner.ask('GET', '/v1/audit?num_lines=1000');
  const notes = text
    .trim()
    .split('\n')
    .map((line) => JSON.parse(line));
  const of = (identity: string, outcome: string) =>
    new Set(
      notes
        .filter((note) => note.by === identity && note.outcome === outcome)
        .map(({ action }) => action),
    );
  expect([...of(stranger.identity, 'refused')]).toEqual(asked.map(([, , action]) => action));
  const done = ['back up database', 'restore database', 'forget'];
  expect([...of(owner.identity, 'done')]).toEqual(expect.arrayContaining(done));
}, 60_000);

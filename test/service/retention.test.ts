import { readdirSync, readFileSync } from 'node:fs';
import path from 'node:path';
import { setTimeout as pause } from 'node:timers/promises';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { Random } from '../../src/testing/random.ts';
import { logIn } from './cli-support.ts';
import { type RunningService, Sandbox } from './harness.ts';
import { jobs } from './jobs-module.ts';
import type { Remote } from './remote.ts';

let sandbox: Sandbox;
let service: RunningService;
let remote: Remote;

const flags = ['--isolation-of', 'apart=process', '--history-keep', '30d'];

beforeAll(async () => {
  sandbox = await Sandbox.make();
  service = await sandbox.start(flags);
  remote = await logIn(sandbox);
  for (const name of ['threaded', 'apart']) {
    expect((await remote.upload(name, await jobs())).status).toBe(200);
  }
}, 180_000);
afterAll(async () => {
  await service.stop();
  sandbox.remove();
});

const status = async (database: string) => {
  const answer = await remote.ask('GET', `/v1/database/${database}/history/status`);
  expect(answer.status).toBe(200);
  return JSON.parse(answer.text);
};

const job = async (text: string) => {
  const { job: id } = JSON.parse(text);
  const look = async () => JSON.parse((await remote.ask('GET', `/v1/jobs/${id}`)).text);
  await expect.poll(async () => (await look()).state, { timeout: 60_000 }).not.toBe('running');
  return look();
};

/** Names of the files of a database's log that have a text. */
async function filesWith(database: string, text: string): Promise<string[]> {
  const { text: identity } = await remote.ask('GET', `/v1/database/${database}/identity`);
  const folder = path.join(sandbox.folder, 'root/data/databases', identity, 'log-1');
  return readdirSync(folder).filter((name) => readFileSync(path.join(folder, name)).includes(text));
}

describe.each(['threaded', 'apart'])(
  '[history 3.21, cli 2.15, 2.16] forget, of the database %s',
  (database) => {
    it('removes what was deleted from the disk, and nothing else', async () => {
      await remote.call(database, 'once', [3_600_000, 'a-secret-that-must-go']);
      await remote.call(database, 'drop', []);
      await remote.call(database, 'once', [3_600_000, 'what-stays']);
      expect(await filesWith(database, 'a-secret-that-must-go')).not.toEqual([]);
      const before = await status(database);
      expect(before).toMatchObject({ floor: { offset: 1 }, segments: 1, snapshots: 0 });
      const text = await sandbox.ok(['retention', 'forget', database, '--before', 'now', '--yes']);
      expect(text).toContain(`The history of ${database} begins at commit ${before.offset} now;`);
      expect(text).toContain('Backups, archives, copies and forks made before still have');
      expect(await filesWith(database, 'a-secret-that-must-go')).toEqual([]);
      const after = await status(database);
      expect(after).toMatchObject({ floor: { offset: before.offset }, segments: 1, snapshots: 1 });
      expect(after.epoch).toMatch(/^[\da-f]{16}$/);
      expect(after.floor.time).toBeGreaterThan(1.7e15);
      expect(await remote.rows(database, 'SELECT what FROM job')).toEqual([['what-stays']]);
      // Where there is nothing older, nothing is done.
      const again = await sandbox.ok(['retention', 'forget', database, '--before', '1', '--yes']);
      expect(again).toBe(
        `Nothing that old is there: the history of ${database} begins at ${before.offset}.\n`,
      );
      expect(await sandbox.ok(['verify', database])).toMatch(/^ log +\| intact +\| /m);
    });
  },
);

it('[history 3.21] forget is refused while locked, without the name, and for other places', async () => {
  const forget = (body: object) =>
    remote.ask('POST', '/v1/database/threaded/history/forget', JSON.stringify(body));
  const { epoch, durable_offset: end } = await status('threaded');
  const confirm = 'threaded';
  const refused = [
    [{ before: '1' }, 400, '`confirm` must be the name of the database, `threaded`'],
    [{ before: '1', confirm: 'apart' }, 400, '`confirm` must be'],
    [{ confirm }, 400, '`before` must be a place in the history'],
    [{ before: '2026-11-22T10:00:00', confirm }, 400, 'has no time zone; append Z'],
    [{ before: end + 1, confirm }, 400, `offset ${end + 1} does not exist yet: the last commit is`],
    [{ before: `${epoch}.${end + 1}`, confirm }, 400, 'does not exist yet'],
    [
      { before: '00000000000000aa.1', confirm },
      409,
      'position 00000000000000aa.1 belongs to another history of this database ' +
        '(epoch 00000000000000aa); it was restored or reset at offset 0',
    ],
  ] as const;
  for (const [body, code, text] of refused) {
    const answer = await forget(body);
    expect(answer).toMatchObject({ status: code, text: expect.stringContaining(text) });
  }
  await sandbox.ok(['lock', 'threaded']);
  expect(await forget({ before: -1, confirm })).toMatchObject({ status: 403 });
  await sandbox.ok(['unlock', 'threaded']);
  const asked = await sandbox.run(['retention', 'forget', 'threaded', '--before', 'now'], {
    input: 'another\n',
  });
  expect(asked).toMatchObject({ code: 0, stdout: expect.stringContaining('Aborting') });
  const unasked = await sandbox.run(['retention', 'forget', 'threaded', '--before', 'now']);
  const stderr = expect.stringContaining('the answer is no; --yes=forget answers yes');
  expect(unasked).toMatchObject({ code: 1, stderr });
});

it('[history 3.11] an owner chooses what is kept, up to what the operator allows', async () => {
  const set = (...words: string[]) => sandbox.run(['retention', 'set', 'threaded', ...words]);
  const chosen = await set('--keep', '3d', '--keep-bytes', '64MiB', '--on-low-disk', 'warn');
  expect(chosen).toMatchObject({ code: 0 });
  expect(await status('threaded')).toMatchObject({
    settings: { keep: '3d', 'keep-bytes': 67_108_864, 'keep-commits': null, 'on-low-disk': 'warn' },
    chosen: { keep: '3d', 'keep-bytes': 67_108_864, 'on-low-disk': 'warn' },
  });
  expect(await set('--keep', '31d')).toMatchObject({
    code: 1,
    stderr: expect.stringContaining(
      '`keep` is 31d; the operator of this service allows 30d at most',
    ),
  });
  expect(await set('--keep', 'everything')).toMatchObject({ code: 1 });
  expect(await set('--keep', 'soon')).toMatchObject({
    code: 1,
    stderr: expect.stringContaining('`keep` must be a duration such as `7d`, `0`, or `everything`'),
  });
  expect(await set()).toMatchObject({ code: 2 });
  expect(await set('--keep', 'default', '--keep-commits', '1000')).toMatchObject({ code: 0 });
  expect(await status('threaded')).toMatchObject({
    settings: { keep: '30d', 'keep-commits': 1_000 },
  });
  // Only what was named is chosen: the rest follows the service.
  const { chosen: own } = await status('threaded');
  expect(own).toEqual({
    'keep-bytes': 67_108_864,
    'keep-commits': 1_000,
    'on-low-disk': 'warn',
  });
  const text = await sandbox.ok(['retention', 'status', 'threaded']);
  expect(text).toMatch(/^ keep-commits +\| 1000 \(chosen here\)/m);
  expect(text).toMatch(/^ keep-bytes +\| 64 MiB \(chosen here\)/m);
  expect(text).toMatch(/^ keep +\| 30d *$/m);
  expect(text).toMatch(/^ snapshots +\| [\d.]+ [KM]iB *$/m);
  expect(text).toMatch(/^ files +\| 1 segment, 1 snapshot *$/m);
  expect(text).toMatch(/^ history +\| commits \d+ to \d+, \d{4}-/m);
});

it('[history 3.8] the service looks after histories by itself, across restarts', async () => {
  await service.stop();
  service = await sandbox.start(flags);
  for (const database of ['threaded', 'apart']) {
    const before = await status(database);
    await remote.call(database, 'once', [3_600_000, 'more']);
    const metrics = async () => {
      const { text } = await remote.ask('GET', '/v1/metrics');
      return `${text
        .split('\n')
        .filter((line) => line.startsWith('reducerdb_history'))
        .join('\n')}\n`;
    };
    const { text: identity } = await remote.ask('GET', `/v1/database/${database}/identity`);
    const floor = `reducerdb_history_floor_offset{database="${identity}"} ${before.floor.offset}\n`;
    await expect.poll(metrics, { timeout: 60_000, interval: 500 }).toContain(floor);
    expect(await metrics()).toContain(
      `reducerdb_history_bytes{database="${identity}",kind="snapshots"} ${before.bytes.snapshots}\n`,
    );
  }
  expect(await status('threaded')).toMatchObject({ settings: { 'keep-commits': 1_000 } });
});

it('[history 3.3, durability P1] kill -9 while history is deleted loses no row', async () => {
  const databases = ['threaded', 'apart'];
  const random = new Random(11);
  for (let round = 0; round < 4; round++) {
    for (const database of databases) {
      const call = `/v1/database/${database}/call/once?confirmed=true`;
      const answer = await remote.ask('POST', call, JSON.stringify([3_600_000, `row ${round}`]));
      expect(answer.status).toBe(200);
    }
    const asked = databases.map((database) => {
      const body = JSON.stringify({ before: 'now', confirm: database });
      return remote.ask('POST', `/v1/database/${database}/history/forget`, body);
    });
    for (const one of asked) one.catch(() => undefined);
    await pause(random.below(300));
    service.child.kill('SIGKILL');
    await service.ended;
    await Promise.allSettled(asked);
    service = await sandbox.start(flags);
    for (const database of databases) {
      const rows = await remote.rows(database, "SELECT what FROM job WHERE what LIKE 'row %'");
      expect(rows.map(([what]) => what).sort(), `round ${round}`).toEqual(
        Array.from({ length: round + 1 }, (_, at) => `row ${at}`),
      );
    }
  }
  for (const database of databases) {
    const body = JSON.stringify({ before: 'now', confirm: database });
    const forget = await remote.ask('POST', `/v1/database/${database}/history/forget`, body);
    expect(await job(forget.text)).toMatchObject({ state: 'done' });
    const found = await remote.ask('POST', `/v1/database/${database}/verify?deep=true`);
    expect(found.status).toBe(202);
    expect(await job(found.text)).toMatchObject({ state: 'done', result: { damaged: 0 } });
  }
}, 180_000);

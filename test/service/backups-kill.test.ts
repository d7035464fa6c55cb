import { mkdirSync, readdirSync, writeFileSync } from 'node:fs';
import path from 'node:path';
import { setTimeout as wait } from 'node:timers/promises';
import { afterAll, beforeAll, expect, it } from 'vitest';
import { S3Server, s3Keys } from '../support/s3-server.ts';
import { entries } from './backups-module.ts';
import { jobEnd } from './backups-support.ts';
import { logIn } from './cli-support.ts';
import { type RunningService, Sandbox } from './harness.ts';
import type { Remote } from './remote.ts';

/** Databases in processes, a repository in a store, and a service that is killed. */
let sandbox: Sandbox;
let service: RunningService;
let owner: Remote;
let store: S3Server;
/** The last number that a call was told to be in. */
let told = 0;

const variables = {
  REDUCERDB_S3_ACCESS_KEY_ID: s3Keys.accessKeyId,
  REDUCERDB_S3_SECRET_ACCESS_KEY: s3Keys.secretAccessKey,
};

const flags = () => ['--data-dir', 'data', '--isolation', 'process', '--operator', owner.identity];

beforeAll(async () => {
  Object.assign(process.env, variables);
  store = await S3Server.start();
  sandbox = await Sandbox.make();
  mkdirSync(path.join(sandbox.folder, 'data'));
  writeFileSync(
    path.join(sandbox.folder, 'data/config.toml'),
    `[repository.far]\nurl = "s3://bucket/prefix"\nendpoint = "${store.endpoint}"\n`,
  );
  await sandbox.ok(['backup', 'init', '--repository', 'far', '--data-dir', 'data']);
  const first = await sandbox.start(['--data-dir', 'data']);
  owner = await logIn(sandbox);
  await first.stop();
  service = await sandbox.start(flags());
  expect((await owner.upload('shop', await entries())).status).toBe(200);
}, 120_000);
afterAll(async () => {
  for (const name of Object.keys(variables)) delete process.env[name];
  await service.stop();
  await store.stop();
  sandbox.remove();
});

const numbers = async (database: string) =>
  (await owner.rows(database, 'SELECT n FROM entry ORDER BY n')).flat() as number[];
const upTo = (last: number) => Array.from({ length: last }, (_, index) => index + 1);

async function add(): Promise<void> {
  const { status } = await owner.call('shop', 'add', [told + 1]);
  expect(status).toBe(200);
  told += 1;
}

async function start(what: string, body: object): Promise<string> {
  const where = `/v1/database/shop/${what}`;
  const answer = await owner.ask('POST', where, JSON.stringify(body));
  expect(answer).toMatchObject({ status: 202 });
  return JSON.parse(answer.text).job;
}

async function restart(): Promise<void> {
  await service.stop('SIGKILL');
  service = await sandbox.start(flags());
}

it('[history 5.1, history 5.5] backs up under load, and has what callers were told', async () => {
  await add();
  let isOver = false;
  const load = (async () => {
    while (!isOver) await add();
  })();
  await expect.poll(() => told).toBeGreaterThan(20);
  const before = told;
  const made = await jobEnd(owner, await start('backup', {}));
  expect(made).toMatchObject({ state: 'done' });
  const after = told;
  isOver = true;
  await load;
  const done = await jobEnd(owner, await start('restore', { as: 'copy' }));
  expect(done).toMatchObject({ state: 'done' });
  const rows = await numbers('copy');
  expect(rows).toEqual(upTo(rows.length));
  expect(rows.length).toBeGreaterThanOrEqual(before);
  expect(rows.length).toBeLessThanOrEqual(after + 1);
  expect(service.output).not.toContain(s3Keys.secretAccessKey);
}, 60_000);

it('[history 5.9] a service that is killed leaves no backup, and the next one goes on', async () => {
  for (const millis of [1, 40]) {
    await add();
    await start('backup', {});
    await wait(millis);
    await restart();
    expect(await numbers('shop')).toEqual(upTo(told));
  }
  const made = await jobEnd(owner, await start('backup', {}));
  expect(made).toMatchObject({ state: 'done' });
  const args = ['backup', 'verify', '--repository', 'far', '--data-dir', 'data', '--read'];
  expect(await sandbox.ok(args)).toContain(`Backup ${made.result.backup}: ok`);
}, 90_000);

it('[history 5.22, history 5.24] a restore that is killed leaves the old state or the new', async () => {
  const kept = told;
  for (const millis of [1, 30, 90]) {
    await add();
    const before = await numbers('shop');
    await start('restore', { in_place: true });
    await wait(millis);
    await restart();
    const rows = await numbers('shop');
    expect([upTo(kept).length, before.length]).toContain(rows.length);
    expect(rows).toEqual(upTo(rows.length));
    told = rows.length;
  }
  const done = await jobEnd(owner, await start('restore', { in_place: true }));
  expect(done).toMatchObject({ state: 'done' });
  expect(await numbers('shop')).toEqual(upTo(kept));
  told = kept;
  await add();
  await restart();
  expect(await numbers('shop')).toEqual(upTo(told));
  for (const name of readdirSync(path.join(sandbox.folder, 'data/databases'))) {
    const folders = readdirSync(path.join(sandbox.folder, 'data/databases', name));
    expect(folders.filter((folder) => folder.startsWith('log-'))).toHaveLength(1);
    expect(folders).not.toContain('restoring');
  }
}, 120_000);

import { mkdtempSync, readdirSync, rmSync, utimesSync } from 'node:fs';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { afterAll, beforeAll, expect, it } from 'vitest';
import { limits } from '../../src/limits.ts';
import { type RunningService, Sandbox } from './harness.ts';
import { jobs } from './jobs-module.ts';
import { type Person, Running } from './running.ts';
import { written } from './written-module.ts';

/** Written long ago, so that a start leaves them closed unless they have something to do. */
const old = ['acting', 'paused', 'emptied', 'plain'];
const recent = Array.from({ length: limits.startDatabasesMax }, (_, at) => `recent-${at}`);

let folder: string;
let owner: Person;
let sandbox: Sandbox;
let service: RunningService;
const identities = new Map<string, string>();

beforeAll(async () => {
  folder = mkdtempSync(path.join(tmpdir(), 'reducerdb-closed-'));
  const running = await Running.start({ dataDirectory: folder, placement: 'local' });
  owner = await running.person();
  const plain = await written({ tables: { note: '{ public: true }, { id: t.u32() }' } });
  const scheduled = await jobs();
  for (const name of [...old, ...recent]) {
    const hasSchedules = ['acting', 'paused'].includes(name);
    const { status } = await running.upload(name, hasSchedules ? scheduled : plain, owner);
    expect(status).toBe(200);
    identities.set(name, (await running.ask('GET', `/v1/database/${name}/identity`)).text);
  }
  for (const name of ['acting', 'paused']) {
    expect((await running.call(name, 'once', [1_000, 'woken'])).status).toBe(200);
  }
  const pause = '/v1/database/paused/schedules/pause';
  expect((await running.ask('POST', pause, { as: owner })).status).toBe(200);
  // A reset to a program without schedules ends what was known of them.
  const where = '/v1/database/emptied?host_type=Js&clear=true';
  for (const body of [scheduled, plain]) {
    expect((await running.ask('PUT', where, { as: owner, body })).status).toBe(200);
  }
  await running.pause();
  for (const name of old) {
    const directory = path.join(folder, 'databases', identities.get(name) ?? '');
    for (const generation of readdirSync(directory).filter((one) => one.startsWith('log-'))) {
      for (const file of readdirSync(path.join(directory, generation))) {
        utimesSync(path.join(directory, generation, file), 1_000_000, 1_000_000);
      }
    }
  }
  sandbox = await Sandbox.make();
  service = await sandbox.start(['--data-dir', folder, '--log-level', 'info']);
}, 120_000);
afterAll(async () => {
  expect(await service.stop()).toBe(0);
  sandbox.remove();
  rmSync(folder, { recursive: true, force: true });
});

/** Those that have been opened. */
async function opened(): Promise<readonly string[]> {
  const text = await (await fetch(`${service.url}/v1/metrics`)).text();
  const up = [...text.matchAll(/^reducerdb_database_up\{database="(\w+)"\} 1$/gm)];
  const found = up.map(([, identity]) => identity);
  return old.filter((name) => found.includes(identities.get(name)));
}

async function rows(name: string, statement: string): Promise<unknown[][]> {
  const headers = { authorization: `Bearer ${owner.token}` };
  const where = `${service.url}/v1/database/${name}/sql`;
  const answer = await fetch(where, { method: 'POST', headers, body: statement });
  return JSON.parse(await answer.text())[0].rows;
}

it('[living 1.1] a start opens a database for its schedules, unless they are paused', async () => {
  const needed = recent.length + 1;
  expect(service.output).toContain(`opening ${needed} of ${old.length + recent.length} databases`);
  await expect.poll(opened, { timeout: 60_000 }).toEqual(['acting']);
});

it('[living 1.1] what is due runs there before anybody asks', async () => {
  await expect
    .poll(async () => (await rows('acting', 'SELECT what FROM ran')).length, { timeout: 60_000 })
    .toBe(1);
});

it('[living 1.14] a pause outlives a restart, until all are resumed', async () => {
  expect(await rows('paused', 'SELECT what FROM ran')).toEqual([]);
  const headers = { authorization: `Bearer ${owner.token}` };
  const where = `${service.url}/v1/database/paused/schedules/resume`;
  expect((await fetch(where, { method: 'POST', headers })).status).toBe(200);
  await expect.poll(() => rows('paused', 'SELECT what FROM ran')).toEqual([['woken']]);
});

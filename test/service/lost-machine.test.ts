import { mkdirSync, rmSync, writeFileSync } from 'node:fs';
import path from 'node:path';
import { setTimeout as wait } from 'node:timers/promises';
import { afterEach, expect, it } from 'vitest';
import { newIdentity } from '../../src/backup/encryption.ts';
import { Random } from '../../src/testing/random.ts';
import { S3Server, s3Keys } from '../support/s3-server.ts';
import { someOf } from '../support/share.ts';
import { jobEnd } from './backups-support.ts';
import { logIn } from './cli-support.ts';
import { type RunningService, Sandbox } from './harness.ts';
import type { Remote } from './remote.ts';
import { type Program, written } from './written-module.ts';

/**
 * A service under load with an archive, whose machine is lost: it is killed, and its folder is gone.
 * The host is restored from its last backup, and its database from the archive.
 */
const variables = {
  REDUCERDB_S3_ACCESS_KEY_ID: s3Keys.accessKeyId,
  REDUCERDB_S3_SECRET_ACCESS_KEY: s3Keys.secretAccessKey,
};

let sandbox: Sandbox;
let service: RunningService;
let owner: Remote;
let store: S3Server | undefined;
afterEach(async () => {
  for (const name of Object.keys(variables)) delete process.env[name];
  await service.stop();
  await store?.stop();
  store = undefined;
  sandbox.remove();
});

/** Each call has a commit of its own, draws a key, and may delete what an earlier one inserted. */
function ledger(): Promise<Program> {
  return written({
    tables: {
      entry: '{ public: true }, { id: t.u64().primaryKey().autoInc(), n: t.u32() }',
      seen: '{ public: true }, { n: t.u32().primaryKey(), id: t.u64() }',
    },
    exports: `
      export const add = db.reducer({ n: t.u32(), gone: t.u32() }, (ctx, { n, gone }) => {
        const { id } = ctx.db.entry.insert({ id: 0n, n });
        ctx.db.seen.insert({ n, id });
        const old = ctx.db.seen.n.find(gone);
        if (old !== null) ctx.db.entry.id.delete(old.id);
      });`,
  });
}

/** What has been called: `gone[n - 1]` was deleted by the call `n`. */
const gone: number[] = [];
const random = new Random(1);

async function add(): Promise<void> {
  const n = gone.length + 1;
  gone.push(random.below(n));
  const { status, text } = await owner.call('shop', 'add', [n, gone[n - 1]]);
  expect({ status, text }).toMatchObject({ status: 200 });
}

/** The rows after the first calls, as a model has them. */
function model(count: number): number[] {
  const left = new Set<number>();
  for (let n = 1; n <= count; n++) {
    left.add(n);
    left.delete(gone[n - 1] as number);
  }
  return [...left].sort((a, b) => a - b);
}

/** How many calls a database has, after comparing all of its rows with those of the model. */
async function calls(database: string): Promise<number> {
  const seen = (await owner.rows(database, 'SELECT n, id FROM seen ORDER BY n')) as number[][];
  expect(seen.map(([n]) => n)).toEqual(seen.map((_, index) => index + 1));
  const left = (await owner.rows(database, 'SELECT n, id FROM entry ORDER BY n')) as number[][];
  expect(left.map(([n]) => n)).toEqual(model(seen.length));
  for (const [n, id] of left) expect(seen[(n as number) - 1]).toEqual([n, id]);
  expect(new Set(seen.map(([, id]) => id)).size).toBe(seen.length);
  return seen.length;
}

/** The next call draws a key that no row has had. */
async function drawsNew(database: string): Promise<void> {
  const last = 'SELECT id FROM seen ORDER BY id DESC LIMIT 1';
  const [[before]] = (await owner.rows(database, last)) as [[number]];
  const n = 4_000_000_000;
  expect((await owner.call(database, 'add', [n, 0])).status).toBe(200);
  const [[after]] = (await owner.rows(database, `SELECT id FROM seen WHERE n = ${n}`)) as [
    [number],
  ];
  expect(after).toBeGreaterThan(before);
}

/** Calls without a pause until `stop`; some of them wait, so that times between them have a name. */
function load() {
  const moments: { readonly calls: number; readonly micros: number }[] = [];
  let isOver = false;
  const run = (async () => {
    while (!isOver) {
      await add();
      if (random.below(10) > 0) continue;
      await wait(5);
      moments.push({ calls: gone.length, micros: Date.now() * 1_000 });
      await wait(5);
    }
  })();
  return {
    moments,
    stop: (): Promise<void> => {
      isOver = true;
      return run;
    },
  };
}

async function restored(body: object): Promise<Record<string, unknown>> {
  const answer = await owner.ask('POST', '/v1/database/shop/restore', JSON.stringify(body));
  expect(answer).toMatchObject({ status: 202 });
  const end = await jobEnd(owner, JSON.parse(answer.text).job);
  expect(end).toMatchObject({ state: 'done' });
  return end.result;
}

/** Everything that has been called is in the archive. */
async function archived(): Promise<void> {
  const lag = async () => {
    const { text } = await owner.ask('GET', '/v1/metrics');
    return /^reducerdb_archive_lag_bytes(?:\{[^}]*\})? (\d+)/m.exec(text)?.[1];
  };
  await expect.poll(lag, { timeout: 60_000 }).toBe('0');
}

async function place(kind: 'folder' | 'S3') {
  if (kind === 'folder') return { url: '../far', flags: ['--repository', './far'], lines: '' };
  store = await S3Server.start();
  Object.assign(process.env, variables);
  const { endpoint } = store;
  const flags = ['--repository', 's3://bucket/prefix', '--endpoint', endpoint];
  return { url: 's3://bucket/prefix', flags, lines: `endpoint = "${endpoint}"\n` };
}

it.each(someOf(['folder', 'S3'] as const))(
  '[history 5.12, 5.17, 5.20, 5.25] a lost machine returns from a repository in %s',
  async (kind) => {
    gone.length = 0;
    sandbox = await Sandbox.make();
    const { identity: key, recipient } = await newIdentity();
    const file = path.join(sandbox.folder, 'key.txt');
    writeFileSync(file, `${key}\n`, { mode: 0o600 });
    const { url, flags, lines } = await place(kind);
    mkdirSync(path.join(sandbox.folder, 'data'));
    writeFileSync(
      path.join(sandbox.folder, 'data/config.toml'),
      `[repository.far]\nurl = "${url}"\nrecipients = ["${recipient}"]\n` +
        `identity-file = "../key.txt"\n${lines}[archive]\nrepository = "far"\ninterval = "1s"\n`,
    );
    await sandbox.ok(['backup', 'init', '--repository', 'far', '--data-dir', 'data']);
    const first = await sandbox.start(['--data-dir', 'data']);
    owner = await logIn(sandbox);
    await first.stop();
    service = await sandbox.start(['--data-dir', 'data', '--operator', owner.identity]);
    expect((await owner.upload('shop', await ledger())).status).toBe(200);

    const before = load();
    await expect.poll(() => before.moments.length).toBeGreaterThan(3);
    await sandbox.ok(['backup', 'create', '--all', '--keys', '--repository', 'far']);
    await expect.poll(() => before.moments.length).toBeGreaterThan(8);
    await before.stop();
    await archived();
    const sure = gone.length;
    const after = load();
    await expect.poll(() => gone.length).toBeGreaterThan(sure + 20);
    const stopped = after.stop().catch(() => undefined);
    await service.stop('SIGKILL');
    await stopped;
    rmSync(path.join(sandbox.folder, 'data'), { recursive: true });

    const all = ['backup', 'restore', 'latest', '--all', ...flags, '--identity-file', 'key.txt'];
    await sandbox.ok([...all, '--data-dir', 'new', '--yes']);
    service = await sandbox.start(['--data-dir', 'new', '--operator', owner.identity]);
    const atBackup = await calls('shop');
    expect(atBackup).toBeLessThan(sure);

    await restored({ repository: 'far', in_place: true });
    const last = await calls('shop');
    expect(last).toBeGreaterThanOrEqual(sure);
    await drawsNew('shop');
    for (const [number, moment] of before.moments.slice(-2).entries()) {
      const at = new Date(moment.micros / 1_000).toISOString();
      await restored({ repository: 'far', as: `at-time-${number}`, at });
      expect(await calls(`at-time-${number}`)).toBe(moment.calls);
    }
    // A call over HTTP is three commits: its connection comes, does it, and goes.
    const offset = 9 + random.below(10);
    const count = 1 + random.below(10);
    await restored({ repository: 'far', as: 'earlier', at: String(offset) });
    await restored({ repository: 'far', as: 'later', at: String(offset + 3 * count) });
    expect((await calls('later')) - (await calls('earlier'))).toBe(count);
    await drawsNew('earlier');
  },
  180_000,
);

import { spawnSync } from 'node:child_process';
import {
  cpSync,
  mkdirSync,
  readdirSync,
  renameSync,
  rmSync,
  statfsSync,
  writeFileSync,
} from 'node:fs';
import path from 'node:path';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { AlertWatch } from '../support/alert-watch.ts';
import { type RunningService, Sandbox } from './harness.ts';
import { jobs } from './jobs-module.ts';
import { Remote } from './remote.ts';
import { Guest } from './socket-guest.ts';
import { tavern } from './tavern-module.ts';

let sandbox: Sandbox;
let disk: string;
let isMounted = false;

beforeEach(async () => {
  sandbox = await Sandbox.make();
  disk = path.join(sandbox.folder, 'disk');
  mkdirSync(disk);
});
afterEach(() => {
  if (isMounted) spawnSync('umount', ['-l', disk]);
  isMounted = false;
  sandbox.remove();
});

/** Mounts a small file system; false where this user, or the system, does not. */
function mountSmallDisk(): boolean {
  const args = ['-t', 'tmpfs', '-o', 'size=24m', 'tmpfs', disk];
  isMounted = process.platform === 'linux' && spawnSync('mount', args).status === 0;
  return isMounted;
}

function freeBytes(): number {
  const { bavail, bsize } = statfsSync(disk);
  return bavail * bsize;
}

/** Leaves so many bytes free. */
function fillDisk(left: number): void {
  const room = freeBytes() - left;
  try {
    if (room > 0) writeFileSync(path.join(disk, `ballast-${room}`), new Uint8Array(room));
  } catch (error) {
    // The service has taken some of it meanwhile.
    expect(error).toMatchObject({ code: 'ENOSPC' });
  }
}

function freeDisk(): void {
  for (const name of readdirSync(disk)) {
    if (name.startsWith('ballast')) rmSync(path.join(disk, name));
  }
}

function start(...flags: string[]): Promise<RunningService> {
  return sandbox.start(['--data-dir', path.join(disk, 'data'), ...flags]);
}

/** Calls that add persons, and what came of them. */
class Writer {
  readonly kept: number[] = [];
  readonly #remote: Remote;
  readonly #database: string;
  #last = 0;

  constructor(remote: Remote, database = 'tavern') {
    this.#remote = remote;
    this.#database = database;
  }

  /** What a call is answered with that adds a person of 16 KiB. */
  async add() {
    this.#last += 1;
    const body = JSON.stringify([this.#last, 'x'.repeat(16 * 1024), 1]);
    const where = `/v1/database/${this.#database}/call/add?confirmed=true`;
    const answer = await this.#remote.ask('POST', where, body);
    if (answer.status === 200) this.kept.push(this.#last);
    return answer;
  }

  /** Adds until a call is refused, and gives its answer. */
  async untilRefused() {
    for (;;) {
      const answer = await this.add();
      if (answer.status !== 200) return answer;
    }
  }

  async check(): Promise<void> {
    const rows = await this.#remote.rows('tavern', 'SELECT id FROM person');
    expect(rows.map(([id]) => Number(id)).sort((a, b) => a - b)).toEqual(this.kept);
  }
}

describe('a service whose disk is full', () => {
  // On threads, `npm run test:long -- operate` tries the same.
  it.each(['process'] as const)(
    'reads, refuses what writes, and writes again when there is space: %s',
    async (isolation) => {
      if (!mountSmallDisk()) {
        console.warn('skipped: this needs the right to mount a small file system');
        return;
      }
      const service = await start('--isolation', isolation);
      const remote = await Remote.of(sandbox.url);
      expect(await remote.upload('tavern', await tavern())).toMatchObject({ status: 200 });
      const writer = new Writer(remote);
      for (const _ of Array(3)) expect((await writer.add()).status).toBe(200);
      fillDisk(1024 * 1024);
      const refused = await writer.untilRefused();
      expect(refused.status).toBe(507);
      expect(refused.text).toMatch(/: the disk of the service is full\. .*no restart is needed$/);
      expect(refused.text).not.toContain(disk);
      expect(service.output).toContain(`is read-only: the disk of ${disk}/data/databases/`);
      expect(service.output).toMatch(/is full \([\d.]+ (bytes|KiB|MiB) free\)/);
      expect(refused.headers.get('retry-after')).toBe('1');

      await writer.check();
      await expectReadOnly(remote, writer.kept.length);
      const guest = await refusedGuest();
      freeDisk();
      await expect.poll(async () => (await writer.add()).status).toBe(200);
      await guest.client.ended;
      await writer.check();

      fillDisk(0);
      expect((await writer.untilRefused()).status).toBe(507);
      service.child.kill('SIGKILL');
      await service.ended;
      await expectNoStart(isolation);
      freeDisk();
      const again = await start('--isolation', isolation);
      await writer.check();
      expect((await writer.add()).status).toBe(200);
      expect(await again.stop()).toBe(0);
    },
  );
});

it('a publish that is the first to meet a full disk is refused as any write, on a thread', async () => {
  if (!mountSmallDisk()) {
    console.warn('skipped: this needs the right to mount a small file system');
    return;
  }
  const service = await start('--isolation', 'thread');
  const remote = await Remote.of(sandbox.url);
  expect(await remote.upload('tavern', await tavern())).toMatchObject({ status: 200 });
  const next = await tavern('two');
  fillDisk(0);
  const refused = await remote.upload('tavern', next);
  expect(refused).toMatchObject({ status: 507, text: expect.stringContaining('is full') });
  expect(service.output).not.toContain('"reason":"bug"');
  expect(service.output).not.toContain('is not kept');
  freeDisk();
  await expect.poll(async () => (await remote.upload('tavern', next)).status).toBe(200);
  expect(await service.stop()).toBe(0);
});

it.each(['thread', 'process'] as const)(
  '[living 1.1] a full disk delays scheduled runs, and no row is lost or runs twice: %s',
  async (isolation) => {
    if (!mountSmallDisk()) {
      console.warn('skipped: this needs the right to mount a small file system');
      return;
    }
    const service = await start('--isolation', isolation);
    const remote = await Remote.of(sandbox.url);
    expect(await remote.upload('jobs', await jobs())).toMatchObject({ status: 200 });
    const what = 'x'.repeat(16 * 1024);
    const plan = (millis: number, name: string) =>
      remote.call('jobs', 'once', [millis, `${name}${what}`]);
    const ran = () => remote.rows('jobs', 'SELECT n FROM ran');
    const waiting = () => remote.rows('jobs', 'SELECT id FROM job');

    // Rows of the time when the disk has room, due while it is full.
    const delayMillis = 3_000;
    let planned = 0;
    for (; planned < 20; planned += 1) {
      expect((await plan(delayMillis, 'early')).status).toBe(200);
    }
    fillDisk(1024 * 1024);
    for (; ; planned += 1) {
      const { status } = await plan(0, 'late');
      if (status === 507) break;
      expect(status).toBe(200);
    }
    await new Promise((resolve) => setTimeout(resolve, delayMillis));
    const left = (await waiting()).length;
    expect((await ran()).length + left).toBe(planned);
    expect(left).toBeGreaterThan(0);

    freeDisk();
    await expect.poll(waiting, { timeout: 30_000 }).toEqual([]);
    const jobsRan = await remote.rows('jobs', 'SELECT job FROM ran');
    expect(jobsRan).toHaveLength(planned);
    expect(new Set(jobsRan.map(([job]) => job)).size).toBe(planned);
    expect(await service.stop()).toBe(0);
  },
);

async function expectReadOnly(remote: Remote, count: number): Promise<void> {
  const dml = 'DELETE FROM person WHERE seat = 1';
  const refused = [
    await remote.ask('POST', '/v1/database/tavern/sql', dml),
    await remote.upload('tavern', await tavern('two')),
    await remote.upload('other', await tavern()),
  ];
  // What else it says is to be seen where it is not as expected.
  const said = refused.map(({ status, text }) => (status === 507 ? status : `${status} ${text}`));
  expect(said).toEqual([507, 507, 507]);
  const schema = await remote.ask('GET', '/v1/database/tavern/schema?version=9');
  expect(schema.status).toBe(200);
  const metrics = await remote.ask('GET', '/v1/metrics');
  expect(metrics.text).toMatch(/^reducerdb_database_read_only\{.*\} 1$/m);
  const watch = new AlertWatch(() => remote);
  expect(await watch.fires('ReducerdbDatabaseReadOnly')).toBe(true);
  const health = await remote.ask('GET', '/v1/database/tavern/health?detail');
  expect([health.status, health.text]).toEqual([503, expect.stringContaining('"read_only":true')]);
  const counted = await toolText(remote, 'SELECT COUNT(*) AS n FROM person');
  expect(counted).toContain(String(count));
  expect(await toolText(remote, dml)).toContain('is full');
}

/** Of one that was let in while the disk was full: it reads, and its call is refused. */
async function refusedGuest(): Promise<Guest> {
  const options = { protocols: ['v3.bsatn.spacetimedb'] };
  const guest = await Guest.arrive(sandbox.url, 'tavern', options);
  guest.subscribe(1, 1, 'SELECT * FROM seat');
  await guest.expect('subscribeApplied');
  guest.call(2, 'furnish', 1, true);
  const result = await guest.expect('reducerResult');
  expect(JSON.stringify(result, textOfBytes)).toContain('is full');
  return guest;
}

async function expectNoStart(isolation: string): Promise<void> {
  fillDisk(0);
  const failed = await sandbox.run(['start', ...flagsOf(isolation)]);
  expect(failed.code).toBe(1);
  expect(failed.stderr.trim().split('\n')).toEqual([
    expect.stringMatching(/^Error: \S+\/disk\/data\S* cannot be written: the disk is full/),
  ]);
}

function flagsOf(isolation: string): string[] {
  const data = path.join(disk, 'data');
  const address = `127.0.0.1:${sandbox.port}`;
  return ['--data-dir', data, '--isolation', isolation, '--listen-addr', address];
}

async function toolText(remote: Remote, sql: string): Promise<string> {
  const call = { method: 'tools/call', params: { name: 'sql', arguments: { sql } } };
  const body = JSON.stringify({ jsonrpc: '2.0', id: 1, ...call });
  return (await remote.ask('POST', '/v1/database/tavern/mcp', body)).text;
}

function textOfBytes(_key: string, value: unknown): unknown {
  if (typeof value === 'bigint') return String(value);
  return value instanceof Uint8Array ? Buffer.from(value).toString('latin1') : value;
}

it('files that are deleted end their database, until a request finds them back', async () => {
  const service = await start('--isolation-of', 'apart=process');
  const remote = await Remote.of(sandbox.url);
  for (const name of ['tavern', 'apart']) {
    expect((await remote.upload(name, await tavern())).text).toContain('Success');
  }
  for (const name of ['tavern', 'apart']) {
    const { text } = await remote.ask('GET', `/v1/database/${name}`);
    const { database_identity: identity } = JSON.parse(text);
    const folder = path.join(disk, 'data/databases', identity.__identity__.slice(2));
    const writer = new Writer(remote, name);
    expect((await writer.add()).status).toBe(200);
    const copy = path.join(sandbox.folder, name);
    cpSync(folder, copy, { recursive: true });
    rmSync(folder, { recursive: true });
    await expect.poll(async () => (await writer.add()).status).not.toBe(200);
    await expect.poll(async () => (await writer.add()).status).toBe(500);
    renameSync(copy, folder);
    await expect.poll(async () => (await writer.add()).status, { timeout: 60_000 }).toBe(200);
  }
  expect(service.output).toContain('no longer in its folder: it was deleted, moved or replaced');
  // A process that may open its own files alone finds it when it opens one to sync it.
  expect(service.output).toMatch(/no longer serves: .*ENOENT: .*databases/);
  expect(await service.stop()).toBe(0);
});

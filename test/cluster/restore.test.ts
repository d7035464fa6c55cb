import { createHash } from 'node:crypto';
import { existsSync, mkdtempSync, readdirSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { afterEach, beforeEach, expect, it, vi } from 'vitest';
import { connect } from '../../src/client/index.ts';
import { RunningDatabases } from '../../src/host/databases/running-databases.ts';
import { Registry } from '../../src/host/registry/registry.ts';
import { limits } from '../../src/limits.ts';
import { clusterId, logName } from '../../src/shared-log/log-name.ts';
import { identityToHex } from '../../src/values/identity.ts';
import type { DatabaseIdentity } from '../../src/values/identity-roles.ts';
import { entries } from '../service/backups-module.ts';
import { initRepository } from '../service/backups-support.ts';
import { ask, type Caller } from '../support/asking.ts';
import { startPair } from '../support/cluster-pair.ts';
import {
  type ClusterService,
  ClusterServices,
  identityOf,
  kill,
  roleAt,
  until,
} from '../support/cluster-services.ts';
import { MemoryParts } from '../support/memory-parts.ts';

let folder: string;
let parts: MemoryParts;
let services: ClusterServices;
let a: ClusterService;
let b: ClusterService;
let shop: DatabaseIdentity;
let owner: Caller;

const repositories = () => [{ name: 'near', url: path.join(folder, 'near'), recipients: [] }];

beforeEach(async () => {
  folder = mkdtempSync(path.join(tmpdir(), 'reducerdb-restore-'));
  await initRepository(path.join(folder, 'near'));
  parts = new MemoryParts();
  const made = new ClusterServices(limits.copiesMax, parts);
  const given = { repositories: repositories() };
  ({
    services,
    a,
    b,
    owner,
    identity: shop,
  } = await startPair('shop', await entries(), given, made));
});
afterEach(async () => {
  vi.restoreAllMocks();
  await services.close();
  rmSync(folder, { recursive: true, force: true });
});

const ofJson = { 'content-type': 'application/json' };

/** Returns the offset of the commit. */
async function add(at: ClusterService, n: number, database = 'shop'): Promise<number> {
  const asked = { as: owner, body: JSON.stringify([n]), headers: ofJson };
  const where = `/v1/database/${database}/call/add`;
  for (;;) {
    const { status, headers } = await ask(at, 'POST', where, asked);
    if (status === 200) return Number(headers.get('reducerdb-offset')?.split('.').at(-1));
  }
}

/** The rows as a host answers them, from its own copy if `query` says so. */
async function rows(at: ClusterService, database = 'shop', query = ''): Promise<number[]> {
  const where = `/v1/database/${database}/sql${query}`;
  const body = 'SELECT n FROM entry ORDER BY id';
  const { status, text } = await ask(at, 'POST', where, { as: owner, body });
  expect(status, text).toBe(200);
  return JSON.parse(text)[0].rows.flat();
}

/** Starts a job at a host; resolves with how it ended. */
async function run(at: ClusterService, what: string, body: object, database = 'shop') {
  const where = `/v1/database/${database}/${what}`;
  const asked = { as: owner, body: JSON.stringify(body), headers: ofJson };
  const answer = await ask(at, 'POST', where, asked);
  expect(answer.status, answer.text).toBe(202);
  const { job: id } = JSON.parse(answer.text);
  for (;;) {
    const { status, text } = await ask(at, 'GET', `/v1/jobs/${id}`, { as: owner });
    // A host that is busy does not say in time that the job is there.
    const job = status === 200 ? JSON.parse(text) : { state: 'running' };
    if (job.state !== 'running') return job;
    await new Promise((resolve) => setTimeout(resolve, 20));
  }
}

async function done(...given: Parameters<typeof run>) {
  const job = await run(...given);
  expect([job.state, job.error]).toEqual(['done', null]);
  return job.result;
}

const generationAt = ({ service }: ClusterService, name = 'shop') =>
  service.host.registered(name).generation;

/** Resolves when a host that follows has what the leader has, in this generation. */
async function followsGeneration(at: ClusterService, generation: number): Promise<void> {
  await until(() => generationAt(at) === generation);
  await until(() => {
    const role = at.service.host.replication.roleOf(shop);
    return role.kind === 'follower' && role.isAtEnd && role.isWarm;
  });
}

const logOf = (generation: number) => logName(clusterId(7n), shop, generation);

const sharedLog = async (generation: number) => {
  const { sharedReadBytesMax } = limits;
  return services.engine.connect('test').read(logOf(generation), 0, sharedReadBytesMax);
};

const folders = (at: ClusterService, database = shop) =>
  readdirSync(path.join(services.folderOf(at.name), 'databases', identityToHex(database))).filter(
    (name) => /^(log|replaced)-/.test(name),
  );

it('[replication 6.14] a restore in place, ordered at a follower, is a new generation at all hosts', async () => {
  await add(a, 1);
  await add(b, 2);
  await done(b, 'backup', { repository: 'near' });
  await add(a, 3);
  const token = await ask(a, 'POST', '/v1/database/shop/sql', { as: owner, body: 'SELECT 1 AS n' });
  const result = await done(b, 'restore', { repository: 'near', in_place: true });
  expect(result).toMatchObject({ replaced: 1, replaces: true });
  await followsGeneration(b, 2);
  expect(await rows(a)).toEqual([1, 2]);
  expect(await rows(b)).toEqual([1, 2]);
  await until(async () => (await rows(b, 'shop', '?consistency=any')).join() === '1,2');
  const old = `?consistency=offset:1.${token.headers.get('reducerdb-offset')?.split('.')[1] ?? 1}`;
  const refused = await ask(b, 'POST', `/v1/database/shop/sql${old}`, { body: 'SELECT 1 AS n' });
  expect([refused.status, refused.text]).toEqual([409, expect.stringContaining('was reset since')]);
  // The log that was replaced goes, and stays at the host that has replaced it.
  await until(async () => (await sharedLog(1)).entries.length === 0);
  await until(() => !folders(b).includes('log-1'));
  expect(folders(a)).toEqual(['log-2', 'replaced-1']);
  expect(
    existsSync(
      path.join(services.folderOf('a'), 'databases', identityToHex(shop), 'log-2/fetched'),
    ),
  ).toBe(false);
  // What follows goes on, and the next leader has it.
  await add(b, 4);
  await kill(a, shop);
  await until(() => roleAt(b, shop) === 'leader');
  await add(b, 5);
  expect(await rows(b)).toEqual([1, 2, 4, 5]);
});

it('[replication 6.14] a restore as a new database is one of the cluster', async () => {
  await add(a, 1);
  await done(a, 'backup', { repository: 'near' });
  await add(a, 2);
  const result = await done(b, 'restore', { repository: 'near', as: 'copy' });
  expect(result).toMatchObject({ names: ['copy'], schedules_paused: true, replaces: false });
  const copy = identityOf(a, 'copy');
  for (const host of [a, b]) expect(await rows(host, 'copy')).toEqual([1]);
  await add(b, 7, 'copy');
  await until(() => roleAt(b, copy) === 'follower');
  await until(async () => {
    const role = b.service.host.replication.roleOf(copy);
    return role.kind === 'follower' && role.isAtEnd && role.isWarm;
  });
  // It is led where it was made, and has its rows wherever it is led.
  await kill(a, copy);
  await until(() => roleAt(b, copy) === 'leader');
  expect(await rows(b, 'copy')).toEqual([1, 7]);
});

it('[replication 6.14, history 5.25] a restore ends at the commit that is named, and a host that starts has it', async () => {
  await add(a, 1);
  const offset = await add(b, 2);
  for (const n of [3, 4, 5]) await add(a, n);
  await done(a, 'backup', { repository: 'near', history: true });
  await services.stop('b');
  await done(a, 'restore', { repository: 'near', in_place: true, at: `${offset}` });
  expect(await rows(a)).toEqual([1, 2]);
  await add(a, 9);
  b = await services.start('b', { repositories: repositories() });
  await followsGeneration(b, 2);
  await until(async () => (await rows(b, 'shop', '?consistency=any')).join() === '1,2,9');
  await services.stop('a');
  await until(() => roleAt(b, shop) === 'leader');
  a = await services.start('a', { repositories: repositories() });
  await followsGeneration(a, 2);
  await add(a, 10);
  expect(await rows(b)).toEqual([1, 2, 9, 10]);
});

it('[replication 6.14, history 5.24] the host that replaced a log brings it back', async () => {
  await add(a, 1);
  await done(a, 'backup', { repository: 'near' });
  await add(a, 2);
  await done(a, 'restore', { repository: 'near', in_place: true });
  await add(a, 3);
  expect(await rows(b)).toEqual([1, 3]);
  await done(b, 'restore', { replaced: 1 });
  await followsGeneration(b, 3);
  for (const host of [a, b]) expect(await rows(host)).toEqual([1, 2]);
  // What was brought back can be backed up, and restored.
  await done(b, 'backup', { repository: 'near' });
  await add(a, 4);
  await done(b, 'restore', { repository: 'near', in_place: true });
  for (const host of [a, b]) expect(await rows(host)).toEqual([1, 2]);
});

it('[replication 6.14] what a host that was lost has begun counts for nothing, and goes', async () => {
  await add(a, 1);
  await done(a, 'backup', { repository: 'near' });
  // It is not known whether the registry has it.
  const beginOnly = async () => {
    const put = vi.spyOn(Registry.prototype, 'putDatabase');
    put.mockRejectedValueOnce(new Error('cut'));
    expect(await run(a, 'restore', { repository: 'near', in_place: true })).toMatchObject({
      ...{ state: 'failed', error: 'cut (at host a)' },
    });
    put.mockRestore();
  };
  await beginOnly();
  expect([generationAt(a), folders(a)]).toEqual([1, ['log-1']]);
  expect((await sharedLog(2)).entries.length).toBeGreaterThan(0);
  expect(await rows(b)).toEqual([1]);
  await add(b, 2);
  await done(b, 'restore', { repository: 'near', in_place: true });
  expect(generationAt(a)).toBe(3);
  for (const host of [a, b]) expect(await rows(host)).toEqual([1]);
  for (const gone of [1, 2]) await until(async () => (await sharedLog(gone)).entries.length === 0);
  await until(async () => (await parts.list(logOf(2))).length === 0);
  await beginOnly();
  const where = '/v1/database/shop?host_type=Js&clear=true';
  const reset = await ask(b, 'PUT', where, { as: owner, body: await entries() });
  expect(reset.text).toContain('"Success"');
  expect(generationAt(a)).toBe(5);
  for (const gone of [3, 4]) await until(async () => (await sharedLog(gone)).entries.length === 0);
});

it('[replication 6.14] a generation begins where nobody has left anything, and takes that away', async () => {
  await add(a, 1);
  await done(a, 'backup', { repository: 'near' });
  await add(a, 2);
  // A host was lost between the two: one has a snapshot and no log, one a log alone.
  await parts.putIfAbsent(`${logOf(2)}/manifest-0000000000000009`, Buffer.from('of another'));
  const claimed = await services.engine.connect('test').create(logOf(3), new Uint8Array(96));
  expect(claimed).toBe('created');
  await done(b, 'restore', { repository: 'near', in_place: true });
  await followsGeneration(b, 4);
  for (const host of [a, b]) expect(await rows(host)).toEqual([1]);
  await until(async () => (await parts.list(logOf(2))).length === 0);
  await until(async () => (await sharedLog(3)).entries.length === 0);
});

it('[replication 6.14] an attempt takes nothing of one that was faster, whose generation it wanted', async () => {
  await add(a, 1);
  await done(a, 'backup', { repository: 'near' });
  const free = vi.spyOn(RunningDatabases.prototype, 'nextGeneration');
  free.mockResolvedValueOnce(2);
  await services.engine.connect('test').create(logOf(2), new Uint8Array(96));
  await parts.putIfAbsent(`${logOf(2)}/manifest-0000000000000009`, Buffer.from('of the other'));
  const job = await run(a, 'restore', { repository: 'near', in_place: true });
  expect(job).toMatchObject({
    ...{ state: 'failed', error: 'the engine has another log of this database (at host a)' },
  });
  expect((await sharedLog(2)).entries.length).toBe(1);
  expect((await parts.list(logOf(2))).length).toBe(1);
  expect(await rows(b)).toEqual([1]);
});

it('[replication 6.14] a database that is deleted takes along what was begun after it', async () => {
  await add(a, 1);
  await parts.putIfAbsent(`${logOf(2)}/manifest-0000000000000009`, Buffer.from('of another'));
  await services.engine.connect('test').create(logOf(3), new Uint8Array(96));
  expect((await ask(b, 'DELETE', '/v1/database/shop', { as: owner })).status).toBe(200);
  await until(async () => (await parts.list(logOf(2))).length === 0);
  for (const gone of [1, 3]) {
    await until(async () => (await sharedLog(gone)).entries.length === 0);
  }
});

it('[replication 6.14] a fault before the registry is asked leaves nothing', async () => {
  await add(a, 1);
  await done(a, 'backup', { repository: 'near' });
  const failing = vi.spyOn(RunningDatabases.prototype, 'adopt');
  failing.mockRejectedValue(new Error('no'));
  const job = await run(a, 'restore', { repository: 'near', in_place: true });
  expect([job.state, job.error]).toEqual(['failed', 'no (at host a)']);
  const copied = await run(b, 'restore', { repository: 'near', as: 'copy' });
  expect([copied.state, copied.error]).toEqual(['failed', 'no (at host a)']);
  failing.mockRestore();
  expect([generationAt(a), folders(a)]).toEqual([1, ['log-1']]);
  expect(await sharedLog(2)).toEqual({ entries: [], first: 0 });
  // Of the static files of the one that is there a record says that there are none.
  expect((await parts.list('')).filter((name) => !name.startsWith('site/'))).toEqual([]);
  const { length } = readdirSync(path.join(services.folderOf('a'), 'databases'));
  expect(length).toBe(1);
  expect(await rows(b)).toEqual([1]);
});

it('[replication 6.14] a repository that the leader does not have is said to be missing there', async () => {
  const where = '/v1/database/shop/restore';
  const body = JSON.stringify({ repository: 'far', in_place: true });
  const refused = await ask(b, 'POST', where, { as: owner, body, headers: ofJson });
  expect([refused.status, refused.text]).toEqual([
    400,
    'The configuration of the service names no repository `far` (there are: near) (at host a)',
  ]);
  rmSync(path.join(folder, 'near/reducerdb-repository.json'));
  const job = await run(b, 'restore', { repository: 'near', in_place: true });
  expect(job).toMatchObject({
    state: 'failed',
    error:
      'the repository near is no backup repository: reducerdb-repository.json is missing (at host a)',
  });
});

it('[replication 6.14] a client that watches a copy gets the restored rows', async () => {
  await add(a, 1);
  await done(a, 'backup', { repository: 'near' });
  await add(a, 2);
  const client = connect({ uri: [b.url, a.url], database: 'shop', token: owner.token });
  try {
    await client.subscribe(['SELECT * FROM entry']).applied;
    const { entry } = client.db as unknown as { readonly entry: Iterable<{ readonly n: number }> };
    const numbers = () => [...entry].map(({ n }) => n).sort();
    expect(numbers()).toEqual([1, 2]);
    await done(a, 'restore', { repository: 'near', in_place: true });
    await add(a, 5);
    await until(() => numbers().join() === '1,5');
  } finally {
    client.disconnect();
  }
});

it('[replication 6.14, 7.5] static files come back, for whichever host leads', async () => {
  await serve(a, { '/old': 'an old page' });
  await done(a, 'backup', { repository: 'near' });
  await serve(a, { '/new': 'a new page' });
  await done(b, 'restore', { repository: 'near', in_place: true });
  await done(b, 'restore', { repository: 'near', as: 'copy' });
  const copy = identityOf(a, 'copy');
  const served = async (at: ClusterService, name: string) => {
    const { files } = await at.service.host.sites.served(identityOf(at, name));
    return files.map((file) => file.path);
  };
  for (const name of ['shop', 'copy']) expect(await served(a, name)).toEqual(['/old']);
  await services.stop('a');
  for (const database of [shop, copy]) await until(() => roleAt(b, database) === 'leader');
  for (const name of ['shop', 'copy']) expect(await served(b, name)).toEqual(['/old']);
  const hash = createHash('sha256').update('an old page').digest('hex');
  const content = await b.service.host.sites.content(copy, hash);
  expect(Buffer.from((await content?.slice(0, 99)) ?? []).toString()).toBe('an old page');
});

/** Publishes static files, and the program that runs with them. */
async function serve(at: ClusterService, contents: Readonly<Record<string, string>>) {
  const hashOf = (content: string) => createHash('sha256').update(content).digest('hex');
  const files = Object.entries(contents).map(([place, content]) => {
    return { path: place, hash: hashOf(content), bytes: content.length };
  });
  const announced = await ask(at, 'POST', '/v1/database/shop/static', {
    ...{ as: owner, headers: ofJson, body: JSON.stringify({ files, headers: '' }) },
  });
  const { static: id } = JSON.parse(announced.text);
  for (const content of Object.values(contents)) {
    const where = `/v1/database/shop/static/${hashOf(content)}`;
    const sent = await ask(at, 'PUT', where, { as: owner, body: content });
    expect(sent.status, sent.text).toBe(200);
  }
  const where = `/v1/database/shop?host_type=Js&static=${id}`;
  const published = await ask(at, 'PUT', where, { as: owner, body: await entries() });
  expect(published.text).toContain('"Success"');
}

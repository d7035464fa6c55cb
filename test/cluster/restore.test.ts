import { existsSync, mkdtempSync, readdirSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { afterEach, beforeEach, expect, it } from 'vitest';
import { limits } from '../../src/limits.ts';
import { logName } from '../../src/shared-log/log-name.ts';
import { identityToHex } from '../../src/values/identity.ts';
import type { DatabaseIdentity } from '../../src/values/identity-roles.ts';
import { entries } from '../service/backups-module.ts';
import { initRepository } from '../service/backups-support.ts';
import { ask, type Caller } from '../support/asking.ts';
import { startPair } from '../support/cluster-pair.ts';
import {
  type ClusterService,
  ClusterServices,
  follows,
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
  await services.close();
  rmSync(folder, { recursive: true, force: true });
});

const ofJson = { 'content-type': 'application/json' };

async function add(at: ClusterService, n: number, database = 'shop'): Promise<void> {
  const asked = { as: owner, body: JSON.stringify([n]), headers: ofJson };
  const where = `/v1/database/${database}/call/add`;
  await until(async () => (await ask(at, 'POST', where, asked)).status === 200);
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
    const job = JSON.parse((await ask(at, 'GET', `/v1/jobs/${id}`, { as: owner })).text);
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

const sharedLog = async (generation: number) => {
  const log = logName(a.service.host.cluster?.cluster ?? (0n as never), shop, generation);
  const { sharedReadBytesMax } = limits;
  return services.engine.connect('test').read(log, 0, sharedReadBytesMax);
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
  expect(await rows(b, 'shop', '?consistency=any')).toEqual([1, 2]);
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

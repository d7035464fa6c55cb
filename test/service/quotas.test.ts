import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, it } from 'vitest';
import { type RunningService, Sandbox } from './harness.ts';
import type { Person } from './running.ts';
import { type Program, written } from './written-module.ts';

/** What a service lets strangers have, and how operators change it. */

let program: Program;
let sandbox: Sandbox;
let service: RunningService | undefined;

beforeAll(async () => {
  program = await written({ tables: { note: '{ public: true }, { id: t.u32() }' } });
});
beforeEach(async () => {
  sandbox = await Sandbox.make();
});
afterEach(async () => {
  await service?.stop('SIGKILL');
  service = undefined;
  sandbox.remove();
});
afterAll(() => undefined);

async function newPerson(): Promise<Person> {
  const answer = await fetch(`${sandbox.url}/v1/identity`, { method: 'POST' });
  return (await answer.json()) as Person;
}

async function ask(method: string, path: string, token: string, body?: string | Program) {
  const headers = { authorization: `Bearer ${token}`, 'content-type': 'application/json' };
  const given = body === undefined ? {} : { body };
  const answer = await fetch(sandbox.url + path, { method, headers, ...given });
  return { status: answer.status, text: await answer.text() };
}

const publish = (name: string, token: string) =>
  ask('PUT', `/v1/database/${name}?host_type=Js`, token, program);

async function createTwelve(token: string): Promise<number[]> {
  const statuses: number[] = [];
  for (let count = 0; count < 12; count += 1) {
    statuses.push((await publish(`stranger-${count}`, token)).status);
  }
  return statuses;
}

describe('a service where strangers may publish', () => {
  it('gives an identity ten databases, and more when an operator says so', async () => {
    service = await sandbox.start();
    const operator = await newPerson();
    const stranger = await newPerson();
    await service.stop();
    service = await sandbox.start([
      '--publish-policy',
      'authenticated',
      '--operator',
      operator.identity,
    ]);
    const statuses = await createTwelve(stranger.token);
    expect(statuses).toEqual([...new Array(10).fill(200), 403, 403]);
    const refused = await publish('one-more', stranger.token);
    expect(refused.text).toBe(
      'Quota exceeded: your identity has 10 databases, and the limit is 10 ' +
        '(databases-per-identity). Delete one, or ask an operator of the service for more',
    );
    // Nobody has taken the name.
    expect((await publish('one-more', operator.token)).status).toBe(200);

    const own = `/v1/quota/${stranger.identity}`;
    const wanted = '{"databases-per-identity":11}';
    expect((await ask('PUT', own, stranger.token, wanted)).status).toBe(403);
    expect((await ask('PUT', own, operator.token, '{"databases":11}')).status).toBe(422);
    expect((await ask('PUT', own, operator.token, wanted)).status).toBe(200);
    expect((await publish('eleventh', stranger.token)).status).toBe(200);
    expect((await publish('twelfth', stranger.token)).status).toBe(403);
    const { quotas } = JSON.parse((await ask('GET', own, stranger.token)).text);
    expect(quotas['databases-per-identity']).toEqual({ used: 11, limit: 11 });
    const metrics = await ask('GET', '/v1/metrics', operator.token);
    expect(metrics.text).toContain(
      `reducerdb_owner_quota_used{owner="${stranger.identity}",quota="databases-per-identity"} 11`,
    );
  }, 120_000);
});

describe('a service on loopback', () => {
  it('has no such limit', async () => {
    service = await sandbox.start();
    const { token } = await newPerson();
    expect(await createTwelve(token)).toEqual(new Array(12).fill(200));
  }, 120_000);

  it('[cli 2.10] shows and sets quotas, which calls are held to', async () => {
    service = await sandbox.start();
    await sandbox.run(['login', '--server', sandbox.url]);
    const shown = await sandbox.run(['login', 'show']);
    const owner = shown.stdout.match(/c200[0-9a-f]{60}/)?.[0] ?? '';
    await service.stop();
    service = await sandbox.start(['--operator', owner]);
    const { token } = await newPerson();
    expect((await publish('shop', token)).status).toBe(200);
    const fromService = ['--server', sandbox.url];
    const set = ['--set', 'row-bytes=0', '--set', 'log-bytes=1GiB'];
    const table = await sandbox.ok(['quota', 'shop', ...set, ...fromService]);
    expect(table).toMatch(/ row-bytes +\| 0 bytes +\| 0 bytes/);
    expect(table).toMatch(/ log-bytes +\| \d+ bytes +\| 1073741824 bytes/);
    const insert = () =>
      ask('POST', '/v1/database/shop/sql', token, 'INSERT INTO note (id) VALUES (1)');
    const refused = await insert();
    expect(refused.status).toBe(507);
    expect(refused.text).toMatch(/^Quota exceeded: the rows of this database would take \d+ bytes/);
    await sandbox.ok(['quota', 'shop', '--set', 'row-bytes=any', ...fromService]);
    expect((await insert()).status).toBe(200);
    expect(await sandbox.ok(['quota', ...fromService])).toMatch(
      / databases-per-identity +\| 0 +\| any/,
    );
    const wrong = await sandbox.run(['quota', '--set', 'row-bytes=much', ...fromService]);
    expect(wrong.stderr).toContain('is not a quota such as row-bytes=64MiB');
    const audit = await sandbox.ok(['audit', ...fromService]);
    expect(audit).toContain('set quota');
  }, 120_000);
});

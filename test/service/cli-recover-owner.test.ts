import { rmSync, writeFileSync } from 'node:fs';
import path from 'node:path';
import { afterAll, beforeAll, expect, it } from 'vitest';
import { Sandbox } from './harness.ts';
import { type Answer, type Person, Running } from './running.ts';

let sandbox: Sandbox;
let running: Running;
let lost: Person;
let heir: Person;
let agent: Person;

beforeAll(async () => {
  sandbox = await Sandbox.make();
  running = await Running.start({ dataDirectory: path.join(sandbox.folder, 'data') });
  [lost, heir] = [await running.person(), await running.person()];
  for (const name of ['inn', 'other']) {
    expect((await running.publish(name, 'inn', lost)).status).toBe(200);
  }
  expect((await running.call('inn', 'add_person', ['Ada'], lost)).status).toBe(200);
  agent = await running.agent('inn', { tables: ['secret'] }, lost);
});
afterAll(async () => {
  await running.stop();
  sandbox.remove();
});

const recover = (...words: readonly string[]) =>
  sandbox.run(['recover-owner', ...words, '--data-dir', running.folder]);

const statusOf = async (answer: Promise<Answer>) => (await answer).status;

it('[auth 8, cli 7.9] refuses while a service runs, and what is not there', async () => {
  const whileRunning = await recover('inn', '--identity', heir.identity);
  expect(whileRunning.code).toBe(1);
  expect(whileRunning.stderr).toContain('Stop the service first.');
  await running.pause();
  for (const [words, code, text] of [
    [['inn', '--identity', 'x'], 2, '--identity: `x` is not an identity (64 hex digits)'],
    [['inn'], 2, "required option '--identity <identity>' not specified"],
    [['nobody', '--identity', heir.identity], 1, '`nobody` not found'],
    [['ab'.repeat(32), '--identity', heir.identity], 1, 'No such database.'],
  ] as const) {
    const refused = await recover(...words);
    expect([refused.code, refused.stderr]).toEqual([code, expect.stringContaining(text)]);
  }
  const words = ['recover-owner', 'inn', '--identity', heir.identity, '--data-dir', 'nowhere'];
  expect((await sandbox.run(words)).stderr).toContain('There is no data in ');
  // Who owns what is in the shared log of a cluster, and not in one folder of its hosts.
  const mark = path.join(running.folder, 'cluster.json');
  writeFileSync(mark, '{}');
  const ofHost = await recover('inn', '--identity', heir.identity);
  rmSync(mark);
  expect(ofHost).toMatchObject({
    code: 1,
    stderr: expect.stringContaining('belongs to a host of a cluster'),
  });
});

it('[auth 8, cli 7.9] gives a database with its names to another identity, for good', async () => {
  const done = await recover('inn', '--identity', heir.identity);
  expect(done).toMatchObject({ code: 0, stderr: '' });
  expect(done.stdout).toContain(`New owner:    ${heir.identity}\nFormer owner: ${lost.identity}\n`);

  for (let start = 0; start < 2; start += 1) {
    running = await Running.start({ dataDirectory: running.folder });
    const { owner_identity } = JSON.parse((await running.ask('GET', '/v1/database/inn')).text);
    expect(owner_identity).toEqual({ __identity__: `0x${heir.identity}` });
    expect(await running.rows('inn', 'SELECT name FROM person', heir)).toContainEqual(['Ada']);
    expect(await statusOf(running.sql('inn', 'SELECT * FROM secret', heir))).toBe(200);
    expect(await statusOf(running.publish('inn', 'inn', heir))).toBe(200);
    expect(await statusOf(running.publish('inn', 'inn', lost))).toBe(403);
    expect(await statusOf(running.publish('other', 'inn', heir))).toBe(403);
    // Its tokens are worth what the former owner may: no more than anybody.
    expect(await statusOf(running.sql('inn', 'SELECT * FROM secret', agent))).toBe(400);
    const rename = { as: heir, body: '["inn"]', headers: { 'content-type': 'application/json' } };
    const where = '/v1/database/inn/names';
    const renamed = await running.ask('PUT', where, { ...rename, body: `["inn-${start}"]` });
    expect(renamed).toMatchObject({ status: 200 });
    const back = await running.ask('PUT', `/v1/database/inn-${start}/names`, rename);
    expect(back).toMatchObject({ status: 200 });
    await running.pause();
  }

  const log = await sandbox.ok(['audit', '--format', 'json', '--data-dir', running.folder]);
  const line = log.split('\n').find((one) => one.includes('recover owner')) ?? '{}';
  expect(JSON.parse(line)).toEqual({
    time: expect.any(String),
    action: 'recover owner',
    outcome: 'done',
    from: 'data folder',
    database: expect.stringMatching(/^c200/),
    former_owner: lost.identity,
    owner: heir.identity,
  });
});

import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { productVersion } from '../../src/service/version.ts';
import { type Agent, type Person, Running } from './running.ts';
import { writtenFrom } from './written-module.ts';

/** What the console asks of a service before it shows anything. */

const module = `
  import { schema, t, table } from 'reducerdb/server';
  const note = table({ public: true }, { id: t.u32().primaryKey() });
  const db = schema({ note });
  export default db;
  export const put = db.reducer({ id: t.u32() }, (ctx, { id }) => void ctx.db.note.insert({ id }));
`;

let running: Running;
let people: Record<'operator' | 'owner' | 'developer' | 'reader' | 'stranger', Person>;
let agent: Agent;
let shop: string;

beforeAll(async () => {
  const first = await Running.start();
  const person = () => first.person();
  const [operator, owner, developer] = [await person(), await person(), await person()];
  people = { operator, owner, developer, reader: await person(), stranger: await person() };
  await first.pause();
  const operators = [BigInt(`0x${operator.identity}`)];
  running = await Running.start({ dataDirectory: first.folder, operators });
  const program = await writtenFrom(module);
  const published = await running.upload('shop', program, owner);
  shop = JSON.parse(published.text).Success.database_identity;
  await running.upload('hidden', program, operator);
  await running.grant('shop', 'developer', developer, owner);
  await running.grant('shop', 'reader', people.reader, owner);
  agent = await running.agent('shop', { read_only: true }, owner);
}, 180_000);
afterAll(() => running.stop());

async function get(where: string, as?: Person) {
  const { status, text } = await running.ask('GET', where, { as });
  return { status, body: status === 200 ? JSON.parse(text) : text };
}

async function listed(as: Person, more = '') {
  const { body } = await get(`/v1/databases?detail=true${more}`, as);
  return body.databases as Record<string, unknown>[];
}

describe('[http 17.1] GET /v1/service', () => {
  it('says what the service is, to everyone', async () => {
    const { body } = await get('/v1/service');
    expect(body).toEqual({
      version: productVersion,
      started_at: expect.stringMatching(/^\d{4}-\d\d-\d\dT[\d:.]+Z$/),
      features: expect.arrayContaining(['deploys', 'rights', 'settings', 'tokens']),
      issuers: [],
      apps_domain: 'localhost',
      console: 'loopback',
    });
    expect(Date.parse(body.started_at)).toBeLessThanOrEqual(Date.now());
    expect(await get('/v1/service', people.stranger)).toMatchObject({ status: 200 });
  });
});

describe('[http 17.2] GET /v1/service/settings', () => {
  it('is for operators, and empty where a program has started the service', async () => {
    expect(await get('/v1/service/settings', people.operator)).toEqual({
      status: 200,
      body: { settings: [] },
    });
    expect((await get('/v1/service/settings', people.owner)).status).toBe(403);
    expect((await get('/v1/service/settings')).status).toBe(401);
  });
});

describe('[http 17.3] GET /v1/databases?detail=true', () => {
  it('lists all for operators, and for others those in which they have a role', async () => {
    const namesFor = async (as: Person) => (await listed(as)).map(({ names }) => names);
    expect(await namesFor(people.operator)).toEqual([['shop'], ['hidden']]);
    for (const as of [people.owner, people.developer, people.reader, agent]) {
      expect(await namesFor(as)).toEqual([['shop']]);
    }
    expect(await namesFor(people.stranger)).toEqual([]);
    expect((await get('/v1/databases?detail=true')).status).toBe(401);
    expect((await get('/v1/databases?detail=maybe', people.owner)).status).toBe(400);
  });

  it('shows what the database does to those who may see its health', async () => {
    for (let id = 0; id < 3; id += 1) await running.call('shop', 'put', [id], people.owner);
    await expect.poll(async () => (await listed(people.developer))[0]).toMatchObject({ rows: 3 });
    const [seen] = await listed(people.developer);
    expect(seen).toEqual({
      identity: shop,
      names: ['shop'],
      owner: people.owner.identity,
      is_locked: false,
      state: 'serving',
      rows: 3,
      memory_bytes: expect.any(Number),
      calls_per_second: null,
      last_deploy: { at: expect.stringMatching(/Z$/), by: people.owner.identity, number: 1 },
      health: 'ok',
    });
    expect(seen?.memory_bytes).toBeGreaterThan(0);
    for (const as of [people.reader, agent]) {
      expect((await listed(as))[0]).toMatchObject({
        ...{ rows: null, memory_bytes: null, calls_per_second: null, last_deploy: null },
        ...{ state: 'serving', health: 'ok', owner: people.owner.identity },
      });
    }
  });

  it('counts calls between two looks', async () => {
    await expect
      .poll(async () => {
        await running.call('shop', 'put', [0], people.owner);
        return Number((await listed(people.owner))[0]?.calls_per_second);
      })
      .toBeGreaterThan(0);
  });

  it('goes on behind a database', async () => {
    const behind = await listed(people.operator, `&after=${shop}`);
    expect(behind.map(({ names }) => names)).toEqual([['hidden']]);
    expect((await get('/v1/databases?detail=true&after=x', people.operator)).status).toBe(400);
  });

  it('names the newest deploy', async () => {
    await running.upload('shop', await writtenFrom(`${module}\n// again`), people.developer);
    expect((await listed(people.owner))[0]?.last_deploy).toMatchObject({
      by: people.developer.identity,
      number: 2,
    });
  });
});

describe('[http 17.4] GET /v1/database/:db/rights', () => {
  it.each([
    ['stranger', [], ['read_private', 'publish', 'write_sql', 'delete']],
    ['reader', ['read_private', 'export'], ['publish', 'preview', 'view_logs']],
    ['developer', ['publish', 'preview', 'view_logs', 'roll_back'], ['write_sql', 'reset']],
    ['owner', ['write_sql', 'delete', 'grant_admin', 'view_ledger'], ['set_quota']],
    ['operator', ['write_sql', 'delete', 'set_quota'], []],
  ] as const)('says what a %s may do', async (role, may, mayNot) => {
    const { body } = await get('/v1/database/shop/rights', people[role]);
    expect(body).toMatchObject({ identity: people[role].identity, role, limited: false });
    for (const word of may) expect([word, body.may[word]]).toEqual([word, true]);
    for (const word of mayNot) expect([word, body.may[word]]).toEqual([word, false]);
    expect(Object.keys(body.needs).sort()).toEqual(Object.keys(body.may).sort());
    expect(body.needs).toMatchObject({ publish: 'developer', delete: 'owner', import: 'admin' });
  });

  it('says what is left of its rights to a limited token', async () => {
    const { body } = await get('/v1/database/shop/rights', agent);
    expect(body).toMatchObject({ identity: agent.identity, role: 'owner', limited: true });
    expect(Object.values(body.may).filter((one) => one === true)).toEqual([]);
    expect((await get('/v1/database/hidden/rights', agent)).status).toBe(403);
  });

  it('knows strangers without a token, and no database that is not there', async () => {
    expect((await get('/v1/database/shop/rights')).body).toMatchObject({ role: 'stranger' });
    expect((await get('/v1/database/nowhere/rights')).status).toBe(404);
  });
});

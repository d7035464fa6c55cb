import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { Refusal } from '../../src/database/outcome.ts';
import { limits } from '../../src/limits.ts';
import { identityToHex } from '../../src/values/identity.ts';
import type { DatabaseIdentity } from '../../src/values/identity-roles.ts';
import { type Asked, ask, type Caller, newCaller } from '../support/asking.ts';
import { buildText } from '../support/build-text.ts';
import { startPair } from '../support/cluster-pair.ts';
import {
  type ClusterService,
  type ClusterServices,
  follows,
  identityOf,
  readsCopy,
  until,
} from '../support/cluster-services.ts';
import { readsModule } from './reads-module.ts';

let services: ClusterServices;
/** Leads the database. */
let a: ClusterService;
/** Follows it. */
let b: ClusterService;
let notes: DatabaseIdentity;
let path: string;
let ada: Caller;

beforeAll(async () => {
  const body = new Uint8Array((await buildText(readsModule)).bytes);
  ({ services, a, b, owner: ada, identity: notes } = await startPair('notes', body));
  path = `/v1/database/${identityToHex(notes)}`;
  await readsCopy(b, notes);
});
afterAll(() => services.close());

const ofJson = { 'content-type': 'application/json' };

function sql(at: ClusterService, query: string, body = 'SELECT text FROM note', more: Asked = {}) {
  return ask(at, 'POST', `${path}/sql${query}`, { as: ada, body, ...more });
}

async function add(at: ClusterService, text: string, query = ''): Promise<string> {
  const body = JSON.stringify([text]);
  const asked = { as: ada, body, headers: ofJson };
  const { status, headers } = await ask(at, 'POST', `${path}/call/add${query}`, asked);
  expect(status).toBe(200);
  return headers.get('reducerdb-offset') ?? '';
}

function textsIn(answer: string): string[] {
  return JSON.parse(answer)[0].rows.map(([text]: [string]) => text);
}

function commitOf(token: string | null): number {
  return Number(token?.split('.')[1]);
}

function placeOf({ headers }: { readonly headers: Headers }) {
  const of = (name: string) => headers.get(`reducerdb-${name}`);
  return { role: of('role'), host: of('host'), leader: of('leader') };
}

describe('a read at a host that follows', () => {
  it('[replication 10.1] says by which host and role, and up to which commit it was answered', async () => {
    const offset = await add(a, 'first');
    expect(offset).toMatch(/^\d+\.\d+$/);
    const here = await sql(b, `?consistency=offset:${offset}`);
    expect([here.status, placeOf(here)]).toEqual([
      200,
      { role: 'follower', host: 'b', leader: null },
    ]);
    expect(commitOf(here.headers.get('reducerdb-offset'))).toBeGreaterThanOrEqual(commitOf(offset));
    const there = await sql(b, '');
    expect(placeOf(there)).toEqual({ role: 'leader', host: 'a', leader: 'http://a.test' });
    const atLeader = await sql(a, '?consistency=any');
    expect(placeOf(atLeader)).toEqual({ role: 'leader', host: 'a', leader: null });
    expect(atLeader.headers.get('reducerdb-age-ms')).toBeNull();
    expect(here.headers.get('access-control-expose-headers')).toContain(
      'reducerdb-offset, reducerdb-role, reducerdb-age-ms',
    );
    const failed = await sql(b, '?consistency=any', 'SELECT nothing FROM nowhere');
    expect([failed.status, placeOf(failed).role]).toEqual([400, 'follower']);
    const schema = await ask(b, 'GET', `${path}/schema?version=9&consistency=any`, { as: ada });
    expect([schema.status, placeOf(schema).role]).toEqual([200, 'follower']);
    expect(schema.text).toBe((await ask(a, 'GET', `${path}/schema?version=9`, { as: ada })).text);
  });

  it('[replication 10.2] has what its caller has written, through whichever host', async () => {
    for (let round = 0; round < 30; round++) {
      const text = `round ${round}`;
      const offset = await add(
        round % 2 === 0 ? a : b,
        text,
        round % 3 === 0 ? '?confirmed=false' : '',
      );
      const [at] = offset.split('.').slice(1);
      const token = round % 5 === 0 ? at : offset;
      const read = await sql(b, `?consistency=offset:${token}`);
      expect([read.status, textsIn(read.text).includes(text)]).toEqual([200, true]);
      expect(placeOf(read).role).toBe('follower');
    }
  });

  it('[replication 10.2] is answered by the leader when what it wants does not come', async () => {
    const { generation } = a.service.host.registered(identityToHex(notes));
    const far = await sql(b, `?consistency=offset:${generation}.999999`);
    expect([far.status, placeOf(far).leader]).toEqual([400, 'http://a.test']);
    expect(far.text).toContain(`offset ${generation}.999999 does not exist`);
  });

  it('[replication 10.2] is refused where as many wait for a commit as may, and never waits behind them', async () => {
    const { copies } = b.part;
    const wait = () => copies.untilSettled(notes, 1_000_000, { millisMax: 2_000 });
    const waiting = Array.from({ length: limits.copyWaitersMax }, wait);
    await expect(wait()).rejects.toMatchObject({ body: { code: 'database.overloaded' } });
    const { generation } = a.service.host.registered(identityToHex(notes));
    const refused = await sql(b, `?consistency=offset:${generation}.999999`);
    expect([refused.status, refused.headers.get('retry-after')]).toEqual([503, '1']);
    expect(refused.text).toContain('reads wait here for a commit');
    expect((await sql(b, '?consistency=any')).status).toBe(200);
    expect(new Set(await Promise.all(waiting))).toEqual(new Set([false]));
  });

  it('[replication 10.2] is refused to a caller, or a network, that has its share of those', async () => {
    const { copies } = b.part;
    const [ofCaller, ofNetwork] = [limits.copyWaitersMax / 4, limits.copyWaitersMax / 2];
    const wait = (identity: string | undefined, network = 'network 192.0.2.1') =>
      copies.untilSettled(notes, 1_000_000, { millisMax: 2_000, payers: { identity, network } });
    const refusalOf = async (waiting: Promise<unknown>) => {
      const refusal: unknown = await waiting.catch((error: unknown) => error);
      if (!(refusal instanceof Refusal)) throw new Error('nothing was refused');
      const { code, message, retryAfterSeconds } = refusal.body;
      return [code, message.split(' wait')[0], retryAfterSeconds];
    };
    const one = Array.from({ length: ofCaller }, () => wait('ada'));
    const own = ['requests.tooManyOfOne', `${ofCaller} of your reads`, 1];
    expect(await refusalOf(wait('ada'))).toEqual(own);
    const more = Array.from({ length: ofCaller }, (_, at) => wait(`bob ${at}`));
    const shared = ['requests.tooManyOfOne', `${ofNetwork} reads of your network`, 1];
    expect(await refusalOf(wait('eve'))).toEqual(shared);
    // Others do not notice: without a token, from another network, or on this machine.
    const others = [wait(undefined, 'network 192.0.2.2'), wait('eve', 'network 192.0.2.3')];
    const { generation } = a.service.host.registered(identityToHex(notes));
    const far = await sql(b, `?consistency=offset:${generation}.999999`);
    expect(far.status).toBe(400);
    const all = await Promise.all([...one, ...more, ...others]);
    expect(new Set(all)).toEqual(new Set([false]));
    expect(await wait('ada')).toBe(false);
  });

  it('[replication 10.2] counts among those that wait until the leader has answered it', async () => {
    const { copies } = b.part;
    let answered = (): void => undefined;
    const untilAnswered = new Promise<void>((resolve) => {
      answered = resolve;
    });
    const wait = () =>
      copies.untilSettled(notes, 1_000_000, { millisMax: 20, answered: untilAnswered });
    const passed = await Promise.all(Array.from({ length: limits.copyWaitersMax }, wait));
    expect(new Set(passed)).toEqual(new Set([false]));
    await expect(wait()).rejects.toMatchObject({ body: { code: 'database.overloaded' } });
    answered();
    await untilAnswered;
    expect(await wait()).toBe(false);
    // A request gives its place back, whatever the leader says.
    const { generation } = a.service.host.registered(identityToHex(notes));
    const far = await sql(b, `?consistency=offset:${generation}.999999`);
    expect([far.status, placeOf(far).leader]).toEqual([400, 'http://a.test']);
  });

  it('[replication 10.3] with an offset of an earlier generation is refused', async () => {
    const body = new Uint8Array((await buildText(readsModule)).bytes);
    const put = `/v1/database/reset-me?host_type=Js`;
    expect((await ask(a, 'PUT', put, { as: ada, body })).status).toBe(200);
    const identity = identityOf(a, 'reset-me');
    await follows(b, a, identity);
    const before = await ask(a, 'POST', '/v1/database/reset-me/sql', {
      as: ada,
      body: 'SELECT id FROM note',
    });
    const token = before.headers.get('reducerdb-offset');
    expect((await ask(a, 'PUT', `${put}&clear=true`, { as: ada, body })).status).toBe(200);
    // Until a host hears of the reset, the rows from before are those that it has.
    const generationAt = ({ service }: ClusterService): number =>
      service.host.registered(identityToHex(identity)).generation;
    await until(() => generationAt(b) === generationAt(a));
    for (const at of [a, b]) {
      const where = `/v1/database/reset-me/sql?consistency=offset:${token}`;
      const read = await ask(at, 'POST', where, { as: ada, body: 'SELECT id FROM note' });
      expect([at.name, read.status]).toEqual([at.name, 409]);
      expect(read.text).toContain('The database was reset since');
    }
  });

  it('[replication 10] is refused where it does not say what it wants', async () => {
    for (const at of [a, b]) {
      for (const [query, fault] of [
        ['?consistency=nearly', 'consistency: unknown variant `nearly`'],
        ['?consistency=offset:x', 'after `offset:` comes what an answer had in `reducerdb-offset`'],
        ['?consistency=any&consistency=any', 'duplicate'],
        ['?max_age_ms=-1', 'max_age_ms: a whole number of milliseconds'],
        ['?max_age_ms=soon', 'max_age_ms: a whole number of milliseconds'],
      ] as const) {
        const { status, text } = await sql(at, query);
        expect([query, status, text]).toEqual([query, 400, expect.stringContaining(fault)]);
      }
    }
  });

  it('[replication 10.4, 10.5] knows how old its rows are at most', async () => {
    const written = performance.now();
    const offset = await add(a, 'aged');
    await sql(b, `?consistency=offset:${offset}`);
    const read = await sql(b, '?max_age_ms=60000');
    expect([read.status, placeOf(read).role]).toEqual([200, 'follower']);
    const age = Number(read.headers.get('reducerdb-age-ms'));
    expect(age).toBeGreaterThanOrEqual(0);
    expect(age).toBeLessThan(performance.now() - written + limits.copyAskMillis + 60_000);
    const fresh = await sql(b, '?max_age_ms=0');
    expect([fresh.status, placeOf(fresh).role]).toEqual([200, 'leader']);
  });

  it('[replication 10.6] runs views with the rights of its caller, and lets in whom the module lets in', async () => {
    const view = 'SELECT text, mine FROM shown';
    const eve = await newCaller(a);
    const offset = await add(a, 'seen through a view');
    for (const as of [ada, eve]) {
      const read = await sql(b, `?consistency=offset:${offset}`, view, { as });
      expect([read.status, placeOf(read).role]).toEqual([200, 'follower']);
      const rows = JSON.parse(read.text)[0].rows;
      expect(rows.at(-1)).toEqual(['seen through a view', `${as.identity}`]);
      const atLeader = await sql(a, '', view, { as });
      expect(rows).toEqual(JSON.parse(atLeader.text)[0].rows);
    }
    const secret = await sql(b, '?consistency=any', 'SELECT id FROM secret', { as: eve });
    const atLeader = await sql(a, '', 'SELECT id FROM secret', { as: eve });
    expect([secret.status, secret.text]).toEqual([400, atLeader.text]);
    const body = JSON.stringify([[`0x${eve.identity}`]]);
    const ban = await ask(a, 'POST', `${path}/call/ban`, { as: ada, body, headers: ofJson });
    expect(ban.text).toBe('');
    const banned = ban.headers.get('reducerdb-offset');
    const refused = await sql(b, `?consistency=offset:${banned}`, view, { as: eve });
    expect([refused.status, refused.text, placeOf(refused).role]).toEqual([
      403,
      'you are banned',
      'follower',
    ]);
  });

  it('[replication 10.6] leaves no trace, and what writes is done by the leader', async () => {
    const seen = async () => (await sql(a, '?confirmed=true', 'SELECT id FROM seen')).text;
    const before = JSON.parse(await seen())[0].rows.length;
    for (let round = 0; round < 5; round++) await sql(b, '?consistency=any');
    expect(JSON.parse(await seen())[0].rows.length).toBe(before + 1);
    const insert = "INSERT INTO note (id, text) VALUES (0, 'by statement')";
    const written = await sql(b, '?consistency=any', insert);
    expect([written.status, placeOf(written).host]).toEqual([200, 'a']);
    const token = written.headers.get('reducerdb-offset');
    const read = await sql(b, `?consistency=offset:${token}`);
    expect(textsIn(read.text)).toContain('by statement');
  });

  it('[replication 10, 10.1] over MCP says the same, and has it in `_meta`', async () => {
    const offset = await add(a, 'for agents');
    const tool = async (at: ClusterService, name: string, args: object) => {
      const call = { method: 'tools/call', params: { name, arguments: args } };
      const body = JSON.stringify({ jsonrpc: '2.0', id: 1, ...call });
      const { text } = await ask(at, 'POST', `${path}/mcp`, { as: ada, body, headers: ofJson });
      return JSON.parse(text).result;
    };
    const statement = { sql: 'SELECT text FROM note' };
    const read = await tool(b, 'sql', { ...statement, consistency: `offset:${offset}` });
    expect(read.content[0].text).toContain('for agents');
    expect(read._meta).toMatchObject({ 'reducerdb-role': 'follower', 'reducerdb-host': 'b' });
    expect(commitOf(read._meta['reducerdb-offset'])).toBeGreaterThanOrEqual(commitOf(offset));
    const atLeader = await tool(b, 'sql', statement);
    expect(atLeader._meta).toMatchObject({ 'reducerdb-role': 'leader', 'reducerdb-host': 'a' });
    const fresh = await tool(b, 'sql', { ...statement, max_age_ms: 0 });
    expect(fresh._meta).toMatchObject({ 'reducerdb-role': 'leader' });
    const insert = { sql: "INSERT INTO note (id, text) VALUES (0, 'by an agent')" };
    const written = await tool(b, 'sql', { ...insert, consistency: 'any' });
    expect(written._meta).toMatchObject({ 'reducerdb-role': 'leader', 'reducerdb-host': 'a' });
    const schema = await tool(b, 'get_schema', { consistency: 'any' });
    expect(schema._meta).toMatchObject({ 'reducerdb-role': 'follower', 'reducerdb-host': 'b' });
    expect(JSON.parse(schema.content[0].text).tables.length).toBeGreaterThan(2);
    const wrong = await tool(b, 'sql', { ...statement, consistency: 'nearly' });
    expect([wrong.isError, wrong.content[0].text]).toEqual([
      true,
      expect.stringContaining('unknown variant `nearly`'),
    ]);
  });

  it('[replication 9.9, 10.6] goes on with the next program when there is one', async () => {
    const more = readsModule
      .replace('seen });', 'seen, extra });')
      .replace(
        'const db =',
        "const extra = table({ name: 'extra', public: true }, { id: t.u64().primaryKey() });\nconst db =",
      );
    const body = new Uint8Array((await buildText(more)).bytes);
    const put = await ask(b, 'PUT', `${path}?host_type=Js`, { as: ada, body });
    expect(put.text).toContain('"Success"');
    const offset = await add(a, 'after the next program');
    const read = await sql(b, `?consistency=offset:${offset}`, 'SELECT id FROM extra');
    expect([read.status, JSON.parse(read.text)[0].rows]).toEqual([200, []]);
    const schema = await ask(b, 'GET', `${path}/schema?version=9&consistency=any`, { as: ada });
    expect(schema.text).toContain('extra');
  });
});

describe('a host that follows, and hears of nobody', () => {
  afterAll(() => {
    services.engine.isStandbyAway = false;
    services.engine.heal('b');
  });

  it('[replication 6.4] shows nothing that is not settled', async () => {
    const token = await add(a, 'settled');
    expect(textsIn((await sql(b, `?consistency=offset:${token}`)).text)).toContain('settled');
    services.engine.isStandbyAway = true;
    const before = b.part.roles.get(notes);
    const pending = add(a, 'in doubt');
    const end = () => {
      const role = b.part.roles.get(notes);
      return role?.kind === 'follower' ? role.end.offset : 0;
    };
    const known = before?.kind === 'follower' ? before.end.offset : 0;
    // The primary shows what it stored before the standby has it.
    while (end() === known) {
      services.engine.restartPrimary();
      await new Promise((resolve) => setTimeout(resolve, 20));
    }
    const read = await sql(b, '?consistency=any');
    expect([read.status, textsIn(read.text).includes('in doubt')]).toEqual([200, false]);
    services.engine.isStandbyAway = false;
    const offset = await pending;
    const after = await sql(b, `?consistency=offset:${offset}`);
    expect(textsIn(after.text)).toContain('in doubt');
  });

  it('[replication 10.4] asks the engine when the leader does not answer', async () => {
    const offset = await add(a, 'last words');
    await sql(b, `?consistency=offset:${offset}`);
    // A host that drains takes nothing over, however long this takes.
    await b.part.membership.drain(true);
    // Its copy is ready, and it is known how old that is.
    const roleOf = async () => placeOf(await sql(b, '?max_age_ms=5000')).role;
    await expect.poll(roleOf).toBe('follower');
    await a.part.stopListening();
    const read = await sql(b, '?max_age_ms=5000');
    expect([read.status, placeOf(read).role]).toEqual([200, 'follower']);
    expect(Number(read.headers.get('reducerdb-age-ms'))).toBeLessThanOrEqual(5_000);
  });

  it('[replication 10.5] never gives older rows than asked for', async () => {
    services.engine.cut('b');
    const last = performance.now();
    for (;;) {
      const { status } = await sql(b, '?max_age_ms=500');
      if (status === 503) break;
      expect(performance.now() - last).toBeLessThan(30_000);
    }
    const refused = await sql(b, '?max_age_ms=500');
    expect([refused.status, refused.headers.get('retry-after')]).toEqual([503, '1']);
    expect(refused.text).toContain('older than max_age_ms allows');
    const any = await sql(b, '?consistency=any');
    expect([any.status, placeOf(any).role]).toEqual([200, 'follower']);
    expect(Number(any.headers.get('reducerdb-age-ms'))).toBeGreaterThan(500);
  });
});

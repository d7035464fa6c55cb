import { randomBytes } from 'node:crypto';
import { request as httpRequest } from 'node:http';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { encodeForwarded } from '../../src/cluster/settled-caller.ts';
import { limits } from '../../src/limits.ts';
import { identityToHex } from '../../src/values/identity.ts';
import { callerIdentity, type DatabaseIdentity } from '../../src/values/identity-roles.ts';
import { program } from '../service/built-program.ts';
import { type Asked, ask, type Caller, newCaller } from '../support/asking.ts';
import { startPair } from '../support/cluster-pair.ts';
import type { ClusterService, ClusterServices } from '../support/cluster-services.ts';

let services: ClusterServices;
/** Leads the database. */
let a: ClusterService;
/** Follows it. */
let b: ClusterService;
let porter: DatabaseIdentity;
let path: string;
let ada: Caller;

beforeAll(async () => {
  ({
    services,
    a,
    b,
    owner: ada,
    identity: porter,
  } = await startPair('porter', await program('porter')));
  path = `/v1/database/${identityToHex(porter)}`;
});
afterAll(() => services.close());

const ofJson = { 'content-type': 'application/json' };

function checkIn(at: ClusterService, name: string, more: Asked = {}) {
  const body = JSON.stringify([name]);
  return ask(at, 'POST', `${path}/call/check_in`, { as: ada, body, headers: ofJson, ...more });
}

async function guests(at: ClusterService): Promise<string[]> {
  const body = 'SELECT name FROM guest';
  const { status, text } = await ask(at, 'POST', `${path}/sql`, { as: ada, body });
  if (status !== 200) throw new Error(`${status} ${text}`);
  return JSON.parse(text)[0].rows.map(([one]: [string]) => one);
}

describe('a request at a host that does not lead', () => {
  it('[http 19, replication 8.1, 8.3] is done by the leader, and its answer says where that is', async () => {
    const called = await checkIn(b, 'through b');
    expect([called.status, called.text]).toEqual([200, '']);
    expect(called.headers.get('reducerdb-leader')).toBe('http://a.test');
    expect(called.headers.get('reducerdb-host')).toBe('a');
    expect(called.headers.get('spacetime-identity')).toBe(ada.identity);
    expect(called.headers.get('access-control-allow-origin')).toBe('*');
    expect(called.headers.get('access-control-expose-headers')).toContain('reducerdb-leader');
    expect(await guests(b)).toContain('through b');
    const direct = await checkIn(a, 'at a');
    expect([direct.status, direct.headers.get('reducerdb-leader')]).toEqual([200, null]);
    expect(await guests(a)).toEqual(await guests(b));
  });

  it('[replication 8.1] is answered as at the leader, headers and refusals included', async () => {
    const asked: readonly [method: string, where: string, more: Asked][] = [
      ['POST', `${path}/call/check_in`, { as: ada, body: '[""]', headers: ofJson }],
      ['POST', `${path}/call/check_in`, { as: ada, body: '[', headers: ofJson }],
      ['POST', `${path}/call/nothing`, { as: ada, body: '[]', headers: ofJson }],
      ['POST', `${path}/sql`, { as: ada, body: 'SELECT nothing FROM nowhere' }],
      ['GET', `${path}/schema?version=9`, { as: ada }],
      ['GET', `${path}/logs`, { as: ada }],
      ['PATCH', `${path}/sql`, { as: ada }],
      ['GET', `${path}/route/board`, {}],
      ['GET', `${path}/route/answer?204|0`, {}],
      ['GET', `${path}/route/answer?503|9|retry-after=7`, {}],
      ['HEAD', `${path}/route/board`, {}],
      ['HEAD', path, { as: ada }],
      ['GET', `${path}/subscribe`, { as: ada }],
      ['OPTIONS', `${path}/sql`, { headers: { origin: 'http://localhost:1' } }],
      ['POST', `${path}/sql`, { headers: { authorization: 'Bearer no' }, body: 'SELECT 1' }],
      ['DELETE', `${path}/publish`, { as: ada }],
    ];
    for (const [method, where, more] of asked) {
      const [at, through] = [await ask(a, method, where, more), await ask(b, method, where, more)];
      expect([where, shown(through)]).toEqual([where, shown(at)]);
    }
  });

  it('[replication 8.2] has the caller, the address and the rights that it has at the leader', async () => {
    const eve = await newCaller(b);
    const body = await program('porter');
    const forbidden = await ask(b, 'PUT', `${path}?host_type=Js`, { as: eve, body });
    expect(forbidden.status).toBe(403);
    const me = await ask(b, 'GET', `${path}/route/me`, { as: eve });
    expect(JSON.parse(me.text)).toMatchObject({ sender: eve.identity, inside: eve.identity });
    const anonymous = await ask(b, 'POST', `${path}/call/check_in`, {
      body: '["x"]',
      headers: ofJson,
    });
    expect(anonymous.status).toBe(200);
    expect(anonymous.headers.get('spacetime-identity-token')).toMatch(/^ey/);
    const echoed = JSON.parse((await ask(b, 'GET', `${path}/route/echo?q=1`)).text);
    expect(echoed.url).toBe(`${b.url}${path}/route/echo?q=1`);
    const names = echoed.headers.map(([name]: [string]) => name);
    expect(names.filter((name: string) => name.startsWith('reducerdb'))).toEqual([]);
  });

  it('[replication 8.6] has its body streamed, within the limits of the leader', async () => {
    const large = randomBytes(2_000_000).toString('hex');
    const echoed = await ask(b, 'POST', `${path}/route/echo`, { body: large });
    expect(echoed.status).toBe(200);
    expect(JSON.parse(echoed.text).body).toBe(large);
    const chunked = await sendChunks(b, `${path}/route/echo`, ['one', 'two', 'three']);
    expect(JSON.parse(chunked).body).toBe('onetwothree');
    const tooMuch = 'x'.repeat(limits.handlerBodyBytesMax + 1);
    const [at, through] = [a, b].map((one) =>
      ask(one, 'POST', `${path}/route/echo`, { body: tooMuch }),
    );
    const [here, there] = [await at, await through];
    expect([there?.status, there?.text]).toEqual([here?.status, here?.text]);
    expect(there?.status).toBe(413);
    expect((await checkIn(b, 'after a large one')).status).toBe(200);
  });

  it('[replication 8.1] publishes, too', async () => {
    const body = await program('porter');
    const { status, text } = await ask(b, 'PUT', `${path}?host_type=Js`, { as: ada, body });
    expect([status, text]).toEqual([200, expect.stringContaining('"Success"')]);
    expect(await guests(a)).toContain('through b');
  });

  it('[replication 8.7] over MCP is answered by the leader', async () => {
    const call = { reducer: 'check_in', args: ['by an agent'] };
    expect((await tool(b, `${path}/mcp`, 'call', call)).isError).toBe(false);
    const database = identityToHex(porter);
    const wide = { ...call, args: ['by an agent of all'], database };
    expect((await tool(b, '/v1/mcp', 'call', wide)).isError).toBe(false);
    const names = await guests(a);
    expect(names).toEqual(expect.arrayContaining(['by an agent', 'by an agent of all']));
    const asked = { sql: 'SELECT COUNT(*) AS n FROM guest', database };
    expect((await tool(b, '/v1/mcp', 'sql', asked)).content[0].text).toContain(`${names.length}`);
    const broken = await ask(b, 'POST', '/v1/mcp', { as: ada, body: '{', headers: ofJson });
    expect(JSON.parse(broken.text).error.code).toBe(-32_700);
  });
});

describe('what a client sends', () => {
  it('[replication 8.2] is not taken for another host, whatever its headers say', async () => {
    const mallory = callerIdentity(0xbadn);
    const head = encodeForwarded({
      ...{ database: porter, isAsked: false, waitsMillis: 1_000, hops: 0 },
      caller: {
        ...{ identity: mallory, token: 'x', payload: '{}', tokenId: 'x', isAnonymous: false },
      },
      client: {
        ...{ address: '127.0.0.1', sender: 'program', origin: 'http://x' },
        ...{ isOnMachine: true, isConfidential: true },
      },
    });
    const forged = { 'reducerdb-forward': head, 'reducerdb-host': 'a', 'reducerdb-term': '99' };
    for (const host of [a, b]) {
      const anonymous = await ask(host, 'GET', `${path}/route/perhaps`, { headers: forged });
      expect(JSON.parse(anonymous.text)).toEqual({ sender: null, hasJwt: false });
      const refused = await ask(host, 'GET', `${path}/route/me`, { headers: forged });
      expect(refused.status).toBe(401);
      const called = await checkIn(host, 'forged', { headers: { ...ofJson, ...forged } });
      expect(called.headers.get('spacetime-identity')).toBe(ada.identity);
    }
  });

  it('[replication 8.2] cannot make a module answer in the name of a host', async () => {
    const fields = 'reducerdb-term=99|reducerdb-leader-address=127.0.0.1:1';
    const [at, through] = [a, b].map((host) =>
      ask(host, 'GET', `${path}/route/answer?421|2|${fields}`),
    );
    for (const answer of [await at, await through]) {
      expect([answer?.status, answer?.text]).toEqual([421, 'xx']);
      expect(answer?.headers.get('reducerdb-term')).toBeNull();
    }
    expect(b.part.hintFor(porter)?.term).toBeLessThan(99);
  });
});

it('[replication 4.11] a call waits until it is acknowledged, unless its caller asks otherwise', async () => {
  const { engine } = services;
  const path2 = `${path}/call/check_in?confirmed=false`;
  const quick = (name: string) =>
    ask(b, 'POST', path2, { as: ada, body: JSON.stringify([name]), headers: ofJson });
  const answered: string[] = [];
  const note = (name: string) => () => void answered.push(name);
  // Nothing is acknowledged until the standby is back.
  engine.isStandbyAway = true;
  const agent = { reducer: 'check_in', args: ['by an agent, confirmed'] };
  const waiting = [
    checkIn(a, 'confirmed').then(note('at the leader')),
    checkIn(b, 'confirmed').then(note('elsewhere')),
    tool(b, `${path}/mcp`, 'call', agent).then(note('by an agent')),
  ];
  expect((await quick('not confirmed')).status).toBe(200);
  expect((await quick('nor this')).status).toBe(200);
  expect(answered).toEqual([]);
  engine.isStandbyAway = false;
  await Promise.all(waiting);
  expect(answered).toHaveLength(3);
});

/** What clients see of an answer, but for what differs each time. */
function shown({ status, text, headers }: Awaited<ReturnType<typeof ask>>) {
  const kept = [...headers].filter(([name]) => !variable.test(name));
  return { status, text: text.replace(/"time":\d+/, ''), headers: Object.fromEntries(kept) };
}

const variable =
  /^(?:date|connection|keep-alive|transfer-encoding|content-length|reducerdb-leader|reducerdb-host|reducerdb-offset|spacetime-execution-duration-micros|spacetime-identity|spacetime-identity-token)$/;

async function tool(at: ClusterService, where: string, name: string, args: object) {
  const call = { method: 'tools/call', params: { name, arguments: args } };
  const body = JSON.stringify({ jsonrpc: '2.0', id: 1, ...call });
  const { text } = await ask(at, 'POST', where, { as: ada, body, headers: ofJson });
  return JSON.parse(text).result;
}

function sendChunks(at: ClusterService, where: string, chunks: readonly string[]): Promise<string> {
  return new Promise((resolve, reject) => {
    const asked = httpRequest(at.url + where, { method: 'POST' }, (answer) => {
      let text = '';
      answer.on('data', (piece) => {
        text += piece;
      });
      answer.on('end', () => resolve(text));
    });
    asked.on('error', reject);
    for (const chunk of chunks) asked.write(chunk);
    asked.end();
  });
}

describe('a job', () => {
  it('[replication 8.8] is shown, and cancelled, at any host, to those who may see it', async () => {
    const caller = callerIdentity(BigInt(`0x${ada.identity}`));
    const id = a.service.host.jobs.start(
      { identity: caller, payload: '{}', isAnonymous: false },
      {
        ...{ kind: 'test', database: porter },
        progress: () => ({ phase: 'working', done: 1, total: 2 }),
        run: (signal) =>
          new Promise((_, reject) => {
            signal.addEventListener('abort', () => reject(new Error('cancelled')));
          }),
      },
    );
    const at = (host: ClusterService, method: string, as = ada) =>
      ask(host, method, `/v1/jobs/${id}`, { as });
    const shown = await at(b, 'GET');
    expect(shown.status).toBe(200);
    expect(JSON.parse(shown.text)).toMatchObject({ id, state: 'running', done: 1 });
    expect((await at(b, 'GET', await newCaller(b))).status).toBe(404);
    expect((await ask(b, 'GET', `/v1/jobs/${'0'.repeat(32)}`, { as: ada })).status).toBe(404);
    expect((await at(b, 'DELETE')).status).toBe(200);
    expect(JSON.parse((await at(a, 'GET')).text).state).toBe('cancelled');
  });
});

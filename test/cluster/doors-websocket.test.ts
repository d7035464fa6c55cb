import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { WebSocket } from 'ws';
import { identityToHex } from '../../src/values/identity.ts';
import type { DatabaseIdentity } from '../../src/values/identity-roles.ts';
import { restartOf } from '../../src/websocket/partings.ts';
import { tavern } from '../service/tavern-module.ts';
import { ask, type Caller } from '../support/asking.ts';
import { startPair } from '../support/cluster-pair.ts';
import {
  type ClusterService,
  type ClusterServices,
  kill,
  readsCopy,
  roleAt,
  until,
} from '../support/cluster-services.ts';
import { someOf } from '../support/share.ts';
import { connect, names, own, published, subscribe } from '../support/tavern-client.ts';

let services: ClusterServices;
/** Leads the database at first. */
let a: ClusterService;
/** Follows it. */
let b: ClusterService;
let identity: DatabaseIdentity;
let database: string;
let ada: Caller;

beforeEach(async () => {
  ({ services, a, b, owner: ada, identity } = await startPair('tavern', await tavern()));
  database = identityToHex(identity);
});
afterEach(() => services.close());

function call(at: ClusterService, reducer: string, args: unknown) {
  const headers = { 'content-type': 'application/json' };
  const where = `/v1/database/${database}/call/${reducer}`;
  return ask(at, 'POST', where, { as: ada, body: JSON.stringify(args), headers });
}

describe.each(someOf(published, 2))('$title', (library) => {
  it('[replication 11.1, 11.3, 11.7] is served by a host that does not lead, and stays when that leads', async () => {
    await readsCopy(b, identity);
    await call(a, 'add', [1, 'ada', 1]);
    const far = await connect(library, { uri: b.url, database });
    const near = await connect(library, { uri: a.url, database });
    for (const { conn } of [far, near]) await subscribe(conn);
    expect(names(far.conn)).toEqual(['1 ada']);
    await call(b, 'add', [2, 'bob', 1]);
    far.conn.reducers.rename?.({ id: 1, name: 'amy' });
    for (const { conn } of [far, near]) {
      await expect.poll(() => names(conn)).toEqual(['1 amy', '2 bob']);
    }
    // The leader can acknowledge nothing any more, and does not notice that another one leads.
    services.engine.cut('a');
    await until(() => roleAt(b, identity) === 'leader');
    expect((await call(b, 'add', [3, 'cyd', 1])).status).toBe(200);
    await expect.poll(() => names(far.conn)).toEqual(['1 amy', '2 bob', '3 cyd']);
    far.conn.reducers.rename?.({ id: 3, name: 'cy' });
    await expect.poll(() => names(far.conn)).toEqual(['1 amy', '2 bob', '3 cy']);
    services.engine.heal('a');
    await near.gone;
    // The one that led before follows now.
    await until(() => a.part.isLedElsewhere(identity));
    const back = await connect(library, { uri: a.url, database });
    await subscribe(back.conn);
    expect(names(back.conn)).toEqual(['1 amy', '2 bob', '3 cy']);
    far.conn.disconnect();
    back.conn.disconnect();
    await Promise.all([far.gone, back.gone]);
  });
});

it('[replication 11.7] the client of this product goes on by itself after a fail-over', async () => {
  await call(a, 'add', [1, 'ada', 1]);
  const { conn, gone } = await connect(own, { uri: b.url, database });
  await subscribe(conn);
  expect(names(conn)).toEqual(['1 ada']);
  services.engine.cut('a');
  await until(() => roleAt(b, identity) === 'leader');
  expect((await call(b, 'add', [2, 'bob', 1])).status).toBe(200);
  await expect.poll(() => names(conn), { timeout: 20_000 }).toEqual(['1 ada', '2 bob']);
  await conn.reducers.rename?.({ id: 2, name: 'ben' });
  await expect.poll(() => names(conn)).toEqual(['1 ada', '2 ben']);
  conn.disconnect();
  await gone;
});

/** Asks the host to pass everything on, although it has a copy. */
const viaLeader = '?consistency=leader';

/** A WebSocket of version 1 in JSON, with what it has received and how it ended. */
async function open(at: ClusterService, query = '') {
  const url = `${at.url.replace('http', 'ws')}/v1/database/${database}/subscribe${query}`;
  const socket = new WebSocket(url, ['v1.json.spacetimedb'], {
    headers: { authorization: `Bearer ${ada.token}` },
  });
  const messages: string[] = [];
  let leader: string | undefined;
  socket.on('message', (bytes) => messages.push(String(bytes)));
  socket.on('upgrade', ({ headers }) => {
    leader = headers['reducerdb-leader'] as string | undefined;
  });
  const closed = new Promise<[number, string]>((resolve) => {
    socket.on('close', (code, reason) => resolve([code, String(reason)]));
  });
  await new Promise((resolve, reject) => {
    socket.once('open', resolve);
    socket.once('error', reject);
  });
  return { socket, messages, closed, leader: () => leader };
}

it('[replication 8.3, 11.1] the relay names the leader, and passes close codes on', async () => {
  const relayed = await open(b, viaLeader);
  expect(relayed.leader()).toBe('http://a.test');
  expect((await open(a)).leader()).toBeUndefined();
  await until(() => relayed.messages.length > 0);
  expect(JSON.parse(relayed.messages[0] ?? '')).toMatchObject({
    IdentityToken: { identity: { __identity__: `0x${ada.identity}` } },
  });
  relayed.socket.send('{"nothing": 1}');
  expect((await relayed.closed)[0]).toBe(1011);
  const polite = await open(b, viaLeader);
  polite.socket.close(1000, 'done');
  expect(await polite.closed).toEqual([1000, 'done']);
  const [one] = [await open(b, viaLeader)];
  const connections = () =>
    ask(a, 'GET', `/v1/database/${database}/connections`, { as: ada }).then(({ text }) => text);
  await until(async () => JSON.parse(await connections()).length === 2);
  one.socket.terminate();
  // The client of a relay that is cut off has left its database, too.
  await until(async () => JSON.parse(await connections()).length === 1);
});

it('[replication 11.7, 11.8] a fail-over ends connections with 1012, relayed ones and those of the leader', async () => {
  const [near, far] = [await open(a), await open(b, viaLeader)];
  services.engine.cut('a');
  expect(await far.closed).toEqual([1012, restartOf('leader').reason]);
  expect(roleAt(b, identity)).toBe('leader');
  services.engine.heal('a');
  expect(await near.closed).toEqual([1012, restartOf('database').reason]);
});

it('[replication 9.5, 11.8] a host that stops ends what it serves, and what it relays, with 1012', async () => {
  const [near, far] = [await open(a), await open(b, viaLeader)];
  await b.service.stop();
  expect(await far.closed).toEqual([1012, restartOf('host').reason]);
  await a.service.stop();
  expect(await near.closed).toEqual([1012, restartOf('host').reason]);
});

it('[replication 9.5] a host that drains ends what it relays, one client after another, with 1012', async () => {
  const clients = [await open(b, viaLeader), await open(b, viaLeader), await open(b)];
  const codes: number[] = [];
  for (const { closed } of clients) void closed.then(([code]) => codes.push(code));
  await b.part.operations?.drain('b', true);
  await until(() => codes.length > 0);
  expect(codes.length).toBeLessThan(3);
  await until(() => codes.length === 3);
  expect(codes).toEqual([1012, 1012, 1012]);
  await b.part.operations?.drain('b', false);
  const { socket, closed, messages } = await open(b);
  await until(() => messages.length > 0);
  socket.close(1000, 'done');
  expect((await closed)[0]).toBe(1000);
});

it('[replication 8.5, 11.1] a client that comes while nobody leads is served by the next leader', async () => {
  await kill(a, identity);
  const { messages, leader } = await open(b);
  await until(() => messages.length > 0);
  expect([roleAt(b, identity), leader()]).toEqual(['leader', undefined]);
});

it('[replication 8.1] refusals of the leader, and of the host that was asked, arrive', async () => {
  const refusal = (url: string, protocols: string[], headers: Record<string, string> = {}) =>
    new Promise<number>((resolve) => {
      const socket = new WebSocket(url, protocols, { headers });
      socket.on('error', () => undefined);
      socket.on('unexpected-response', (_, answer) => resolve(answer.statusCode ?? 0));
    });
  const at = (host: ClusterService, query = '') =>
    `${host.url.replace('http', 'ws')}/v1/database/${database}/subscribe${query}`;
  for (const host of [a, b]) {
    const v1 = ['v1.json.spacetimedb'];
    expect(await refusal(at(host), ['nothing'])).toBe(400);
    expect(await refusal(at(host, '?connection_id=x'), v1)).toBe(400);
    expect(await refusal(at(host), v1, { authorization: 'Bearer x' })).toBe(401);
    expect(await refusal(at(host), v1, { origin: 'http://elsewhere.test' })).toBe(403);
  }
});

it('[replication 13.1] without the engine calls of a WebSocket wait, and are refused as not done', async () => {
  await call(a, 'add', [1, 'ada', 1]);
  const plain = await open(b, '?confirmed=false');
  const confirmed = await open(a);
  // The leader has let them in, which is acknowledged.
  for (const { messages } of [plain, confirmed]) await until(() => messages.length > 0);
  const callOf = (id: number, add: unknown) =>
    JSON.stringify({
      CallReducer: { reducer: 'add', args: JSON.stringify(add), request_id: id, flags: 0 },
    });
  services.engine.isStandbyAway = true;
  await until(() => a.part.engine.isAway);
  plain.socket.send(callOf(1, [2, 'bob', 1]));
  confirmed.socket.send(callOf(2, [3, 'cyd', 1]));
  const query = 'SELECT name FROM person';
  const refusedText = (messages: readonly string[]) =>
    messages.find((one) => one.includes('database.noEngine'));
  await until(() => refusedText(plain.messages) !== undefined);
  await until(() => refusedText(confirmed.messages) !== undefined);
  expect(refusedText(plain.messages)).toContain('Nothing was done');
  // A read that waits for nothing is answered meanwhile.
  const where = `/v1/database/${database}/sql?confirmed=false`;
  const { text } = await ask(b, 'POST', where, { as: ada, body: query });
  expect(JSON.parse(text)[0].rows).toEqual([['ada']]);
  plain.socket.send(callOf(4, [4, 'dan', 1]));
  services.engine.isStandbyAway = false;
  const rows = async () => JSON.parse((await ask(a, 'POST', where, { as: ada, body: query })).text);
  await until(async () => (await rows())[0].rows.length === 2);
  expect((await rows())[0].rows).toEqual([['ada'], ['dan']]);
  plain.socket.close();
  confirmed.socket.close();
});

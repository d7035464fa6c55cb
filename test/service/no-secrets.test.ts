import { readdirSync, readFileSync } from 'node:fs';
import path from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { itemsModule, writeBundle, writeModule } from './cli-support.ts';
import { type RunningService, Sandbox } from './harness.ts';
import type { Person } from './running.ts';
import { SocketClient } from './socket-client.ts';

/**
 * A service that logs all it can, full of secrets that come in by every door; afterwards none of
 * them may stand in its log, in the audit log, or in what the host writes into the module's log.
 */

const source = `
  import { SenderError, schema, t, table } from 'reducerdb/server';
  const vault = table({ name: 'vault' }, { id: t.u32().primaryKey(), text: t.string() });
  const db = schema({ vault });
  export default db;
  export const keep = db.reducer({ id: t.u32(), text: t.string() }, (ctx, row) => {
    ctx.db.vault.insert(row);
  });
  export const refuse = db.reducer({ text: t.string() }, (_ctx, { text }) => {
    throw new SenderError(text);
  });
  export const crash = db.reducer({ text: t.string() }, (_ctx, { text }) => {
    throw new TypeError(text);
  });
  export const spin = db.reducer({ text: t.string() }, (_ctx, { text }) => {
    for (let turns = 0; turns >= 0; turns += text.length) turns -= text.length;
  });
  export const fill = db.reducer({ text: t.string() }, (_ctx, { text }) => {
    const kept: string[][] = [];
    for (;;) kept.push(Array.from({ length: 1_000_000 }, (_, at) => text + at));
  });
`;

let sandbox: Sandbox;
let service: RunningService;
let owner: Person;
let stranger: Person;

/** Every secret that was sent, with where. */
const secrets = new Map<string, string>();

/** A new secret, as a text that stands nowhere else. */
function secret(where: string): string {
  const text = `xyzzy${secrets.size}q${Math.random().toString(36).slice(2)}`;
  secrets.set(text, where);
  return text;
}

function keepToken(person: Person, whose: string): Person {
  // The head is the same in all tokens of a host.
  secrets.set(person.token.split('.').slice(1).join('.'), `claims of ${whose}`);
  secrets.set(person.token.split('.')[2] ?? '', `signature of ${whose}`);
  return person;
}

interface Sent {
  readonly as?: Person;
  readonly headers?: Record<string, string>;
  readonly body?: string | Uint8Array<ArrayBuffer>;
}

async function send(method: string, where: string, { as, headers, body }: Sent = {}) {
  const all: Record<string, string> = { 'content-type': 'application/json', ...headers };
  if (as !== undefined) all.authorization = `Bearer ${as.token}`;
  const init: RequestInit = { method, headers: all, ...(body !== undefined && { body }) };
  const answer = await fetch(`${sandbox.url}${where}`, init);
  return { status: answer.status, text: await answer.text() };
}

const database = '/v1/database/safe';
const call = (reducer: string, args: unknown, as = owner) =>
  send('POST', `${database}/call/${reducer}`, { as, body: JSON.stringify(args) });
const sql = (statement: string, as = owner) =>
  send('POST', `${database}/sql`, { as, body: statement });

beforeAll(async () => {
  sandbox = await Sandbox.make();
  const flags = ['--log-level', 'trace', '--call-timeout', '400', '--heap-limit', '64'];
  service = await sandbox.start(flags);
  const person = async () => JSON.parse((await send('POST', '/v1/identity')).text) as Person;
  owner = keepToken(await person(), 'the owner');
  stranger = keepToken(await person(), 'a stranger');
  const bundle = readFileSync(await writeBundle(sandbox, 'safe', source));
  const where = `${database}?host_type=Js`;
  const body = new Uint8Array(bundle);
  expect((await send('PUT', where, { as: owner, body })).status).toBe(200);
  expect((await send('PUT', where, { as: stranger, body })).status).toBe(403);
}, 90_000);
afterAll(() => sandbox.remove());

describe('[cli 8] secrets', () => {
  it('come by calls', async () => {
    expect((await call('keep', [1, secret('argument of a call')])).status).toBe(200);
    expect((await call('keep', [1, secret('argument of a call that fails')])).status).toBe(530);
    expect((await call('refuse', [secret('words of a refusal')])).status).toBe(530);
    expect((await call('crash', [secret('words of a crash')])).status).toBe(530);
    expect((await call('keep', [secret('argument of a wrong type'), 1])).status).toBe(400);
    expect((await call('keep', { text: secret('arguments of a wrong shape') })).status).toBe(400);
    const bad = { as: owner, body: `["${secret('what is no JSON')}` };
    expect((await send('POST', `${database}/call/keep`, bad)).status).toBe(400);
    await call('nothing', [secret('argument of an unknown reducer')]);
    expect((await call('spin', [secret('argument of an endless call')])).status).not.toBe(200);
    expect((await call('fill', [secret('argument of a greedy call')])).status).not.toBe(200);
    await expect
      .poll(async () => (await sql('SELECT id FROM vault')).status, { timeout: 20_000 })
      .toBe(200);
  }, 90_000);

  it('come by SQL', async () => {
    const literal = (where: string) => `'${secret(where)}'`;
    const insert = (text: string) => sql(`INSERT INTO vault (id, text) VALUES (2, ${text})`);
    expect((await insert(literal('row of a statement'))).status).toBe(200);
    expect((await insert(literal('row that is there already'))).status).toBe(400);
    await sql(`SELECT * FROM vault WHERE text = ${literal('literal of a query')}`);
    await sql(`SELEC ${literal('literal of a typo')}`);
    await sql(`SELECT * FROM vault WHERE id = ${literal('literal of a wrong type')}`);
    await sql(`SELECT ${secret('name of a column')} FROM vault`);
    await sql(`SELECT * FROM vault WHERE text = ${literal('literal of a stranger')}`, stranger);
    await sql(`DELETE FROM vault WHERE text = ${literal('a write of a stranger')}`, stranger);
    const params = encodeURIComponent(JSON.stringify([secret('parameter of a query')]));
    await send('POST', `${database}/sql?params=${params}`, {
      as: owner,
      body: 'SELECT * FROM vault WHERE text = ?',
    });
    expect((await sql('SELECT * FROM vault')).text).toContain('xyzzy');
  });

  it('come by tokens, good and bad', async () => {
    const [head = '', claims = ''] = owner.token.split('.');
    const forged = Buffer.from(JSON.stringify({ iss: 'localhost', sub: secret('a claim') }));
    const bad = [
      secret('what is no token'),
      `${head}.${claims}.${secret('a signature')}`,
      `${head}.${forged.toString('base64url')}.AAAA`,
      `${secret('a head')}.${claims}.AAAA`,
    ];
    secrets.set(forged.toString('base64url'), 'forged claims');
    for (const token of bad) {
      const headers = { authorization: `Bearer ${token}` };
      expect((await send('GET', `${database}/names`, { headers })).status).toBe(401);
      expect((await send('GET', `${database}/names?token=${token}`)).status).toBe(401);
    }
    const basic = { authorization: `Basic ${secret('a password')}` };
    expect((await send('GET', `${database}/names`, { headers: basic })).status).toBe(400);
    expect((await send('GET', `${database}?token=${owner.token}`)).status).toBe(200);
    expect((await send('GET', `${database}/logs?token=${stranger.token}`)).status).toBe(403);
    const short = await send('POST', '/v1/identity/websocket-token', { as: owner });
    keepToken(JSON.parse(short.text), 'a short token');
    const body = JSON.stringify({ reducers: ['keep'], tables: ['vault'] });
    const made = await send('POST', `${database}/tokens`, { as: owner, body });
    expect(made.status).toBe(200);
    const limited = keepToken(JSON.parse(made.text), 'a limited token');
    await send('DELETE', database, { as: limited });
    const id = JSON.parse(made.text).id as string;
    expect((await send('DELETE', `${database}/tokens/${id}`, { as: owner })).status).toBe(200);
    expect((await send('GET', database, { as: limited })).status).toBe(401);
    await send('GET', `/v1/nowhere?key=${secret('query of an unknown path')}`);
    const odd = { 'x-api-key': secret('a header'), cookie: secret('a cookie') };
    await send('GET', '/v1/ping', { headers: odd });
  });

  it('come by WebSockets and MCP', async () => {
    const open = (token: string) =>
      SocketClient.open(sandbox.url, 'safe', {
        protocols: ['v1.json.spacetimedb'],
        query: `token=${token}`,
      });
    const client = await open(owner.token);
    const args = JSON.stringify([7, secret('argument over a WebSocket')]);
    const message = { reducer: 'keep', args, request_id: 1, flags: 0 };
    client.send(JSON.stringify({ CallReducer: message }));
    await client.frame();
    const query = `SELECT * FROM vault WHERE text = '${secret('a subscription')}'`;
    const subscribe = { query_strings: [query], request_id: 2 };
    client.send(JSON.stringify({ Subscribe: subscribe }));
    await client.frame();
    client.send(`{"CallReducer": ${secret('a broken message')}`);
    await client.ended;
    const other = SocketClient.begin(sandbox.url, 'safe', { query: `token=${secret('no token')}` });
    other.socket.on('error', () => undefined);
    await other.ended;

    const tool = (name: string, given: object) =>
      send('POST', `${database}/mcp`, {
        as: owner,
        body: JSON.stringify({
          jsonrpc: '2.0',
          id: 1,
          method: 'tools/call',
          params: { name, arguments: given },
        }),
      });
    await tool('sql', { query: `SELECT '${secret('SQL of an agent')}'` });
    await tool('call_reducer', { reducer: 'keep', args: [9, secret('argument of an agent')] });
    await tool(secret('name of a tool'), { what: secret('argument of no tool') });
    await send('POST', `${database}/mcp`, { as: owner, body: `{"a": ${secret('broken MCP')}` });
  });

  it('come by programs', async () => {
    const where = '/v1/database/other?host_type=Js';
    const body = `throw new Error('${secret('what a program says')}')`;
    expect((await send('PUT', where, { as: owner, body })).status).toBe(500);
    const broken = `const broken = '${secret('text of a broken program')}`;
    expect((await send('PUT', where, { as: owner, body: broken })).status).toBe(500);
    const folder = writeModule(
      sandbox,
      'init',
      `
      ${itemsModule()}
      export const first = db.init(() => {
        throw new Error('${secret('words of a failing init')}');
      });
    `,
    );
    const { code } = await sandbox.run(['publish', 'third', '-y', '-p', folder]);
    expect(code).toBe(1);
  }, 90_000);

  it('stand in no log', async () => {
    const lines = (await send('GET', `${database}/logs`, { as: owner })).text.split('\n');
    const ofHost = lines.filter((line) => line.includes('"target":"__spacetimedb__"'));
    expect(ofHost.length).toBeGreaterThan(3);
    expect(await service.stop()).toBe(0);
    const audit = path.join(sandbox.folder, 'root/data/audit');
    const audited = readdirSync(audit).map((name) => readFileSync(path.join(audit, name), 'utf8'));
    const logs = { service: service.output, audit: audited.join(''), host: ofHost.join('\n') };
    expect(secrets.size).toBeGreaterThan(40);
    const found = [...secrets].flatMap(([text, where]) =>
      Object.entries(logs)
        .filter(([, log]) => log.includes(text))
        .map(([name]) => `${where}: in the log of the ${name}`),
    );
    expect(found).toEqual([]);
    // The logs are not empty for that.
    for (const words of ['done: create database', 'refused: update database', 'stopped']) {
      expect(service.output).toContain(words);
    }
    expect(service.output).toContain('is reopened');
    expect(logs.audit).toContain('"revoke token"');
    for (const line of service.output.split('\n').filter((text) => text.startsWith('{'))) {
      expect(JSON.parse(line)).toMatchObject({ level: expect.any(Number), msg: expect.anything() });
    }
  });
});

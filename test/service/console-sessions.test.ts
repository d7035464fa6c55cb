import { once } from 'node:events';
import { mkdtempSync, readdirSync, readFileSync, rmSync } from 'node:fs';
import { get, type IncomingMessage } from 'node:http';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { limits } from '../../src/limits.ts';
import type { GivenConfiguration } from '../../src/service/configuration.ts';
import { writeConsole } from './console-folder.ts';
import { type Answer, type Ask, type Person, Running } from './running.ts';
import { SocketClient, V2Reader } from './socket-client.ts';
import { writtenFrom } from './written-module.ts';

/** How a browser becomes somebody, by a code that counts once. */

const module = `
  import { schema, t, table } from 'reducerdb/server';
  const db = schema({ note: table({ public: true }, { id: t.u32().primaryKey() }) });
  export default db;
`;

const folder = mkdtempSync(path.join(tmpdir(), 'reducerdb-sessions-'));
const given: GivenConfiguration = {
  consoleDirectory: writeConsole(path.join(folder, 'console')),
  dataDirectory: path.join(folder, 'data'),
  trustedProxies: ['127.0.0.1'],
};
let running: Running;
let owner: Person;

beforeAll(async () => {
  running = await Running.start(given);
  owner = await running.person();
  expect((await running.upload('shop', await writtenFrom(module), owner)).status).toBe(200);
}, 180_000);
afterAll(async () => {
  await running.pause();
  rmSync(folder, { recursive: true });
});

const ofJson = { 'content-type': 'application/json' };
const askForCode = (as: Person | undefined, more: Ask = {}) =>
  running.ask('POST', '/v1/console/codes', { ...more, as });

async function codeOf(as: Person): Promise<string> {
  return JSON.parse((await askForCode(as)).text).code;
}

function redeem(code: unknown, headers: Record<string, string> = {}): Promise<Answer> {
  const body = JSON.stringify({ code });
  return running.ask('POST', '/v1/console/sessions', { body, headers: { ...ofJson, ...headers } });
}

async function sessionFor(as: Person): Promise<Person & { readonly expires_at: string }> {
  const { status, text } = await redeem(await codeOf(as));
  if (status !== 200) throw new Error(text);
  return JSON.parse(text);
}

const end = (as: Person) => running.ask('DELETE', '/v1/console/sessions/current', { as });
const roleOf = async (as: Person) => {
  const { status, text } = await running.ask('GET', '/v1/database/shop/rights', { as });
  return status === 200 ? JSON.parse(text).role : `${status} ${text}`;
};

const claimsOf = ({ token }: Person) =>
  JSON.parse(Buffer.from(token.split('.')[1] ?? '', 'base64url').toString());

it('[http 17.6] the audit log has who began a session, from where', async () => {
  const ada = await running.person();
  await sessionFor(ada);
  const lines = readdirSync(path.join(folder, 'data/audit')).flatMap((file) => {
    return readFileSync(path.join(folder, 'data/audit', file), 'utf8')
      .trimEnd()
      .split('\n');
  });
  const notes = lines.map((line) => JSON.parse(line)).filter(({ by }) => by === ada.identity);
  expect(notes).toEqual([
    {
      ...{ action: 'begin session', outcome: 'done', by: ada.identity, with: 'token' },
      ...{ from: expect.stringContaining('127.0.0.1'), time: expect.any(String) },
    },
  ]);
});

describe('[http 17.5] a code', () => {
  it('is for who asks with a token, and leads to the page in a fragment', async () => {
    const answer = await askForCode(owner);
    const { code, expires_at: until, path: where } = JSON.parse(answer.text);
    expect(where).toBe(`/console/#code=${code}`);
    const left = Date.parse(until) - Date.now();
    expect(left).toBeGreaterThan(0);
    expect(left).toBeLessThanOrEqual(limits.consoleCodeMillis);
    expect(answer.headers.get('cache-control')).toBe('no-store');
    expect((await askForCode(undefined)).status).toBe(401);
    const inAddress = `/v1/console/codes?token=${owner.token}`;
    expect((await running.ask('POST', inAddress)).status).toBe(401);
  });

  it('counts once', async () => {
    const code = await codeOf(owner);
    expect((await redeem(code)).status).toBe(200);
    const again = await redeem(code);
    expect([again.status, again.text]).toEqual([
      401,
      expect.stringContaining('it was used, or is older than 60 s'),
    ]);
  });

  it('is text in a JSON body, and nothing else will do', async () => {
    const code = await codeOf(owner);
    const plain = await running.ask('POST', '/v1/console/sessions', {
      body: JSON.stringify({ code }),
      headers: { 'content-type': 'text/plain' },
    });
    expect(plain.status).toBe(415);
    for (const other of [7, null, ['x']]) expect((await redeem(other)).status).toBe(422);
    expect((await running.ask('POST', `/v1/console/sessions?code=${code}`)).status).toBe(422);
    expect((await redeem('guessed')).status).toBe(401);
    expect((await redeem(code)).status).toBe(200);
  });

  it('is not for limited tokens, nor for a session or what stands in for a token', async () => {
    const agent = await running.agent('shop', {}, owner);
    const limited = await askForCode(agent);
    expect([limited.status, limited.text]).toEqual([
      403,
      expect.stringMatching(/^A limited token/),
    ]);
    const session = await askForCode(await sessionFor(owner));
    expect([session.status, session.text]).toEqual([
      403,
      'A session of the console cannot begin another',
    ]);
    const standIn = await running.ask('POST', '/v1/identity/websocket-token', { as: owner });
    const { token } = JSON.parse(standIn.text);
    expect((await askForCode({ ...owner, token })).status).toBe(403);
  });

  it('is worth nothing once the token is revoked with which it was asked for', async () => {
    const somebody = await running.person();
    const code = await codeOf(somebody);
    await running.ask('POST', '/v1/identity/revoke', { as: somebody });
    expect((await askForCode(somebody)).status).toBe(401);
    const answer = await redeem(code);
    expect([answer.status, answer.text]).toEqual([401, 'Invalid token: Revoked']);
  });
});

describe('[rulings 1.4] codes cross no open network', () => {
  const away = { 'x-forwarded-for': '203.0.113.5' };

  it('and no console that is not served to the client', async () => {
    for (const answer of [await askForCode(owner, { headers: away }), await redeem('x', away)]) {
      expect(answer.status).toBe(403);
      expect(answer.text).toContain('served on the machine of the service only');
    }
  });

  it('over a proxy they need TLS, as the proxy says', async () => {
    const port = running.service.address.port;
    await running.pause();
    const listen = { host: '127.0.0.1', port };
    running = await Running.start({ ...given, listen, console: 'on' });
    const text = 'Signing in to the console takes TLS';
    const open = [away, { ...away, 'x-forwarded-proto': 'https, http' }];
    for (const headers of open) {
      for (const answer of [await askForCode(owner, { headers }), await redeem('x', headers)]) {
        expect([answer.status, answer.text]).toEqual([403, expect.stringContaining(text)]);
      }
    }
    const headers = { ...away, 'x-forwarded-proto': 'https' };
    const { code } = JSON.parse((await askForCode(owner, { headers })).text);
    expect((await redeem(code, headers)).status).toBe(200);
  });

  it('what says so is believed of a trusted proxy alone', async () => {
    await running.pause();
    running = await Running.start({ ...given, console: 'on', trustedProxies: [] });
    const headers = { ...away, 'x-forwarded-proto': 'https' };
    expect((await askForCode(owner, { headers })).status).toBe(403);
    expect((await askForCode(owner)).status).toBe(200);
    await running.pause();
    running = await Running.start(given);
  });

  it('and nobody signs in where the console is off', async () => {
    const off = await Running.start({ console: 'off' });
    const somebody = await off.person();
    expect((await off.ask('POST', '/v1/console/codes', { as: somebody })).status).toBe(404);
    await off.stop();
  });
});

describe('[http 17.6, console 1.3] a session', () => {
  it('is the caller itself, for 12 hours, by a token of this host', async () => {
    const session = await sessionFor(owner);
    expect(session.identity).toBe(owner.identity);
    const left = (Date.parse(session.expires_at) - Date.now()) / 1_000;
    expect(left).toBeGreaterThan(12 * 3_600 - 60);
    expect(left).toBeLessThanOrEqual(12 * 3_600);
    expect(await roleOf(session)).toBe('owner');
    const { sub, iss } = claimsOf(owner);
    expect(claimsOf(session)).toMatchObject({ sub, iss, jti: expect.any(String) });
    expect(Date.parse(session.expires_at)).toBe(claimsOf(session).exp * 1_000);
  });

  it('ends when it is ended, and nothing else does', async () => {
    const [session, other] = [await sessionFor(owner), await sessionFor(owner)];
    expect((await end(session)).status).toBe(200);
    expect(await roleOf(session)).toBe('401 Invalid token: Revoked');
    expect((await end(session)).status).toBe(401);
    expect(await roleOf(other)).toBe('owner');
    expect(await roleOf(owner)).toBe('owner');
    const notOne = await end(owner);
    expect([notOne.status, notOne.text]).toEqual([
      400,
      'This token is not that of a session of the console',
    ]);
  });

  it('ends with the token with which it began, for its connections too', async () => {
    const somebody = await running.person();
    const session = await sessionFor(somebody);
    const { url } = running.service;
    const standIn = await running.ask('POST', '/v1/identity/websocket-token', { as: session });
    const { token } = JSON.parse(standIn.text);
    const query = `token=${token}`;
    const client = await SocketClient.open(url, 'shop', { query });
    await new V2Reader(client).expect('initialConnection');
    await running.ask('POST', '/v1/identity/revoke', { as: somebody });
    expect(await client.ended).toEqual({ code: 1008, reason: 'token revoked' });
    expect(await roleOf(session)).toBe('401 Invalid token: Revoked');
    expect(await roleOf({ ...session, token })).toBe('401 Invalid token: Revoked');
  });

  it('survives a restart, and so does its end; a code does not', async () => {
    const [kept, ended] = [await sessionFor(owner), await sessionFor(owner)];
    const code = await codeOf(owner);
    await end(ended);
    await running.pause();
    running = await Running.start(given);
    expect(await roleOf(kept)).toBe('owner');
    expect(await roleOf(ended)).toBe('401 Invalid token: Revoked');
    expect((await redeem(code)).status).toBe(401);
  });

  it('is no longer than the tokens of the host, nor than the token it began with', async () => {
    const short = await Running.start({ tokenSeconds: 600, consoleDirectory: folder });
    const as = await short.person();
    const { code } = JSON.parse((await short.ask('POST', '/v1/console/codes', { as })).text);
    const body = JSON.stringify({ code });
    const answer = await short.ask('POST', '/v1/console/sessions', { body, headers: ofJson });
    const left = Date.parse(JSON.parse(answer.text).expires_at) - Date.now();
    expect(left).toBeLessThanOrEqual(600_000);
    await short.stop();
  });
});

describe('[http 17.5] who tries too often', () => {
  it('has to wait', async () => {
    const busy = await Running.start({ consoleDirectory: folder });
    const statuses = new Set<number>();
    let waiting: Answer | undefined;
    for (let count = 0; count <= 4 * limits.consoleSignInsAtOnce; count += 1) {
      const body = JSON.stringify({ code: `guess ${count}` });
      const answer = await busy.ask('POST', '/v1/console/sessions', { body, headers: ofJson });
      statuses.add(answer.status);
      if (answer.status !== 429) continue;
      waiting = answer;
      break;
    }
    expect([...statuses]).toEqual([401, 429]);
    expect(Number(waiting?.headers.get('retry-after'))).toBeGreaterThan(0);
    await busy.stop();
  });

  it('does not wait for logins, which any page can send a browser to', async () => {
    const calm = await Running.start({ consoleDirectory: folder });
    const as = await calm.person();
    const statusOf = async (where: string, headers: Record<string, string>) => {
      // `fetch` writes these headers itself.
      const request = get(`${calm.service.url}${where}`, { headers });
      const [response] = (await once(request, 'response')) as [IncomingMessage];
      response.resume();
      return response.statusCode ?? 0;
    };
    const image = { 'sec-fetch-site': 'cross-site', 'sec-fetch-mode': 'no-cors' };
    const frame = { 'sec-fetch-site': 'same-site', 'sec-fetch-mode': 'navigate' };
    const visit = { 'sec-fetch-site': 'cross-site', 'sec-fetch-mode': 'navigate' };
    const login = '/v1/console/login';
    expect(await statusOf(login, { ...image, 'sec-fetch-dest': 'image' })).toBe(403);
    expect(await statusOf(login, { ...frame, 'sec-fetch-dest': 'iframe' })).toBe(403);
    const statuses = new Set<number>();
    for (let count = 0; count <= 2 * limits.consoleSignInsAtOnce; count += 1) {
      statuses.add(await statusOf(login, { ...visit, 'sec-fetch-dest': 'document' }));
    }
    // No issuer is set.
    expect([...statuses]).toEqual([404]);
    expect((await calm.ask('POST', '/v1/console/codes', { as })).status).toBe(200);
    await calm.stop();
  });
});

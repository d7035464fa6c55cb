import { createHmac, type KeyObject } from 'node:crypto';
import { request } from 'node:http';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { deriveIdentity } from '../../src/auth/identity.ts';
import { identityToHex } from '../../src/values/identity.ts';
import { signToken, tokenPart } from '../support/sign-token.ts';
import { type Answer, type Person, program, Running } from './running.ts';

let running: Running;
let owner: Person;
let privateKey: KeyObject;

beforeAll(async () => {
  running = await Running.start();
  owner = await running.person();
  privateKey = running.privateKey();
  expect((await running.publish('inn', 'inn', owner)).status).toBe(200);
});
afterAll(() => running.stop());

const seconds = () => Math.floor(Date.now() / 1000);
const hex = (issuer: string, subject: string) => identityToHex(deriveIdentity(issuer, subject));

/** A token signed with the key of the host, whatever it claims. */
function signed(claims: object): string {
  return signToken(privateKey, { iss: 'localhost', sub: 'me', iat: seconds(), ...claims });
}

/** Asks for a database's description with a token in the header. */
const present = (token: string, where = '/v1/database/inn') =>
  running.ask('GET', where, { headers: { authorization: `Bearer ${token}` } });

const callerOf = ({ headers }: Answer) => headers.get('spacetime-identity');

interface RawAnswer {
  readonly status: number | undefined;
  readonly text: string;
  readonly caller: string | undefined;
}

/** A request whose headers go over the wire as they are, repeated and padded ones too. */
function askRaw(headers: readonly [string, string][]): Promise<RawAnswer> {
  return new Promise((resolve, reject) => {
    const url = `${running.service.url}/v1/database/inn`;
    const flat = [['host', 'localhost'], ...headers].flat();
    const outgoing = request(url, { headers: flat }, (incoming) => {
      let text = '';
      incoming.setEncoding('utf8');
      incoming.on('data', (chunk) => {
        text += chunk;
      });
      const caller = incoming.headers['spacetime-identity'];
      incoming.on('end', () =>
        resolve({ status: incoming.statusCode, text, caller: caller?.toString() }),
      );
    });
    outgoing.on('error', reject);
    outgoing.end();
  });
}

describe('a token that is accepted', () => {
  it.each([
    ['expired 30 seconds ago', { exp: -30 }],
    ['expires later', { exp: 3600 }],
  ])('[auth 12] %s', async (_, { exp }) => {
    const answer = await present(signed({ exp: seconds() + exp }));
    expect(answer.status).toBe(200);
    expect(callerOf(answer)).toBe(hex('localhost', 'me'));
  });

  it.each([
    ['no end, said', { exp: null }],
    ['an audience', { aud: 'app' }],
    ['several audiences', { aud: ['app', 'other'] }],
    ['the identity it has', { hex_identity: hex('localhost', 'me') }],
    ['a start in the future, which is not looked at', { nbf: 4_000_000_000 }],
  ])('[auth 4.1] has %s', async (_, claims) => {
    const token = signed(claims);
    const answer = await present(token);
    expect(answer.status).toBe(200);
    expect(callerOf(answer)).toBe(hex('localhost', 'me'));
    expect(answer.headers.get('spacetime-identity-token')).toBe(token);
  });

  it('[auth 12, interface 2, 5.1] names another issuer, when this host signed it', async () => {
    const answer = await present(signed({ iss: 'https://other' }));
    expect(callerOf(answer)).toBe(hex('https://other', 'me'));
  });

  it('[auth 2.2] is given again for a minute, with all its claims', async () => {
    const first = signed({ iss: 'https://other', aud: ['app'], role: 'cook', exp: 4_000_000_000 });
    const answer = await running.ask('POST', '/v1/identity/websocket-token', {
      headers: { authorization: `Bearer ${first}` },
    });
    expect(callerOf(answer)).toBeNull();
    const { token } = JSON.parse(answer.text);
    const payload = JSON.parse(Buffer.from(token.split('.')[1], 'base64url').toString());
    expect(payload).toMatchObject({
      iss: 'https://other',
      sub: 'me',
      aud: ['app'],
      role: 'cook',
      hex_identity: hex('https://other', 'me'),
    });
    expect(payload.exp).toBe(payload.iat + 60);
    expect(callerOf(await present(token))).toBe(hex('https://other', 'me'));
  });
});

describe('a token that is refused', () => {
  const long = 'x'.repeat(129);

  it.each([
    ['expired', { exp: 1_700_000_000 }, 'Invalid token: ExpiredSignature'],
    ['has no subject', { sub: undefined }, 'Invalid token: Missing required claim: sub'],
    ['has no issuer', { iss: undefined }, 'Invalid token: Missing required claim: iss'],
    ['has an empty issuer', { iss: '' }, 'Issuer empty'],
    ['has an empty subject', { sub: '' }, 'Subject empty'],
    ['has a long subject', { sub: long }, `Subject too long: "${long}"`],
    ['has a long issuer', { iss: long }, `Issuer too long: "${long}"`],
    ['has no time', { iat: undefined }, /^Invalid token: JSON error: missing field `iat`/],
    ['states another identity', { hex_identity: '0'.repeat(64) }, /^Identity mismatch: token /],
  ])('[auth 4.3] %s', async (_, claims, text) => {
    const answer = await present(signed(claims));
    expect(answer.status).toBe(401);
    expect(answer.text).toEqual(typeof text === 'string' ? text : expect.stringMatching(text));
    expect(answer.headers.get('content-type')).toBe('text/plain; charset=utf-8');
    expect(callerOf(answer)).toBeNull();
    expect(answer.headers.get('spacetime-identity-token')).toBeNull();
  });

  it('[auth 12] expired 61 seconds ago', async () => {
    expect((await present(signed({ exp: seconds() - 62 }))).text).toBe(
      'Invalid token: ExpiredSignature',
    );
  });

  it('[auth 12] was tampered with', async () => {
    const at = owner.token.length - 4;
    const flipped = owner.token[at] === 'A' ? 'B' : 'A';
    const token = owner.token.slice(0, at) + flipped + owner.token.slice(at + 1);
    expect((await present(token)).text).toBe('Invalid token: InvalidSignature');
    const [header, , signature] = owner.token.split('.');
    const claims = tokenPart({ iss: 'localhost', sub: 'root', iat: seconds() });
    const forged = await present(`${header}.${claims}.${signature}`);
    expect(forged.text).toBe('Invalid token: InvalidSignature');
  });

  it('[auth 12] uses the public key as a secret, or no signature', async () => {
    const pem = (await running.ask('GET', '/v1/identity/public-key')).text;
    const claims = tokenPart({ iss: 'localhost', sub: 'root', iat: seconds() });
    const body = `${tokenPart({ typ: 'JWT', alg: 'HS256' })}.${claims}`;
    const signature = createHmac('sha256', pem).update(body).digest('base64url');
    expect(await present(`${body}.${signature}`)).toMatchObject({
      status: 401,
      text: 'Invalid token: InvalidAlgorithm',
    });
    expect((await present(`${tokenPart({ alg: 'none' })}.${claims}.`)).status).toBe(401);
  });

  it('[auth 2.1, interface 5.3] comes from another host, though its identity would be the same', async () => {
    const other = await Running.start();
    const guest = await other.person();
    await other.stop();
    expect(await present(guest.token)).toMatchObject({
      status: 401,
      text: 'Invalid token: InvalidSignature',
    });
  });

  it('[auth 12] on a ping too, where none is fine', async () => {
    expect((await present('x', '/v1/ping')).status).toBe(401);
    expect((await present(owner.token, '/v1/ping')).status).toBe(200);
    expect((await running.ask('GET', '/v1/ping')).status).toBe(200);
  });

  it('[http 1] where tokens are not looked at, nothing is refused', async () => {
    const where = ['/v1/health', '/v1/metrics', '/v1/identity/public-key'];
    where.push(`/v1/identity/${owner.identity}/databases`);
    for (const path of where) expect((await present('x', path)).status).toBe(200);
  });
});

describe('the header', () => {
  it.each([
    ['Basic eA==', 400, 'Authorization is invalid: malformed token'],
    ['Bearer', 400, 'Authorization is invalid: malformed token'],
    ['Bearer   ', 400, 'Authorization is invalid: malformed token'],
    ['', 400, 'Authorization is invalid: malformed token'],
    ['bearer x', 401, 'Invalid token: InvalidToken'],
    ['BEARER x', 401, 'Invalid token: InvalidToken'],
  ])('[auth 12] %j is answered with %i', async (value, status, text) => {
    expect(await askRaw([['Authorization', value]])).toEqual({ status, text, caller: undefined });
  });

  it('[auth 12, interface 5.2] may have more blanks; the first of several counts', async () => {
    const { caller } = await askRaw([['Authorization', `Bearer   ${owner.token}`]]);
    expect(caller).toBe(owner.identity);
    const first = await askRaw([
      ['Authorization', `Bearer ${owner.token}`],
      ['Authorization', 'Bearer x'],
    ]);
    expect(first.caller).toBe(owner.identity);
  });

  it('[auth 12] wins over the query, which is then not looked at', async () => {
    expect(callerOf(await present(owner.token, '/v1/database/inn?token=x'))).toBe(owner.identity);
    expect((await present('x', `/v1/database/inn?token=${owner.token}`)).status).toBe(401);
  });

  it('[http 2.4] may be the query instead, but not of a publish', async () => {
    const where = `/v1/database/inn/logs?num_lines=0&token=${owner.token}`;
    expect((await running.ask('GET', where)).status).toBe(200);
    const body = await program('inn');
    const query = `host_type=Js&policy=BreakClients&token=${owner.token}`;
    const answer = await running.ask('PUT', `/v1/database/inn?${query}`, { body });
    expect(answer.status).toBe(403);
    expect(callerOf(answer)).not.toBe(owner.identity);
  });
});

describe('a caller without a token', () => {
  it('[auth 7, interface 5.5] is somebody new each time, and the same when the token is kept', async () => {
    const one = await running.ask('GET', '/v1/database/inn');
    const two = await running.ask('GET', '/v1/database/inn');
    expect(callerOf(one)).not.toBe(callerOf(two));
    const kept = await present(one.headers.get('spacetime-identity-token') ?? '');
    expect(callerOf(kept)).toBe(callerOf(one));
  });

  it.each([
    ['POST', '/v1/identity/websocket-token'],
    ['GET', `/v1/identity/${'0'.repeat(64)}/verify`],
  ])('[auth 7] is not let into %s %s', async (method, where) => {
    expect(await running.ask(method, where)).toMatchObject({
      status: 401,
      text: 'Authorization required',
    });
  });

  it('[auth 8] may not create databases where the operator says so', async () => {
    const strict = await Running.start({ publishPolicy: 'authenticated' });
    const body = await program('inn');
    const refused = await strict.ask('PUT', '/v1/database/inn?host_type=Js', { body });
    expect(refused.status).toBe(401);
    expect(refused.text).toMatch(/^To create a database, you must be logged in/);
    expect((await strict.ask('GET', '/v1/database/inn')).text).toBe('`inn` not found');
    expect((await strict.publish('inn', 'inn', await strict.person())).status).toBe(200);
    await strict.stop();
  });
});

/** Both the anonymous caller and a known one who is not the owner. */
describe.each(['anonymous', 'stranger'])('%s', (who) => {
  let person: Person | undefined;
  let database: string;

  beforeAll(async () => {
    if (who === 'stranger') person = await running.person();
    database = (await running.ask('GET', '/v1/database/inn/identity')).text;
  });

  const ask = (method: string, path: string, body?: string) => {
    const headers = { 'content-type': 'application/json' };
    const given = body === undefined ? { as: person } : { as: person, body, headers };
    return running.ask(method, `/v1/database/inn${path}`, given);
  };

  it.each<[method: string, path: string, body?: string]>([
    ['GET', ''],
    ['GET', '/identity'],
    ['GET', '/names'],
    ['GET', '/schema?version=9'],
    ['GET', '/schema?version=10'],
    ['POST', '/call/add_person', '["Joe"]'],
    ['POST', '/sql', 'SELECT * FROM person'],
  ])('[auth 7, interface 5.6] may %s %s', async (method, path, body) => {
    expect((await ask(method, path, body)).status).toBe(200);
  });

  it.each([
    ['PUT', '?host_type=Js', 'junk', 'update database'],
    ['POST', '/pre_publish?host_type=Js', 'junk', 'update database'],
    ['PUT', '?host_type=Js&clear=true', 'junk', 'reset database'],
    ['PUT', '/reset?host_type=Js', '', 'reset database'],
    ['DELETE', '', undefined, 'delete database'],
    ['POST', '/lock', undefined, 'delete database'],
    ['POST', '/unlock', undefined, 'delete database'],
    ['GET', '/logs', undefined, 'view module logs'],
    ['GET', '/logs?follow=true', undefined, 'view module logs'],
    ['POST', '/names', 'other', 'rename database'],
  ])('[auth 7, interface 5.6] may not %s %s', async (method, path, body, action) => {
    const answer = await ask(method, path, body);
    const words = `is not authorized to perform action on database ${database}: ${action}`;
    expect(answer).toMatchObject({ status: 403, text: `${callerOf(answer)} ${words}` });
    if (person !== undefined) expect(callerOf(answer)).toBe(person.identity);
  });

  it('[auth 7, interface 5.6] may not replace names, nor write by SQL, nor see private tables', async () => {
    expect(await ask('PUT', '/names', '["x"]')).toMatchObject({
      status: 401,
      text: `{"NotYourDatabase":{"database":"${database}"}}`,
    });
    const write = await ask('POST', '/sql', "DELETE FROM person WHERE name = 'Joe'");
    expect(write).toMatchObject({
      status: 400,
      text: `Caller ${callerOf(write)} is not authorized to run SQL DML statements`,
    });
    for (const table of ['secret', 'st_connection_credentials', 'nothing']) {
      expect(await ask('POST', '/sql', `SELECT * FROM ${table}`)).toMatchObject({
        status: 400,
        text: `no such table: \`${table}\`. If the table exists, it may be marked private.`,
      });
    }
    expect((await running.ask('GET', '/v1/database/inn')).status).toBe(200);
  });
});

import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { openInn } from './inn.ts';
import { askRaw, type RawAnswer } from './raw-http.ts';
import type { Person, Running } from './running.ts';

let running: Running;
let stranger: Person;
let identity: string;

beforeAll(async () => {
  ({ running, stranger, identity } = await openInn());
});
afterAll(() => running.stop());

const usual: Readonly<Record<string, string>> = {
  Connection: 'Upgrade',
  Upgrade: 'websocket',
  'Sec-WebSocket-Version': '13',
  'Sec-WebSocket-Key': 'AAAAAAAAAAAAAAAAAAAAAA==',
  'Sec-WebSocket-Protocol': 'v2.bsatn.spacetimedb',
};

/** A request for a WebSocket; a header that is `undefined` is left out. */
function knock(
  where: string,
  changes: Record<string, string | undefined> = {},
): Promise<RawAnswer> {
  const all = { ...usual, ...changes };
  const headers = Object.entries(all).flatMap(([name, value]): [string, string][] =>
    value === undefined ? [] : [[name, value]],
  );
  return askRaw(running.service.address.port, { target: `/v1/database/${where}`, headers });
}

const noUpgrade = { Connection: undefined, Upgrade: undefined };
const noVersion = { 'Sec-WebSocket-Version': undefined };
const zero = `connection_id=${'0'.repeat(32)}`;
const faults = {
  upgrade: 'This service requires use of the websocket protocol',
  version: "`Sec-WebSocket-Version` header did not include '13'",
  key: '`Sec-WebSocket-Key` header missing',
  zero: 'Invalid connection ID: the all-zeros ConnectionId is reserved.',
  protocol: 'no valid protocol selected',
  name: 'Invalid URL: invalid characters in database name',
};

describe('a request for a WebSocket', () => {
  it('[http 12] is answered with 101, the protocol and the caller', async () => {
    for (const where of ['inn/subscribe', `${identity}/subscribe`, '%69nn/subscribe']) {
      const answer = await knock(where, { Authorization: `Bearer ${stranger.token}` });
      expect(answer.status).toBe(101);
      expect(answer.headers).toMatchObject({
        'sec-websocket-protocol': 'v2.bsatn.spacetimedb',
        'spacetime-identity': stranger.identity,
        'spacetime-identity-token': stranger.token,
      });
    }
  });

  it('[http 12, interface 4.2, 5.4] without a token makes an identity', async () => {
    const { headers } = await knock('inn/subscribe');
    expect(headers['spacetime-identity']).toMatch(/^c200/);
  });

  // Each has all later faults, too: the first one is told.
  it.each<[number, string, string, Record<string, string | undefined>]>([
    [
      400,
      'Authorization is invalid: malformed token',
      'No/subscribe',
      { Authorization: 'Basic x' },
    ],
    [401, 'Invalid token: InvalidToken', 'No/subscribe?token=x&light=1', noVersion],
    [400, faults.name, 'No/subscribe?light=1', noUpgrade],
    [400, faults.name, 'No/subscribe?light=1', noVersion],
    [426, faults.upgrade, 'nobody/subscribe', noUpgrade],
    [426, faults.upgrade, `inn/subscribe?${zero}`, noUpgrade],
    [426, faults.upgrade, 'inn/subscribe', { Upgrade: 'h2c' }],
    [426, faults.upgrade, 'inn/subscribe', { Connection: undefined }],
    [
      400,
      faults.version,
      `nobody/subscribe?${zero}`,
      { ...noVersion, 'Sec-WebSocket-Key': undefined },
    ],
    [400, faults.version, 'inn/subscribe', { 'Sec-WebSocket-Version': '8' }],
    [400, faults.key, `nobody/subscribe?${zero}`, { 'Sec-WebSocket-Key': undefined }],
    [400, faults.zero, `nobody/subscribe?${zero}`, { 'Sec-WebSocket-Protocol': 'x' }],
    [404, '`nobody` not found', 'nobody/subscribe', { 'Sec-WebSocket-Protocol': 'x' }],
    [404, 'No such database.', `${'ab'.repeat(32)}/subscribe`, {}],
    [400, faults.protocol, 'inn/subscribe', { 'Sec-WebSocket-Protocol': 'v9.bsatn.spacetimedb' }],
    [400, faults.protocol, 'inn/subscribe', { 'Sec-WebSocket-Protocol': undefined }],
  ])('[http 12] is refused with %i %s', async (status, text, where, changes) => {
    const { headers, ...answer } = await knock(where, changes);
    expect({ status: answer.status, text: answer.body.toString() }).toEqual({ status, text });
    expect(headers).toMatchObject({
      'content-type': 'text/plain; charset=utf-8',
      'access-control-allow-origin': '*',
      vary: 'origin, access-control-request-method, access-control-request-headers',
    });
    const isKnown = status !== 401 && !text.includes('malformed');
    expect('spacetime-identity' in headers).toBe(isKnown);
    if (status === 426) expect(headers).toMatchObject({ upgrade: 'websocket' });
    if (status === 426) expect(headers.connection?.toLowerCase()).toContain('upgrade');
  });

  it.each([
    'compression=gzip',
    'light=yes',
    'confirmed=1',
    'connection_id=12',
    `connection_id=0x${'1'.repeat(30)}`,
    'confirmed=true&confirmed=true',
  ])('[http 12] [http 2.6] with %s is refused, upgrade or not', async (query) => {
    for (const changes of [{}, noUpgrade]) {
      const { status, body } = await knock(`inn/subscribe?${query}`, changes);
      expect(status).toBe(400);
      expect(body.toString()).toMatch(/^Failed to deserialize query string: /);
    }
  });

  it.each([
    ['v1.json.spacetimedb, v1.bsatn.spacetimedb, v2.bsatn.spacetimedb', 'v2.bsatn.spacetimedb'],
    ['v2.bsatn.spacetimedb, v3.bsatn.spacetimedb', 'v3.bsatn.spacetimedb'],
    ['v1.json.spacetimedb, v1.bsatn.spacetimedb', 'v1.bsatn.spacetimedb'],
    ['other, v1.json.spacetimedb', 'v1.json.spacetimedb'],
  ])('[http 12] that offers %s gets %s', async (offers, chosen) => {
    const { headers } = await knock('inn/subscribe', { 'Sec-WebSocket-Protocol': offers });
    expect(headers['sec-websocket-protocol']).toBe(chosen);
  });

  it('[http 12] elsewhere is answered as if none was made', async () => {
    expect((await knock('inn/identity')).body.toString()).toBe(identity);
    expect((await knock('inn/nothing')).status).toBe(404);
  });
});

describe('a route of a module', () => {
  const notFound = 'Database has not registered a handler for this route';

  it.each(['', '/', '/hello', '/a/b/c', '//', '/x?y=1', '/..'])(
    '[http 13] %j has no handler, whatever the method',
    async (path) => {
      for (const method of ['GET', 'POST', 'PUT', 'PATCH', 'DELETE', 'TRACE', 'PROPFIND']) {
        const target = `/v1/database/inn/route${path}`;
        const { status, body, headers } = await askRaw(running.service.address.port, {
          method,
          target,
        });
        expect({ method, status, text: body.toString() }).toEqual({
          method,
          status: 404,
          text: notFound,
        });
        expect(headers).not.toHaveProperty('spacetime-identity');
      }
    },
  );

  it('[http 13] does not look at tokens, only at the database', async () => {
    const ask = (where: string) =>
      running.ask('GET', `/v1/database/${where}?token=x`, { headers: { authorization: 'Basic' } });
    expect(await ask('inn/route/x')).toMatchObject({ status: 404, text: notFound });
    expect(await ask('nobody/route/x')).toMatchObject({ status: 404, text: '`nobody` not found' });
    expect(await ask('No/route')).toMatchObject({ status: 400, text: faults.name });
    expect(await ask(`${'ab'.repeat(32)}/route/`)).toMatchObject({
      status: 404,
      text: 'No such database.',
    });
    const { status } = await running.ask('GET', '/v1/database/inn/routes');
    expect(status).toBe(404);
  });

  it('[http 13, 2.1] answers OPTIONS as every path does', async () => {
    const answer = await running.ask('OPTIONS', '/v1/database/inn/route/x');
    expect(answer).toMatchObject({ status: 200, text: '' });
    expect(answer.headers.get('access-control-allow-methods')).toBe('*');
  });
});

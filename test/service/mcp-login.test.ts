import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import type { GivenConfiguration } from '../../src/service/configuration.ts';
import { askRaw, type RawAnswer } from './raw-http.ts';
import { type Person, Running } from './running.ts';

/** What a client of MCP is told of where to log in. */

const issuer = 'https://auth.example.com';
const accepted = { accepted: [{ issuer }, { issuer: 'https://other.example.com/realm' }] };
const issuers = accepted.accepted.map((one) => one.issuer);
const wellKnown = '/.well-known/oauth-protected-resource';
const ping = '{"jsonrpc":"2.0","id":1,"method":"ping"}';
const endpoints = ['/v1/mcp', '/v1/database/my-db/mcp', `/v1/database/${'c2'.repeat(32)}/mcp`];

const running = new Map<string, Running>();
const service = (name: string) => {
  const found = running.get(name);
  if (found === undefined) throw new Error(`no service ${name}`);
  return found;
};
beforeAll(async () => {
  const given: Record<string, GivenConfiguration> = {
    plain: {},
    named: { issuers: accepted, allowedHosts: ['a"b'] },
    closed: { issuers: accepted, mcpLogin: true, publicUrl: 'https://db.example.com' },
  };
  for (const [name, options] of Object.entries(given)) {
    running.set(name, await Running.start(options));
  }
});
afterAll(async () => {
  for (const one of running.values()) await one.stop();
});

/** Asks one of the services, by a name that is not its own. */
function ask(
  name: string,
  method: string,
  target: string,
  token?: string,
  host = 'localhost:7000',
): Promise<RawAnswer> {
  const headers: [string, string][] = [
    ['Host', host],
    ['Content-Type', 'application/json'],
  ];
  if (token !== undefined) headers.push(['Authorization', `Bearer ${token}`]);
  const body = method === 'POST' ? { body: ping } : {};
  return askRaw(service(name).service.address.port, { method, target, headers, ...body });
}

async function challengeOf(name: string, target: string, token?: string): Promise<string> {
  const { status, body, headers } = await ask(name, 'POST', target, token);
  expect(headers['content-type']).toBe('text/plain; charset=utf-8');
  expect(headers).not.toHaveProperty('spacetime-identity');
  return `${status} ${body.toString()} | ${headers['www-authenticate']}`;
}

describe('[mcp B10] the metadata of a protected resource', () => {
  it.each(['', ...endpoints])('is at the well-known path before %j', async (path) => {
    const { status, headers, body } = await ask('named', 'GET', wellKnown + path);
    expect(status).toBe(200);
    expect(headers['content-type']).toBe('application/json');
    expect(JSON.parse(body.toString())).toEqual({
      resource: `http://localhost:7000${path}`,
      authorization_servers: issuers,
      bearer_methods_supported: ['header'],
      resource_name: 'reducerdb',
    });
  });

  it('names the public address, where there is one', async () => {
    const { body } = await ask('closed', 'GET', `${wellKnown}/v1/mcp`);
    expect(JSON.parse(body.toString()).resource).toBe('https://db.example.com/v1/mcp');
  });

  it('is not there while no issuer is named', async () => {
    for (const path of ['', ...endpoints]) {
      const { status, body } = await ask('plain', 'GET', wellKnown + path);
      expect({ status, text: body.toString() }).toEqual({ status: 404, text: '' });
    }
  });

  it('is for those paths alone', async () => {
    for (const path of ['/', '/v1', '/v1/mcp/', '/v1/database/my-db', '/v1/database/my-db/sql']) {
      expect((await ask('named', 'GET', wellKnown + path)).status).toBe(404);
    }
    const { status, headers } = await ask('named', 'POST', wellKnown);
    expect({ status, allow: headers.allow }).toEqual({ status: 405, allow: 'GET,HEAD' });
  });

  it('may be read by every page, which names its revision of MCP', async () => {
    const { status, headers } = await ask('named', 'OPTIONS', `${wellKnown}/v1/mcp`);
    expect(status).toBe(200);
    expect(headers['access-control-allow-origin']).toBe('*');
    expect(headers['access-control-allow-headers']).toContain('mcp-protocol-version');
  });

  it('repeats no Host that is none', async () => {
    const answer = await ask('named', 'GET', wellKnown, undefined, 'a"b');
    expect(answer.status).toBe(400);
    expect(answer.body.toString()).toBe('Invalid Host header');
    const stranger = await ask('named', 'GET', wellKnown, undefined, 'c"d');
    expect(stranger.status).toBe(403);
    expect(stranger.body.toString()).not.toContain('c"d');
  });

  it('keeps the bytes of a database name within the path', async () => {
    const path = '/v1/database/a%22%2Fb%20%C3%A4/mcp';
    const { body } = await ask('named', 'GET', wellKnown + path);
    expect(JSON.parse(body.toString()).resource).toBe(`http://localhost:7000${path}`);
    const told = await challengeOf('named', path, 'x');
    expect(told).toContain(`resource_metadata="http://localhost:7000${wellKnown}${path}"`);
  });
});

describe('[mcp B10] a request with a token that does not count', () => {
  it.each(endpoints)('is told at %s where to log in', async (path) => {
    const metadata = `resource_metadata="http://localhost:7000${wellKnown}${path}"`;
    expect(await challengeOf('named', path, 'x')).toBe(
      `401 Invalid token: InvalidToken | Bearer error="invalid_token", ${metadata}`,
    );
    expect(await challengeOf('plain', path, 'x')).toBe(
      '401 Invalid token: InvalidToken | Bearer error="invalid_token"',
    );
  });

  it('without one is served, unless a login is needed', async () => {
    expect((await ask('named', 'POST', '/v1/mcp')).status).toBe(200);
    expect(await challengeOf('closed', '/v1/mcp')).toBe(
      '401 Authorization required | Bearer ' +
        `resource_metadata="https://db.example.com${wellKnown}/v1/mcp"`,
    );
  });
});

describe('[mcp B10] where a login is needed', () => {
  let person: Person;
  beforeAll(async () => {
    person = await service('closed').person();
  });

  it('a token gets in, and the answer names the caller', async () => {
    const { status, headers } = await ask('closed', 'POST', '/v1/mcp', person.token);
    expect({ status, who: headers['spacetime-identity'] }).toEqual({
      status: 200,
      who: person.identity,
    });
  });

  it('the query has no token', async () => {
    const { status } = await ask('closed', 'POST', `/v1/mcp?token=${person.token}`);
    expect(status).toBe(401);
  });

  it('the rest of the service is as open as before', async () => {
    expect((await ask('closed', 'GET', '/v1/database/none/schema?version=9')).status).toBe(404);
  });
});

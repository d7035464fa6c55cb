import { request } from 'node:http';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { type RunningService, Sandbox } from './harness.ts';

/** Which pages may use MCP, on a service that was told of more than its own. */

let sandbox: Sandbox;
let service: RunningService;
beforeAll(async () => {
  sandbox = await Sandbox.make();
  service = await sandbox.start([
    ...['--mcp-host', 'DB.example.com,other.example.com:8443'],
    ...['--mcp-origin', 'https://app.example.com/'],
    ...['--public-url', 'https://outer.example.com:8443'],
  ]);
});
afterAll(async () => {
  await service.stop();
  sandbox.remove();
});

/** What a page is told of before it asks. */
async function preflight(origin: string, wanted: string) {
  const headers = { origin, 'access-control-request-headers': wanted };
  const answer = await fetch(`${sandbox.url}/v1/mcp`, { method: 'OPTIONS', headers });
  const all = Object.fromEntries(answer.headers);
  const allowed = all['access-control-allow-headers']?.split(', ');
  return { status: answer.status, all, allowed };
}

/** Status, message and allowed origin of a ping with this `Host`, and perhaps an `Origin`. */
function ping(host: string, origin?: string, path = '/v1/mcp'): Promise<string> {
  const headers = { host, 'content-type': 'application/json', ...(origin && { origin }) };
  return new Promise((resolve, reject) => {
    const options = { method: 'POST', headers, agent: false };
    const sent = request(`${sandbox.url}${path}`, options, async (answer) => {
      let text = '';
      for await (const chunk of answer) text += chunk;
      const said = JSON.parse(text).error?.message;
      const allowed = answer.headers['access-control-allow-origin'];
      resolve([answer.statusCode, said, allowed].filter((part) => part !== undefined).join(' '));
    });
    sent.on('error', reject);
    sent.end('{"jsonrpc":"2.0","id":1,"method":"ping"}');
  });
}

describe('[mcp B9] the MCP endpoints on loopback', () => {
  it.each([
    ['localhost', undefined, '200'],
    ['127.0.0.1:3000', undefined, '200'],
    ['[::1]:3000', undefined, '200'],
    ['evil.example', undefined, '403 Host not allowed'],
    ['localhost.evil.example', undefined, '403 Host not allowed'],
    ['db.example.com', undefined, '200'],
    ['db.example.com:8443', undefined, '200'],
    ['other.example.com', undefined, '200'],
    ['localhost', 'http://localhost:5173', '200 http://localhost:5173'],
    ['localhost', 'http://evil.example', '403 Origin not allowed'],
    ['localhost', 'null', '403 Origin not allowed'],
    ['localhost', 'https://app.example.com', '200 https://app.example.com'],
    ['localhost', 'http://app.example.com', '403 Origin not allowed'],
    ['localhost', 'https://app.example.com.evil.example', '403 Origin not allowed'],
    // A proxy passes its own name on: its pages are the service's.
    ['db.example.com', 'https://db.example.com', '200 https://db.example.com'],
    ['db.example.com', 'https://evil.example', '403 Origin not allowed'],
    [
      'outer.example.com:8443',
      'https://outer.example.com:8443',
      '200 https://outer.example.com:8443',
    ],
    ['localhost', 'https://outer.example.com:8443', '200 https://outer.example.com:8443'],
    ['localhost', 'http://outer.example.com:8443', '403 Origin not allowed'],
    ['LOCALHOST', undefined, '200'],
    ['localhost', 'http://localhost.evil.example', '403 Origin not allowed'],
    ['localhost', 'http://[::1]:9000', '200 http://[::1]:9000'],
    // A rebinding attack names itself in both.
    ['evil.example', 'http://evil.example', '403 Host not allowed'],
  ])('asked as %s by a page of %s: %s', async (host, origin, expected) => {
    expect(await ping(host, origin)).toBe(expected);
    expect(await ping(host, origin, '/v1/database/any/mcp')).toBe(expected);
  });
});

describe('[mcp B9] what a page may send and read', () => {
  const mcpHeaders = [
    ...['authorization', 'accept', 'content-type', 'mcp-protocol-version', 'mcp-method'],
    ...['mcp-name', 'mcp-session-id', 'last-event-id'],
  ];

  it('the headers of MCP, and those of arguments that it asks for', async () => {
    const wanted = 'content-type,mcp-param-database, Mcp-Param-Row-Count,x-other,mcp-param-';
    const { status, all, allowed } = await preflight('http://localhost:5173', wanted);
    expect(status).toBe(200);
    expect(allowed).toEqual([...mcpHeaders, 'mcp-param-database', 'Mcp-Param-Row-Count']);
    expect(all).toMatchObject({
      'access-control-allow-origin': 'http://localhost:5173',
      'access-control-max-age': '7200',
      vary: 'origin, access-control-request-method, access-control-request-headers',
    });
    expect((await preflight('http://localhost', '')).allowed).toEqual(mcpHeaders);
  });

  it('nothing, from an origin that is not accepted', async () => {
    const { status, all } = await preflight('http://evil.example', 'content-type');
    expect(status).toBe(403);
    expect(Object.keys(all).filter((name) => name.startsWith('access-control'))).toEqual([]);
    expect(all.vary).toContain('origin');
  });

  it('the headers of the answer that say who it is, and where to log in', async () => {
    const headers = { origin: 'http://localhost', authorization: 'Bearer x' };
    const answer = await fetch(`${sandbox.url}/v1/mcp`, { method: 'POST', headers, body: '{}' });
    expect(answer.status).toBe(401);
    expect(answer.headers.get('access-control-expose-headers')?.split(', ')).toEqual([
      ...['mcp-session-id', 'mcp-protocol-version', 'www-authenticate'],
      ...['spacetime-identity', 'spacetime-identity-token'],
    ]);
  });

  it('a refused page that uploads much reads why', async () => {
    const headers = { origin: 'http://evil.example', 'content-type': 'application/json' };
    const body = ' '.repeat(8 * 1024 * 1024);
    const answer = await fetch(`${sandbox.url}/v1/mcp`, { method: 'POST', headers, body });
    expect(answer.status).toBe(403);
    expect(await answer.json()).toEqual({
      jsonrpc: '2.0',
      error: { code: -32600, message: 'Origin not allowed' },
    });
  });
});

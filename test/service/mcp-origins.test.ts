import { request } from 'node:http';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { type RunningService, Sandbox } from './harness.ts';

/** Which pages may use MCP, on a service that was told of more than its own. */

let sandbox: Sandbox;
let service: RunningService;
beforeAll(async () => {
  sandbox = await Sandbox.make();
  service = await sandbox.start([
    ...['--mcp-host', 'DB.example.com,other.example.com'],
    ...['--mcp-origin', 'https://app.example.com/'],
  ]);
});
afterAll(async () => {
  await service.stop();
  sandbox.remove();
});

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

describe('[mcp §B9] the MCP endpoints on loopback', () => {
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
    // A rebinding attack names itself in both.
    ['evil.example', 'http://evil.example', '403 Host not allowed'],
  ])('asked as %s by a page of %s: %s', async (host, origin, expected) => {
    expect(await ping(host, origin)).toBe(expected);
    expect(await ping(host, origin, '/v1/database/any/mcp')).toBe(expected);
  });
});

import { networkInterfaces } from 'node:os';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { makeRoutes, type RoutesOptions } from '../../src/http/routes.ts';
import { askRaw } from './raw-http.ts';
import { program, Running } from './running.ts';

/** Which pages may use the service: each path and the WebSocket, on loopback and elsewhere. */

const routes = makeRoutes({
  metricsFor: 'anyone',
  mcpRules: { login: {} },
} as unknown as RoutesOptions);

const doors = routes.flatMap(({ path, methods, everyMethod }) => {
  const target = path.replace(':db', 'shop').replace('*', 'x').replace(/:\w+/g, 'x');
  const verbs = everyMethod === undefined ? Object.keys(methods) : ['GET', 'POST'];
  return [...verbs, 'OPTIONS'].map((verb) => ({ verb, target }));
});

const json: [string, string] = ['Content-Type', 'application/json'];

const ofUpgrade: [string, string][] = [
  ['Connection', 'Upgrade'],
  ['Upgrade', 'websocket'],
  ['Sec-WebSocket-Version', '13'],
  ['Sec-WebSocket-Key', 'AAAAAAAAAAAAAAAAAAAAAA=='],
  ['Sec-WebSocket-Protocol', 'v2.bsatn.spacetimedb'],
];

interface Asked {
  readonly verb?: string;
  readonly target: string;
  readonly host?: string;
  readonly origin?: string | undefined;
  readonly more?: readonly [string, string][];
}

/** Status and text of the answer, as a request with these headers gets it. */
async function ask(running: Running, { verb = 'GET', target, host, origin, more = [] }: Asked) {
  const named: [string, string][] = origin === undefined ? [] : [['Origin', origin]];
  const headers: [string, string][] = [['Host', host ?? 'localhost'], ...named, ...more];
  const { port } = running.service.address;
  const answer = await askRaw(port, { method: verb, target, headers });
  return { status: answer.status, text: answer.body.toString(), headers: answer.headers };
}

describe('[mcp B9] on loopback', () => {
  let running: Running;
  beforeAll(async () => {
    running = await Running.start();
    await running.upload('shop', await program('examples/chat'), await running.person());
  });
  afterAll(() => running.stop());

  it.each(doors)('$verb $target is closed to pages of strangers', async ({ verb, target }) => {
    const isMcp = target.endsWith('/mcp') && !target.startsWith('/.');
    const more = [json];
    for (const origin of ['http://evil.example', 'null', 'http://localhost.evil.example']) {
      const { status, text, headers } = await ask(running, { verb, target, origin, more });
      expect(status).toBe(403);
      expect(text).toContain(isMcp ? 'Origin not allowed' : '(--allowed-origin ');
      expect(headers).not.toHaveProperty('access-control-allow-origin');
    }
    const rebound = { verb, target, host: 'evil.example:3000', more };
    for (const origin of [undefined, 'http://evil.example:3000']) {
      const { status, text } = await ask(running, { ...rebound, origin });
      expect(status).toBe(403);
      expect(text).toContain(isMcp ? 'Host not allowed' : '(--allowed-host evil.example)');
    }
  });

  it.each(doors)('$verb $target is open to programs and to this machine', async (door) => {
    const { verb, target } = door;
    for (const host of [
      'localhost:3000',
      '127.0.0.1',
      '[::1]:3000',
      '127.0.0.2:3000',
      '0.0.0.0:3000',
    ]) {
      const { text } = await ask(running, { verb, target, host, more: [json] });
      expect(text).not.toMatch(/--allowed|not allowed/);
    }
    for (const origin of ['http://localhost:5173', 'https://127.0.0.1', 'tauri://localhost']) {
      const { text } = await ask(running, { verb, target, origin, more: [json] });
      expect(text).not.toMatch(/--allowed|not allowed/);
    }
  });

  it('publishes nothing for a page that sends a program without asking first', async () => {
    const body = (await program('examples/chat')) as Uint8Array<ArrayBuffer>;
    const headers = { origin: 'https://evil.example', 'content-type': 'text/plain' };
    const answer = await running.ask('PUT', '/v1/database/trap?host_type=Js', { body, headers });
    expect(answer.status).toBe(403);
    expect((await running.ask('GET', '/v1/database/trap')).status).toBe(404);
  });

  it('opens WebSockets for programs and pages of this machine, and for no others', async () => {
    const target = '/v1/database/shop/subscribe';
    const open = { target, more: ofUpgrade };
    expect((await ask(running, open)).status).toBe(101);
    expect((await ask(running, { ...open, origin: 'http://localhost:5173' })).status).toBe(101);
    const evil = await ask(running, { ...open, origin: 'https://evil.example' });
    expect(evil.status).toBe(403);
    expect(evil.text).toBe(
      'Pages of the origin `https://evil.example` may not use this service. To allow them, set ' +
        'http.allowed-origins (--allowed-origin https://evil.example).',
    );
    const rebound = { ...open, host: 'evil.example:3000', origin: 'http://evil.example:3000' };
    expect((await ask(running, rebound)).status).toBe(403);
  });

  it.each<[target: string, more: readonly [string, string][]]>([
    ['/v1/ping', []],
    ['/v1/nothing', []],
    ['/v1/mcp', [json]],
    ['/v1/database/shop/sql', []],
    ['/v1/database/shop/subscribe', []],
    ['/v1/database/shop/subscribe', ofUpgrade],
  ])('[http 2.1] refuses a request with several `Host` headers: %s', async (target, more) => {
    const { port } = running.service.address;
    for (const names of [
      ['localhost', 'localhost'],
      ['localhost', 'evil.example'],
      ['evil.example', 'localhost'],
      ['localhost', '', 'localhost'],
    ]) {
      const hosts = names.map((name, at): [string, string] => [at === 1 ? 'hOST' : 'Host', name]);
      const { status, body } = await askRaw(port, { target, headers: [...hosts, ...more] });
      const text = `The request has ${hosts.length} \`Host\` headers; send exactly one.`;
      expect({ status, text: body.toString() }).toEqual({ status: 400, text });
    }
  });

  it('shows of a name that a stranger made up what can be shown', async () => {
    const host = `e\u001b[31m${'x'.repeat(500)}`;
    const { status, text } = await ask(running, { target: '/v1/ping', host });
    expect(status).toBe(400);
    expect(text).not.toContain('\u001b');
    const long = await ask(running, { target: '/v1/ping', host: 'x'.repeat(500) });
    expect(long.text.length).toBeLessThan(600);
  });
});

describe('[mcp B9] on loopback, with names and pages of the operator', () => {
  let running: Running;
  beforeAll(async () => {
    running = await Running.start({
      allowedOrigins: ['https://app.example.com'],
      allowedHosts: ['db.example.com'],
      mcpHosts: ['agents.example.com'],
      mcpOrigins: ['https://agents.example.com'],
      publicUrl: 'https://outer.example.com',
    });
    await running.upload('shop', await program('examples/chat'), await running.person());
  });
  afterAll(() => running.stop());

  const ping = { verb: 'POST', target: '/v1/mcp', more: [json] };
  const socket = { target: '/v1/database/shop/subscribe', more: ofUpgrade };

  it.each([
    ['localhost', 'https://app.example.com', true],
    ['localhost', 'https://other.example.com', false],
    ['db.example.com', 'https://db.example.com', true],
    ['db.example.com:8443', undefined, true],
    ['agents.example.com', undefined, true],
    ['outer.example.com', 'https://outer.example.com', true],
    ['evil.example', undefined, false],
  ])('the name %s, a page of %s', async (host, origin, isAllowed) => {
    const expected = (status: number) => (isAllowed ? status : 403);
    const { status } = await ask(running, { target: '/v1/ping', host, origin });
    expect(status).toBe(expected(200));
    expect((await ask(running, { ...socket, host, origin })).status).toBe(expected(101));
    expect((await ask(running, { ...ping, host, origin })).status).toBe(expected(400));
  });

  it('a page that is let in to MCP alone gets nowhere else', async () => {
    const origin = 'https://agents.example.com';
    expect((await ask(running, { ...ping, origin })).status).toBe(400);
    expect((await ask(running, { target: '/v1/ping', origin })).status).toBe(403);
    expect((await ask(running, { ...socket, origin })).status).toBe(403);
  });

  it('says `*` to the pages that it lets in', async () => {
    const origin = 'https://app.example.com';
    const { headers } = await ask(running, { target: '/v1/ping', origin });
    expect(headers['access-control-allow-origin']).toBe('*');
  });
});

/** An address of this machine by which others would reach it. */
const outside = Object.values(networkInterfaces())
  .flatMap((addresses) => addresses ?? [])
  .find(({ family, internal }) => family === 'IPv4' && !internal)?.address;

describe.skipIf(outside === undefined)('off loopback', () => {
  const listen = { host: '0.0.0.0', port: 0 };
  const evil = { origin: 'https://evil.example' };
  let body: Uint8Array<ArrayBuffer>;
  beforeAll(async () => {
    body = await program('examples/chat');
  });

  const put = (running: Running, name: string, init: RequestInit) => {
    const { port } = running.service.address;
    const url = `http://${outside}:${port}/v1/database/${name}?host_type=Js`;
    return fetch(url, { method: 'PUT', body, ...init });
  };

  it('a page of strangers may do all but create what strangers may create', async () => {
    const running = await Running.start({ listen, publishPolicy: 'authenticated' });
    const { port } = running.service.address;
    const open = await fetch(`http://${outside}:${port}/v1/ping`, { headers: evil });
    expect(open.status).toBe(200);
    expect(open.headers.get('access-control-allow-origin')).toBe('*');
    const { token } = await running.person();
    const authorization = `Bearer ${token}`;
    const refused = await put(running, 'shop', { headers: { ...evil, authorization } });
    expect(refused.status).toBe(403);
    expect(await refused.text()).toContain('http.allowed-origins');
    expect((await put(running, 'shop', { headers: { authorization } })).status).toBe(200);
    const updated = await put(running, 'shop', { headers: { ...evil, authorization } });
    expect(updated.status).toBe(200);
    await running.stop();
  });

  it('a page may create where the operator has named its origin, or who creates', async () => {
    const named = { publishPolicy: 'anyone' as const, allowedOrigins: [evil.origin] };
    const running = await Running.start({ listen, ...named });
    expect((await put(running, 'shop', { headers: evil })).status).toBe(200);
    const { identity, token } = await running.person();
    await running.pause();
    const publishPolicy = { identities: [BigInt(`0x${identity}`)] };
    const { folder: dataDirectory } = running;
    const listed = await Running.start({ listen, publishPolicy, dataDirectory });
    const headers = { ...evil, authorization: `Bearer ${token}` };
    expect((await put(listed, 'other', { headers })).status).toBe(200);
    await listed.stop();
  });
});

import { createHmac } from 'node:crypto';
import { request as httpRequest } from 'node:http';
import { connect } from 'node:net';
import { afterAll, beforeAll, describe, expect, it, vi } from 'vitest';
import { limits } from '../../src/limits.ts';
import { type Ask, type Person, program, Running } from './running.ts';

const mebibyte = 1024 * 1024;
let running: Running;
let owner: Person;

beforeAll(async () => {
  running = await Running.start({
    budget: { callMillisMax: 4_000 },
    bounds: { bodyIdleMillisMax: 500 },
  });
  owner = await running.person();
  const { status, text } = await running.upload('porter', await program('porter'), owner);
  expect([status, text]).toEqual([200, expect.any(String)]);
});
afterAll(() => running.stop());

const at = (path: string) => `/v1/database/porter/route${path}`;
const ask = (method: string, path: string, given: Ask = {}) => running.ask(method, at(path), given);
const visits = async (): Promise<unknown[]> =>
  (await running.rows('porter', 'SELECT how FROM visit')).map(([how]) => how);

interface Sent {
  readonly method?: string;
  readonly headers?: readonly string[];
  readonly body?: string;
}

interface Received {
  readonly status: number;
  /** Names and values by turns, as they came. */
  readonly headers: readonly string[];
  readonly text: string;
}

/** A request whose target and headers go out as they are given. */
function send(target: string, { method = 'GET', headers = [], body = '' }: Sent = {}) {
  const { port, hostname } = new URL(running.service.url);
  return new Promise<Received>((resolve, reject) => {
    const lines = [
      'host',
      `${hostname}:${port}`,
      'content-length',
      String(body.length),
      ...headers,
    ];
    const outgoing = httpRequest({ port, hostname, method, path: target, headers: lines });
    outgoing.on('error', reject);
    outgoing.on('response', (incoming) => {
      let text = '';
      incoming.on('data', (chunk) => {
        text += chunk;
      });
      incoming.on('end', () =>
        resolve({ status: incoming.statusCode ?? 0, headers: incoming.rawHeaders, text }),
      );
    });
    outgoing.end(body);
  });
}

describe('a request for a handler', () => {
  it('[abi 9.3, http 13] arrives with method, headers in order, version, address and body', async () => {
    const headers = ['X-Two', 'a', 'x-one', '1', 'x-two', 'b', 'Authorization', 'Basic xyz'];
    const { text } = await send(at('/echo?a=%20b&token=mine'), {
      method: 'PUT',
      headers,
      body: 'hi',
    });
    const seen = JSON.parse(text);
    const { host } = new URL(running.service.url);
    expect(seen).toMatchObject({
      method: 'PUT',
      url: `http://${host}${at('/echo?a=%20b&token=mine')}`,
      version: 'Http11',
      params: {},
      body: 'hi',
    });
    expect(seen.uri).toBe(seen.url);
    expect(seen.headers.filter(([name]: string[]) => /^x-|^auth/.test(name ?? ''))).toEqual([
      ['x-two', 'a'],
      ['x-one', '1'],
      ['x-two', 'b'],
      ['authorization', 'Basic xyz'],
    ]);
  });

  it('[abi 9.3, http 13] has the address that a proxy has received', async () => {
    const url = async (...headers: string[]) =>
      JSON.parse((await send(at('/echo'), { headers })).text).url;
    const { host } = new URL(running.service.url);
    const forwarded = ['x-forwarded-proto', 'https, http', 'x-forwarded-host', 'shop.example, b'];
    expect(await url(...forwarded)).toBe(`https://shop.example${at('/echo')}`);
    expect(await url('x-forwarded-proto', 'javascript', 'x-forwarded-host', 'a/b?c')).toBe(
      `http://${host}${at('/echo')}`,
    );
  });

  it.each(['GET', 'PUT', 'PATCH', 'DELETE', 'TRACE', 'PROPFIND'])(
    '[abi 9.3, http 13] can have the method %s',
    async (method) => {
      expect(JSON.parse((await send(at('/echo'), { method })).text).method).toBe(method);
    },
  );

  it('[http 13] as HEAD gets no body, as OPTIONS never arrives', async () => {
    const head = await send(at('/answer?200|70000'), { method: 'HEAD' });
    expect([head.status, head.text]).toEqual([200, '']);
    expect(head.headers).toContain('70000');
    // HEAD is a method of its own.
    expect((await send(at('/board'), { method: 'HEAD' })).status).toBe(404);
    const options = await send(at('/echo'), { method: 'OPTIONS' });
    expect([options.status, options.text]).toEqual([200, '']);
    expect(options.headers).toContain('access-control-allow-methods');
  });

  it('[abi 9.3] has no sender, no connection, and runs no hook', async () => {
    const before = (await visits()).length;
    const { text } = await ask('GET', '/context', { as: owner });
    const { identity, ...seen } = JSON.parse(text);
    expect(seen).toMatchObject({
      hasSender: false,
      sender: '0'.repeat(64),
      connection: null,
      hasJwt: false,
    });
    expect(identity).toBe((await running.ask('GET', '/v1/database/porter/identity')).text);
    expect(Math.abs(seen.time - Date.now())).toBeLessThan(60_000);
    // Looking makes one connection.
    expect(await visits()).toHaveLength(before + 1);
  });

  it('[abi 9.3] reads rows and calls reducers', async () => {
    const { status, headers, text } = await ask('POST', '/board', { body: 'Ada' });
    expect([status, text, headers.get('location')]).toEqual([201, '', '/guests/Ada']);
    expect((await ask('GET', '/board')).text).toContain('Ada');
    expect(await ask('POST', '/board')).toMatchObject({ status: 500, text: 'say who you are' });
  });
});

describe('paths of handlers', () => {
  const found = async (path: string) => {
    const { status, text } = await send(at(path));
    return status === 200 ? (JSON.parse(text).params ?? JSON.parse(text)) : [status, text];
  };
  const notFound = [404, 'Database has not registered a handler for this route'];

  it('[abi 9.3, http 13] are compared literally', async () => {
    expect(await found('')).toEqual({});
    expect(await found('/')).toEqual({});
    expect(await found('/ech%6f')).toEqual({});
    const others = ['//', '/echo/', '//echo', '/Echo', '/./echo', '/x/../echo', '/%2e/echo'];
    for (const path of [...others, '/echo%2F', '/echo;a', '/%00']) {
      expect(await found(path), path).toEqual(notFound);
    }
    // A decoded slash counts as one.
    expect(await found('/guests%2Fme')).toEqual({});
  });

  it('[living 3.1] can have parameters, which come after literal paths', async () => {
    expect(await found('/guests/me')).toEqual({});
    expect(await found('/guests/7')).toEqual({ id: '7' });
    expect(await found('/guests/a%2Fb%20%C3%A9')).toEqual({ id: 'a/b é' });
    expect(await found('/guests/..')).toEqual({ id: '..' });
    expect(await found('/guests/7/rooms/8')).toEqual({ id: '7', room_no: '8' });
  });

  it('[living 3.1] can end with any rest, after all others', async () => {
    expect(await found('/guests/7/rooms/8/9')).toEqual({ '*': '7/rooms/8/9' });
    expect(await found('/guests/')).toEqual({ '*': '' });
    expect(await found('/guests')).toEqual(notFound);
    expect(await found('/files/text/a//b')).toEqual({ kind: 'text', '*': 'a//b' });
    expect(await found('/files//a')).toEqual(notFound);
  });

  it('[abi 9.3] that do not fit, or whose method does not, are a 404', async () => {
    expect(await found('/nowhere')).toEqual(notFound);
    expect(await ask('DELETE', '/board')).toMatchObject({ status: 404, text: notFound[1] });
    const nobody = `/v1/database/c200${'1'.repeat(60)}/route/board`;
    expect(await running.ask('POST', nobody, { body: 'much' })).toMatchObject({
      status: 404,
      text: 'No such database.',
    });
    expect(await found('/%ff')).toEqual([400, 'Invalid URL: Invalid UTF-8 in `path`']);
  });
});

describe('the response of a handler', () => {
  it('[abi 9.3, http 13] keeps status, repeated headers and body', async () => {
    const { status, headers, text } = await send(at('/board'));
    expect([status, text]).toEqual([200, expect.stringContaining('Ada')]);
    const values = (name: string) => headers.filter((_, index) => headers[index - 1] === name);
    expect(values('x-twice')).toEqual(['one', 'two']);
    expect(values('content-type')).toEqual(['text/plain']);
    expect(values('vary')).toEqual([
      'accept-language',
      'origin, access-control-request-method, access-control-request-headers',
    ]);
    expect(values('access-control-allow-origin')).toEqual(['*']);
    expect(headers).not.toContain('spacetime-identity');
    expect(headers).not.toContain('spacetime-identity-token');
  });

  it('[http 13] is isolated, and cannot set what is the origin’s', async () => {
    const query = [
      '200|1|set-cookie=a|Content-Security-Policy=none|service-worker-allowed=/',
      'clear-site-data=*|strict-transport-security=x|nel=x|report-to=x|alt-svc=x|x-kept=yes',
      'connection=upgrade|upgrade=x|content-length=9|transfer-encoding=chunked',
      'access-control-allow-origin=evil|x-content-type-options=none',
    ].join('|');
    const { status, headers, text } = await ask('GET', `/answer?${query}`);
    expect([status, text]).toEqual([200, 'x']);
    expect(headers.get('content-security-policy')).toBe(
      'sandbox allow-scripts allow-forms allow-popups',
    );
    expect(headers.get('x-content-type-options')).toBe('nosniff');
    expect(headers.get('access-control-allow-origin')).toBe('*');
    expect(headers.get('x-kept')).toBe('yes');
    const dropped = ['set-cookie', 'service-worker-allowed', 'clear-site-data', 'nel', 'alt-svc'];
    for (const name of [...dropped, 'strict-transport-security', 'report-to', 'upgrade']) {
      expect(headers.get(name), name).toBeNull();
    }
    await ask('GET', '/answer?200|1|set-cookie=b');
    const warnings = (await running.messages('porter', owner)).filter((line) =>
      line.startsWith('Warn: HTTP handlers cannot set the response headers'),
    );
    expect(warnings).toHaveLength(1);
    expect(warnings[0]).toContain('`set-cookie`, `content-security-policy`');
  });

  it('[living 3.3] goes out in pieces, whole', async () => {
    const { text } = await ask('GET', `/answer?200|${3 * mebibyte}`);
    expect(text).toHaveLength(3 * mebibyte);
  });

  it.each([204, 205, 304])('[http 13] with status %i has no body', async (status) => {
    const received = await send(at(`/answer?${status}|5`));
    expect([received.status, received.text]).toEqual([status, '']);
  });

  it.each([
    ['/answer?99|1', 'its status 99 is not from 200 to 599'],
    ['/answer?101|1', 'its status 101 is not from 200 to 599'],
    ['/answer?1000|1', 'its status 1000 is not from 200 to 599'],
    ['/answer?200|1|a=b%0d%0aset-cookie: c', 'the value of its header `a` has control characters'],
    ['/answer?200|1|a b=c', '`a b` is not the name of a header'],
    [`/answer?200|${16 * mebibyte + 1}`, `its body is ${16 * mebibyte + 1} bytes, more than`],
    [`/answer?200|1${'|a=b'.repeat(300)}`, 'it has 300 headers, more than 256'],
  ])('[abi 9.3, http 13] that cannot be sent is a 500: %#', async (path, fault) => {
    const { status, text } = await ask('GET', path);
    expect(text).toContain(`HTTP handler answer returned an invalid response: ${fault}`);
    expect(status).toBe(500);
  });

  it('[abi 9.3] that is none, or a failure, is a 500 with the text of the error', async () => {
    const cases: [string, string, string][] = [
      [
        'GET',
        '/nonsense',
        'Uncaught TypeError: HTTP handler `nonsense` must return a SyncResponse',
      ],
      ['POST', '/fails', 'Uncaught TypeError: a bug'],
      ['GET', '/answer?a|1', 'Uncaught RangeError: the status of a response must be from 200'],
    ];
    for (const [method, path, words] of cases) {
      const { status, text, headers } = await ask(method, path);
      expect([status, text]).toEqual([500, expect.stringContaining(words)]);
      expect(text).not.toContain('\n');
      expect(headers.get('content-type')).toBe('text/plain; charset=utf-8');
    }
    expect(await ask('POST', '/fails', { body: 'sender' })).toMatchObject({
      status: 500,
      text: 'no, thank you',
    });
    expect(await running.messages('porter', owner)).toContain('Panic: Uncaught TypeError: a bug');
  });

  it('[abi 9.3, living 2.3] that fails keeps what was committed before', async () => {
    expect((await ask('POST', '/halfway')).status).toBe(500);
    const seen = await visits();
    expect([seen.includes('kept'), seen.includes('undone')]).toEqual([true, false]);
  });
});

describe('an asynchronous handler', () => {
  it('[living 2.2, 3.1] answers when its promise is settled', async () => {
    const { status, text } = await ask('GET', '/later/5');
    expect([status, text]).toEqual([202, 'in the end']);
    expect(await visits()).toContain('later');
  });

  it('[abi 9.3] that fails is a 500, too', async () => {
    expect(await ask('GET', '/slip')).toMatchObject({
      status: 500,
      text: 'Uncaught TypeError: a slip',
    });
  });

  it('[living 2.2, 2.8, 3.3] waits without its lane, and learns that its client has left', async () => {
    const count = async (wanted: string) => (await visits()).filter((how) => how === wanted).length;
    const leaving = new AbortController();
    // More than there are lanes: none of them ends before the others have begun.
    const many = Array.from({ length: limits.databaseLanesMax + 2 }, () =>
      fetch(`${running.service.url}${at('/patient')}`, { signal: leaving.signal }),
    );
    await vi.waitUntil(async () => (await count('arrived')) === many.length, { timeout: 30_000 });
    expect(await count('left')).toBe(0);
    leaving.abort();
    for (const { status } of await Promise.allSettled(many)) expect(status).toBe('rejected');
    await vi.waitUntil(async () => (await count('left')) === many.length, { timeout: 30_000 });
  });
});

describe('tokens in requests for handlers', () => {
  it('[living 3.2] are read where the handler asks for them', async () => {
    const { text } = await ask('GET', '/me', { as: owner });
    const seen = JSON.parse(text);
    expect(seen.sender).toBe(owner.identity);
    expect(seen.inside).toBe(owner.identity);
    expect(seen.subject).toEqual(expect.any(String));
    // The module gets the claims, and not what would let it act as the caller.
    expect(seen.authorization).toBeNull();
    expect(await ask('GET', '/me')).toMatchObject({ status: 401, text: 'Authorization required' });
    expect((await ask('GET', '/me?token=x')).status).toBe(401);
    const bad = { headers: { authorization: 'Bearer nonsense' } };
    expect((await ask('GET', '/me', bad)).status).toBe(401);
    const malformed = { headers: { authorization: 'Basic nonsense' } };
    expect((await ask('GET', '/me', malformed)).status).toBe(400);
  });

  it('[living 3.2] can be optional', async () => {
    expect(JSON.parse((await ask('GET', '/perhaps')).text)).toEqual({
      sender: null,
      hasJwt: false,
    });
    expect(JSON.parse((await ask('GET', '/perhaps', { as: owner })).text)).toEqual({
      sender: owner.identity,
      hasJwt: true,
    });
    const bad = { headers: { authorization: 'Bearer nonsense' } };
    expect((await ask('GET', '/perhaps', bad)).status).toBe(401);
  });

  it('[living 3.2] that are limited must list the handler', async () => {
    const listed = await running.agent('porter', { reducers: ['me'] }, owner);
    expect((await ask('GET', '/me', { as: listed })).status).toBe(200);
    expect(await ask('GET', '/perhaps', { as: listed })).toMatchObject({
      status: 403,
      text: 'A limited token must list the handler `perhaps` among its reducers and not be read-only',
    });
    const plain = await running.agent('porter', {}, owner);
    expect((await ask('GET', '/me', { as: plain })).status).toBe(403);
    const reader = await running.agent('porter', { read_only: true, reducers: ['me'] }, owner);
    expect((await ask('GET', '/me', { as: reader })).status).toBe(403);
    await running.ask('DELETE', `/v1/database/porter/tokens/${listed.id}`, { as: owner });
    expect((await ask('GET', '/me', { as: listed })).status).toBe(401);
  });
});

describe('webhooks', () => {
  const signed = (text: string, secret: string) =>
    createHmac('sha256', secret).update(text).digest('hex');

  it('[living 3.5] of GitHub are taken with their signature alone', async () => {
    const body = JSON.stringify({ action: 'opened', text: 'é' });
    const post = (signature: string) =>
      ask('POST', '/hooks/github', {
        body,
        headers: { 'x-hub-signature-256': signature, 'content-type': 'application/json' },
      });
    const right = signed(body, 'It is a secret to everybody');
    expect((await post(`sha256=${right}`)).status).toBe(204);
    expect((await post(`sha256=${signed(body, 'guessed')}`)).status).toBe(401);
    expect((await ask('POST', '/hooks/github', { body })).status).toBe(401);
    expect((await visits()).filter((how) => how === 'github opened')).toHaveLength(1);
  });

  it('[living 3.5] of Stripe are taken once, in time', async () => {
    const body = JSON.stringify({ id: 'evt_1', type: 'charge.succeeded' });
    const post = (time: number) => {
      const signature = `t=${time},v1=${signed(`${time}.${body}`, 'whsec_test')}`;
      return ask('POST', '/hooks/stripe', { body, headers: { 'stripe-signature': signature } });
    };
    const now = Math.floor(Date.now() / 1_000);
    expect(await post(now)).toMatchObject({ status: 200, text: '{"received":true}' });
    expect((await post(now)).status).toBe(200);
    expect((await post(now - 3_600)).status).toBe(401);
    expect((await visits()).filter((how) => String(how).startsWith('stripe'))).toEqual([
      'stripe charge.succeeded evt_1',
    ]);
  });
});

describe('limits of requests for handlers', () => {
  it('[living 3.3] bound the body', async () => {
    const length = limits.handlerBodyBytesMax;
    const full = await ask('POST', '/answer?200|2', { body: new Uint8Array(length) });
    expect([full.status, full.text]).toEqual([200, 'xx']);
    const over = await ask('POST', '/answer?200|2', { body: new Uint8Array(length + 1) }).then(
      ({ status }) => status,
      // The connection is closed while the client still sends.
      () => 413,
    );
    expect(over).toBe(413);
  });

  it('[living 3.3] bound the time for which a body does not come', async () => {
    const { port, hostname } = new URL(running.service.url);
    const socket = connect(Number(port), hostname);
    let text = '';
    socket.on('data', (chunk) => {
      text += chunk;
    });
    socket.write(
      `POST ${at('/echo')} HTTP/1.1\r\nhost: ${hostname}\r\ncontent-length: 9\r\n\r\nab`,
    );
    await vi.waitUntil(() => text.includes('408'), { timeout: 20_000 });
    socket.destroy();
  });

  it('[http 13] bound the headers', async () => {
    const { status } = await send(at('/echo'), { headers: ['x', 'y'.repeat(80_000)] });
    expect(status).toBe(431);
  });

  it('[living 2.6, 3.3] end a handler that runs for ever, and nothing else', async () => {
    const { status, text } = await ask('GET', '/spins');
    expect(text).toBe('The handler ran longer than 4000 ms and was stopped.');
    expect(status).toBe(500);
    expect((await ask('GET', '/board')).status).toBe(200);
  });

  it('[living 2.6, 3.3] count those of one address', async () => {
    const names = Array.from({ length: limits.callerProceduresMax }, () => 'the end');
    const under = names.map((body) => ask('POST', '/waits', { body }));
    await vi.waitUntil(async () => (await ask('POST', '/waits', { body: 'kept' })).status === 429, {
      timeout: 30_000,
    });
    const refused = await ask('GET', '/board');
    expect(refused).toMatchObject({
      status: 429,
      text: '64 of your requests are in flight; try again later',
    });
    expect(refused.headers.get('retry-after')).toBe('1');
    // Identities that a handler asks for count by themselves; those of other handlers do not.
    const own = ask('GET', '/perhaps', { as: owner });
    await running.call('porter', 'note', ['the end']);
    expect((await own).status).toBe(200);
    for (const { status, text } of await Promise.all(under)) {
      expect([status, text]).toEqual([200, 'done']);
    }
  });
});

import type { RequestListener } from 'node:http';
import { createServer as createTlsServer } from 'node:https';
import type { AddressInfo } from 'node:net';
import { gzipSync } from 'node:zlib';
import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest';
import { makeCertificate } from '../../../test/support/certificate.ts';
import {
  blog,
  Requests,
  shop,
  startRawServer,
  startServer,
  type TestServer,
} from '../../../test/support/outbound-requests.ts';
import { limits } from '../../limits.ts';

let server: TestServer;
let answer: RequestListener;
let requests: Requests;

beforeEach(async () => {
  answer = (_request, response) => response.end('hello');
  server = await startServer((request, response) => answer(request, response));
  requests = new Requests([`shop=127.0.0.1:${server.port}`, `blog=127.0.0.1:${server.port}`]);
});
afterEach(() => {
  vi.useRealTimers();
  requests.outbound.close();
  server.stop();
});

const textOf = (bytes: Uint8Array) => Buffer.from(bytes).toString('latin1');

describe('[abi 9.2] a request', () => {
  it('arrives with its method, path, headers and body, and so does the answer', async () => {
    let seen: unknown;
    answer = (request, response) => {
      const chunks: Buffer[] = [];
      request.on('data', (chunk: Buffer) => chunks.push(chunk));
      request.on('end', () => {
        const { method, url, rawHeaders } = request;
        seen = { method, url, rawHeaders, body: Buffer.concat(chunks).toString('latin1') };
        response.writeHead(201, ['Set-Cookie', 'a=1', 'Set-Cookie', 'b=2', 'X-High', 'caf\xe9']);
        response.end('done');
      });
    };
    const outcome = await requests.fetch(`${server.url}/path?q=1#hash`, {
      method: 'POST',
      headers: [
        ['X-One', 'a'],
        ['x-high', '\xe9'],
        ['X-One', 'b'],
      ],
      body: 'body \xff',
    });
    expect(seen).toEqual({
      method: 'POST',
      url: '/path?q=1',
      rawHeaders: [
        ...['Host', `127.0.0.1:${server.port}`],
        ...['X-One', 'a', 'X-One', 'b', 'x-high', '\xe9', 'content-length', '6'],
        ...['Connection', 'keep-alive'],
      ],
      body: 'body \xff',
    });
    if (outcome.kind === 'failed') throw new Error(outcome.message);
    expect(outcome.head).toMatchObject({ code: 201, version: 'HTTP/1.1' });
    const headers = outcome.head.headers.map(({ name, value }) => [name, textOf(value)]);
    expect(headers.slice(0, 3)).toEqual([
      ['set-cookie', 'a=1'],
      ['set-cookie', 'b=2'],
      ['x-high', 'caf\xe9'],
    ]);
    expect(textOf(outcome.body)).toBe('done');
  });

  it('has a body and a host of its own, whatever the headers say', async () => {
    let seen: string[] = [];
    answer = (request, response) => {
      seen = request.rawHeaders.map((one) => one.toLowerCase());
      request.resume().on('end', () => response.end());
    };
    const headers = [
      ['Host', 'inner.example'],
      ['Content-Length', '999'],
      ['Transfer-Encoding', 'chunked'],
      ['Connection', 'upgrade'],
      ['Upgrade', 'websocket'],
      ['Expect', '100-continue'],
      ['TE', 'trailers'],
    ] as const;
    expect(await requests.said(server.url, { method: 'PUT', headers, body: 'abc' })).toBe('200 ');
    expect(seen).toEqual([
      ...['host', `127.0.0.1:${server.port}`, 'content-length', '3', 'connection', 'keep-alive'],
    ]);
  });

  it.each([
    ['GET', '', undefined],
    ['DELETE', '', undefined],
    ['POST', '', '0'],
    ['GET', 'x', '1'],
  ])('%s with the body "%s" has the length %s', async (method, body, length) => {
    let seen: string | undefined;
    answer = (request, response) => {
      seen = request.headers['content-length'];
      request.resume().on('end', () => response.end());
    };
    expect(await requests.said(server.url, { method, body })).toBe('200 ');
    expect(seen).toBe(length);
  });

  it.each([204, 304, 400, 404, 500, 503])('is answered with %i, too', async (status) => {
    answer = (_request, response) => response.writeHead(status).end();
    expect(await requests.said(server.url)).toBe(`${status} `);
  });

  it('is answered without a body for HEAD', async () => {
    answer = (_request, response) => response.writeHead(200, { 'content-length': 2 ** 40 }).end();
    expect(await requests.said(server.url, { method: 'HEAD' })).toBe('200 ');
  });

  it('gets a compressed body as it is', async () => {
    const bomb = gzipSync(Buffer.alloc(64 * 2 ** 20));
    answer = ({ headers }, response) => {
      expect(headers['accept-encoding']).toBeUndefined();
      response.writeHead(200, { 'content-encoding': 'gzip' }).end(bomb);
    };
    const outcome = await requests.fetch(server.url);
    if (outcome.kind === 'failed') throw new Error(outcome.message);
    expect(Buffer.compare(outcome.body, bomb)).toBe(0);
    const header = outcome.head.headers.find(({ name }) => name === 'content-encoding');
    expect(textOf(header?.value ?? new Uint8Array())).toBe('gzip');
  });

  it.each([
    ['nonsense', /^error sending request: the URL is not valid$/],
    ['/relative', /^error sending request: the URL is not valid$/],
    ['ftp://127.0.0.1/', /for url \(ftp:\/\/127.0.0.1\/\): the URL is not http or https$/],
    ['file:///etc/passwd', /the URL is not http or https$/],
    ['http://user:secret@127.0.0.1/', /for url \(http:\/\/127.0.0.1\/\): the URL has a user/],
  ])('is not sent to %s', async (uri, text) => {
    expect(await requests.said(uri)).toMatch(text);
  });

  it.each([
    ['of that method', { method: 'CONNECT' }, 'the method CONNECT is not available'],
    ['of that method in small letters', { method: 'connect' }, 'the method CONNECT'],
    ['of no method', { method: 'GE T' }, 'Method must be a valid HTTP token'],
    ['with a wrong name', { headers: [['a b', 'c']] }, 'Header name must be a valid HTTP token'],
    ['with a line break', { headers: [['a', 'b\r\nc: d']] }, 'Invalid character in header content'],
    [
      'with a long head',
      { headers: [['a', 'x'.repeat(65_536)]] },
      'URL and headers are longer than 64 KiB',
    ],
    [
      'with a large body',
      { body: new Uint8Array(16 * 2 ** 20 + 1) },
      'the body is larger than 16 MiB',
    ],
  ] as const)('is not sent %s', async (_, wanted, text) => {
    expect(await requests.said(server.url, wanted)).toContain(text);
    expect(server.sockets).toHaveLength(0);
  });

  it('fails with what went wrong, without the query of the URL', async () => {
    const { port } = server;
    server.stop();
    const url = `http://127.0.0.1:${port}/a/b`;
    expect(await requests.said(`${url}?key=secret#x`)).toBe(
      `error sending request for url (${url}): connect ECONNREFUSED 127.0.0.1:${port}`,
    );
  });

  it('fails where a certificate is not trusted', async () => {
    const { cert, key } = makeCertificate();
    const tls = createTlsServer({ cert, key }, (_request, response) => response.end());
    await new Promise<void>((done) => tls.listen(0, '127.0.0.1', done));
    const { port } = tls.address() as AddressInfo;
    const open = new Requests([`shop=127.0.0.1:${port}`]);
    expect(await open.said(`https://127.0.0.1:${port}/`)).toMatch(/: self-signed certificate/);
    open.outbound.close();
    tls.close();
  });

  it('is not sent while requests are off', async () => {
    const off = new Requests(undefined, { rules: { mode: 'off', allow: [] } });
    expect(off.outbound.isEnabled).toBe(false);
    expect(await off.said(server.url)).toBe('module outbound HTTP requests are disabled');
    expect(await off.said('nonsense')).toBe('module outbound HTTP requests are disabled');
  });
});

describe('[abi 9.2] a redirect', () => {
  const redirectAll = (location: (path: string) => string | undefined, status = 307) => {
    answer = ({ url = '' }, response) => {
      const to = location(url);
      if (to === undefined) response.end(url);
      else response.writeHead(status, { location: to }).end('moved');
    };
  };

  it('is followed, is the response, or is an error, as the request says', async () => {
    redirectAll((path) => (path === '/a' ? '/b' : undefined));
    const url = `${server.url}/a`;
    expect(await requests.fetch(url)).toMatchObject({ url: `${server.url}/b`, isRedirected: true });
    expect(await requests.fetch(`${server.url}/c`)).toMatchObject({ isRedirected: false });
    const manual = { url, isRedirected: false, head: { code: 307 } };
    expect(await requests.fetch(url, { redirect: 'manual' })).toMatchObject(manual);
    const why = 'the server redirects, which was not allowed';
    const text = `error sending request for url (${url}): ${why}`;
    expect(await requests.said(url, { redirect: 'error' })).toBe(text);
    expect(await requests.said(`${server.url}/c`, { redirect: 'error' })).toBe('200 /c');
  });

  it('is followed ten times, and not eleven', async () => {
    const next = (last: number) => (path: string) =>
      Number(path.slice(1)) < last ? `/${Number(path.slice(1)) + 1}` : undefined;
    redirectAll(next(10));
    expect(await requests.said(`${server.url}/0`)).toBe('200 /10');
    redirectAll(next(11));
    expect(await requests.said(`${server.url}/0`)).toBe(
      `error sending request for url (${server.url}/10): too many redirects`,
    );
  });

  it.each([
    [301, 'POST', 'GET '],
    [302, 'POST', 'GET '],
    [303, 'POST', 'GET '],
    [303, 'PUT', 'GET '],
    [303, 'HEAD', 'HEAD '],
    [302, 'PUT', 'PUT body text/plain'],
    [307, 'POST', 'POST body text/plain'],
    [308, 'POST', 'POST body text/plain'],
  ])('of status %i turns %s into "%s"', async (status, method, expected) => {
    let seen = '';
    answer = (request, response) => {
      if (request.url === '/') return void response.writeHead(status, { location: '/x' }).end();
      const chunks: Buffer[] = [];
      request.on('data', (chunk: Buffer) => chunks.push(chunk));
      request.on('end', () => {
        const type = request.headers['content-type'] ?? '';
        seen = `${request.method} ${Buffer.concat(chunks)}${type === '' ? '' : ` ${type}`}`;
        response.end();
      });
    };
    const body = method === 'HEAD' ? '' : 'body';
    const headers = [['content-type', 'text/plain']] as const;
    await requests.fetch(`${server.url}/`, { method, body, ...(body !== '' && { headers }) });
    expect(seen).toBe(expected);
  });

  it('takes secrets to the same origin alone', async () => {
    const other = await startServer((request, response) => {
      const { authorization, cookie, 'x-key': key } = request.headers;
      response.end(JSON.stringify({ authorization, cookie, key }));
    });
    const both = new Requests(['shop=127.0.0.0/8']);
    const headers = [
      ['Authorization', 'Bearer x'],
      ['Cookie', 'a=1'],
      ['X-Key', 'k'],
    ] as const;
    redirectAll(() => `${other.url}/`);
    expect(await both.said(server.url, { headers })).toBe('200 {"key":"k"}');
    answer = ({ url, headers: { authorization, cookie } }, response) =>
      url === '/'
        ? response.writeHead(302, { location: '/x' }).end()
        : response.end(`${authorization} ${cookie}`);
    expect(await both.said(`${server.url}/`, { headers })).toBe('200 Bearer x a=1');
    both.outbound.close();
    other.stop();
  });

  it('leads to what its bytes are as UTF-8', async () => {
    const location = Buffer.from('/caf\xe9?\u{1f600}').toString('latin1');
    redirectAll((path) => (path === '/' ? location : undefined));
    expect(await requests.said(`${server.url}/`)).toBe('200 /caf%C3%A9?%F0%9F%98%80');
  });

  it('with a long body is followed, and the body is left', async () => {
    let isLeft = false;
    answer = ({ url }, response) => {
      if (url === '/x') return void response.end('there');
      response.on('close', () => {
        isLeft = true;
      });
      response.writeHead(302, { location: '/x' }).write('x'.repeat(65_536));
    };
    expect(await requests.said(`${server.url}/`)).toBe('200 there');
    await expect.poll(() => isLeft).toBe(true);
  });

  it('without a place to go to is the answer', async () => {
    answer = (_request, response) => response.writeHead(302).end('lost');
    expect(await requests.said(server.url)).toBe('302 lost');
    redirectAll(() => 'http://[');
    expect(await requests.said(server.url)).toBe('307 moved');
  });

  it('to another scheme is not followed', async () => {
    redirectAll(() => 'file:///etc/passwd');
    expect(await requests.said(server.url)).toMatch(/the URL is not http or https$/);
  });
});

describe('[abi 9.2] the time of a request', () => {
  const stall = () => {
    let asked = 0;
    answer = () => {
      asked += 1;
    };
    return () => asked;
  };

  it.each([
    [undefined, limits.outboundMillis],
    [40_000, 40_000],
    [3_600_000, limits.outboundMillisMax],
  ])('that asks for %s ms ends after %i ms', async (millis, ends) => {
    const asked = stall();
    vi.useFakeTimers({ toFake: ['setTimeout', 'clearTimeout'] });
    let outcome: string | undefined;
    const running = requests
      .said(server.url, millis === undefined ? {} : { millis })
      .then((text) => {
        outcome = text;
      });
    // The helpers that wait would move the clock.
    while (asked() === 0) await new Promise((done) => setImmediate(done));
    await vi.advanceTimersByTimeAsync(ends - 1);
    expect(outcome).toBeUndefined();
    await vi.advanceTimersByTimeAsync(1);
    await running;
    expect(outcome).toBe(`error sending request for url (${server.url}/): operation timed out`);
  });

  it.each([0, -5])('of %i ms is over at once', async (millis) => {
    stall();
    expect(await requests.said(server.url, { millis })).toMatch(/operation timed out$/);
  });

  it('ends when its caller goes, and its connection with it', async () => {
    const asked = stall();
    const caller = new AbortController();
    const running = requests.said(server.url, { signal: caller.signal });
    await expect.poll(asked).toBe(1);
    caller.abort();
    expect(await running).toMatch(/the request was cancelled$/);
    await expect.poll(() => server.sockets[0]?.destroyed).toBe(true);
    expect(await requests.said(server.url, { signal: caller.signal })).toMatch(/was cancelled$/);
    expect(server.sockets).toHaveLength(1);
  });

  it('ends when the service stops', async () => {
    const asked = stall();
    const running = requests.said(server.url);
    await expect.poll(asked).toBe(1);
    requests.outbound.close();
    expect(await running).toMatch(/the service stops$/);
    expect(await requests.said(server.url)).toMatch(/the service stops$/);
  });
});

describe('[abi 9.2] connections', () => {
  it('are kept for the next request of the same database, and of no other', async () => {
    for (const database of [shop, shop, blog, shop, blog]) {
      expect(await requests.said(server.url, { database })).toBe('200 hello');
    }
    expect(server.sockets).toHaveLength(2);
  });

  it('are made anew where the server has closed one', async () => {
    const answers = 'HTTP/1.1 200 OK\r\ncontent-length: 2\r\n\r\nok';
    const raw = await startRawServer((socket) => {
      let asked = 0;
      socket.on('data', () => {
        asked += 1;
        if (asked === 1) socket.write(answers);
        else socket.resetAndDestroy();
      });
    });
    const open = new Requests([`shop=127.0.0.1:${raw.port}`]);
    expect(await open.said(raw.url)).toBe('200 ok');
    expect(await open.said(raw.url)).toBe('200 ok');
    expect(raw.sockets).toHaveLength(2);
    // A POST may have been done: only the module can know.
    expect(await open.said(raw.url)).toBe('200 ok');
    await expect.poll(() => raw.sockets.at(-1)?.destroyed).toBe(false);
    expect(await open.said(raw.url, { method: 'POST' })).toMatch(/read ECONNRESET$/);
    open.outbound.close();
    raw.stop();
  });

  it('that are idle are so many and no more', async () => {
    const held: (() => void)[] = [];
    answer = (_request, response) => held.push(() => response.end());
    const many = Array.from({ length: limits.outboundIdleConnectionsMax + 8 }, () =>
      requests.said(server.url),
    );
    await expect.poll(() => held.length).toBe(many.length);
    for (const end of held) end();
    await Promise.all(many);
    const open = () => server.sockets.filter(({ destroyed }) => !destroyed).length;
    await expect.poll(open).toBe(limits.outboundIdleConnectionsMax);
  });

  it('to one host are 64; further requests wait, in order', async () => {
    const held: { readonly url: string; end(): void }[] = [];
    answer = ({ url = '' }, response) => held.push({ url, end: () => response.end(url) });
    const many = Array.from({ length: 70 }, (_, at) => requests.said(`${server.url}/${at}`));
    await expect.poll(() => held.length).toBe(limits.outboundHostRequestsMax);
    expect(server.sockets).toHaveLength(limits.outboundHostRequestsMax);
    held[0]?.end();
    await expect.poll(() => held.length).toBe(limits.outboundHostRequestsMax + 1);
    expect(held.at(-1)?.url).toBe('/64');
    // Those of another database do not wait for it.
    const other = requests.said(`${server.url}/blog`, { database: blog });
    await expect.poll(() => held.at(-1)?.url).toBe('/blog');
    for (let at = 1; at < 71; at += 1) {
      await expect.poll(() => held.length).toBeGreaterThan(at);
      held[at]?.end();
    }
    expect(await other).toBe('200 /blog');
    expect(await Promise.all(many)).toEqual(many.map((_, at) => `200 /${at}`));
  });
});

describe('[abi 9.2] figures', () => {
  it('are counted by database and host', async () => {
    answer = (request, response) => request.resume().on('end', () => response.end('hello'));
    await requests.said(server.url, { method: 'POST', body: 'abc' });
    await requests.said(server.url);
    await requests.said('http://10.0.0.1/');
    await requests.said(server.url, { database: blog });
    const none = { responses: 0, failures: 0, bytesSent: 0, bytesReceived: 0 };
    expect(requests.outbound.figures).toEqual([
      { ...none, database: shop, host: '127.0.0.1', responses: 2, bytesSent: 3, bytesReceived: 10 },
      { ...none, database: shop, host: 'other', failures: 1 },
      { ...none, database: blog, host: '127.0.0.1', responses: 1, bytesReceived: 5 },
    ]);
    requests.outbound.forget(shop);
    expect(requests.outbound.figures.map(({ database }) => database)).toEqual([blog]);
  });
});

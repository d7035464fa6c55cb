import { createServer, type RequestListener } from 'node:http';
import type { AddressInfo } from 'node:net';
import path from 'node:path';
import { afterAll, beforeAll, beforeEach, describe, expect, it, vi } from 'vitest';
import { parseAllowedPlace } from '../../src/host/outbound/outbound-rules.ts';
import { limits } from '../../src/limits.ts';
import { openTestDatabase } from '../../src/testing/test-database.ts';
import { startServer, type TestServer } from '../support/outbound-requests.ts';
import { root } from './harness.ts';
import { type Person, program, Running } from './running.ts';

const silent: RequestListener = () => undefined;
let server: TestServer;
let other: TestServer;
let answer: RequestListener;
/** Requests that have come to either server. */
let seen: string[];
let running: Running;
let owner: Person;

beforeAll(async () => {
  const listener: RequestListener = (request, response) => {
    seen.push(`${request.method} ${request.url}`);
    answer(request, response);
  };
  server = await startServer(listener);
  other = await startServer(listener);
  const allow = [server, other].map(({ port }) => parseAllowedPlace(`courier=127.0.0.1:${port}`));
  running = await Running.start({ moduleHttp: { mode: 'list', allow } });
  owner = await running.person();
  for (const name of ['courier', 'neighbour']) await publish(name);
});
beforeEach(() => {
  seen = [];
  answer = (_request, response) => response.end('hello');
});
afterAll(async () => {
  await running.stop();
  server.stop();
  other.stop();
});

async function publish(name: string, where = running, as = owner): Promise<void> {
  const { status, text } = await where.upload(name, await program('courier'), as);
  expect([status, text]).toEqual([200, expect.any(String)]);
}

/** The value of a procedure of a module, which must return. */
async function value(procedure: string, args: unknown, database = 'courier', where = running) {
  const { status, text } = await where.call(database, procedure, args);
  if (status !== 200) throw new Error(`${status} ${text}`);
  return JSON.parse(text);
}

const get = (url: string, millis = 20_000) => value('get', [url, millis]);

/** Waits until the last request under way has begun; it is told when its connection has closed. */
async function begun(): Promise<{ readonly isOver: () => boolean }> {
  await vi.waitUntil(() => seen.length > 0, { timeout: 20_000 });
  const socket = server.sockets.at(-1);
  return { isOver: () => socket?.destroyed === true };
}

describe('a procedure', () => {
  it('[living 2.7, abi 9.2, module-sdk 6.4] sends a request with headers and bytes, and gets them', async () => {
    let arrived: unknown;
    answer = (request, response) => {
      const chunks: Buffer[] = [];
      request.on('data', (chunk: Buffer) => chunks.push(chunk));
      request.on('end', () => {
        const fields = request.rawHeaders.slice(2, 6);
        arrived = [request.method, request.url, fields, Buffer.concat(chunks).toString('hex')];
        response.writeHead(418, ['set-cookie', 'a=1', 'Set-Cookie', 'b=2', 'content-length', '3']);
        response.end(Buffer.from('00ff80', 'hex'));
      });
    };
    const headers = ['x-one: first', 'X-One: second'];
    const sent = await value('send', [`${server.url}/a?b=c`, 'PUT', headers, 'ff00fe']);
    const fields = ['x-one', 'first', 'x-one', 'second'];
    expect(arrived).toEqual(['PUT', '/a?b=c', fields, 'ff00fe']);
    const [status, received, body] = sent;
    expect([status, body]).toEqual(['418', '00ff80']);
    expect(received.split('\n').slice(0, 2)).toEqual(['set-cookie: a=1', 'set-cookie: b=2']);
  });

  it('[living 2.7] writes down what it was answered', async () => {
    expect(await value('note', [server.url])).toBe('hello');
    expect(await running.rows('courier', "SELECT text FROM parcel WHERE text = 'hello'")).toEqual([
      ['hello'],
    ]);
  });

  it('[abi 9.2, abi 12] sends nothing while a transaction is open', async () => {
    expect(await value('within', [server.url])).toMatch(/^WouldBlockTransaction: /);
    expect(seen).toEqual([]);
  });

  it('[abi 9.2] reads why there was no answer, without the query of the URL', async () => {
    const closed = createServer().listen(0, '127.0.0.1');
    await vi.waitUntil(() => closed.listening);
    const { port } = closed.address() as AddressInfo;
    const allow = [parseAllowedPlace(`courier=127.0.0.1:${port}`)];
    closed.close();
    const service = await Running.start({ moduleHttp: { allow } });
    try {
      await publish('courier', service, await service.person());
      const url = `http://127.0.0.1:${port}/path`;
      expect(await value('get', [`${url}?key=secret`, 5_000], 'courier', service)).toBe(
        `HttpError: error sending request for url (${url}): connect ECONNREFUSED 127.0.0.1:${port}`,
      );
    } finally {
      await service.stop();
    }
  });

  it('[living 2.6, abi 9.2] waits no longer than it says', async () => {
    answer = silent;
    const text = await get(`${server.url}/slow?key=secret`, 100);
    expect(text).toBe(
      `HttpError: error sending request for url (${server.url}/slow): operation timed out`,
    );
  });

  it('[living 2.6, abi 9.2] gets no answer that is endless', async () => {
    answer = (_request, response) => {
      const chunk = Buffer.alloc(2 ** 20);
      const more = (): void => {
        while (!response.destroyed && response.write(chunk));
      };
      response.on('drain', more);
      more();
    };
    expect(await get(server.url)).toMatch(/: the body is larger than 16 MiB$/);
  });

  it('[living 2.6, abi 9.2] sends at most 16 MiB', async () => {
    let length = 0;
    answer = (request, response) => {
      request.on('data', (chunk: Buffer) => {
        length += chunk.length;
      });
      request.on('end', () => response.end());
    };
    expect(await value('upload', [server.url, limits.outboundBodyBytesMax])).toBe('200');
    expect(length).toBe(limits.outboundBodyBytesMax);
    const text = 'HttpError: error sending request: the body is larger than 16 MiB';
    expect(await value('upload', [server.url, limits.outboundBodyBytesMax + 1])).toBe(text);
    expect(seen).toHaveLength(1);
  });

  it('[abi 9.2] follows redirects, and takes no secrets to another origin', async () => {
    answer = ({ url, headers }, response) => {
      if (url === '/end') response.end(`${headers.authorization}`);
      else
        response.writeHead(302, { location: url === '/near' ? '/end' : `${other.url}/end` }).end();
    };
    expect(await get(`${server.url}/near`)).toBe('200 secret');
    expect(await get(`${server.url}/far`)).toBe('200 undefined');
    answer = (_request, response) => response.writeHead(307, { location: '/again' }).end();
    expect(await get(server.url)).toMatch(/: too many redirects$/);
    expect(seen).toHaveLength(4 + limits.outboundRedirectsMax + 1);
  });

  it.each(['http://169.254.169.254/latest', 'http://[::1]/', 'http://10.0.0.1/'])(
    '[living 2.7, abi 9.2] is not led to %s',
    async (location) => {
      answer = (_request, response) => response.writeHead(302, { location }).end();
      const url = new URL(location).href;
      expect(await get(server.url)).toBe(
        `HttpError: error sending request for url (${url}): ` +
          'refusing to connect to a host that is not in module-http.allow',
      );
    },
  );

  it('[living 2.7, abi 9.2] reaches a private address only in the database that the list names', async () => {
    expect(await value('get', [server.url, 5_000], 'neighbour')).toMatch(/refusing to connect/);
    expect(seen).toEqual([]);
  });

  it('[living 2.6, living 2.7] that waits for an answer holds up nobody', async () => {
    let late: (() => void) | undefined;
    answer = ({ url }, response) => {
      if (url === '/late') late = () => response.end('at last');
      else response.end('at once');
    };
    const waiting = get(`${server.url}/late`);
    await vi.waitUntil(() => late !== undefined, { timeout: 20_000 });
    expect(await get(`${server.url}/soon`)).toBe('200 at once');
    for (const database of ['courier', 'neighbour']) {
      expect(await running.call(database, 'put', ['meanwhile'])).toMatchObject({ status: 200 });
    }
    late?.();
    expect(await waiting).toBe('200 at last');
  });

  it('[living 2.3, living 2.8] gets no answer once it was published again', async () => {
    answer = silent;
    const waiting = get(server.url, 60_000);
    const { isOver } = await begun();
    const changed = Buffer.concat([await program('courier'), Buffer.from('\n// again\n')]);
    expect(await running.upload('courier', changed, owner)).toMatchObject({ status: 200 });
    expect(await waiting).toBe(
      'HttpError: the database was published again while the procedure ran; call it again',
    );
    await vi.waitUntil(isOver, { timeout: 10_000 });
    answer = (_request, response) => response.end('hello');
    expect(await get(server.url)).toBe('200 hello');
  });

  it('[living 2.8] leaves no request behind when its database ends, nor when the service does', async () => {
    answer = silent;
    const allow = ['first', 'second'].map((name) =>
      parseAllowedPlace(`${name}=127.0.0.1:${server.port}`),
    );
    const service = await Running.start({ moduleHttp: { allow } });
    const person = await service.person();
    const ended = [];
    for (const name of ['first', 'second']) {
      await publish(name, service, person);
      seen = [];
      const call = service.call(name, 'get', [server.url, 60_000]).catch(() => undefined);
      const { isOver } = await begun();
      if (name === 'first') {
        const gone = await service.ask('DELETE', `/v1/database/${name}`, { as: person });
        expect(gone.status).toBe(200);
      } else {
        await service.stop();
      }
      await vi.waitUntil(isOver, { timeout: 20_000 });
      ended.push(await call);
    }
    expect(ended.map((one) => one?.status)).not.toContain(200);
  }, 90_000);
});

describe('a procedure of a database in a process', () => {
  let service: Running;
  let person: Person;
  beforeAll(async () => {
    const allow = [parseAllowedPlace(`courier=127.0.0.1:${server.port}`)];
    const isolation = { everywhere: 'process' } as const;
    service = await Running.start({ moduleHttp: { allow }, isolation });
    person = await service.person();
    for (const name of ['courier', 'neighbour']) await publish(name, service, person);
  });
  afterAll(() => service.stop());

  const ask = (procedure: string, args: unknown, database = 'courier') =>
    value(procedure, args, database, service);

  it('[living 2.7] sends requests of any size by the service, and gets answers', async () => {
    let length = 0;
    answer = (request, response) => {
      request.on('data', (chunk: Buffer) => {
        length += chunk.length;
      });
      request.on('end', () => response.writeHead(418).end(Buffer.from('00ff80', 'hex')));
    };
    const sent = await ask('send', [`${server.url}/a`, 'PUT', ['x-one: first'], 'ff00fe']);
    expect([sent[0], sent[2], length]).toEqual(['418', '00ff80', 3]);
    expect(await ask('upload', [server.url, limits.outboundBodyBytesMax])).toBe('418');
    expect(length).toBe(3 + limits.outboundBodyBytesMax);
    answer = (_request, response) => response.end('y'.repeat(3_000_000));
    expect(await ask('note', [server.url])).toHaveLength(3_000_000);
  });

  it('[living 2.7, abi 9.2] reaches a private address only in the database that the list names', async () => {
    expect(await ask('get', [server.url, 5_000], 'neighbour')).toMatch(/refusing to connect/);
    expect(seen).toEqual([]);
  });

  it('[living 2.6, living 2.7] that waits for an answer holds up nobody', async () => {
    let late: (() => void) | undefined;
    answer = ({ url }, response) => {
      if (url === '/late') late = () => response.end('at last');
      else response.end('at once');
    };
    const waiting = ask('get', [`${server.url}/late`, 20_000]);
    await vi.waitUntil(() => late !== undefined, { timeout: 20_000 });
    expect(await ask('get', [`${server.url}/soon`, 20_000])).toBe('200 at once');
    expect(await service.call('courier', 'put', ['meanwhile'])).toMatchObject({ status: 200 });
    late?.();
    expect(await waiting).toBe('200 at last');
  });

  it('[living 2.3, living 2.8] leaves no request behind when it is replaced', async () => {
    answer = silent;
    const replaced = ask('get', [server.url, 60_000]);
    const first = await begun();
    const changed = Buffer.concat([await program('courier'), Buffer.from('\n// again\n')]);
    expect(await service.upload('courier', changed, person)).toMatchObject({ status: 200 });
    expect(await replaced).toMatch(/the database was published again while the procedure ran/);
    await vi.waitUntil(first.isOver, { timeout: 20_000 });
  });
});

describe('a procedure that may send requests to public addresses', () => {
  let service: Running;
  beforeAll(async () => {
    service = await Running.start();
    const person = await service.person();
    for (const name of ['courier', 'neighbour']) await publish(name, service, person);
  });
  afterAll(() => service.stop());

  it.each([
    'http://127.0.0.1/',
    'http://localhost/',
    'http://169.254.169.254/',
    'http://[::ffff:10.0.0.1]/',
    'http://192.168.0.1/',
  ])('[living 2.7, abi 9.2] cannot send one to %s', async (url) => {
    const said = await value('get', [url, 20_000], 'courier', service);
    // The name servers of a machine need not know the name at all.
    if (!url.includes('localhost')) expect(said).toMatch(/: refusing to connect to private/);
    else expect(said).toMatch(/^HttpError: error sending request for url /);
  });

  it('[living 2.6, living 2.7] may send thousands, while others are served', async () => {
    const count = 10_000;
    const flood = value('flood', ['http://127.0.0.1:1/', count], 'courier', service);
    let isOver = false;
    void flood.finally(() => {
      isOver = true;
    });
    let calls = 0;
    do {
      const { status } = await service.call('neighbour', 'put', [`call ${calls}`]);
      expect(status).toBe(200);
      calls += 1;
    } while (!isOver);
    expect(await flood).toBe(count);
    const rows = await service.rows('neighbour', 'SELECT COUNT(*) AS n FROM parcel');
    expect(rows).toEqual([[calls]]);
    const text = await service.ask('GET', '/v1/metrics').then((reply) => reply.text);
    expect(text).toMatch(/reducerdb_outbound_requests_total\{[^}]*outcome="failed"\} 10\d\d\d\n/);
  }, 120_000);
});

describe('a procedure that may send no requests', () => {
  it('[abi 9.2] is told so, also within a transaction', async () => {
    const service = await Running.start({ moduleHttp: { mode: 'off' } });
    try {
      await publish('courier', service, await service.person());
      const off = 'HttpError: module outbound HTTP requests are disabled';
      expect(await value('get', [server.url, 1_000], 'courier', service)).toBe(off);
      expect(await value('within', [server.url], 'courier', service)).toBe(off);
      expect(seen).toEqual([]);
    } finally {
      await service.stop();
    }
  });
});

describe('a procedure in a test database', () => {
  it('[module-sdk 6.4] sends requests by the same rules', async () => {
    const module = path.join(root, 'test/fixtures/modules/courier');
    const db = await openTestDatabase({ module });
    expect(await db.call('get', [server.url, 1_000])).toMatch(/: refusing to connect to private/);
    expect(await db.call('within', [server.url])).toMatch(/^WouldBlockTransaction: /);
    await db.close();
  });
});

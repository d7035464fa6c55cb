import { afterEach, describe, expect, it, vi } from 'vitest';
import { type Answer, NameServer } from '../../../test/support/name-server.ts';
import {
  blog,
  Requests,
  shop,
  startRawServer,
  startServer,
} from '../../../test/support/outbound-requests.ts';
import { limits } from '../../limits.ts';

const cleanup: (() => unknown)[] = [];
afterEach(async () => {
  vi.useRealTimers();
  for (const end of cleanup.splice(0).reverse()) await end();
});

function requestsOf(...given: ConstructorParameters<typeof Requests>): Requests {
  const requests = new Requests(...given);
  cleanup.push(() => requests.outbound.close());
  return requests;
}

async function serve(...given: Parameters<typeof startServer>) {
  const server = await startServer(...given);
  cleanup.push(() => server.stop());
  return server;
}

async function serveRaw(...given: Parameters<typeof startRawServer>) {
  const server = await startRawServer(...given);
  cleanup.push(() => server.stop());
  return server;
}

async function nameServer(answer: Answer): Promise<NameServer> {
  const server = await NameServer.start(answer);
  cleanup.push(() => server.stop());
  return server;
}

const refusal = /: refusing to connect to private or special-purpose addresses$/;
const unlisted = /: refusing to connect to a host that is not in module-http.allow$/;

/** An address of each network that is blocked. */
const blocked = [
  ...['0.0.0.0', '10.0.0.1', '100.64.0.1', '127.0.0.1', '168.63.129.16', '169.254.169.254'],
  ...['172.16.0.1', '192.0.0.1', '192.0.2.1', '192.31.196.1', '192.52.193.1', '192.88.99.1'],
  ...['192.168.0.1', '192.175.48.1', '198.18.0.1', '198.51.100.1', '203.0.113.1', '224.0.0.1'],
  ...['240.0.0.1', '255.255.255.255'],
  ...['::', '::1', '::ffff:127.0.0.1', '::ffff:93.184.215.14', '64:ff9b::1', '64:ff9b:1::1'],
  ...['100::1', '100:0:0:1::1', '2001::1', '2001:db8::1', '2002::1', '2620:4f:8000::1'],
  ...['3fff::1', '5f00::1', 'fc00::1', 'fe80::1', 'ff02::1'],
];

describe('[abi 9.2] a blocked address', () => {
  it.each(blocked)('%s is not asked, whether it is written or looked up', async (address) => {
    const names = await nameServer(() => [address]);
    const requests = requestsOf(undefined, { nameServers: [names.address] });
    const host = address.includes(':') ? `[${address}]` : address;
    expect(await requests.said(`http://${host}/?q`)).toMatch(refusal);
    expect(names.asked.size).toBe(0);
    expect(await requests.said(`https://a.example:8443/`)).toMatch(refusal);
    expect(names.asked.get('a.example')).toBe(1);
  });

  it.each(['2130706433', '0x7f000001', '0177.0.0.1', '127.1', '①②⑦.0.0.1', '127.0.0.1.'])(
    '127.0.0.1 is not asked when it is written as %s',
    async (host) => {
      expect(await requestsOf().said(`http://${host}/`)).toMatch(refusal);
    },
  );

  it('is left out where a name has others', async () => {
    const server = await serve((_request, response) => response.end('hello'));
    const names = await nameServer(() => ['10.0.0.1', '::1', '127.0.0.1', '192.168.0.1']);
    const allow = [`shop=127.0.0.1:${server.port}`];
    const requests = requestsOf(allow, { nameServers: [names.address] });
    expect(await requests.said(`http://a.example:${server.port}/`)).toBe('200 hello');
    expect(await requests.said(`http://a.example:1/`)).toMatch(unlisted);
  });

  it('is not named in what the module reads', async () => {
    const names = await nameServer(() => ['10.1.2.3']);
    const requests = requestsOf(undefined, { nameServers: [names.address] });
    expect(await requests.said('http://db.inner.example/x?key=secret')).toBe(
      'error sending request for url (http://db.inner.example/x): ' +
        'refusing to connect to private or special-purpose addresses',
    );
  });

  it('is not asked after a redirect', async () => {
    let location = '';
    const server = await serve((_request, response) => response.writeHead(302, { location }).end());
    const other = await serve((_request, response) => response.end('secret'));
    const names = await nameServer(() => ['127.0.0.1']);
    const allow = [`shop=127.0.0.1:${server.port}`, 'public.example'];
    const requests = requestsOf(allow, { nameServers: [names.address] });
    for (const host of ['127.0.0.1', '[::1]', '[::ffff:127.0.0.1]', 'a.example', 'localhost']) {
      location = `http://${host}:${other.port}/`;
      expect(await requests.said(server.url)).toMatch(unlisted);
    }
    for (const host of ['169.254.169.254', '[::ffff:a9fe:a9fe]', '10.0.0.1', '0.0.0.0']) {
      location = `http://${host}/latest/meta-data`;
      expect(await requests.said(server.url)).toMatch(unlisted);
    }
    expect(other.sockets).toHaveLength(0);
  });

  it('is not asked where a name changes its address', async () => {
    const server = await serve((_request, response) => {
      response.writeHead(200, { connection: 'close' }).end('hello');
    });
    // The first answer is allowed; another look would find the second one.
    const names = await nameServer((_name, asked) => [asked <= 1 ? '127.0.0.1' : '127.0.0.2']);
    const allow = [`shop=127.0.0.1:${server.port}`];
    const requests = requestsOf(allow, { nameServers: [names.address] });
    const url = `http://rebind.example:${server.port}/`;
    expect(await requests.said(url)).toBe('200 hello');
    expect(names.asked.get('rebind.example')).toBe(1);
    expect(await requests.said(url)).toMatch(unlisted);
    expect(server.sockets).toHaveLength(1);
  });

  it('is reported once a minute for each database', async () => {
    vi.useFakeTimers({ toFake: ['performance'] });
    const requests = requestsOf();
    await requests.said('http://10.0.0.1/a?key=secret');
    await requests.said('http://10.0.0.2/');
    await requests.said('http://10.0.0.3/', { database: blog });
    expect(requests.refused).toEqual([
      [shop, '10.0.0.1'],
      [blog, '10.0.0.3'],
    ]);
    vi.advanceTimersByTime(limits.outboundRefusalMillis);
    await requests.said('http://10.0.0.4/');
    expect(requests.refused.at(-1)).toEqual([shop, '10.0.0.4']);
    expect(requests.refused).toHaveLength(3);
  });

  it('of another database is not asked over its connection', async () => {
    const server = await serve((_request, response) => response.end('hello'));
    const requests = requestsOf([`shop=127.0.0.1:${server.port}`]);
    expect(await requests.said(server.url)).toBe('200 hello');
    expect(await requests.said(server.url, { database: blog })).toMatch(unlisted);
    expect(server.sockets).toHaveLength(1);
  });
});

describe('[abi 9.2] a name server', () => {
  it('that is silent ends the request, and holds up no other', async () => {
    const server = await serve((_request, response) => response.end('hello'));
    const names = await nameServer((name) => (name === 'dead.example' ? undefined : ['127.0.0.1']));
    const allow = [`shop=127.0.0.1:${server.port}`];
    const requests = requestsOf(allow, { nameServers: [names.address] });
    const dead = requests.said(`http://dead.example:${server.port}/`, { millis: 500 });
    expect(await requests.said(`http://a.example:${server.port}/`)).toBe('200 hello');
    expect(await dead).toMatch(/: operation timed out$/);
  });

  it('that does not know the name fails the request', async () => {
    const names = await nameServer(() => []);
    const requests = requestsOf(undefined, { nameServers: [names.address] });
    expect(await requests.said('http://none.example/')).toMatch(/: queryA ENOTFOUND none.example$/);
  });

  it('is the system for names that the operator has listed', async () => {
    const server = await serve((_request, response) => response.end('hello'));
    const names = await nameServer(() => []);
    const allow = ['shop=127.0.0.1', 'shop=[::1]', 'localhost'];
    const requests = requestsOf(allow, { nameServers: [names.address] });
    expect(await requests.said(`http://localhost:${server.port}/`)).toBe('200 hello');
    expect(names.asked.size).toBe(0);
  });
});

describe('[abi 9.2] a server that', () => {
  const drip = (head: string, piece: string) =>
    serveRaw((socket) => {
      socket.resume().write(head);
      const timer = setInterval(() => socket.write(piece), 20);
      socket.on('close', () => clearInterval(timer));
    });

  it.each([
    ['accepts and says nothing', '', ''],
    ['sends its head slowly', 'HTTP/1.1 200 OK\r\nx: ', 'x'],
    ['sends hints without an end', '', 'HTTP/1.1 103 Early Hints\r\nlink: x\r\n\r\n'],
    ['sends its body slowly', 'HTTP/1.1 200 OK\r\ncontent-length: 99999\r\n\r\n', 'x'],
    ['sends chunks slowly', 'HTTP/1.1 200 OK\r\ntransfer-encoding: chunked\r\n\r\n', '1\r\nx\r\n'],
  ])('%s is given up after the time', async (_, head, piece) => {
    const server = await drip(head, piece);
    const requests = requestsOf([`shop=127.0.0.1:${server.port}`]);
    const text = await requests.said(server.url, { millis: 400 });
    expect(text).toBe(`error sending request for url (${server.url}/): operation timed out`);
    await expect.poll(() => server.sockets[0]?.destroyed).toBe(true);
  });

  const flood = (head: string, piece: string) =>
    serveRaw((socket) => {
      socket.resume().write(head);
      const more = () => {
        while (!socket.destroyed && socket.write(piece));
      };
      socket.on('drain', more);
      more();
    });

  it.each([
    ['headers', 'HTTP/1.1 200 OK\r\n', `x: ${'y'.repeat(1_000)}\r\n`, /Header overflow$/],
    ['one header', 'HTTP/1.1 200 OK\r\nx: ', 'y'.repeat(1_000), /Header overflow$/],
    ['a body', 'HTTP/1.1 200 OK\r\n\r\n', 'y'.repeat(65_536), /the body is larger than 16 MiB$/],
    [
      'chunks',
      'HTTP/1.1 200 OK\r\ntransfer-encoding: chunked\r\n\r\n',
      `10000\r\n${'y'.repeat(65_536)}\r\n`,
      /the body is larger than 16 MiB$/,
    ],
    [
      'extensions of a chunk',
      'HTTP/1.1 200 OK\r\ntransfer-encoding: chunked\r\n\r\n1;',
      'y'.repeat(65_536),
      /the connection ended before the answer was complete$/,
    ],
    [
      'trailers',
      'HTTP/1.1 200 OK\r\ntransfer-encoding: chunked\r\n\r\n0\r\n',
      `x: ${'y'.repeat(1_000)}\r\n`,
      /the connection ended before the answer was complete$/,
    ],
  ])('sends %s without an end is given up', async (_, head, piece, text) => {
    const server = await flood(head, piece);
    const requests = requestsOf([`shop=127.0.0.1:${server.port}`]);
    expect(await requests.said(server.url, { millis: 20_000 })).toMatch(text);
    await expect.poll(() => server.sockets[0]?.destroyed).toBe(true);
  });

  it.each([
    ['nonsense', 'SSH-2.0-x\r\n\r\n', /Parse Error: /],
    ['nothing', '', /socket hang up$/],
    [
      'a switch of protocols',
      'HTTP/1.1 101 Switching\r\nupgrade: x\r\nconnection: upgrade\r\n\r\n',
      /connection closed without an answer$/,
    ],
    [
      'half a body',
      'HTTP/1.1 200 OK\r\ncontent-length: 9\r\n\r\nhalf',
      /the connection ended before the answer was complete$/,
    ],
  ])('answers with %s fails the request', async (_, bytes, text) => {
    const server = await serveRaw((socket) => {
      socket.on('data', () => socket.end(bytes));
    });
    const requests = requestsOf([`shop=127.0.0.1:${server.port}`]);
    expect(await requests.said(server.url)).toMatch(text);
  });
});

describe('[abi 9.2] requests of one database', () => {
  it('are 1,024 at once, and those of others do not count', async () => {
    const server = await serve(() => undefined);
    const requests = requestsOf(['shop=127.0.0.1', 'blog=127.0.0.1']);
    const caller = new AbortController();
    const many = Array.from({ length: limits.outboundRequestsMax }, () =>
      requests.said(server.url, { signal: caller.signal }),
    );
    expect(await requests.said(server.url)).toBe(
      `error sending request for url (${server.url}/): 1024 requests of this database are running`,
    );
    const other = new AbortController();
    const others = requests.said(server.url, { database: blog, signal: other.signal });
    await expect.poll(() => server.sockets.length).toBe(limits.outboundHostRequestsMax + 1);
    other.abort();
    expect(await others).toMatch(/was cancelled$/);
    caller.abort();
    for (const text of await Promise.all(many)) expect(text).toMatch(/was cancelled$/);
    const again = requests.said(server.url, { millis: 50 });
    expect(await again).toMatch(/operation timed out$/);
  });

  it('have bodies of 256 MiB together', async () => {
    const server = await serve(() => undefined);
    const requests = requestsOf(['shop=127.0.0.1', 'blog=127.0.0.1']);
    const caller = new AbortController();
    const wanted = { method: 'POST', body: new Uint8Array(limits.outboundBodyBytesMax) };
    const many = Array.from({ length: 16 }, () =>
      requests.said(server.url, { ...wanted, signal: caller.signal }),
    );
    const one = { method: 'POST', body: 'x', millis: 100 };
    expect(await requests.said(server.url, one)).toMatch(
      /: bodies of running requests exceed 256 MiB$/,
    );
    expect(await requests.said(server.url, { ...one, database: blog })).toMatch(/timed out$/);
    caller.abort();
    await Promise.all(many);
    expect(await requests.said(server.url, one)).toMatch(/timed out$/);
  });

  it('have answers that count as they come', async () => {
    const held: (() => void)[] = [];
    const server = await serve(({ url }, response) => {
      const piece = Buffer.alloc(limits.outboundBodyBytesMax);
      if (url === '/small') return void response.end('x');
      response.write(piece);
      held.push(() => response.end());
    });
    const requests = requestsOf(['shop=127.0.0.1']);
    const many = Array.from({ length: 16 }, () => requests.said(server.url, { millis: 100_000 }));
    await expect.poll(() => held.length).toBe(16);
    await expect
      .poll(() => requests.said(`${server.url}/small`), { timeout: 60_000 })
      .toMatch(/: bodies of running requests exceed 256 MiB$/);
    for (const end of held) end();
    await Promise.all(many);
    expect(await requests.said(`${server.url}/small`)).toBe('200 x');
  }, 120_000);

  it('name so many hosts in the figures', async () => {
    const server = await serve((_request, response) => response.end());
    const names = await nameServer(() => ['127.0.0.1']);
    const allow = ['shop=127.0.0.1'];
    const requests = requestsOf(allow, { nameServers: [names.address] });
    for (let at = 0; at < limits.outboundDatabaseHostNamesMax + 3; at += 1) {
      await requests.said(`http://h${at}.example:${server.port}/`);
    }
    const { figures } = requests.outbound;
    expect(figures).toHaveLength(limits.outboundDatabaseHostNamesMax + 1);
    expect(figures.at(-1)).toMatchObject({ host: 'other', responses: 3 });
  });
});

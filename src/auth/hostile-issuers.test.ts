import dns, { type LookupAddress, type LookupOptions } from 'node:dns';
import { createServer, type RequestListener, type Server } from 'node:http';
import { syncBuiltinESMExports } from 'node:module';
import type { AddressInfo, Socket } from 'node:net';
import { gzipSync } from 'node:zlib';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { limits } from '../limits.ts';
import { addressKind } from './address-rules.ts';
import { fetchJson, narrowed } from './guarded-fetch.ts';
import { readKeySet } from './key-set.ts';

const onlyPublic = { allowsLoopback: false, allowsPrivate: false };
const loopbackToo = { allowsLoopback: true, allowsPrivate: false };
const everywhere = { allowsLoopback: true, allowsPrivate: true };

let server: Server;
let answer: RequestListener;
let url: string;
let asked: string[] = [];

beforeEach(async () => {
  asked = [];
  server = createServer((request, response) => {
    asked.push(request.url ?? '');
    answer(request, response);
  });
  await new Promise<void>((done) => server.listen(0, '127.0.0.1', done));
  url = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
});
afterEach(() => {
  server.close();
  server.closeAllConnections();
});

const refusal = (address: string, rules = loopbackToo) =>
  fetchJson(address, rules).then(
    () => 'fetched',
    (error: Error) => error.message,
  );

describe('addresses that lead inside', () => {
  it.each([
    '127.0.0.1.', // Trailing dot.
    '127.1', // Fewer numbers.
    '2130706433', // One number,
    '0x7f000001', // also hexadecimal
    '017700000001', // and octal.
    '0177.0.0.0x1', // Mixed.
    '①②⑦.⓪.⓪.①', // Non-ASCII digits.
    '0', // This machine, on some systems.
    '0.0.0.0',
    '[::]',
    '[::1]',
    '[::ffff:127.0.0.1]', // IPv4 mapped,
    '[::ffff:7f00:1]',
    '[::127.0.0.1]', // compatible,
    '[::ffff:0:7f00:1]', // translated,
    '[64:ff9b::7f00:1]', // by NAT64,
    '[64:ff9b:1::7f00:1]', // by local NAT64,
    '[2002:7f00:1::]', // and by 6to4,
    '[2001:0:7f00:1::]', // and Teredo.
    '169.254.169.254', // Cloud metadata services,
    '0xa9fea9fe',
    '[fd00:ec2::254]',
    '[::ffff:169.254.169.254]',
    '192.88.99.1', // Relays of 6to4.
    '[fe80::1]',
    '[fec0::1]', // Site-local.
    '[ff02::1]',
    '[100:0:0:1::1]',
    '[3fff::1]',
    '[5f00::1]',
    '[4000::1]', // Unallocated.
  ])('[auth 6] https://%s is not asked', async (host) => {
    expect(await refusal(`https://${host}:9/`, onlyPublic)).toMatch(/, which is not allowed$/);
  });

  it.each(['::7f00:1', '::ffff:0:7f00:1', '::2', 'fec0::1', '5f00::1', '3fff::', '192.88.99.2'])(
    '[auth 6] %s is not public',
    (address) => {
      expect(addressKind(address)).toBe('private');
    },
  );

  it('[auth 6] users and passwords are not sent along', async () => {
    const withUser = url.replace('//', '//admin:secret@');
    expect(await refusal(withUser)).toMatch(/has a user or a password$/);
    answer = (_request, response) => response.writeHead(302, { location: withUser }).end();
    expect(await refusal(`${url}/first`)).toMatch(/has a user or a password$/);
    expect(asked).toEqual(['/first']);
  });

  it('[auth 6] what is not on loopback sends nobody there', () => {
    expect(narrowed(loopbackToo, '93.184.215.14')).toEqual(onlyPublic);
    expect(narrowed(loopbackToo, undefined)).toEqual(onlyPublic);
    expect(narrowed(loopbackToo, '::ffff:127.0.0.1')).toEqual(loopbackToo);
    expect(narrowed(everywhere, '93.184.215.14')).toEqual(everywhere);
  });

  it('[auth 6] a fetch gives what it was narrowed to', async () => {
    answer = (_request, response) => response.end('{}');
    const { following } = await fetchJson(url, loopbackToo);
    expect(following).toEqual(loopbackToo);
  });
});

describe('names that change', () => {
  const { lookup } = dns;
  afterEach(() => use(lookup));

  function use(instead: unknown): void {
    dns.lookup = instead as typeof dns.lookup;
    syncBuiltinESMExports();
  }

  /** Returns the nth list for the nth lookup, and the last list for all later ones. */
  function answers(...lists: string[][]): () => number {
    let count = 0;
    use((_: string, __: LookupOptions, done: (error: null, all: LookupAddress[]) => void) => {
      const list = lists[Math.min(count, lists.length - 1)] ?? [];
      count += 1;
      setImmediate(
        done,
        null,
        list.map((address) => ({ address, family: 4 })),
      );
    });
    return () => count;
  }

  it('[auth 6] the address that is judged is the one that is connected to', async () => {
    const count = answers(['127.0.0.1'], ['10.0.0.1']);
    answer = (_request, response) => response.end('{}');
    const named = url.replace('127.0.0.1', 'rebound.example');
    expect(await fetchJson(named, loopbackToo)).toMatchObject({ document: {} });
    expect(count()).toBe(1);
    expect(await refusal(named)).toBe(
      `${new URL(named).host} is at 10.0.0.1, which is not allowed`,
    );
  });

  it('[auth 6] one bad address among good ones is enough', async () => {
    answers(['93.184.215.14', '127.0.0.1']);
    const text = 'mixed.example is at 127.0.0.1, which is not allowed';
    expect(await refusal('https://mixed.example', onlyPublic)).toBe(text);
  });

  it('[auth 6] so many look-ups wait for slow name servers, and no more', async () => {
    const waiting: (() => void)[] = [];
    use((_: string, __: LookupOptions, done: (error: Error) => void) => {
      waiting.push(() => done(new Error('no such name')));
    });
    const most = limits.issuerLookupsMax;
    const all = Array.from({ length: most }, () => refusal('https://slow.example', onlyPublic));
    await expect.poll(() => waiting.length).toBe(most);
    const text = 'too many names of issuers are being looked up';
    expect(await refusal('https://slow.example', onlyPublic)).toBe(text);
    for (const end of waiting) end();
    expect(new Set(await Promise.all(all))).toEqual(new Set(['no such name']));
    const again = refusal('https://slow.example', onlyPublic);
    await expect.poll(() => waiting.length).toBe(most + 1);
    waiting.at(-1)?.();
    expect(await again).toBe('no such name');
  });
});

describe('answers of hostile issuers', () => {
  const rawly = (write: (socket: Socket) => void) => {
    answer = ({ socket }) => write(socket);
  };

  it('[auth 6] another protocol is no answer', async () => {
    rawly((socket) => {
      socket.write('HTTP/1.1 101 Switching Protocols\r\nupgrade: x\r\nconnection: upgrade\r\n\r\n');
    });
    expect(await refusal(url)).toMatch(/closed without an answer|socket hang up/);
  });

  it('[auth 6] hints without an end are over after the time', async () => {
    rawly((socket) => {
      const hint = () => socket.write('HTTP/1.1 103 Early Hints\r\nlink: </x>\r\n\r\n');
      const timer = setInterval(hint, 50);
      socket.on('close', () => clearInterval(timer));
      socket.on('error', () => undefined);
    });
    expect(await refusal(url)).toMatch(/aborted/);
  }, 90_000);

  it('[auth 6] a head that drips is over after the time', async () => {
    rawly((socket) => {
      socket.write('HTTP/1.1 200 OK\r\n');
      const timer = setInterval(() => socket.write('x: y\r\n'), 50);
      socket.on('close', () => clearInterval(timer));
      socket.on('error', () => undefined);
    });
    expect(await refusal(url)).toMatch(/aborted|Overflow/);
  }, 90_000);

  it('[auth 6] what is packed stays packed', async () => {
    const bomb = gzipSync(Buffer.from(`"${' '.repeat(50_000_000)}"`));
    let wanted: unknown;
    answer = ({ headers }, response) => {
      wanted = headers['accept-encoding'];
      response.writeHead(200, { 'content-encoding': 'gzip' }).end(bomb);
    };
    expect(await refusal(url)).toMatch(/JSON/);
    expect(wanted).toBe('identity');
  });

  it('[auth 6] half an answer is none', async () => {
    rawly((socket) => {
      socket.end('HTTP/1.1 200 OK\r\ncontent-length: 100\r\n\r\n{}');
    });
    expect(await refusal(url)).toBe('aborted');
  });

  it.each(['[', '{"a":'])('[auth 6] %j a million times is no document', async (open) => {
    answer = (_request, response) => response.end(open.repeat(1_000_000 / open.length));
    expect(await refusal(url)).toMatch(/JSON|stack/);
  });
});

describe('key sets of hostile issuers', () => {
  const rsa = (bits: number, exponent: number[]) => ({
    kty: 'RSA',
    kid: 'k',
    n: Buffer.alloc(bits / 8, 0xff).toString('base64url'),
    e: Buffer.from(exponent).toString('base64url'),
  });

  it.each([
    ['1024 bits', rsa(1024, [1, 0, 1]), 0],
    ['2048 bits', rsa(2048, [1, 0, 1]), 1],
    ['8192 bits', rsa(8192, [1, 0, 1]), 1],
    ['16384 bits, slow to check with', rsa(16_384, [1, 0, 1]), 0],
    [
      'an exponent as long as the key',
      rsa(
        3072,
        Array.from({ length: 384 }, () => 0xef),
      ),
      0,
    ],
    ['the exponent 1, with which everybody signs', rsa(2048, [1]), 0],
    ['a modulus that is no number', { kty: 'RSA', kid: 'k', n: {}, e: [] }, 0],
  ])('[auth 4.2] a key of RSA with %s', (_what, key, count) => {
    expect(readKeySet({ keys: [key] })).toHaveLength(count);
  });

  it('[auth 6] every key may be tried, so that they are not many', () => {
    const keys = (length: number) => ({ keys: Array.from({ length }, () => rsa(2048, [1, 0, 1])) });
    expect(readKeySet(keys(limits.issuerKeysMax))).toHaveLength(limits.issuerKeysMax);
    const text = `the key set has 65 keys (at most ${limits.issuerKeysMax})`;
    expect(() => readKeySet(keys(65))).toThrow(text);
  });
});

import { describe, expect, it } from 'vitest';
import {
  type AllowedPlace,
  gateOf,
  modeFor,
  type OutboundRules,
  parseAllowedPlace,
} from './outbound-rules.ts';

const listOf = (...texts: string[]): OutboundRules => ({
  mode: 'list',
  allow: texts.map(parseAllowedPlace),
});
const shop = ['c200', 'shop'];
const isAllowed = (rules: OutboundRules, url: string, address?: string, keys = shop) => {
  const { hostname, port } = new URL(url);
  const host = hostname.replace(/^\[|\]$/g, '');
  const gate = gateOf(rules, keys, { host, port: Number(port === '' ? 80 : port) });
  return gate.isOpen && gate.allows(address ?? host);
};

describe('[abi 9.2] an entry of the allow-list', () => {
  it.each<[string, Partial<AllowedPlace>]>([
    ['api.example.com', { target: { kind: 'name', text: 'api.example.com', hasStar: false } }],
    ['API.example.COM:443', { port: 443 }],
    ['*.example.com', { target: { kind: 'name', text: '.example.com', hasStar: true } }],
    ['bücher.example', { target: { kind: 'name', text: 'xn--bcher-kva.example', hasStar: false } }],
    ['shop=db_1:5432', { database: 'shop', port: 5432 }],
    ['shop=10.0.0.0/8:5432', { database: 'shop', port: 5432 }],
    ['shop=127.0.0.1', { database: 'shop', port: undefined }],
    ['shop=[fd00::]/8:80', { database: 'shop', port: 80 }],
    ['[2606:4700::]/32', { database: undefined }],
    ['93.184.215.14:65535', { port: 65_535 }],
  ])('is `%s`', (text, parts) => {
    expect(parseAllowedPlace(text)).toMatchObject(parts);
  });

  it.each([
    '',
    '*',
    'http://example.com',
    'example.com/path',
    'user@example.com',
    'example.com:0',
    'example.com:65536',
    'example.com:http',
    'a b',
    '=example.com',
    'shop=',
    'shop=10.0.0.0/33',
    'shop=[fd00::]/129',
    'shop=fd00::/8',
    'shop=[fe80::1%eth0]/64',
    'shop=[10.0.0.1]',
    'shop=10.1',
    'shop=0x7f000001',
    'a=b=c',
    'a.*.example.com',
  ])('is not `%s`', (text) => {
    expect(() => parseAllowedPlace(text)).toThrow('is neither a host nor a network');
  });

  it.each(['10.0.0.0/8', '127.0.0.1:80', '[::1]', '0.0.0.0/0', '[::]/0', '169.254.169.254'])(
    'is not `%s` without a database',
    (text) => {
      expect(() => parseAllowedPlace(text)).toThrow(
        `opens private addresses; name the database that can use them: \`shop=${text}\``,
      );
    },
  );
});

it.each<[readonly string[], 'public' | 'list']>([
  [[], 'public'],
  [['shop=10.0.0.0/8:5432', 'blog=[fd00::]/8'], 'public'],
  [['shop=10.0.0.0/8', 'api.example.com'], 'list'],
  [['shop=api.example.com'], 'list'],
  [['shop=93.184.215.0/24'], 'list'],
])('[abi 9.2] %s alone means the mode %s', (texts, mode) => {
  expect(modeFor(texts.map(parseAllowedPlace))).toBe(mode);
});

describe('[abi 9.2] what modules can reach', () => {
  const open: OutboundRules = { mode: 'public', allow: [] };

  it('is public addresses, with `public`', () => {
    expect(isAllowed(open, 'http://example.com', '93.184.215.14')).toBe(true);
    expect(isAllowed(open, 'http://example.com', '10.0.0.1')).toBe(false);
    expect(isAllowed(open, 'http://example.com', '::ffff:93.184.215.14')).toBe(false);
  });

  it('is private networks of the list beside public addresses, with `public`', () => {
    const rules = { ...listOf('shop=10.0.0.0/8:5432'), mode: 'public' as const };
    expect(isAllowed(rules, 'http://10.0.0.1:5432')).toBe(true);
    expect(isAllowed(rules, 'http://db.internal:5432', '10.1.2.3')).toBe(true);
    expect(isAllowed(rules, 'http://10.0.0.1:80')).toBe(false);
    expect(isAllowed(rules, 'http://192.168.0.1:5432')).toBe(false);
    expect(isAllowed(rules, 'http://10.0.0.1:5432', undefined, ['c2', 'blog'])).toBe(false);
    expect(isAllowed(rules, 'http://example.com:5432', '93.184.215.14')).toBe(true);
    expect(gateOf(rules, shop, { host: '192.168.0.1', port: 80 }).refusal).toBe(
      'refusing to connect to private or special-purpose addresses',
    );
  });

  it('is nothing, with an empty list', () => {
    expect(isAllowed(listOf(), 'http://example.com', '93.184.215.14')).toBe(false);
    expect(isAllowed(listOf(), 'http://93.184.215.14')).toBe(false);
  });

  it('is the names of the list, at public addresses', () => {
    const rules = listOf('api.example.com', '*.wild.example:81', 'blog=only.example');
    const at = '93.184.215.14';
    expect(isAllowed(rules, 'http://api.example.com', at)).toBe(true);
    expect(isAllowed(rules, 'http://API.example.com.:8080', at)).toBe(true);
    expect(isAllowed(rules, 'http://api.example.com', '10.0.0.1')).toBe(false);
    expect(isAllowed(rules, 'http://api.example.com', '127.0.0.1')).toBe(false);
    expect(isAllowed(rules, 'http://x.api.example.com', at)).toBe(false);
    expect(isAllowed(rules, 'http://example.com', at)).toBe(false);
    expect(isAllowed(rules, 'http://93.184.215.14')).toBe(false);
    expect(isAllowed(rules, 'http://a.b.wild.example:81', at)).toBe(true);
    expect(isAllowed(rules, 'http://wild.example:81', at)).toBe(false);
    expect(isAllowed(rules, 'http://notwild.example:81', at)).toBe(false);
    expect(isAllowed(rules, 'http://a.wild.example', at)).toBe(false);
    expect(isAllowed(rules, 'http://only.example', at)).toBe(false);
    expect(isAllowed(rules, 'http://only.example', at, ['c2', 'blog'])).toBe(true);
  });

  it('is the networks of the list, whatever name leads there', () => {
    const rules = listOf('shop=10.0.0.0/8:5432', 'shop=[fd00::]/8', '93.184.215.0/24', '8.0.0.0/5');
    expect(isAllowed(rules, 'http://10.255.0.1:5432')).toBe(true);
    expect(isAllowed(rules, 'http://db.internal:5432', '10.1.2.3')).toBe(true);
    expect(isAllowed(rules, 'http://db.internal:5432', '192.168.0.1')).toBe(false);
    expect(isAllowed(rules, 'http://10.0.0.1')).toBe(false);
    expect(isAllowed(rules, 'http://10.0.0.1:5432', undefined, ['c2', 'blog'])).toBe(false);
    expect(isAllowed(rules, 'http://[fd12::1]:9')).toBe(true);
    expect(isAllowed(rules, 'http://[fe80::1]:9')).toBe(false);
    expect(isAllowed(listOf('shop=[fe80::]/10'), 'http://a.example', 'fe80::1%eth0')).toBe(true);
    expect(isAllowed(rules, 'http://93.184.215.14', undefined, ['c2'])).toBe(true);
    // Without a database it opens what is public in it.
    expect(isAllowed(rules, 'http://10.0.0.1:80', undefined, ['c2'])).toBe(false);
    expect(isAllowed(rules, 'http://9.9.9.9', undefined, ['c2'])).toBe(true);
  });

  it('is never an IPv4 address in another form', () => {
    const rules = listOf('shop=10.0.0.0/8', 'shop=127.0.0.0/8');
    for (const address of ['::ffff:10.0.0.1', '::ffff:a00:1', '::ffff:127.0.0.1']) {
      expect(isAllowed(rules, `http://[${address}]`)).toBe(false);
      expect(isAllowed(rules, 'http://a.example', address)).toBe(false);
    }
    expect(isAllowed(rules, 'http://0x0a.1')).toBe(true); // A URL spells it 10.0.0.1.
  });

  it('is for a database by its identity, too', () => {
    expect(isAllowed(listOf('c200=10.0.0.0/8'), 'http://10.0.0.1')).toBe(true);
    expect(isAllowed(listOf('c201=10.0.0.0/8'), 'http://10.0.0.1')).toBe(false);
  });
});

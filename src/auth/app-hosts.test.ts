import { describe, expect, it } from 'vitest';
import { AppHosts, isHostName } from './app-hosts.ts';
import { judgePage } from './page-rules.ts';

const bound = new Map([
  ['app.example.com', 'shop'],
  ['www.other.org', 'blog'],
]);
const own = ['db.apps.example.com', 'db.example.com'];
const hosts = new AppHosts({ domain: 'apps.example.com', bound, own });
const local = new AppHosts({ domain: 'localhost', bound: new Map(), own: [] });

describe('[rulings 1.1] the host of a request', () => {
  it.each([
    ['shop.localhost', 'shop'],
    ['shop.localhost:3000', 'shop'],
    ['SHOP.LocalHost:3000', 'shop'],
    ['shop.localhost.', 'shop'],
    ['shop.localhost.:3000', 'shop'],
    ['a-1.localhost:1', 'a-1'],
    // Names that no database has are not the service either.
    ['a.b.localhost', ''],
    ['a_b.localhost', ''],
    ['-a.localhost', ''],
    [`${'a'.repeat(64)}.localhost`, ''],
    // Neither is what is no host name, where it ends with the domain.
    ['a!b.localhost', ''],
    ['A!b.LocalHost.:3000', ''],
    ['shop.localhost..', ''],
    ['shop.localhost..:3000', ''],
    ['shop..localhost', ''],
    ['.localhost', ''],
    ['shop.localhost:3000:1', ''],
    ['shop.localhost:http', ''],
    ['shop.localhost:', ''],
    ['user@shop.localhost', ''],
    ['user:word@shop.localhost:80', ''],
    [' shop.localhost', ''],
    ['shop .localhost', ''],
    ['shop.localhost ', ''],
    ['[::1].localhost', ''],
    ['caf\u00e9.localhost', ''],
  ])('%s is that of an app: `%s`', (header, database) => {
    expect(local.databaseOf(header)).toBe(database);
    expect(local.databaseOf(header)).toBe(database);
  });

  it.each([
    undefined,
    '',
    'localhost',
    'localhost:3000',
    '127.0.0.1:3000',
    '[::1]:3000',
    'localhost..',
    'notlocalhost',
    'shoplocalhost:3000',
    'shop.localhost.evil.example',
    'shop.localhost/x',
  ])('%s is not', (header) => {
    expect(local.databaseOf(header)).toBeUndefined();
  });

  it('is that of an app where the operator has bound it, and never where the service is', () => {
    expect(hosts.databaseOf('App.example.com:8080')).toBe('shop');
    expect(hosts.databaseOf('blog.apps.example.com')).toBe('blog');
    expect(hosts.databaseOf('db.apps.example.com')).toBeUndefined();
    expect(hosts.databaseOf('apps.example.com')).toBeUndefined();
    expect(hosts.databaseOf('example.com')).toBeUndefined();
    expect(hosts.databaseOf('x.app.example.com')).toBeUndefined();
    expect(hosts.databaseOf('App.example.com..:8080')).toBe('');
    expect(hosts.databaseOf('a!b.apps.example.com')).toBe('');
    expect(hosts.databaseOf('db.apps.example.com..')).toBe('');
  });

  it('is found for a name, where one is possible', () => {
    expect(hosts.hostsOf('shop')).toEqual(['shop.apps.example.com', 'app.example.com']);
    expect(hosts.hostsOf('db')).toEqual([]);
    expect(hosts.hostsOf('a'.repeat(63))).toHaveLength(1);
    expect(hosts.hostsOf('a'.repeat(64))).toEqual([]);
    const none = new AppHosts({ domain: undefined, bound, own });
    expect(none.hostsOf('shop')).toEqual(['app.example.com']);
    expect(none.databaseOf('shop.localhost')).toBeUndefined();
    expect(none.databaseOf('a!b.localhost')).toBeUndefined();
  });

  it('is looked up for any number of headers', () => {
    for (let at = 0; at < 5_000; at += 1) {
      expect(local.databaseOf(`x${at}.localhost`)).toBe(`x${at}`);
    }
  });
});

describe('[rulings 1.1] a page of an app', () => {
  const rules = { hosts: [], origins: [], apps: local };
  const judge = (host: string, origin?: string) => {
    const verdict = judgePage({ localAddress: '127.0.0.1', host, origin }, rules);
    return verdict.kind === 'allowed' ? verdict.sender : verdict.fault;
  };

  it('uses its own host, as no more than a page of its own', () => {
    expect(judge('shop.localhost:3000', 'http://shop.localhost:3000')).toBe('own');
    expect(judge('shop.localhost:3000')).toBe('program');
  });

  it('uses neither the service itself nor the host of another', () => {
    const origin = 'http://shop.localhost:3000';
    for (const host of ['localhost:3000', '127.0.0.1:3000', 'blog.localhost:3000']) {
      expect(judge(host, origin)).toBe('origin');
    }
    expect(judge('shop.localhost:3000', 'http://shop.localhost:4000')).toBe('origin');
    expect(judge('shop.localhost:3000', 'https://evil.example')).toBe('origin');
    expect(judge('shop.localhost:3000', 'null')).toBe('origin');
    expect(judge('evil.example:3000', 'http://evil.example:3000')).toBe('host');
    expect(judge('x.localhost.evil.example', 'http://x.localhost.evil.example')).toBe('host');
  });
});

it.each([
  ['app.example.com', true],
  ['a', true],
  ['127.0.0.1', false],
  ['[::1]', false],
  ['a..b', false],
  ['a_b.example.com', false],
  ['App.example.com', false],
  [`${'a'.repeat(60)}.`.repeat(5), false],
])('[rulings 1.2] `%s` is a host name: %s', (text, isName) => {
  expect(isHostName(text)).toBe(isName);
});

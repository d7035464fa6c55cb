import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { describe, expect, it } from 'vitest';
import { completeConfiguration, type GivenConfiguration } from './configuration.ts';
import { effectiveSettings } from './effective-settings.ts';
import { pageRulesOf } from './mcp-door.ts';

const base: GivenConfiguration = {
  publicUrl: 'https://db.example.com',
  mcpHosts: ['mcp.example.com'],
  allowedHosts: ['other.example.com'],
  appsDomain: 'apps.example.com',
};

describe('[rulings 1.2] a host that is bound to a database', () => {
  it.each([
    ['localhost', 'loopback name'],
    ['shop.localhost', 'loopback name'],
    ['127.0.0.1', 'loopback name'],
    ['::1', 'loopback name'],
    ['10.0.0.1', 'not a host name'],
    ['shop', 'not a host name'],
    ['*.example.com', 'not a host name'],
    ['app.example.com:80', 'not a host name'],
    ['db.example.com', 'a name of the service itself'],
    ['mcp.example.com', 'a name of the service itself'],
    ['other.example.com', 'a name of the service itself'],
    ['blog.apps.example.com', 'below http.apps-domain'],
    ['apps.example.com', 'below http.apps-domain'],
  ])('is refused at the start: %s', (host, words) => {
    const start = () => completeConfiguration({ ...base, appHosts: { [host]: 'shop' } });
    expect(start).toThrow(`apps.hosts: \`${host}\` `);
    expect(start).toThrow(words);
  });

  it('names a database', () => {
    const bind = (database: string) =>
      completeConfiguration({ ...base, appHosts: { 'app.example.com': database } });
    expect(() => bind('No Name')).toThrow('`No Name`, for app.example.com, is not a database');
    expect(bind('c2'.repeat(32)).appHosts).toBeDefined();
    expect(pageRulesOf(bind('shop')).apps.databaseOf('app.example.com')).toBe('shop');
  });

  it('is read from a table, and from flags', () => {
    const dataDirectory = mkdtempSync(path.join(tmpdir(), 'reducerdb-hosts-'));
    const read = (flags: Record<string, unknown> = {}) =>
      effectiveSettings({ flags, environment: {}, dataDirectory, folder: '/' }).configuration;
    const write = (text: string) => writeFileSync(path.join(dataDirectory, 'config.toml'), text);
    write('[apps.hosts]\n"App.example.com" = "shop"\n"www.example.org" = "blog"\n');
    expect(read().appHosts).toEqual({ 'app.example.com': 'shop', 'www.example.org': 'blog' });
    const given = ['a.example.com=shop,b.example.com=blog', 'c.example.com=shop'];
    expect(read({ 'app-host': given }).appHosts).toEqual({
      'a.example.com': 'shop',
      'b.example.com': 'blog',
      'c.example.com': 'shop',
    });
    for (const bad of ['a.example.com', 'a=b=c', '=shop', 'a=']) {
      expect(() => read({ 'app-host': [bad] })).toThrow('is not a table of strings, or a list of');
    }
    write('[apps.hosts]\n"app.example.com" = 7\n');
    expect(read).toThrow('is not a table of strings');
    rmSync(dataDirectory, { recursive: true });
  });
});

describe('[rulings 1.1] the domain of apps', () => {
  it('is localhost on loopback, and none elsewhere, unless it is set', () => {
    const listen = { host: '0.0.0.0', port: 1 };
    const domainOf = (given: GivenConfiguration) =>
      completeConfiguration({ publishPolicy: 'anyone', ...given }).appsDomain;
    expect(domainOf({})).toBe('localhost');
    expect(domainOf({ listen })).toBeUndefined();
    expect(domainOf({ appsDomain: 'none' })).toBeUndefined();
    expect(domainOf({ listen, appsDomain: 'apps.example.com' })).toBe('apps.example.com');
  });

  it('leaves the names of the service to the service', () => {
    const { apps } = pageRulesOf(completeConfiguration({ ...base, appsDomain: 'example.com' }));
    expect(apps.databaseOf('db.example.com')).toBeUndefined();
    expect(apps.databaseOf('mcp.example.com')).toBeUndefined();
    expect(apps.databaseOf('shop.example.com')).toBe('shop');
  });
});

import { describe, expect, it } from 'vitest';
import { type Address, addressOf, uriOf } from './address.ts';

describe('the address of a resource', () => {
  const addresses: [string, Address][] = [
    ['reducerdb:///databases', { kind: 'databases' }],
    ['reducerdb:///inn/schema', { kind: 'schema', database: 'inn' }],
    ['reducerdb:///inn/logs', { kind: 'logs', database: 'inn' }],
    ['reducerdb:///inn/tables/guest', { kind: 'table', database: 'inn', table: 'guest' }],
    ['reducerdb:///docs/sql', { kind: 'page', page: 'sql' }],
    [
      'reducerdb:///inn/tables/G%C3%A4ste%2F1',
      { kind: 'table', database: 'inn', table: 'Gäste/1' },
    ],
    [
      'reducerdb:///inn/tables/guest/name/Ada%20L.',
      {
        kind: 'table',
        database: 'inn',
        table: 'guest',
        where: { column: 'name', value: 'Ada L.' },
      },
    ],
    // A database name can equal another part of an address.
    ['reducerdb:///docs/schema', { kind: 'schema', database: 'docs' }],
    ['reducerdb:///docs/logs', { kind: 'logs', database: 'docs' }],
    ['reducerdb:///docs/tables/a', { kind: 'table', database: 'docs', table: 'a' }],
    ['reducerdb:///databases/schema', { kind: 'schema', database: 'databases' }],
  ];

  it.each(addresses)(
    '[mcp B7] %s has one meaning, and is written as it is read',
    (uri, address) => {
      expect(addressOf(uri)).toEqual(address);
      expect(uriOf(address)).toBe(uri);
    },
  );

  const foreign = [
    '',
    'reducerdb:',
    'reducerdb:///',
    'reducerdb://host/inn/schema',
    'reducerdb:///inn',
    'reducerdb:///inn/',
    'reducerdb:////schema',
    'reducerdb:///inn/tables',
    'reducerdb:///inn/tables/',
    'reducerdb:///inn/tables/a/b',
    'reducerdb:///inn/tables/a/b/',
    'reducerdb:///inn/tables/a/b/c/d',
    'reducerdb:///inn/rows',
    'reducerdb:///inn/schema?version=9',
    'reducerdb:///inn/schema#top',
    'reducerdb:///inn/tables/%zz',
    'reducerdb:///inn/tables/%ff',
    'file:///etc/passwd',
    'http://127.0.0.1/inn/schema',
  ];

  it.each(foreign)('[mcp B7] %j stands for nothing', (uri) => {
    expect(addressOf(uri)).toBeUndefined();
  });
});

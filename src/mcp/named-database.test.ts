import { expect, it } from 'vitest';
import { parseJson } from '../values/json.ts';
import { namedDatabase } from './named-database.ts';

const named = (body: unknown) => namedDatabase(parseJson(JSON.stringify(body)));

it('[replication 8.7] a message names its database by arguments, or by its resource', () => {
  const call = { method: 'tools/call', params: { name: 'sql', arguments: { database: 'shop' } } };
  expect(named(call)).toBe('shop');
  const read = (uri: string) => ({ method: 'resources/read', params: { uri } });
  expect(named(read('reducerdb:///shop%20x/tables/item'))).toBe('shop x');
  expect(named([{ method: 'ping' }, read('reducerdb:///shop/logs'), call])).toBe('shop');
  const none = [
    { method: 'tools/list' },
    read('reducerdb:///databases'),
    read('x'),
    [],
    'shop',
    null,
  ];
  expect(none.map(named)).toEqual(none.map(() => undefined));
});

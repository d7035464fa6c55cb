import { expect, it } from 'vitest';
import { AppHosts } from '../auth/app-hosts.ts';
import { appOrigin } from './app-places.ts';

const bound = new Map([['www.example.org', 'shop']]);
const local = new AppHosts({ domain: 'localhost', bound: new Map(), own: [] });
const both = new AppHosts({ domain: 'localhost', bound, own: [] });
const far = new AppHosts({ domain: 'apps.example.com', bound, own: ['db.apps.example.com'] });
const publicUrl = 'https://db.example.com:8443';

it.each<[AppHosts, string | undefined, string, string | undefined, string | undefined]>([
  [local, undefined, 'shop', 'localhost:3000', 'http://shop.localhost:3000'],
  [local, undefined, 'shop', '127.0.0.1', 'http://shop.localhost'],
  [local, undefined, 'shop', '[::1]:3000', 'http://shop.localhost:3000'],
  // A client that is not on this machine has no use for a name below `localhost`.
  [local, publicUrl, 'shop', 'db.example.com', undefined],
  [local, undefined, 'shop', undefined, undefined],
  [local, undefined, 'a'.repeat(64), 'localhost:3000', undefined],
  [both, publicUrl, 'shop', 'db.example.com', 'https://www.example.org:8443'],
  [both, publicUrl, 'shop', 'localhost:3000', 'http://shop.localhost:3000'],
  [far, publicUrl, 'shop', 'db.example.com', 'https://shop.apps.example.com:8443'],
  [far, undefined, 'shop', 'db.example.com:81', 'http://shop.apps.example.com:81'],
  [far, publicUrl, 'db', 'db.example.com', undefined],
])('[rulings 1.1] the origin of an app, case %#', (hosts, url, name, host, origin) => {
  expect(appOrigin({ hosts, publicUrl: url, scheme: 'http' }, name, host)).toBe(origin);
});

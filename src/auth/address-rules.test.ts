import { describe, expect, it } from 'vitest';
import { addressKind } from './address-rules.ts';

/** Each blocked network: its first address, its last one, and the two around it. */
const networks = [
  ['0.0.0.0', '0.255.255.255', undefined, '1.0.0.0'],
  ['10.0.0.0', '10.255.255.255', '9.255.255.255', '11.0.0.0'],
  ['100.64.0.0', '100.127.255.255', '100.63.255.255', '100.128.0.0'],
  ['168.63.129.16', '168.63.129.16', '168.63.129.15', '168.63.129.17'],
  ['169.254.0.0', '169.254.255.255', '169.253.255.255', '169.255.0.0'],
  ['172.16.0.0', '172.31.255.255', '172.15.255.255', '172.32.0.0'],
  ['192.0.0.0', '192.0.0.255', '191.255.255.255', '192.0.1.0'],
  ['192.0.2.0', '192.0.2.255', '192.0.1.255', '192.0.3.0'],
  ['192.31.196.0', '192.31.196.255', '192.31.195.255', '192.31.197.0'],
  ['192.52.193.0', '192.52.193.255', '192.52.192.255', '192.52.194.0'],
  ['192.88.99.0', '192.88.99.255', '192.88.98.255', '192.88.100.0'],
  ['192.168.0.0', '192.168.255.255', '192.167.255.255', '192.169.0.0'],
  ['192.175.48.0', '192.175.48.255', '192.175.47.255', '192.175.49.0'],
  ['198.18.0.0', '198.19.255.255', '198.17.255.255', '198.20.0.0'],
  ['198.51.100.0', '198.51.100.255', '198.51.99.255', '198.51.101.0'],
  ['203.0.113.0', '203.0.113.255', '203.0.112.255', '203.0.114.0'],
  ['224.0.0.0', '239.255.255.255', '223.255.255.255', undefined],
  ['240.0.0.0', '255.255.255.255', undefined, undefined],
  ['::ffff:0:0', '::ffff:ffff:ffff', undefined, undefined],
  ['64:ff9b::', '64:ff9b::ffff:ffff', undefined, undefined],
  ['64:ff9b:1::', '64:ff9b:1:ffff:ffff:ffff:ffff:ffff', undefined, undefined],
  ['100::', '100::ffff:ffff:ffff:ffff', undefined, undefined],
  ['100:0:0:1::', '100:0:0:1:ffff:ffff:ffff:ffff', undefined, undefined],
  ['2001::', '2001:1ff:ffff:ffff:ffff:ffff:ffff:ffff', '2000:ffff::1', '2001:200::'],
  ['2001:db8::', '2001:db8:ffff:ffff:ffff:ffff:ffff:ffff', '2001:db7:ffff::', '2001:db9::'],
  ['2002::', '2002:ffff:ffff:ffff:ffff:ffff:ffff:ffff', '2001:ffff:ffff::', '2003::'],
  ['2620:4f:8000::', '2620:4f:8000:ffff:ffff:ffff:ffff:ffff', '2620:4f:7fff::', '2620:4f:8001::'],
  ['3fff::', '3fff:fff:ffff:ffff:ffff:ffff:ffff:ffff', '3ffe:ffff::', '3fff:1000::'],
  ['5f00::', '5f00:ffff:ffff:ffff:ffff:ffff:ffff:ffff', undefined, undefined],
  ['fc00::', 'fdff:ffff:ffff:ffff:ffff:ffff:ffff:ffff', undefined, undefined],
  ['fe80::', 'febf:ffff:ffff:ffff:ffff:ffff:ffff:ffff', undefined, undefined],
  ['ff00::', 'ffff:ffff:ffff:ffff:ffff:ffff:ffff:ffff', undefined, undefined],
] as const;

describe('[auth 6] the kind of an address', () => {
  it.each(networks)('is private from %s to %s', (first, last, before, after) => {
    for (const address of [first, last]) {
      expect(addressKind(address)).toBe('private');
      if (address.includes('.')) expect(addressKind(`::ffff:${address}`)).toBe('private');
    }
    for (const address of [before, after]) {
      if (address !== undefined)
        expect([address, addressKind(address)]).toEqual([address, 'public']);
    }
  });

  it.each(['93.184.215.14', '2606:4700:4700::1111', '2a00:1450:4001:81b::200e'])(
    'is public for %s',
    (address) => {
      expect(addressKind(address)).toBe('public');
    },
  );

  it.each(['127.0.0.1', '127.255.255.254', '::1', '0:0:0:0:0:0:0:1', '::ffff:127.0.0.1'])(
    'is loopback for %s',
    (address) => {
      expect(addressKind(address)).toBe('loopback');
    },
  );

  it.each([
    '::ffff:93.184.215.14',
    '::ffff:5db8:d70e',
    '0:0:0:0:0:ffff:5db8:d70e',
    '::',
    '::7f00:1',
    '::ffff:0:7f00:1',
    'fec0::1',
    'fe80::1%eth0',
    'localhost',
    '2130706433',
    '',
  ])('is private for %s', (address) => {
    expect(addressKind(address)).toBe('private');
  });
});

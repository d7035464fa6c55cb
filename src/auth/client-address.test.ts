import { describe, expect, it } from 'vitest';
import { ClientAddresses, networkOf } from './client-address.ts';

describe('the address of a client', () => {
  const addresses = new ClientAddresses(['10.0.0.0/8', '192.0.2.7', 'fd00::/8', '::1']);

  it.each([
    ['198.51.100.4', undefined, '198.51.100.4'],
    // A client that is not a proxy can write anything.
    ['198.51.100.4', '203.0.113.9', '198.51.100.4'],
    ['10.1.2.3', '203.0.113.9', '203.0.113.9'],
    ['10.1.2.3', '6.6.6.6, 203.0.113.9', '203.0.113.9'],
    ['10.1.2.3', '203.0.113.9, 192.0.2.7, 10.9.9.9', '203.0.113.9'],
    ['10.1.2.3', '10.4.4.4,10.5.5.5', '10.4.4.4'],
    ['10.1.2.3', undefined, '10.1.2.3'],
    // Entries that are not addresses are ignored.
    ['10.1.2.3', '', '10.1.2.3'],
    ['10.1.2.3', 'unknown', '10.1.2.3'],
    ['10.1.2.3', '203.0.113.9, unknown, 10.4.4.4', '10.4.4.4'],
    // Some proxies append ports.
    ['10.1.2.3', '203.0.113.9:4711', '203.0.113.9'],
    ['10.1.2.3', '[2001:db8::5]:4711', '2001:db8::5'],
    ['::ffff:10.1.2.3', '203.0.113.9', '203.0.113.9'],
    ['::ffff:198.51.100.4', undefined, '198.51.100.4'],
    ['fd12::1', '2001:db8::5', '2001:db8::5'],
    ['::1', '203.0.113.9', '203.0.113.9'],
  ])('[http 16] of %s, forwarded for %j, is %j', (remoteAddress, forwardedFor, expected) => {
    expect(addresses.of({ remoteAddress, forwardedFor })).toBe(expected);
  });

  it.each([
    ['127.0.0.1', undefined, 'localhost:3000', true],
    ['::ffff:127.0.0.1', undefined, '127.0.0.1', true],
    ['::1', undefined, '[::1]:3000', true],
    ['::1', '127.0.0.1', 'localhost', true],
    ['::1', '203.0.113.9', 'localhost', false],
    // Who has added that is no proxy of this service.
    ['127.0.0.1', '127.0.0.1', 'localhost', false],
    ['127.0.0.1', undefined, 'db.example', false],
    ['127.0.0.1', undefined, '', false],
    ['198.51.100.4', undefined, 'localhost', false],
  ])(
    '[ease 5.4] %s, forwarded for %j, at %j, is on this machine: %j',
    (remoteAddress, forwardedFor, host, expected) => {
      expect(addresses.isOnMachine({ remoteAddress, forwardedFor }, host)).toBe(expected);
    },
  );

  it.each([['gateway'], ['10.0.0.0/x'], ['10.0.0.0/33'], [''], ['10.0.0']])(
    'refuses %j as a proxy',
    (proxy) => {
      expect(() => new ClientAddresses([proxy])).toThrow();
    },
  );
});

describe('what requests of an address are counted by', () => {
  it.each([
    ['203.0.113.9', '203.0.113.9'],
    ['2001:db8:1:2:3:4:5:6', '2001:db8:1:2::/64'],
    ['2001:db8:1:2::9', '2001:db8:1:2::/64'],
    ['2001:0DB8:1:2::', '2001:db8:1:2::/64'],
    ['2001:db8::1', '2001:db8:0:0::/64'],
    ['::1', '0:0:0:0::/64'],
  ])('of %s is %s', (address, network) => {
    expect(networkOf(address)).toBe(network);
  });
});

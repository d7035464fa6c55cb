import { expect, it } from 'vitest';
import { completeConfiguration } from './configuration.ts';

const issuersAt = (host: string, given = {}) =>
  completeConfiguration({ listen: { host, port: 0 }, publishPolicy: 'anyone', issuers: given })
    .issuers;

it('[auth 6] issuers on loopback are asked while only loopback can connect', () => {
  for (const host of ['127.0.0.1', '127.9.9.9', '::1', 'localhost']) {
    expect(issuersAt(host)).toEqual({ allowsLoopback: true, allowsPrivate: false });
  }
  for (const host of ['0.0.0.0', '::', '192.168.0.7', 'example.com']) {
    expect(issuersAt(host)).toEqual({ allowsLoopback: false, allowsPrivate: false });
  }
  const both = { allowsLoopback: true, allowsPrivate: true };
  expect(issuersAt('0.0.0.0', both)).toEqual(both);
});

import { BlockList, isIPv4, isIPv6 } from 'node:net';

/**
 * The network that an IP address belongs to. The sender of a token chooses the issuer that the
 * service asks for keys, and a module the servers that it sends requests to, so only publicly
 * reachable addresses are allowed unless the operator says otherwise.
 */
export type AddressKind = 'public' | 'loopback' | 'private';

/**
 * Classifies an IPv4 or IPv6 address in text form; anything else counts as private, and so does an
 * IPv4 address mapped to IPv6 (`::ffff:93.184.215.14`): names never need that form. `BlockList`
 * treats `::ffff:127.0.0.1`, in any spelling, as 127.0.0.1.
 */
export function addressKind(address: string): AddressKind {
  // A zone such as `%eth0` does not identify the network.
  const [plain = ''] = address.split('%');
  const family = isIPv4(plain) ? 'ipv4' : isIPv6(plain) ? 'ipv6' : undefined;
  if (family === undefined) return 'private';
  if (loopback.check(plain, family)) return 'loopback';
  if (notPublic.check(plain, family)) return 'private';
  return family === 'ipv4' || reachable.check(plain, family) ? 'public' : 'private';
}

/**
 * The IPv6 block allocated for use across networks. Other addresses can lead to a nearby machine:
 * `::7f00:1`, `::ffff:0:7f00:1`, `64:ff9b::7f00:1`, `fec0::1`.
 */
const reachable = new BlockList();
reachable.addSubnet('2000::', 3, 'ipv6');

const loopback = new BlockList();
loopback.addSubnet('127.0.0.0', 8, 'ipv4');
loopback.addAddress('::1', 'ipv6');

/**
 * The blocks of the IANA special-purpose registries, except those that belong to `loopback`, and
 * an address at which one cloud answers each of its machines as it does on 169.254.169.254.
 */
const notPublic = new BlockList();
for (const [network, prefix] of [
  ['0.0.0.0', 8],
  ['10.0.0.0', 8],
  ['100.64.0.0', 10],
  ['168.63.129.16', 32],
  ['169.254.0.0', 16],
  ['172.16.0.0', 12],
  ['192.0.0.0', 24],
  ['192.0.2.0', 24],
  ['192.31.196.0', 24],
  ['192.52.193.0', 24],
  ['192.88.99.0', 24],
  ['192.168.0.0', 16],
  ['192.175.48.0', 24],
  ['198.18.0.0', 15],
  ['198.51.100.0', 24],
  ['203.0.113.0', 24],
  ['224.0.0.0', 4],
  ['240.0.0.0', 4],
] as const) {
  notPublic.addSubnet(network, prefix, 'ipv4');
}
for (const [network, prefix] of [
  ['2001::', 23],
  ['2001:db8::', 32],
  ['2002::', 16],
  ['2620:4f:8000::', 48],
  ['3fff::', 20],
] as const) {
  notPublic.addSubnet(network, prefix, 'ipv6');
}

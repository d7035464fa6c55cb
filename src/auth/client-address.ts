import { BlockList, isIP, isIPv6 } from 'node:net';

/** What a request says about the way that it took. */
export interface Passage {
  /** The other end of the connection. */
  readonly remoteAddress: string;
  readonly forwardedFor: string | undefined;
}

/**
 * Who is at the far end of a request: the other end of its connection, or, behind trusted proxies,
 * the last address of `x-forwarded-for` that is none of theirs. What stands before it is not looked
 * at, nor what is no address: anybody may write anything.
 */
export class ClientAddresses {
  readonly #proxies = new BlockList();

  /** Addresses, or networks such as `10.0.0.0/8`. Throws an `Error` about one that is neither. */
  constructor(trustedProxies: readonly string[]) {
    for (const proxy of trustedProxies) this.#add(proxy);
  }

  isProxy(address: string): boolean {
    if (isIP(address) === 0) return false;
    return this.#proxies.check(address, familyOf(address));
  }

  of({ remoteAddress, forwardedFor }: Passage): string {
    let farthest = remoteAddress;
    for (const part of forwardedFor?.split(',').reverse() ?? []) {
      const address = addressIn(part.trim());
      if (!this.isProxy(farthest) || address === undefined) break;
      farthest = address;
    }
    return plainAddress(farthest);
  }

  #add(proxy: string): void {
    const [address = '', bits] = proxy.split('/', 2);
    const bitsMax = isIPv6(address) ? 128 : 32;
    const isWhole = bits === undefined || (/^\d{1,3}$/.test(bits) && Number(bits) <= bitsMax);
    if (isIP(address) === 0 || !isWhole) {
      throw new Error(`\`${proxy}\` is neither an address nor a network such as 10.0.0.0/8`);
    }
    if (bits === undefined) this.#proxies.addAddress(address, familyOf(address));
    else this.#proxies.addSubnet(address, Number(bits), familyOf(address));
  }
}

/**
 * What requests are counted by: an address, or, as IPv6 gives every household more addresses than
 * anybody could count, the network that it is in.
 */
export function networkOf(address: string): string {
  if (!isIPv6(address)) return address;
  const [before = [], after] = address.split('::', 2).map(groupsOf);
  const missing = 8 - before.length - (after?.length ?? 0);
  const groups = [...before, ...Array.from({ length: missing }, () => '0'), ...(after ?? [])];
  const network = groups.slice(0, 4).map((group) => Number.parseInt(group, 16).toString(16));
  return `${network.join(':')}::/64`;
}

function groupsOf(half: string): string[] {
  return half === '' ? [] : half.split(':');
}

/** Some proxies write the port, too. */
function addressIn(part: string): string | undefined {
  const address = /^\[(.*)\](?::\d+)?$/.exec(part)?.[1] ?? part.replace(/^([\d.]+):\d+$/, '$1');
  return isIP(address) === 0 ? undefined : address;
}

function familyOf(address: string): 'ipv4' | 'ipv6' {
  return isIPv6(address) ? 'ipv6' : 'ipv4';
}

/** One and the same client may come as 10.0.0.1 and as ::ffff:10.0.0.1. */
function plainAddress(address: string): string {
  return address.replace(/^::ffff:(?=\d+\.)/i, '');
}

import { BlockList, isIP, isIPv6 } from 'node:net';
import { hostName, isLoopbackAddress, isLoopbackName } from './page-rules.ts';

/** The addresses that a request shows of its path. */
export interface Passage {
  /** The peer of the connection. */
  readonly remoteAddress: string;
  readonly forwardedFor: string | undefined;
}

/**
 * Finds the client of a request: the peer of its connection or, behind trusted proxies, the last
 * address in `x-forwarded-for` that is not one of theirs. Earlier entries are ignored, and so is
 * anything that is not an address, because a client can write anything there.
 */
export class ClientAddresses {
  readonly #proxies = new BlockList();
  readonly #hasProxies: boolean;

  /** Takes addresses, or networks such as `10.0.0.0/8`. Throws an `Error` for anything else. */
  constructor(trustedProxies: readonly string[]) {
    this.#hasProxies = trustedProxies.length > 0;
    for (const proxy of trustedProxies) this.#add(proxy);
  }

  isProxy(address: string): boolean {
    if (isIP(address) === 0) return false;
    return this.#proxies.check(address, familyOf(address));
  }

  /**
   * Whether a peer may say by which address its client has asked (`x-forwarded-host` and `-proto`):
   * a trusted proxy, or anyone where none is known, since the client chooses its `Host` as well.
   */
  maySayHost(remoteAddress: string): boolean {
    return !this.#hasProxies || this.isProxy(remoteAddress);
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

  /**
   * Whether the client is on this machine, and has asked for it there by `host`. Someone who is no
   * trusted proxy and has added an address stands in between, or wants to be taken for another.
   */
  isOnMachine(passage: Passage, host: string): boolean {
    const { remoteAddress, forwardedFor } = passage;
    if (forwardedFor !== undefined && !this.isProxy(remoteAddress)) return false;
    return isLoopbackAddress(this.of(passage)) && isLoopbackName(hostName(host));
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
 * Returns the key for counting requests: an IPv4 address, or the /64 network of an IPv6 address,
 * because each household has a vast number of those.
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

/** Parses an address, with a port as some proxies append it. */
function addressIn(part: string): string | undefined {
  const address = /^\[(.*)\](?::\d+)?$/.exec(part)?.[1] ?? part.replace(/^([\d.]+):\d+$/, '$1');
  return isIP(address) === 0 ? undefined : address;
}

function familyOf(address: string): 'ipv4' | 'ipv6' {
  return isIPv6(address) ? 'ipv6' : 'ipv4';
}

/** Maps ::ffff:10.0.0.1 to 10.0.0.1, because one client can appear as both. */
function plainAddress(address: string): string {
  return address.replace(/^::ffff:(?=\d+\.)/i, '');
}

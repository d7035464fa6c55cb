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
 * at: anybody may write anything.
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
    const way = [...(forwardedFor?.split(',').map((part) => part.trim()) ?? []), remoteAddress];
    for (let at = way.length - 1; at > 0; at -= 1) {
      if (!this.isProxy(way[at] ?? '')) return plainAddress(way[at] ?? '');
    }
    return plainAddress(way[0] ?? '');
  }

  #add(proxy: string): void {
    const [address = '', bits] = proxy.split('/', 2);
    const isWhole = bits === undefined || /^\d{1,3}$/.test(bits);
    if (isIP(address) === 0 || !isWhole) {
      throw new Error(`\`${proxy}\` is neither an address nor a network such as 10.0.0.0/8`);
    }
    if (bits === undefined) this.#proxies.addAddress(address, familyOf(address));
    else this.#proxies.addSubnet(address, Number(bits), familyOf(address));
  }
}

function familyOf(address: string): 'ipv4' | 'ipv6' {
  return isIPv6(address) ? 'ipv6' : 'ipv4';
}

/** One and the same client may come as 10.0.0.1 and as ::ffff:10.0.0.1. */
function plainAddress(address: string): string {
  return address.replace(/^::ffff:(?=\d+\.)/i, '');
}

import { type LookupAddress, lookup } from 'node:dns';
import { Resolver } from 'node:dns/promises';
import { limits } from '../../limits.ts';

/**
 * Finds the addresses of host names. Names that modules choose go to the name servers directly: the
 * lookup of the system occupies one of its few threads for as long as a name server is silent, and
 * logins need these threads, too. Only names that the operator has listed take that way, one after
 * another; it knows the names of the machine and of its containers.
 */
export class NameLookup {
  readonly #servers: readonly string[] | undefined;
  #resolver: Resolver | undefined;
  #madeAt = 0;
  /** By name, those that wait included: no more than the operator has listed. */
  readonly #systemLookups = new Map<string, Promise<LookupAddress[]>>();
  #lastSystemLookup: Promise<unknown> = Promise.resolve();

  /** `servers`: name servers with their ports; absent: those of the system. */
  constructor(servers?: readonly string[]) {
    this.#servers = servers;
  }

  /** Rejects if there is none. */
  addressesOf(name: string, bySystem: boolean): Promise<LookupAddress[]> {
    return bySystem ? this.#askSystem(name) : this.#ask(name);
  }

  close(): void {
    this.#resolver?.cancel();
  }

  #askSystem(name: string): Promise<LookupAddress[]> {
    const running = this.#systemLookups.get(name);
    if (running !== undefined) return running;
    const turn = this.#lastSystemLookup
      .then(() => systemLookup(name))
      .finally(() => this.#systemLookups.delete(name));
    this.#systemLookups.set(name, turn);
    this.#lastSystemLookup = turn.catch(() => undefined);
    return turn;
  }

  async #ask(name: string): Promise<LookupAddress[]> {
    const resolver = this.#current();
    const [four, six] = await Promise.allSettled([
      resolver.resolve4(name),
      resolver.resolve6(name),
    ]);
    const found = [...addressesIn(four, 4), ...addressesIn(six, 6)];
    if (found.length > 0) return found;
    throw four.status === 'rejected' ? four.reason : new Error(`${name} has no address`);
  }

  /** A resolver reads the name servers of the system once; they change, so it is replaced. */
  #current(): Resolver {
    const now = performance.now();
    const isOld = now - this.#madeAt > limits.outboundNameServersKeptMillis;
    if (this.#resolver === undefined || isOld) {
      this.#resolver = new Resolver({
        timeout: limits.outboundNameServerMillisMax,
        tries: limits.outboundNameServerTries,
      });
      if (this.#servers !== undefined) this.#resolver.setServers(this.#servers);
      this.#madeAt = now;
    }
    return this.#resolver;
  }
}

function addressesIn(answer: PromiseSettledResult<string[]>, family: 4 | 6): LookupAddress[] {
  if (answer.status === 'rejected') return [];
  return answer.value.map((address) => ({ address, family }));
}

function systemLookup(name: string): Promise<LookupAddress[]> {
  return new Promise((resolve, reject) => {
    lookup(name, { all: true }, (error, addresses) => {
      if (error === null) resolve(addresses);
      else reject(error);
    });
  });
}

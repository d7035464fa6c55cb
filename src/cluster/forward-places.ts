import { payersOf } from '../auth/payers.ts';
import type { PlacesFull } from '../host/replication/leader-refusals.ts';
import { limits } from '../limits.ts';
import { identityToHex } from '../values/identity.ts';
import type { ForwardedHead } from './settled-caller.ts';
import { SharedPlaces, sharersOf } from './shared-places.ts';

export type Entered =
  | { readonly kind: 'entered'; readonly leave: () => void }
  | ({ readonly kind: 'full' } & PlacesFull);

/**
 * Places of requests that are with other hosts. Databases, callers, and networks share them, so
 * that none can take those of all others. Requests whose bodies are streamed, and may come slowly,
 * have fewer places, which are shared alike.
 */
export class ForwardPlaces {
  readonly #requests = new SharedPlaces(limits.linkSocketsMax, shares);
  readonly #streams = new SharedPlaces(limits.linkStreamsMax, shares);

  /** Counts a request until `leave` is called, unless there is no place for it. */
  enter(head: Pick<ForwardedHead, 'database' | 'caller' | 'client'>, isStreamed: boolean): Entered {
    const { database, caller, client } = head;
    const payers = payersOf(caller, client.address);
    const sharers = { ...sharersOf(payers), database: identityToHex(database) };
    const pools = isStreamed ? [this.#requests, this.#streams] : [this.#requests];
    for (const pool of pools) {
      const full = pool.fullFor(sharers);
      if (full !== undefined) {
        return { kind: 'full', ...full, isStreamed: pool === this.#streams };
      }
    }
    for (const pool of pools) pool.count(sharers, 1);
    const leave = (): void => {
      for (const pool of pools) pool.count(sharers, -1);
    };
    return { kind: 'entered', leave };
  }
}

const shares = {
  database: limits.linkDatabaseShare,
  caller: limits.linkCallerShare,
  network: limits.linkNetworkShare,
};

import { networkOf } from '../auth/client-address.ts';
import type { PlacesFull } from '../host/replication/leader-refusals.ts';
import { limits } from '../limits.ts';
import { identityToHex } from '../values/identity.ts';
import type { ForwardedHead } from './settled-caller.ts';

export type Entered =
  | { readonly kind: 'entered'; readonly leave: () => void }
  | ({ readonly kind: 'full' } & PlacesFull);

/**
 * Places of requests that are with other hosts. Databases and callers share them, so that neither
 * one caller nor one database can take those of all others. Requests whose bodies are streamed, and
 * may come slowly, have fewer places, which are shared alike.
 */
export class ForwardPlaces {
  readonly #requests = new SharedPlaces(limits.linkSocketsMax);
  readonly #streams = new SharedPlaces(limits.linkStreamsMax);

  /** Counts a request until `leave` is called, unless there is no place for it. */
  enter(head: Pick<ForwardedHead, 'database' | 'caller' | 'client'>, isStreamed: boolean): Entered {
    const sharers = { database: identityToHex(head.database), caller: callerOf(head) };
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

interface Sharers {
  readonly database: string;
  readonly caller: string;
}

class SharedPlaces {
  readonly #max: number;
  #all = 0;
  readonly #ofDatabase = new Map<string, number>();
  readonly #ofCaller = new Map<string, number>();

  constructor(max: number) {
    this.#max = max;
  }

  fullFor({ database, caller }: Sharers): Omit<PlacesFull, 'isStreamed'> | undefined {
    const callerMax = Math.floor(this.#max * limits.linkCallerShare);
    if ((this.#ofCaller.get(caller) ?? 0) >= callerMax) return { of: 'caller', max: callerMax };
    const databaseMax = Math.floor(this.#max * limits.linkDatabaseShare);
    const isShareTaken = (this.#ofDatabase.get(database) ?? 0) >= databaseMax;
    if (isShareTaken) return { of: 'database', max: databaseMax };
    return this.#all >= this.#max ? { of: 'host', max: this.#max } : undefined;
  }

  count({ database, caller }: Sharers, more: 1 | -1): void {
    this.#all += more;
    add(this.#ofDatabase, database, more);
    add(this.#ofCaller, caller, more);
  }
}

function add(counts: Map<string, number>, key: string, more: number): void {
  const count = (counts.get(key) ?? 0) + more;
  if (count === 0) counts.delete(key);
  else counts.set(key, count);
}

/** Its identity; callers without a token are counted by their network. */
function callerOf({ caller, client }: Pick<ForwardedHead, 'caller' | 'client'>): string {
  const isKnown = caller !== undefined && !caller.isAnonymous;
  return isKnown ? identityToHex(caller.identity) : networkOf(client.address);
}

import type { DatabaseRole } from '../host/replication/database-role.ts';
import { limits } from '../limits.ts';
import type { SeenHost } from '../shared-log/directory.ts';
import type { HostId } from '../shared-log/host-ids.ts';
import { bigintFromHex, bigintToHex } from '../values/hex.ts';
import { type DatabaseIdentity, databaseIdentity } from '../values/identity-roles.ts';
import { ClusterError } from './cluster-error.ts';
import type { LinkClient } from './link-client.ts';
import type { Membership } from './membership.ts';
import type { Moving } from './moving.ts';
import type { LeaderPlace } from './routing.ts';

export interface OperationsOptions {
  readonly me: HostId;
  readonly membership: Membership;
  readonly client: Pick<LinkClient, 'askHost'>;
  readonly moving: Moving;
  readonly placeOf: (database: DatabaseIdentity) => LeaderPlace;
  /** This host's part in each database. */
  readonly ownCopies: () => readonly Copy[];
  readonly forget: (host: HostId) => Promise<void>;
}

/** A host's part in a database. */
export interface Copy {
  readonly database: DatabaseIdentity;
  readonly kind: DatabaseRole['kind'];
  readonly term: number;
  /** Last commit that it has, and the last one known to be acknowledged. */
  readonly offset: number;
  readonly acknowledged: number;
  readonly isAtEnd: boolean;
  /** Time since it had all that the engine showed; absent: never. */
  readonly ageMillis: number | undefined;
}

/** What an operator asked for cannot be done; the message says why. Nothing was done. */
export class NotPossibleError extends ClusterError {
  readonly reason: 'noSuchHost' | 'notNow';

  constructor(reason: NotPossibleError['reason'], message: string) {
    super(message);
    this.reason = reason;
  }
}

/** What operators do with hosts, from whichever host they ask. */
export class Operations {
  readonly #options: OperationsOptions;

  constructor(options: OperationsOptions) {
    this.#options = options;
  }

  /** Has a database led by the host with this name. Rejects with `NotPossibleError`. */
  async move(database: DatabaseIdentity, name: string): Promise<void> {
    const { placeOf } = this.#options;
    const to = this.#hostNamed(name);
    this.#requireLiving(to);
    const place = placeOf(database);
    if (place.kind === 'unknown') {
      throw new NotPossibleError('notNow', 'Nobody leads this database now; try again in a moment');
    }
    if (place.kind === 'here') await this.#moveFromHere(database, to.host);
    else if (place.address !== to.address) {
      const path = `move/${bigintToHex(database, 64)}/${bigintToHex(to.host, 32)}`;
      await this.#order(place.address, path);
    }
  }

  /** Has a host give away what it leads, and take no more; or take databases again. */
  async drain(name: string, isDraining: boolean): Promise<void> {
    const to = this.#hostNamed(name);
    this.#requireLiving(to);
    if (to.host === this.#options.me) await this.#drainHere(isDraining);
    else await this.#order(to.address, isDraining ? 'drain' : 'undrain');
  }

  /** Removes a host that is gone from the list. */
  async forget(name: string): Promise<void> {
    const { membership, forget } = this.#options;
    const { host, ageMillis, state } = this.#hostNamed(name);
    const isLiving = membership.living.some((one) => one.host === host);
    if (isLiving || (state !== 'gone' && ageMillis < limits.nameHeldMillis)) {
      const seen = `${(ageMillis / 1_000).toFixed(1)} s ago`;
      throw new NotPossibleError('notNow', `${name} is there (seen ${seen}): stop it first`);
    }
    await forget(host);
  }

  /** The part of each host that answers in each database. */
  async copies(): Promise<ReadonlyMap<HostId, readonly Copy[]>> {
    const { me, membership, client, ownCopies } = this.#options;
    const others = membership.living.filter(({ host }) => host !== me);
    const asked = others.slice(0, limits.clusterHostsMax).map(async ({ host, address }) => {
      const answer = await client.askHost(address, 'copies').catch(() => undefined);
      return [host, copiesIn(answer)] as const;
    });
    return new Map([[me, ownCopies()], ...(await Promise.all(asked))]);
  }

  /** What another host asks of this one; `undefined`: nothing that is known here. */
  async answer(path: string): Promise<unknown> {
    const [order = '', database = '', host = ''] = path.split('/');
    switch (order) {
      case 'copies':
        return this.#options.ownCopies().map(shown);
      case 'drain':
      case 'undrain':
        return this.#told(() => this.#drainHere(order === 'drain'));
      case 'move': {
        const [identity, to] = [bigintFromHex(database, 64), bigintFromHex(host, 32)];
        if (identity === undefined || to === undefined) return undefined;
        return this.#told(() => this.#moveFromHere(databaseIdentity(identity), to as HostId));
      }
      default:
        return undefined;
    }
  }

  async #drainHere(isDraining: boolean): Promise<void> {
    const { membership, moving } = this.#options;
    await membership.drain(isDraining);
    // Who asked need not wait: how many are left is in the list of hosts.
    if (isDraining) void moving.moveAll(AbortSignal.timeout(limits.drainMillisMax));
  }

  async #moveFromHere(database: DatabaseIdentity, to: HostId): Promise<void> {
    const { membership, moving, me } = this.#options;
    if (to === me) return;
    const host = membership.hostOf(to);
    if (host === undefined) throw new NotPossibleError('noSuchHost', 'There is no such host');
    try {
      await moving.move(database, host);
    } catch (error) {
      if (!(error instanceof Error)) throw error;
      throw new NotPossibleError('notNow', error.message);
    }
  }

  /** Gives another host an order, and what it says of it. */
  async #order(address: string, path: string): Promise<void> {
    let answer: unknown;
    try {
      answer = await this.#options.client.askHost(address, path);
    } catch (error) {
      const cause = (error as Error).message;
      const message = `${address} does not answer, and may have done it: ${cause}`;
      throw new NotPossibleError('notNow', message);
    }
    const { fault } = answer as { readonly fault?: unknown };
    if (typeof fault === 'string') throw new NotPossibleError('notNow', fault);
  }

  async #told(work: () => Promise<void>): Promise<{ readonly fault?: string }> {
    try {
      await work();
      return {};
    } catch (error) {
      return { fault: error instanceof Error ? error.message : 'it could not be done' };
    }
  }

  #hostNamed(name: string): SeenHost {
    const { hosts } = this.#options.membership;
    const found = hosts.find((host) => host.name === name);
    if (found !== undefined) return found;
    const names = hosts
      .map((host) => host.name)
      .sort()
      .join(', ');
    throw new NotPossibleError('noSuchHost', `No host is named ${name}; there are: ${names}`);
  }

  #requireLiving({ host, name, ageMillis }: SeenHost): void {
    if (this.#options.membership.living.some((one) => one.host === host)) return;
    const seen = `${(ageMillis / 1_000).toFixed(1)} s ago`;
    throw new NotPossibleError('notNow', `${name} is not there (seen ${seen})`);
  }
}

function shown({ database, ageMillis, ...rest }: Copy): object {
  return { ...rest, database: bigintToHex(database, 64), ageMillis: ageMillis ?? null };
}

const kinds: readonly unknown[] = ['opening', 'follower', 'leader', 'broken'];

/** Another version may say more, or something else. */
function copiesIn(answer: unknown): readonly Copy[] {
  if (!Array.isArray(answer)) return [];
  return answer.flatMap((one: Readonly<Record<string, unknown>>) => {
    const identity = bigintFromHex(String(one.database), 64);
    const { kind, term, offset, acknowledged, isAtEnd, ageMillis } = one;
    const areCounts = [term, offset, acknowledged].every(Number.isSafeInteger);
    if (identity === undefined || !kinds.includes(kind) || !areCounts) return [];
    return [
      {
        database: databaseIdentity(identity),
        kind: kind as Copy['kind'],
        ...{ term: Number(term), offset: Number(offset), acknowledged: Number(acknowledged) },
        isAtEnd: isAtEnd === true,
        ageMillis: typeof ageMillis === 'number' ? ageMillis : undefined,
      },
    ];
  });
}

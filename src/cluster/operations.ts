import type { DatabaseRole } from '../host/replication/database-role.ts';
import { limits } from '../limits.ts';
import type { SeenHost } from '../shared-log/directory.ts';
import type { HostId } from '../shared-log/host-ids.ts';
import type { RepairOutcome } from '../shared-log/repair-log.ts';
import { bigintFromHex, bigintToHex } from '../values/hex.ts';
import { type DatabaseIdentity, databaseIdentity } from '../values/identity-roles.ts';
import { ClusterError } from './cluster-error.ts';
import type { KeyKeeper } from './key-keeper.ts';
import { KeyOrders } from './key-orders.ts';
import type { LinkClient } from './link-client.ts';
import type { Membership } from './membership.ts';
import type { Moving, NotGiven } from './moving.ts';
import type { LeaderPlace } from './routing.ts';

export interface OperationsOptions {
  /** What this host shares of keys; absent: it shares none. */
  readonly keys?: KeyKeeper | undefined;
  readonly me: HostId;
  readonly membership: Membership;
  readonly client: Pick<LinkClient, 'askHost'>;
  readonly moving: Moving;
  readonly placeOf: (database: DatabaseIdentity) => LeaderPlace;
  /** Has a copy of a database for a while, so that this host can be given it. */
  readonly takeUp: (database: DatabaseIdentity) => void;
  /** This host's part in each database. */
  readonly ownCopies: () => readonly Copy[];
  readonly forget: (host: HostId) => Promise<void>;
  /** Has the log of a database be what this host has of it; absent: it has no databases. */
  readonly repair?: ((database: DatabaseIdentity) => Promise<RepairOutcome>) | undefined;
}

/** A host's part in a database. */
export interface Copy {
  readonly database: DatabaseIdentity;
  readonly kind: DatabaseRole['kind'];
  readonly term: number;
  /** Last commit that it has, and the last one known to be acknowledged. */
  readonly offset: number;
  readonly acknowledged: number;
  /** False if both say nothing: it could not read it since it started. */
  readonly isKnown: boolean;
  readonly isAtEnd: boolean;
  /** True if its program is loaded; `fault`: why it cannot be. */
  readonly isWarm: boolean;
  readonly fault: string | undefined;
  /** Time since it had all that the engine showed; absent: never. */
  readonly ageMillis: number | undefined;
  /** What it takes of memory, and of the leader how long it was in turns. */
  readonly bytes: number;
  readonly turnMillis: number;
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
  /** Rotation of keys; `undefined`: this host shares none. */
  readonly keys: KeyOrders | undefined;

  constructor(options: OperationsOptions) {
    this.#options = options;
    const { keys: keeper, ...rest } = options;
    this.keys = keeper && new KeyOrders({ ...rest, keeper });
  }

  /** Has a database led by the host with this name. Rejects with `NotPossibleError`. */
  async move(database: DatabaseIdentity, name: string): Promise<void> {
    const to = this.#hostNamed(name);
    this.#requireLiving(to);
    const leader = await this.#leaderOf(database);
    if (leader === undefined) {
      throw new NotPossibleError('notNow', 'Nobody leads this database now; try again in a moment');
    }
    if (leader === to.address) return;
    // It may have no copy yet; while it fetches one, the leader says so.
    await this.#prepare(to, database);
    if (leader === 'here') await this.#moveFromHere(database, to.host);
    else {
      const path = `move/${bigintToHex(database, 64)}/${bigintToHex(to.host, 32)}`;
      await this.#order(leader, path);
    }
  }

  /** The address of the host that leads a database; one without a copy asks those that have one. */
  async #leaderOf(database: DatabaseIdentity): Promise<string | undefined> {
    const { placeOf, membership, me } = this.#options;
    const place = placeOf(database);
    if (place.kind !== 'unknown') return place.kind === 'here' ? 'here' : place.address;
    const led = [...(await this.copies())].flatMap(([host, copies]) => {
      const copy = copies.find((one) => one.database === database && one.kind === 'leader');
      return copy === undefined ? [] : [{ host, term: copy.term }];
    });
    const [first] = led.sort((one, other) => other.term - one.term);
    if (first === undefined) return undefined;
    return first.host === me ? 'here' : membership.hostOf(first.host)?.address;
  }

  async #prepare({ host, address }: SeenHost, database: DatabaseIdentity): Promise<void> {
    const { me, takeUp, client } = this.#options;
    if (host === me) takeUp(database);
    else await client.askHost(address, `take/${bigintToHex(database, 64)}`).catch(() => undefined);
  }

  /**
   * Has a host give away what it leads, and take no more; or take databases again. Returns what
   * nobody takes.
   */
  async drain(name: string, isDraining: boolean): Promise<readonly NotGiven[]> {
    const to = this.#hostNamed(name);
    this.#requireLiving(to);
    if (to.host === this.#options.me) return this.#drainHere(isDraining);
    return leftIn(await this.#order(to.address, isDraining ? 'drain' : 'undrain'));
  }

  /** Removes a host that is gone from the list. */
  async forget(name: string): Promise<void> {
    const { membership, forget } = this.#options;
    const { host, boot, ageMillis, state } = this.#hostNamed(name);
    const isLiving = membership.living.some((one) => one.host === host);
    const seen = `${(ageMillis / 1_000).toFixed(1)} s ago`;
    if (isLiving) {
      throw new NotPossibleError('notNow', `${name} is there (seen ${seen}): stop it first`);
    }
    const leftMillis = limits.nameHeldMillis - ageMillis;
    if (state !== 'gone' && !membership.hasEnded(boot) && leftMillis > 0) {
      const seconds = Math.ceil(leftMillis / 1_000);
      const text = `${name} was there a moment ago (seen ${seen}) and may only be paused: wait`;
      throw new NotPossibleError('notNow', `${text} ${seconds} s, then try again`);
    }
    await forget(host);
  }

  /** Has the shared log of a database be what the host with this name has of it. */
  async repair(database: DatabaseIdentity, name: string): Promise<RepairOutcome> {
    const from = this.#hostNamed(name);
    this.#requireLiving(from);
    if (from.host === this.#options.me) return this.#repairHere(database);
    const path = `repair/${bigintToHex(database, 64)}`;
    return (await this.#order(from.address, path, limits.repairMillisMax)) as RepairOutcome;
  }

  #repairHere(database: DatabaseIdentity): Promise<RepairOutcome> {
    const { repair } = this.#options;
    if (repair === undefined) throw new NotPossibleError('notNow', 'This host still starts');
    return repair(database);
  }

  /** The part of each host that answers in each database; one that does not is left out. */
  async copies(): Promise<ReadonlyMap<HostId, readonly Copy[]>> {
    const { me, membership, client, ownCopies } = this.#options;
    const living = membership.living.filter(({ host }) => host !== me);
    const asked = living.slice(0, limits.clusterHostsMax).map(async ({ host, address }) => {
      return [host, copiesIn(await client.askHost(address, 'copies'))] as const;
    });
    const answers = await Promise.allSettled(asked);
    const others = answers.flatMap((one) => (one.status === 'fulfilled' ? [one.value] : []));
    return new Map([[me, ownCopies()], ...others]);
  }

  /** What another host asks of this one; `undefined`: nothing that is known here. */
  async answer(path: string): Promise<unknown> {
    const [order = '', database = '', host = ''] = path.split('/');
    switch (order) {
      case 'copies':
        return this.#options.ownCopies().map(shown);
      case 'drain':
      case 'undrain':
        return this.#told(async () => {
          const left = await this.#drainHere(order === 'drain');
          return left.map((one) => ({ ...one, database: bigintToHex(one.database, 64) }));
        });
      case 'take': {
        const identity = bigintFromHex(database, 64);
        if (identity === undefined) return undefined;
        this.#options.takeUp(databaseIdentity(identity));
        return {};
      }
      case 'move': {
        const [identity, to] = [bigintFromHex(database, 64), bigintFromHex(host, 32)];
        if (identity === undefined || to === undefined) return undefined;
        return this.#told(async () => {
          await this.#moveFromHere(databaseIdentity(identity), to as HostId);
          return [];
        });
      }
      case 'repair': {
        const identity = bigintFromHex(database, 64);
        if (identity === undefined) return undefined;
        return this.#repairHere(databaseIdentity(identity)).catch(faultOf);
      }
      default:
        return this.#options.keys?.answer(path);
    }
  }

  async #drainHere(isDraining: boolean): Promise<readonly NotGiven[]> {
    const { membership, moving } = this.#options;
    await membership.drain(isDraining);
    return isDraining ? moving.moveAll(AbortSignal.timeout(limits.drainMillisMax)) : [];
  }

  async #moveFromHere(database: DatabaseIdentity, to: HostId): Promise<void> {
    const { membership, moving, me } = this.#options;
    if (to === me) return;
    let host = membership.hostOf(to);
    try {
      if (host?.state === 'draining') {
        // It may take databases again since the last beat.
        await membership.beatNow();
        host = membership.hostOf(to);
      }
      if (host === undefined) throw new NotPossibleError('noSuchHost', 'There is no such host');
      await moving.move(database, host, 'operator');
    } catch (error) {
      if (!(error instanceof Error) || error instanceof NotPossibleError) throw error;
      throw new NotPossibleError('notNow', error.message);
    }
  }

  /** Gives another host an order, and what it says of it. */
  async #order(
    address: string,
    path: string,
    millisMax: number = limits.hostOrderMillisMax,
  ): Promise<object> {
    let answer: unknown;
    try {
      answer = await this.#options.client.askHost(address, path, { millisMax });
    } catch (error) {
      const cause = (error as Error).message;
      const message = `${address} does not answer, and may have done it: ${cause}`;
      throw new NotPossibleError('notNow', message);
    }
    const { fault } = answer as { readonly fault?: unknown };
    if (typeof fault === 'string') throw new NotPossibleError('notNow', fault);
    return answer as object;
  }

  async #told(work: () => Promise<readonly object[]>): Promise<object> {
    try {
      return { left: await work() };
    } catch (error) {
      return faultOf(error);
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

function amountIn(value: unknown): number {
  return typeof value === 'number' && value > 0 ? value : 0;
}

function faultOf(error: unknown): { readonly fault: string } {
  return { fault: error instanceof Error ? error.message : 'it could not be done' };
}

/** What another host could not give away. */
function leftIn(answer: { readonly left?: unknown }): readonly NotGiven[] {
  if (!Array.isArray(answer.left)) return [];
  return answer.left.flatMap(({ database, reason }: Readonly<Record<string, unknown>>) => {
    const identity = bigintFromHex(String(database), 64);
    if (identity === undefined) return [];
    return [{ database: databaseIdentity(identity), reason: String(reason) }];
  });
}

function shown({ database, ageMillis, ...rest }: Copy): object {
  return { ...rest, database: bigintToHex(database, 64), ageMillis: ageMillis ?? null };
}

const kinds: readonly unknown[] = ['opening', 'follower', 'leader', 'broken'];

/** Another version may say more, or something else. */
function copiesIn(answer: unknown): readonly Copy[] {
  if (!Array.isArray(answer)) throw new Error('these are no copies');
  return answer.flatMap((one: Readonly<Record<string, unknown>>) => {
    const identity = bigintFromHex(String(one.database), 64);
    const { kind, term, offset, acknowledged, ageMillis } = one;
    const areCounts = [term, offset, acknowledged].every(Number.isSafeInteger);
    if (identity === undefined || !kinds.includes(kind) || !areCounts) return [];
    return [
      {
        database: databaseIdentity(identity),
        kind: kind as Copy['kind'],
        ...{ term: Number(term), offset: Number(offset), acknowledged: Number(acknowledged) },
        isKnown: one.isKnown === true || kind === 'leader' || kind === 'follower',
        ...{ isAtEnd: one.isAtEnd === true, isWarm: one.isWarm === true },
        fault: typeof one.fault === 'string' ? one.fault : undefined,
        ageMillis: typeof ageMillis === 'number' ? ageMillis : undefined,
        ...{ bytes: amountIn(one.bytes), turnMillis: amountIn(one.turnMillis) },
      },
    ];
  });
}

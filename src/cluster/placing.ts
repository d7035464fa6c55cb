import { registryIdentity } from '../host/registry/registry.ts';
import { limits } from '../limits.ts';
import type { Report } from '../node/report-line.ts';
import type { Directory } from '../shared-log/directory.ts';
import type { HostId } from '../shared-log/host-ids.ts';
import type { DatabaseIdentity } from '../values/identity-roles.ts';
import type { LinkClient } from './link-client.ts';
import type { Membership } from './membership.ts';
import type { Moving } from './moving.ts';
import type { Operations } from './operations.ts';
import { type CopyCount, Placer } from './placer.ts';
import type { RoleWatch } from './role-watch.ts';
import { type HostedPlaces, Wishes } from './wishes.ts';

export interface PlacingOptions {
  readonly me: HostId;
  readonly now: () => number;
  readonly report: Report;
  readonly directory: Directory;
  readonly membership: Membership;
  readonly client: Pick<LinkClient, 'askHost'>;
  readonly roles: RoleWatch;
  readonly copiesDefault: number;
}

/** What is given once the databases run. */
export interface PlacedParts {
  readonly databases: HostedPlaces;
  readonly moving: Moving;
  readonly operations: Operations;
}

/** Which hosts have copies of which databases: what is wished, by the placer, and done, here. */
export class Placing {
  readonly wishes: Wishes;
  readonly #options: PlacingOptions;
  readonly #placer: Placer;
  #parts: PlacedParts | undefined;

  constructor(options: PlacingOptions) {
    const { me, now, report, directory, membership, roles, copiesDefault } = options;
    const lives = (host: HostId) => membership.living.some((one) => one.host === host);
    this.#options = options;
    this.wishes = new Wishes({
      ...{ me, now, report, directory, copiesDefault, lives },
      rankOf: (database) => membership.look(database, undefined).rank,
      roleOf: (database) => roles.roleOf(database),
      followedOf: (database) => roles.followedOf(database),
      givenAt: (database) => roles.givenAt(database),
      move: (database, to) => this.#move(database, to),
    });
    this.#placer = new Placer({
      ...{ now, report, directory, copiesDefault, lives },
      leadsRegistry: () => roles.roleOf(registryIdentity)?.kind === 'leader',
      hosts: () => membership.hosts,
      isEngineReached: () => membership.isEngineReached,
      copies: async () => (await this.#parts?.operations.copies()) ?? new Map(),
      changed: () => this.#changed(),
    });
  }

  attach(parts: PlacedParts): void {
    this.#parts = parts;
    this.wishes.attach(parts.databases);
    this.#placer.attach(() => parts.databases.placed());
  }

  /** Copies that databases shall have, and have, where this host places them; else none. */
  get counts(): readonly CopyCount[] {
    return this.#placer.counts;
  }

  close(): void {
    this.wishes.close();
    this.#placer.close();
  }

  /** What this host answers; `undefined`: that is about no wishes. */
  answer(path: string): object | undefined {
    if (path !== wishesPath) return undefined;
    void this.wishes.changed();
    return {};
  }

  async #move(database: DatabaseIdentity, to: HostId): Promise<void> {
    const host = this.#options.membership.hostOf(to);
    if (host !== undefined) await this.#parts?.moving.move(database, host, 'placer');
  }

  #changed(): void {
    const { me, client, membership } = this.#options;
    void this.wishes.changed();
    for (const { host, address } of membership.living.slice(0, limits.clusterHostsMax)) {
      // It reads them by itself, a little later.
      if (host !== me) client.askHost(address, wishesPath).catch(() => undefined);
    }
  }
}

const wishesPath = 'wishes';

import type { DatabaseRole } from '../host/replication/database-role.ts';
import type { PlaceHint, SeenHost } from '../shared-log/directory.ts';
import type { Lead } from '../shared-log/entry-payloads.ts';
import type { DatabaseIdentity } from '../values/identity-roles.ts';
import type { LastLead } from './role-watch.ts';
import type { LeaderPlace } from './routing.ts';

export interface LeaderPlacesOptions {
  readonly roleOf: (database: DatabaseIdentity) => DatabaseRole | undefined;
  /** Who led a database by the last entry that this host has read, if that was another one. */
  readonly lastLeadOf: (database: DatabaseIdentity) => LastLead | undefined;
  /** True if that leader is known to have ended. */
  readonly isGone: (database: DatabaseIdentity, leader: Lead) => boolean;
  /** The other hosts that live as far as this one knows. */
  readonly others: () => readonly SeenHost[];
  /** Those, and the ones that it has not heard of for a while: one of them may lead. */
  readonly mayLive: () => readonly SeenHost[];
  /** Who shall have a database, and who leads it, by what the placer has seen. */
  readonly hintOf: (database: DatabaseIdentity) => Pick<PlaceHint, 'leader' | 'wishes'> | undefined;
}

/** Where databases are led, and where requests for them go, as far as this host knows. */
export class LeaderPlaces {
  readonly #options: LeaderPlacesOptions;

  constructor(options: LeaderPlacesOptions) {
    this.#options = options;
  }

  /** By what this host has read of its log. */
  placeOf(database: DatabaseIdentity): LeaderPlace {
    const role = this.#options.roleOf(database);
    if (role?.kind === 'leader') return { kind: 'here' };
    if (role?.kind !== 'follower' || !role.isLedElsewhere) return { kind: 'unknown' };
    return this.#ledBy(database, role) ?? { kind: 'unknown' };
  }

  /**
   * Where a request goes. A host that does not read the log of its database, because it has no
   * copy of it, or one that is broken or not open yet, asks who led it last, or a host that has
   * one: that knows who leads it now.
   */
  wayTo(database: DatabaseIdentity): LeaderPlace {
    if (this.isRead(database)) return this.placeOf(database);
    return this.#ledBy(database, this.#options.lastLeadOf(database)) ?? this.#guess(database);
  }

  /** The host whose entries of a database this one follows, while it is there. */
  followedLeader(database: DatabaseIdentity): Lead | undefined {
    const role = this.#options.roleOf(database);
    const leader = role?.kind === 'follower' && role.isLedElsewhere ? role.leader : undefined;
    return leader === undefined || this.#options.isGone(database, leader) ? undefined : leader;
  }

  /** True if this host reads the log of a database, or writes it. */
  isRead(database: DatabaseIdentity): boolean {
    const kind = this.#options.roleOf(database)?.kind;
    return kind === 'leader' || kind === 'follower';
  }

  /**
   * True if requests for a database go to other hosts, or wait until one of them is known to lead:
   * a host that has not heard of the others for a while need not be alone.
   */
  isElsewhere(database: DatabaseIdentity): boolean {
    const role = this.#options.roleOf(database);
    if (role?.kind === 'follower') return role.isLedElsewhere;
    return role?.kind !== 'leader' && this.#options.mayLive().length > 0;
  }

  #guess(database: DatabaseIdentity): LeaderPlace {
    const others = this.#options.others();
    const { leader, wishes = [] } = this.#options.hintOf(database) ?? {};
    const holders = others.filter(({ host }) => wishes.includes(host));
    const some = holders.length > 0 ? holders : others;
    const any = some[Math.floor(Math.random() * some.length)];
    const { address } = others.find(({ host }) => host === leader) ?? any ?? {};
    return address === undefined ? { kind: 'unknown' } : { kind: 'elsewhere', term: 0, address };
  }

  #ledBy(
    database: DatabaseIdentity,
    lead: { readonly term: number; readonly leader: Lead | undefined } | undefined,
  ): LeaderPlace | undefined {
    const leader = lead?.leader;
    if (lead === undefined || leader === undefined) return undefined;
    if (this.#options.isGone(database, leader)) return undefined;
    return { kind: 'elsewhere', term: lead.term, address: leader.address };
  }
}

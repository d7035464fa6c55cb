import type { PlacedHere, ReplicationControl } from '../host/databases/replication-control.ts';
import type { DatabaseRole, FollowerRole } from '../host/replication/database-role.ts';
import { limits } from '../limits.ts';
import type { Report } from '../node/report-line.ts';
import type { Directory, PlaceHint } from '../shared-log/directory.ts';
import type { HostId } from '../shared-log/host-ids.ts';
import { identityToHex } from '../values/identity.ts';
import type { DatabaseIdentity } from '../values/identity-roles.ts';

export interface WishesOptions {
  readonly me: HostId;
  readonly directory: Pick<Directory, 'hints'>;
  readonly now: () => number;
  /** Copies of a database about which nobody has said anything. */
  readonly copiesDefault: number;
  /** How many living hosts go before this one for a database of which nobody has decided yet. */
  readonly rankOf: (database: DatabaseIdentity) => number;
  readonly roleOf: (database: DatabaseIdentity) => DatabaseRole | undefined;
  /** How a copy followed last, if it has not led since then. */
  readonly followedOf: (database: DatabaseIdentity) => FollowerRole | undefined;
  readonly lives: (host: HostId) => boolean;
  /** When this host was given a database that it leads; `undefined`: it took it, or made it. */
  readonly givenAt: (database: DatabaseIdentity) => number | undefined;
  /** Gives a database to another host. */
  readonly move: (database: DatabaseIdentity, to: HostId) => Promise<void>;
  readonly report: Report;
}

export type HostedPlaces = Pick<ReplicationControl, 'placed' | 'takeUp' | 'letGo'>;

/**
 * What this host shall have, as the placer wrote it into the hints, and what it does about that:
 * takes copies up, lets others go, gives leaders away. Wishes may be old or wrong: a copy goes only
 * while its leader is there and has all of it, and a leader only by a wish of its present term.
 * Where nobody has wished anything, the first hosts of an order have a copy, and nobody lets one
 * go.
 */
export class Wishes {
  readonly #options: WishesOptions;
  #hints: ReadonlyMap<DatabaseIdentity, PlaceHint> = new Map();
  #readAt = Number.NEGATIVE_INFINITY;
  #places: HostedPlaces | undefined;
  #timer: NodeJS.Timeout | undefined;
  #isLooking = false;
  /** At how many looks in a row a copy could have been let go. */
  readonly #spare = new Map<DatabaseIdentity, number>();
  /** Copies that an operator wants here for a move, and until when. */
  readonly #asked = new Map<DatabaseIdentity, number>();
  #movedAt = Number.NEGATIVE_INFINITY;

  constructor(options: WishesOptions) {
    this.#options = options;
  }

  attach(places: HostedPlaces): void {
    this.#places = places;
    this.#timer = setInterval(() => void this.look(), limits.wishLookMillis).unref();
  }

  close(): void {
    clearInterval(this.#timer);
    this.#places = undefined;
  }

  /** Who shall have a database, and who leads it, as the placer saw it last. */
  hintOf(database: DatabaseIdentity): PlaceHint | undefined {
    return this.#hints.get(database);
  }

  /** Whether this host shall have a copy of a database that it does not lead. */
  holds(database: DatabaseIdentity): boolean {
    return this.#isAsked(database) ?? this.#isWished(database) ?? this.#isByOrder(database);
  }

  /** True if a host shall have it, as far as anybody has said so. */
  mayHold(database: DatabaseIdentity, host: HostId): boolean {
    const wishes = this.#hints.get(database)?.wishes ?? [];
    return wishes.length === 0 || wishes.includes(host);
  }

  /** Has a copy of it for a while, so that this host can be given it. */
  ask(database: DatabaseIdentity): void {
    const { now } = this.#options;
    if (this.#asked.size >= limits.placeHintsMax) this.#asked.clear();
    this.#asked.set(database, now() + limits.copyAskedMillis);
    this.#places?.takeUp(database);
  }

  /** The hints are others now: reads them, and does what they say. */
  async changed(): Promise<void> {
    await this.read();
    await this.look();
  }

  /** Reads the hints; those that were read stay while the engine does not answer. */
  async read(): Promise<void> {
    this.#readAt = this.#options.now();
    try {
      const hints = await this.#options.directory.hints();
      this.#hints = new Map(hints.map((hint) => [hint.database, hint]));
    } catch {
      // The next look reads them.
    }
  }

  async look(): Promise<void> {
    if (this.#isLooking || this.#places === undefined) return;
    this.#isLooking = true;
    try {
      const { now } = this.#options;
      if (now() - this.#readAt >= limits.wishReadMillis) await this.read();
      for (const place of [...(this.#places?.placed() ?? [])]) await this.#follow(place);
    } finally {
      this.#isLooking = false;
    }
  }

  async #follow({ database, hasCopy }: PlacedHere): Promise<void> {
    const places = this.#places;
    const role = this.#options.roleOf(database);
    if (places === undefined) return;
    if (role?.kind === 'leader') this.#giveAway(database, role.term);
    else if (!hasCopy) {
      if (this.holds(database)) places.takeUp(database);
    } else if (this.#isSpare(database, role) && (await places.letGo(database))) {
      this.#tell('has no copy here any more: enough other hosts have one', database);
    }
  }

  /** True if this copy could go at several looks in a row. */
  #isSpare(database: DatabaseIdentity, role: DatabaseRole | undefined): boolean {
    const isWished = this.#isAsked(database) ?? this.#isWished(database) ?? true;
    if (isWished || !this.#isElsewhere(this.#followed(database, role))) {
      this.#spare.delete(database);
      return false;
    }
    const looks = (this.#spare.get(database) ?? 0) + 1;
    this.#spare.set(database, looks);
    if (looks < limits.letGoLooks) return false;
    this.#spare.delete(database);
    return true;
  }

  /** A broken copy has what it had when it followed last. */
  #followed(database: DatabaseIdentity, role: DatabaseRole | undefined): FollowerRole | undefined {
    if (role?.kind === 'follower') return role;
    // It may have what the engine has lost.
    if (role?.kind !== 'broken' || sharedFaults.test(role.reason)) return undefined;
    return this.#options.followedOf(database);
  }

  /** True if the leader is there, and the cluster has everything that this copy has. */
  #isElsewhere(role: FollowerRole | undefined): boolean {
    if (role === undefined || !role.isLedElsewhere || !role.isAtEnd) return false;
    const { leader, end, settledOffset } = role;
    return leader !== undefined && this.#options.lives(leader.host) && settledOffset >= end.offset;
  }

  #giveAway(database: DatabaseIdentity, term: number): void {
    const { now, me, move, lives, givenAt } = this.#options;
    const hint = this.#hints.get(database);
    const [to] = hint?.wishes ?? [];
    if (hint === undefined || to === undefined || to === me || hint.term !== term) return;
    const isLate = now() - this.#movedAt >= limits.hostMoveMillis;
    const at = givenAt(database) ?? Number.NEGATIVE_INFINITY;
    if (!isLate || !lives(to) || now() - at < limits.databaseMoveMillis) return;
    this.#movedAt = now();
    move(database, to).catch((error: unknown) => {
      const reason = error instanceof Error ? error.message : String(error);
      this.#tell(`stays with this host, which has more to do than others: ${reason}`, database);
    });
  }

  #isAsked(database: DatabaseIdentity): true | undefined {
    const until = this.#asked.get(database);
    if (until === undefined) return undefined;
    if (this.#options.now() < until) return true;
    this.#asked.delete(database);
    return undefined;
  }

  #isWished(database: DatabaseIdentity): boolean | undefined {
    const wishes = this.#hints.get(database)?.wishes ?? [];
    return wishes.length === 0 ? undefined : wishes.includes(this.#options.me);
  }

  #isByOrder(database: DatabaseIdentity): boolean {
    return this.#options.rankOf(database) < this.#options.copiesDefault;
  }

  #tell(what: string, database: DatabaseIdentity): void {
    const about = { database: identityToHex(database) };
    this.#options.report({ level: 'info', message: `a database ${what}`, about });
  }
}

/** Reasons for which a copy is broken that lie in the log of the cluster. */
const sharedFaults = /\blog\.(behind|diverged|later)\b/;

import { limits } from '../limits.ts';
import type { HostId } from '../shared-log/host-ids.ts';
import type { DatabaseIdentity } from '../values/identity-roles.ts';

/** A host that may hold copies. */
export interface PlacedHost {
  readonly host: HostId;
  readonly state: 'up' | 'draining' | 'lost';
  /** For how long nobody has seen it. */
  readonly lostMillis: number;
  /** Empty: its operator names none. */
  readonly zone: string;
  readonly memoryBytes: number;
}

/** A database, and who has it. */
export interface PlacedDatabase {
  readonly database: DatabaseIdentity;
  /** How many copies there shall be, the leader's included; at least 1. */
  readonly copies: number;
  /** Bytes of one copy in memory: rows, indexes and module. */
  readonly bytes: number;
  /** Share of its time that the leader spends in turns, on average. */
  readonly load: number;
  readonly leader: HostId | undefined;
  /** The hosts that have it; `true`: it could lead at once. */
  readonly held: ReadonlyMap<HostId, boolean>;
  /** For how long those that could not lead have been so, or were when they had it. */
  readonly unreadyMillis: ReadonlyMap<HostId, number>;
  /** Who shall have it, as it was decided last; empty: nobody has decided yet. */
  readonly wishes: readonly HostId[];
}

/** What the placer knows of a cluster at one moment. */
export interface PlacementView {
  readonly hosts: readonly PlacedHost[];
  readonly databases: readonly PlacedDatabase[];
}

/**
 * Who shall have each database: the leader first, then hosts in other zones, then those with most
 * free memory. A copy is taken away only when enough others could lead, so that a cluster that
 * follows these wishes one after another never has fewer copies than it had. The same view gives
 * the same wishes, and a view that follows them gives them again.
 */
export function placeCopies(view: PlacementView): ReadonlyMap<DatabaseIdentity, HostId[]> {
  const room = new Room(view);
  const wished = new Map<DatabaseIdentity, HostId[]>();
  for (const database of view.databases) {
    const kept = keptOf(database, room);
    addMissing(database, kept, room);
    spreadOut(database, kept, room);
    takeSurplus(database, kept, room);
    wished.set(database.database, kept);
  }
  return wished;
}

/** Memory of hosts, as it is taken by copies that there are, and by those that are wished. */
class Room {
  readonly #hosts: ReadonlyMap<HostId, PlacedHost>;
  readonly #usedBytes = new Map<HostId, number>();
  /** Copies that a host shall have, and that could not lead yet. */
  readonly #coming = new Map<HostId, number>();

  constructor({ hosts, databases }: PlacementView) {
    this.#hosts = new Map(hosts.map((host) => [host.host, host]));
    for (const { held, wishes, bytes } of databases) {
      for (const host of new Set([...held.keys(), ...wishes])) {
        this.#count(host, bytes, held.get(host) !== true);
      }
    }
  }

  host(host: HostId): PlacedHost | undefined {
    return this.#hosts.get(host);
  }

  /** True if its copies count: it is there, or was a moment ago. */
  counts(host: HostId): boolean {
    const known = this.host(host);
    if (known === undefined) return false;
    return known.state !== 'lost' || known.lostMillis < limits.copyLostMillis;
  }

  /** True if its copies go away soon. */
  isDraining(host: HostId): boolean {
    return this.host(host)?.state === 'draining';
  }

  isUp(host: HostId): boolean {
    return this.host(host)?.state === 'up';
  }

  zone(host: HostId): string {
    return this.host(host)?.zone ?? '';
  }

  /** The share of its memory that is taken. */
  share(host: HostId): number {
    const { memoryBytes } = this.host(host) ?? { memoryBytes: 0 };
    return (this.#usedBytes.get(host) ?? 0) / Math.max(1, memoryBytes);
  }

  isOverFull(host: HostId): boolean {
    return this.share(host) > limits.copyMemoryShareMax;
  }

  /** The best host that could take a copy, and has none. */
  best(
    database: PlacedDatabase,
    kept: readonly HostId[],
    isFit: (host: PlacedHost) => boolean = () => true,
  ): HostId | undefined {
    const { bytes } = database;
    const zones = new Set(kept.map((host) => this.zone(host)));
    const fit = [...this.#hosts.values()].filter(({ host, state, memoryBytes }) => {
      const comes = this.#coming.get(host) ?? 0;
      if (state !== 'up' || kept.includes(host) || comes >= limits.copiesComingMax) return false;
      if (isOverdue(database, host)) return false;
      return (this.#usedBytes.get(host) ?? 0) + bytes <= memoryBytes * limits.copyMemoryShareMax;
    });
    const [first] = fit.filter(isFit).sort((one, other) => {
      const isNear = (host: PlacedHost) => Number(zones.has(host.zone));
      const byZone = isNear(one) - isNear(other);
      const byShare = this.share(one.host) - this.share(other.host);
      return byZone || byShare || (one.host < other.host ? -1 : 1);
    });
    return first?.host;
  }

  take(host: HostId, { bytes, held }: PlacedDatabase): void {
    // It may have the copy still.
    if (!held.has(host)) this.#count(host, bytes, true);
  }

  give(host: HostId, { bytes, held }: PlacedDatabase): void {
    this.#usedBytes.set(host, (this.#usedBytes.get(host) ?? 0) - bytes);
    if (held.get(host) !== true) this.#coming.set(host, (this.#coming.get(host) ?? 1) - 1);
  }

  #count(host: HostId, bytes: number, isComing: boolean): void {
    this.#usedBytes.set(host, (this.#usedBytes.get(host) ?? 0) + bytes);
    if (isComing) this.#coming.set(host, (this.#coming.get(host) ?? 0) + 1);
  }
}

/** Those who had it, without the ones that are gone for good; the leader first. */
function keptOf({ leader, held, wishes }: PlacedDatabase, room: Room): HostId[] {
  const before = wishes.length > 0 ? wishes : [...held.keys()].sort();
  const first = leader !== undefined && room.counts(leader) ? [leader] : [];
  return [...new Set([...first, ...before])].filter((host) => room.counts(host));
}

/** True if it could not lead for longer than it takes to fetch a copy and load its program. */
function isOverdue({ bytes, leader, unreadyMillis }: PlacedDatabase, host: HostId): boolean {
  if (leader === undefined || host === leader) return false;
  const fetchMillis = (bytes / limits.copyBytesPerSecondMin) * 1_000;
  return (unreadyMillis.get(host) ?? 0) >= limits.copyUnreadyMillisMax + fetchMillis;
}

/** Copies that go soon, or do not become ready, stay until others are, and are not counted. */
function addMissing(database: PlacedDatabase, kept: HostId[], room: Room): void {
  const { copies, leader } = database;
  const staying = () => kept.filter((host) => !room.isDraining(host));
  const counted = () => staying().filter((host) => !isOverdue(database, host));
  // What keeps a copy from being ready may do so everywhere: all hosts shall not have one then.
  while (counted().length < copies && staying().length < 2 * copies) {
    if (!addBest(database, kept, room)) return;
  }
  // A leader that drains needs somebody to give the database to.
  const isStuck = leader !== undefined && room.isDraining(leader);
  if (isStuck && !kept.some((host) => room.isUp(host))) addBest(database, kept, room);
}

/** Copies in as many zones as there can be, and none on a host whose memory is too full. */
function spreadOut(database: PlacedDatabase, kept: HostId[], room: Room): void {
  // One more at a time: the one that it replaces goes when it could lead.
  if (kept.length !== database.copies) return;
  const zones = new Set(kept.map((host) => room.zone(host)));
  const isElsewhere = ({ zone }: PlacedHost) => zone !== '' && !zones.has(zone);
  if (zones.size < kept.length && !zones.has('') && addBest(database, kept, room, isElsewhere))
    return;
  const isCrowded = (host: HostId) => host !== database.leader && room.isOverFull(host);
  if (kept.some(isCrowded)) addBest(database, kept, room, ({ zone }) => staysSpread(zone));

  /** In the zone of one that can go, or in another one. */
  function staysSpread(zone: string): boolean {
    const crowded = kept.filter(isCrowded).map((host) => room.zone(host));
    return !zones.has(zone) || crowded.includes(zone);
  }
}

function addBest(
  database: PlacedDatabase,
  kept: HostId[],
  room: Room,
  isFit?: (host: PlacedHost) => boolean,
): boolean {
  const added = room.best(database, kept, isFit);
  if (added === undefined) return false;
  room.take(added, database);
  kept.push(added);
  return true;
}

/** Takes away the copy that is needed least, once enough others could lead. */
function takeSurplus(database: PlacedDatabase, kept: HostId[], room: Room): void {
  const { copies, held, leader } = database;
  if (kept.length <= copies) return;
  const isReady = (host: HostId) => room.isUp(host) && (host === leader || held.get(host) === true);
  const without = (host: HostId) => kept.filter((one) => one !== host);
  const zonesWithout = (host: HostId) => new Set(without(host).map((one) => room.zone(one))).size;
  const rankOf = (host: HostId) => [
    Number(room.isUp(host)),
    Number(!isOverdue(database, host)),
    Number(!room.isOverFull(host)),
    -zonesWithout(host),
    Number(isReady(host)),
    -room.share(host),
  ];
  const ranked = kept
    .filter((host) => host !== leader)
    .map((host) => ({ host, rank: rankOf(host) }))
    .sort((one, other) => compared(one.rank, other.rank) || (one.host < other.host ? -1 : 1));
  // Another one does not go in its place: what was added to replace it would be the first.
  const first = ranked[0]?.host;
  if (first === undefined || without(first).filter(isReady).length < copies) return;
  kept.splice(kept.indexOf(first), 1);
  room.give(first, database);
}

function compared(one: readonly number[], other: readonly number[]): number {
  const at = one.findIndex((value, index) => value !== other[index]);
  return at < 0 ? 0 : (one[at] ?? 0) - (other[at] ?? 0);
}

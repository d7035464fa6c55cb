import type { PlacedHere } from '../host/databases/replication-control.ts';
import { limits } from '../limits.ts';
import type { Report } from '../node/report-line.ts';
import type { Directory, PlaceHint, SeenHost } from '../shared-log/directory.ts';
import type { HostId } from '../shared-log/host-ids.ts';
import type { DatabaseIdentity } from '../values/identity-roles.ts';
import { LoadAverages, type TurnTime } from './load-averages.ts';
import type { Copy } from './operations.ts';
import {
  type PlacedDatabase,
  type PlacedHost,
  type PlacementView,
  placeCopies,
} from './place-copies.ts';
import { type LeaderMove, noSpreadMemory, spreadLeaders } from './spread-leaders.ts';
import { UnreadyTimes } from './unready-times.ts';

export interface PlacerOptions {
  readonly directory: Pick<Directory, 'hint' | 'hints'>;
  readonly now: () => number;
  readonly copiesDefault: number;
  /** Whether this host leads the registry: one host does it for all. */
  readonly leadsRegistry: () => boolean;
  readonly hosts: () => readonly SeenHost[];
  /** Whether the engine answers this host: else it does not know who is silent. */
  readonly isEngineReached: () => boolean;
  readonly lives: (host: HostId) => boolean;
  /** The part of each host that answers in each database. */
  readonly copies: () => Promise<ReadonlyMap<HostId, readonly Copy[]>>;
  /** The wishes are others now: has all hosts read them. */
  readonly changed: () => void;
  readonly report: Report;
}

/** A move that its host has not made yet. */
interface Pending extends LeaderMove {
  readonly term: number;
  readonly until: number;
}

/**
 * Decides which hosts have copies of which databases, and where leaders move, on the host that
 * leads the registry. It writes that into the hints as wishes. Two placers at one time, or none,
 * cost copies and moves, never a commit: hosts follow wishes only where that is safe.
 */
export class Placer {
  readonly #options: PlacerOptions;
  readonly #averages: LoadAverages;
  readonly #unready = new UnreadyTimes();
  #memory = noSpreadMemory;
  #pending: Pending | undefined;
  #placed: (() => Iterable<PlacedHere>) | undefined;
  #timer: NodeJS.Timeout | undefined;
  #isLooking = false;
  /** Since when the engine has answered this host without a break, as far as it has looked. */
  #reachedSince: number | undefined;
  #counts: readonly CopyCount[] = [];
  #hints = new Map<DatabaseIdentity, PlaceHint>();
  #readAt = Number.NEGATIVE_INFINITY;

  constructor(options: PlacerOptions) {
    this.#options = options;
    this.#averages = new LoadAverages();
  }

  attach(placed: () => Iterable<PlacedHere>): void {
    this.#placed = placed;
    this.#timer = setInterval(() => void this.look(), limits.placeLookMillis).unref();
  }

  /** Of each database, when this host looked last; none while another host leads the registry. */
  get counts(): readonly CopyCount[] {
    return this.#counts;
  }

  close(): void {
    clearInterval(this.#timer);
    this.#placed = undefined;
  }

  /** Looks at the cluster, decides, and writes what has changed. Never rejects. */
  async look(): Promise<void> {
    const { now, isEngineReached } = this.#options;
    this.#reachedSince = isEngineReached() ? (this.#reachedSince ?? now()) : undefined;
    // Without the engine no copy is ready, and that is no fault of theirs.
    if (this.#reachedSince === undefined) this.#unready.clear();
    if (this.#isLooking || this.#placed === undefined) return;
    if (!this.#options.leadsRegistry()) {
      this.#memory = noSpreadMemory;
      this.#pending = undefined;
      this.#averages.clear();
      this.#unready.clear();
      this.#counts = [];
      this.#readAt = Number.NEGATIVE_INFINITY;
      return;
    }
    this.#isLooking = true;
    try {
      await this.#place();
    } catch {
      // The engine did not answer: the next look does it.
    } finally {
      this.#isLooking = false;
    }
  }

  async #place(): Promise<void> {
    const { directory, copies, leadsRegistry, changed } = this.#options;
    const [byHost, known] = await Promise.all([copies(), this.#known()]);
    const since = this.#reachedSince;
    if (!leadsRegistry() || since === undefined) return;
    const seen = this.#seen(byHost, known, since);
    this.#counts = seen.view.databases.map((one) => countOf(one, seen.view));
    const wished = placeCopies(seen.view);
    const move = this.#move(seen.view, seen.terms);
    const rows: PlaceHint[] = [];
    for (const { database, leader, wishes: before } of seen.view.databases) {
      const wishes = withFirst(wished.get(database) ?? [], move?.database === database && move.to);
      const hint = known.get(database);
      // Hosts that are not there are no reason to wish for nobody.
      if (wishes.length === 0 && before.length > 0) continue;
      const row: PlaceHint = {
        ...{ database, wishes, generation: seen.generations.get(database) ?? 0 },
        term: seen.terms.get(database) ?? hint?.term ?? 0,
        leader: leader ?? hint?.leader,
      };
      if (!isSame(row, hint)) rows.push(row);
    }
    if (rows.length === 0) return;
    await directory.hint(rows);
    for (const row of rows) known.set(row.database, row);
    changed();
  }

  /** What was written last: by this host, unless another one has placed copies since. */
  async #known(): Promise<Map<DatabaseIdentity, PlaceHint>> {
    const { now, directory } = this.#options;
    if (now() - this.#readAt < limits.wishReadMillis) return this.#hints;
    const hints = await directory.hints();
    this.#readAt = now();
    this.#hints = new Map(hints.map((hint) => [hint.database, hint]));
    return this.#hints;
  }

  /** The next move, or the one that its host has not made yet. */
  #move(view: PlacementView, terms: ReadonlyMap<DatabaseIdentity, number>): Pending | undefined {
    const { now } = this.#options;
    const { move, memory } = spreadLeaders(view, this.#memory, now());
    this.#memory = memory;
    if (move !== undefined) {
      const term = terms.get(move.database) ?? 0;
      this.#pending = { ...move, term, until: now() + limits.moveWishedMillis };
      return this.#pending;
    }
    const pending = this.#pending;
    if (pending === undefined) return undefined;
    const isOpen = now() < pending.until && terms.get(pending.database) === pending.term;
    if (!isOpen) this.#pending = undefined;
    return this.#pending;
  }

  #seen(
    byHost: ReadonlyMap<HostId, readonly Copy[]>,
    hints: ReadonlyMap<DatabaseIdentity, PlaceHint>,
    since: number,
  ) {
    const { hosts, lives, copiesDefault, now } = this.#options;
    const all = hosts();
    const areAllKnown = all.every(({ host }) => !lives(host) || byHost.has(host));
    const ofDatabase = copiesOfDatabases(byHost);
    const databases: PlacedDatabase[] = [];
    const terms = new Map<DatabaseIdentity, number>();
    const generations = new Map<DatabaseIdentity, number>();
    for (const { database, generation, copies = copiesDefault } of this.#placed?.() ?? []) {
      const { held, led, bytes } = ofDatabase.get(database) ?? nothingHeld;
      const wishes = hints.get(database)?.wishes ?? [];
      // A host that has not answered may have the only copy that could lead.
      if (wishes.length === 0 && !areAllKnown) continue;
      const load = this.#averages.note(database, led, now());
      const leader = led?.host;
      const hasAnswered = (host: HostId) => byHost.has(host);
      const copy = { database, copies, bytes, load, leader, held, wishes };
      const unreadyMillis = this.#unready.note(copy, hasAnswered, now());
      databases.push({ ...copy, unreadyMillis });
      generations.set(database, generation);
      if (led !== undefined) terms.set(database, led.term);
    }
    this.#averages.keep(generations);
    this.#unready.keep(generations);
    const view: PlacementView = {
      hosts: all.map((host) => placed(host, lives, now() - since)),
      databases,
    };
    return { view, terms, generations };
  }
}

/** How many copies of a database there are, those that could lead, and how many there shall be. */
export interface CopyCount {
  readonly database: DatabaseIdentity;
  readonly ready: number;
  readonly wanted: number;
}

/** There can be no more copies than hosts. */
function countOf({ database, held, copies }: PlacedDatabase, { hosts }: PlacementView): CopyCount {
  const there = hosts.filter(({ state }) => state !== 'lost').length;
  const ready = [...held.values()].filter((isReady) => isReady).length;
  return { database, ready, wanted: Math.min(copies, there) };
}

/** `watchedMillis`: for how long somebody could have seen it. */
function placed(
  row: SeenHost,
  lives: (host: HostId) => boolean,
  watchedMillis: number,
): PlacedHost {
  const { host, zone, memoryBytes, ageMillis } = row;
  const state = !lives(host) || row.state === 'gone' ? 'lost' : row.state;
  const lostMillis = Math.min(ageMillis, watchedMillis);
  return { host, state, zone, memoryBytes, lostMillis: state === 'lost' ? lostMillis : 0 };
}

interface Held {
  readonly held: Map<HostId, boolean>;
  led: TurnTime | undefined;
  bytes: number;
}

const nothingHeld: Held = { held: new Map(), led: undefined, bytes: limits.copyModuleBytes };

function copiesOfDatabases(
  byHost: ReadonlyMap<HostId, readonly Copy[]>,
): ReadonlyMap<DatabaseIdentity, Held> {
  const databases = new Map<DatabaseIdentity, Held>();
  for (const [host, copies] of byHost) {
    for (const { database, kind, term, isAtEnd, isWarm, bytes, turnMillis } of copies) {
      const known = databases.get(database) ?? { ...nothingHeld, held: new Map() };
      known.held.set(host, kind === 'leader' || (kind === 'follower' && isAtEnd && isWarm));
      known.bytes = Math.max(known.bytes, bytes);
      const isNewer = kind === 'leader' && term > (known.led?.term ?? 0);
      if (isNewer) known.led = { host, term, turnMillis };
      databases.set(database, known);
    }
  }
  return databases;
}

/** Who shall lead comes first, if he shall have it at all. */
function withFirst(wishes: readonly HostId[], first: HostId | false): readonly HostId[] {
  if (first === false || !wishes.includes(first)) return wishes;
  return [first, ...wishes.filter((host) => host !== first)];
}

function isSame(row: PlaceHint, hint: PlaceHint | undefined): boolean {
  if (hint === undefined || row.term !== hint.term || row.leader !== hint.leader) return false;
  if (row.generation !== hint.generation) return false;
  return (
    row.wishes.length === hint.wishes.length &&
    row.wishes.every((one, at) => one === hint.wishes[at])
  );
}

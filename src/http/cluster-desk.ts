import type { LineFigures } from '../cluster/lines.ts';
import type { StreamFigures } from '../cluster/streamed-log.ts';
import type { ListedPart } from '../database/cluster-rows.ts';
import type { TimeFigures } from '../database/time-counts.ts';
import type { DatabaseIdentity } from '../values/identity-roles.ts';

/** The cluster that this service is a host of. */
export interface ClusterDesk {
  /** Why load balancers should send this host nothing; `undefined`: they should. */
  notReady(): 'draining' | 'secret' | 'engine' | 'registry' | 'disk' | undefined;
  status(): Promise<ClusterStatus>;
  hosts(): readonly ShownHost[];
  /** With the part of each host that answers. */
  databases(): Promise<readonly ShownDatabase[]>;
  /** Each rejects with `ClusterRefusal` if it cannot be done. */
  move(database: DatabaseIdentity, host: string): Promise<void>;
  /** Says how many hosts shall have a copy; `undefined`: as many as of any database. */
  setCopies(database: DatabaseIdentity, count: number | undefined): Promise<void>;
  /** Gives what nobody takes. */
  drain(host: string, isDraining: boolean): Promise<readonly ShownNotGiven[]>;
  forget(host: string): Promise<void>;
  /** The keys that all hosts share, and how far each host is with them. */
  keys(): Promise<ShownClusterKeys>;
  rotateKeys(rotation: KeyRotation): Promise<void>;
  /** Has an old key verify, or decrypt, no more. */
  retireKey(retiring: { readonly number: number; readonly secrets: boolean }): Promise<void>;
  /** Has the other secret that all hosts have count. */
  rotateSecret(): Promise<void>;
  /** What one machine needs to have a database, but for its log, as it is shown. */
  exported(database: DatabaseIdentity): Promise<object>;
  /** Entries of the log of a database, from one on, as `encodeEntries` writes them. */
  entries(database: DatabaseIdentity, generation: number, from: number): Promise<Uint8Array>;
  /** The bytes of a snapshot of a log position, or of a later one. */
  snapshot(
    database: DatabaseIdentity,
    generation: number,
    position: number,
  ): Promise<AsyncIterable<Uint8Array>>;
  /** Reads the log of a database whole, and says what is wrong with it; until `signal`. */
  verify(database: DatabaseIdentity, signal: AbortSignal): Promise<ShownLog>;
  /** Has the log of a database be what a host has of it. */
  repair(database: DatabaseIdentity, host: string): Promise<ShownRepair>;
  /** The identity of the database, `(registry)` or one of its names. */
  databaseOf(target: string): DatabaseIdentity;
  /** Tries whether the engine does what a cluster needs. */
  check(): Promise<object>;
  /** Hosts, and where databases are by the hints of the placer, as `st_cluster` shows them. */
  parts(): readonly ListedPart[];
  figures(): ClusterFigures;
}

/** What an operator asked for cannot be done. */
export class ClusterRefusal extends Error {
  readonly status: 404 | 409 | 503;

  constructor(status: ClusterRefusal['status'], message: string) {
    super(message);
    this.status = status;
  }
}

export interface KeyRotation {
  /** Also retires all old keys, so that every token issued so far is rejected. */
  readonly retire: boolean;
  /** The keys that encrypt secrets of databases, instead of those that sign tokens. */
  readonly secrets: boolean;
}

export interface ShownClusterKeys {
  readonly revision: number;
  readonly signing: readonly ShownClusterKey[];
  readonly secrets: readonly ShownClusterKey[];
  /** The name of the cluster secret that counts; it does not give it away. */
  readonly secret: string;
  readonly hosts: readonly {
    readonly host: string;
    readonly is_living: boolean;
    /** The revision that it has, and the names of its secrets; `null`: it does not answer. */
    readonly revision: number | null;
    readonly secrets: readonly string[] | null;
  }[];
}

export interface ShownClusterKey {
  /** `null`: the current one. */
  readonly number: number | null;
  readonly fingerprint: string;
  readonly state: 'signs' | 'verifies' | 'encrypts' | 'decrypts';
  /** `null`: since the cluster began. */
  readonly since: string | null;
}

export interface ClusterStatus {
  readonly cluster: string;
  readonly host: string;
  readonly state: string;
  readonly engine: {
    readonly reached: boolean;
    /** The engine's own name of its past. */
    readonly history: string;
    readonly copies: number | 'external' | 'unknown';
    readonly beat_age_seconds: number;
    readonly clock_skew_seconds: number;
    /** False: it acknowledges nothing, and calls are refused with `database.noEngine`. */
    readonly takes_commits: boolean;
    readonly acknowledged_seconds_ago: number;
    /** Why it takes none. */
    readonly trouble: string | null;
  };
  readonly local_sync: boolean;
  readonly lease_seconds: number;
  /** What a leader asks before it answers a confirmed read. */
  readonly reads: 'engine' | 'lease';
  /** Writes are back within this after the loss of a leader, as its lease allows. */
  readonly fail_over_seconds_max: number;
  /** True while nothing of the shared logs is removed. */
  readonly keeps_whole_log: boolean;
}

export interface ShownHost {
  readonly id: string;
  readonly name: string;
  readonly address: string;
  readonly client_address: string;
  /** `silent`: it has said nothing for a lease, and no goodbye. */
  readonly state: 'up' | 'draining' | 'gone' | 'silent';
  readonly seen_seconds_ago: number;
  readonly version: string;
  readonly zone: string;
  /** Databases that it leads, as far as the host that was asked knows. */
  readonly leads: number;
  readonly is_asked: boolean;
}

export interface ShownDatabase {
  readonly database: string;
  readonly names: readonly string[];
  readonly term: number;
  /** The host that leads it; `null`: nobody, as far as the host that was asked knows. */
  readonly leader: string | null;
  /** How many hosts shall have a copy, and which the placer has chosen; none: it has not yet. */
  readonly copies_wanted: number;
  readonly wished: readonly string[];
  readonly copies: readonly ShownCopy[];
}

/** What a shared log holds, and what is wrong with it. */
export interface ShownLog {
  readonly database: string;
  readonly names: readonly string[];
  readonly first: number;
  readonly entries: number;
  readonly bytes: number;
  readonly term: number;
  readonly offset: number;
  readonly snapshots: number;
  readonly faults: readonly ShownFault[];
  /** What the hosts that answer have of it. */
  readonly copies: readonly Pick<ShownCopy, 'host' | 'role' | 'offset' | 'acknowledged'>[];
}

export interface ShownRepair {
  /** `whole`: nothing was missing. `begun`: the log begins with another entry from now on. */
  readonly kind: 'whole' | 'restored' | 'begun';
  /** The last commit in the log. */
  readonly offset: number;
}

export interface ShownFault {
  readonly kind: string;
  /** The entry, and the last commit before it. */
  readonly seq: number;
  readonly offset: number;
  readonly reason: string;
  readonly advice: string;
}

/** A database that a drained host still leads, and why. */
export interface ShownNotGiven {
  readonly database: string;
  readonly names: readonly string[];
  readonly reason: string;
}

export interface ShownCopy {
  readonly host: string;
  readonly role: 'opening' | 'follower' | 'leader' | 'broken';
  readonly offset: number;
  readonly acknowledged: number;
  /** False if both say nothing: the host could not read its copy since it started. */
  readonly known: boolean;
  /** True if it could lead at once: its program is loaded. */
  readonly warm: boolean;
  /** Why its program cannot be loaded there. */
  readonly fault: string | null;
  /** Time since it had all that the engine showed; `null`: it never had. */
  readonly age_seconds: number | null;
}

export interface ClusterFigures {
  readonly hosts: Readonly<Record<ShownHost['state'], number>>;
  readonly databases: readonly FigureOfDatabase[];
  readonly beatAgeSeconds: number;
  readonly clockSkewSeconds: number;
  readonly appends: {
    readonly times: TimeFigures;
    readonly bytes: number;
    readonly results: Readonly<Record<string, number>>;
    readonly restored: number;
  };
  readonly failovers: Readonly<Record<string, number>>;
  readonly failoverTimes: TimeFigures;
  readonly moves: Readonly<Record<string, number>>;
  /** Where this host places copies: of each database those that could lead, and how many shall. */
  readonly copies: readonly {
    readonly database: string;
    readonly ready: number;
    readonly wanted: number;
  }[];
  readonly deposed: number;
  readonly deposedCommits: number;
  readonly refetchedBytes: number;
  /** Entries that came from the hosts that wrote them, and went to others. */
  readonly streams: StreamFigures;
  readonly lines: LineFigures;
  readonly forwarded: readonly {
    readonly door: string;
    readonly result: string;
    readonly count: number;
  }[];
  readonly forwardTimes: TimeFigures;
}

export interface FigureOfDatabase {
  readonly database: string;
  readonly role: ShownCopy['role'];
  readonly term: number;
  /** Commits that are not acknowledged yet, of a leader. */
  readonly lagCommits: number | undefined;
  /** Since when the oldest of them waits, of a leader. */
  readonly lagSeconds: number | undefined;
  /** Commits that a follower has read, and does not know to be acknowledged. */
  readonly unsettledCommits: number | undefined;
  readonly ageSeconds: number | undefined;
}

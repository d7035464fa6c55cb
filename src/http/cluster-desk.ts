import type { TimeFigures } from '../database/time-counts.ts';
import type { DatabaseIdentity } from '../values/identity-roles.ts';

/** The cluster that this service is a host of. */
export interface ClusterDesk {
  /** Why load balancers should send this host nothing; `undefined`: they should. */
  notReady(): 'draining' | 'engine' | 'registry' | 'disk' | undefined;
  status(): Promise<ClusterStatus>;
  hosts(): readonly ShownHost[];
  /** With the part of each host that answers. */
  databases(): Promise<readonly ShownDatabase[]>;
  /** Each rejects with `ClusterRefusal` if it cannot be done. */
  move(database: DatabaseIdentity, host: string): Promise<void>;
  drain(host: string, isDraining: boolean): Promise<void>;
  forget(host: string): Promise<void>;
  /** Tries whether the engine does what a cluster needs. */
  check(): Promise<object>;
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
  };
  readonly local_sync: boolean;
  readonly lease_seconds: number;
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
  readonly copies: readonly ShownCopy[];
}

export interface ShownCopy {
  readonly host: string;
  readonly role: 'opening' | 'follower' | 'leader' | 'broken';
  readonly offset: number;
  readonly acknowledged: number;
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
  };
  readonly failovers: Readonly<Record<string, number>>;
  readonly failoverTimes: TimeFigures;
  readonly moves: Readonly<Record<string, number>>;
  readonly deposed: number;
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
  readonly ageSeconds: number | undefined;
}

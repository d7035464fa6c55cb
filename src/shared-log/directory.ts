import type { DatabaseIdentity } from '../values/identity-roles.ts';
import type { BootId, HostId } from './host-ids.ts';

/**
 * What hosts tell each other through the engine: that they live, where databases are, and secrets
 * that only the cluster can open. Hints may be stale or wrong without harm: they decide when a host
 * tries something, never what is true. One contract suite holds for all implementations. Every
 * method rejects with `EngineError`.
 */
export interface Directory {
  /**
   * Writes this host's row and returns those of all hosts, with their age by the engine's clock.
   * The
   * first beat of a `Directory` takes the row of its host id over; when another process has taken
   * it since, the row stays that one's, and shows its boot.
   */
  beat(me: HostRow): Promise<readonly SeenHost[]>;
  /** Replaces the hints of the databases that are named. */
  hint(rows: readonly PlaceHint[]): Promise<void>;
  hints(): Promise<readonly PlaceHint[]>;
  /** A sealed secret. `put` stores one if there is none; the answer is the one that is stored. */
  secretBox(name: string, put?: Uint8Array): Promise<Uint8Array | undefined>;
  /** Removes the row of a host that is gone. One that is not there counts as removed. */
  forget(host: HostId): Promise<void>;
}

export interface HostRow {
  readonly host: HostId;
  readonly boot: BootId;
  readonly name: string;
  /** Where other hosts, and where clients, reach it. */
  readonly address: string;
  readonly clientAddress: string;
  readonly state: 'up' | 'draining' | 'gone';
  /** Product version, and the oldest and newest format of entries that it reads. */
  readonly version: string;
  readonly formats: readonly [oldest: number, newest: number];
  readonly memoryBytes: number;
  readonly zone: string;
}

export type SeenHost = HostRow & { readonly ageMillis: number };

/** Who leads a database as far as its last writer knew, and where it shall be. */
export interface PlaceHint {
  readonly database: DatabaseIdentity;
  readonly generation: number;
  readonly term: number;
  readonly leader: HostId | undefined;
  readonly wishes: readonly HostId[];
}

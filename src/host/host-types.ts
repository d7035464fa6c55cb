import type { Capability } from '../auth/capability.ts';
import type { DatabaseHandle, ProgramSource } from './database-handle.ts';
import type { DatabaseStatistics } from './database-statistics.ts';
import type { DatabaseHealth } from './health.ts';
import type { VitalFigures } from './vitals.ts';

/** The caller of a host operation; `auth`'s `RequestCaller` is one. */
export interface HostCaller {
  readonly identity: bigint;
  /** Payload of the caller's token as JSON text. */
  readonly payload: string;
  /** True when the request carried no token. */
  readonly isAnonymous: boolean;
  /** Address that the request came from, for the audit log. */
  readonly address?: string;
  /** Limits of the token. */
  readonly capability?: Capability;
  /** True: nothing is changed on its behalf, as the door that admitted it promised. */
  readonly isReadOnly?: boolean;
}

/** A database of this host: what the registry knows of it, and the handle that reaches it. */
export interface HostedDatabase extends DatabaseRecord {
  readonly handle: DatabaseHandle;
}

export interface DatabaseRecord {
  readonly identity: bigint;
  readonly owner: bigint;
  readonly hostType: 'js' | 'wasm';
  /** Keccak-256 of the program of the last creation or reset, as 64 hex digits. */
  readonly initialProgram: string;
  readonly createdMicros: bigint;
  readonly isLocked: boolean;
}

export interface PublishRequest {
  readonly caller: HostCaller;
  /** A name or an identity; `undefined` makes a database without a name. */
  readonly target: string | undefined;
  readonly program: ProgramSource;
  /** Resets an existing database instead of updating it. */
  readonly clear: boolean;
  readonly policy: 'compatible' | 'breakClients';
  /** Migration token that `planPublish` returned; needed with `breakClients`. */
  readonly token: string | undefined;
  /** Milliseconds that an update waits to be durable. */
  readonly confirmMillis: number;
}

export interface PublishOutcome {
  readonly kind: 'created' | 'updated';
  readonly identity: bigint;
  /** The name as given; `undefined` when the target was an identity or absent. */
  readonly name: string | undefined;
}

export interface LogRequest {
  /** Lines from the end of today's log; `undefined` = all of it, or none when following. */
  readonly lines: number | undefined;
  /** Maximum bytes of those lines; absent: any number. */
  readonly bytesMax?: number;
  /** True: lines written from now on follow, without gaps or repetitions, until `return()`. */
  readonly follow: boolean;
}

/** Chunks of whole JSON lines, each ended by LF. Ending the iteration early frees the follower. */
export type LogStream = AsyncIterableIterator<string>;

export interface HostStatistics {
  readonly databases: readonly HostedStatistics[];
}

export interface HostedStatistics extends DatabaseStatistics {
  readonly identity: bigint;
  readonly health: DatabaseHealth;
  readonly vitals: VitalFigures;
}

/** Who can create databases; updates always need the owner. */
export type Creators =
  | 'anyone'
  /** Callers who present a token. */
  | 'authenticated'
  | { readonly identities: readonly bigint[] }
  /** Callers whose token comes from one of these issuers. */
  | { readonly issuers: readonly string[] };

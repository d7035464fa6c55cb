import type { DatabaseDescription } from '../../database/description.ts';
import type { LogPoint } from '../../log/log-point.ts';
import type { AsideCounts } from '../../log/set-aside.ts';
import type { Lead } from '../../shared-log/entry-payloads.ts';

/**
 * A host's part in one database of a cluster:
 *
 * ```
 *  opening ──log read, engine reached──▶ follower ──its term is stored, program loaded──▶ leader
 *     ▲                                     │                                               │
 *     └───────────── another host leads, or the actor ended before its time ────────────────┘
 *  any ──the engine contradicts what was acknowledged, or the disk fails──▶ broken
 * ```
 */
export type DatabaseRole =
  | { readonly kind: 'opening' }
  | FollowerRole
  | { readonly kind: 'leader'; readonly term: number }
  | { readonly kind: 'broken'; readonly reason: string };

export interface FollowerRole {
  readonly kind: 'follower';
  /** Last term in the log; 0 if nobody has led yet. */
  readonly term: number;
  /** Who leads by the last entry of kind term. */
  readonly leader: Lead | undefined;
  /** True if that is another host: requests are refused. Else they wait, for this one will lead. */
  readonly isLedElsewhere: boolean;
  /** True if the last read has reached the end of the shared log. */
  readonly isAtEnd: boolean;
  /** True if its program is loaded: it could serve at once. */
  readonly isWarm: boolean;
  /** True while it is being loaded. */
  readonly isLoading?: boolean;
  /** Why its program cannot be loaded here: this host does not lead it then. */
  readonly fault?: string | undefined;
  /** The last entry that it has read. */
  readonly seq: number;
  /** Where its copy ends, and the largest offset that is known to be acknowledged. */
  readonly end: LogPoint;
  readonly settledOffset: number;
  /** What its copy shows while a publish waits for its program; absent: all that is settled. */
  readonly shownOffset?: number | undefined;
  /** Absent: nothing is known of it. */
  readonly aside?: AsideCounts;
}

/**
 * The program by which a follower's copy is read; `undefined`: it takes no reads. `leads`: no more,
 * because this host leads, and the connections that read it go on with its actor.
 */
export type CopyReading = DatabaseDescription | 'leads' | undefined;

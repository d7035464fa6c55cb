import type { LogPoint } from '../../log/log-point.ts';
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
  /** Where its copy ends, and the largest offset that is known to be acknowledged. */
  readonly end: LogPoint;
  readonly settledOffset: number;
}

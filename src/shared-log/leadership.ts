import { unreachable } from '../assert.ts';
import { limits } from '../limits.ts';
import type { BootId } from './host-ids.ts';

/**
 * When a host tries to lead a database. Whether it then does lead is decided by the shared log
 * alone: a claim is always safe, and this only chooses the moment.
 *
 * ```
 *              look: leader silent or gone,           claimEnded: stored
 *              or the log names this host
 *  following ──────────────────────────────▶ trying ─────────────────────▶ leading
 *      ▲  ▲                                     │                           │   │
 *      │  └─────── claimEnded: anything else ───┘                           │   │ handOver
 *      │                                                          lost      │   ▼
 *      └────────────────────────────────────────────────────────────────────┴─ following,
 *                                                                       waiting for its target
 *  each ── fail ──▶ failed
 * ```
 */
export type LeadershipState =
  | {
      readonly kind: 'following';
      readonly watch: Watch | undefined;
      /** The term that this host gave away, and when. */
      readonly handed: { readonly term: number; readonly at: number } | undefined;
    }
  | { readonly kind: 'trying' }
  | { readonly kind: 'leading'; readonly term: number }
  | { readonly kind: 'failed'; readonly reason: string };

/** An unbroken series of looks at one leader, each of which reached the engine. */
export interface Watch {
  readonly term: number;
  readonly since: number;
  /** Time of the last look: a host that did not look for half a lease was deaf, too. */
  readonly lastAt: number;
}

/** What a host sees of the leader of one database. Times are of one clock of this host. */
export interface Look {
  readonly now: number;
  /** Last term in the log, and the boot that it names; 0 and none in a log that nobody has led. */
  readonly term: number;
  readonly leader: BootId | undefined;
  /** True if this host has read to the end of the log. */
  readonly isAtEnd: boolean;
  /** Time since this host has the last entry of the log; before, its leader began to write it. */
  readonly endMillis: number;
  /** True if the leader has written behind the entry that gave it the term. */
  readonly hasLeaderWritten: boolean;
  /** True if the engine answered this host since its last look. */
  readonly isEngineReached: boolean;
  /** Age of the leader's last beat by the engine's clock; absent if it has no row. */
  readonly beatAgeMillis: number | undefined;
  /** True if it said goodbye, or its connection broke and its address refuses new ones. */
  readonly isGone: boolean;
  /** How many candidates go before this host. */
  readonly rank: number;
  /** How far this host's clock is from the engine's. */
  readonly skewMillis: number;
  /** False for a host that cannot apply an entry, or is drained. */
  readonly isCandidate: boolean;
}

export type LeadershipEvent =
  | { readonly kind: 'look'; readonly look: Look }
  | { readonly kind: 'claimEnded'; readonly term: number | undefined }
  | { readonly kind: 'lost' }
  | { readonly kind: 'handOver'; readonly term: number; readonly now: number }
  | { readonly kind: 'fail'; readonly reason: string };

/**
 * `claim`: begin a new term. `takeUp`: the log names this host; append an empty entry, and lead
 * once
 * that is stored.
 */
export type LeadershipCommand = 'claim' | 'takeUp' | undefined;

export interface LeadershipRules {
  readonly boot: BootId;
  readonly leaseMillis: number;
  /** True: a leader may answer reads for a while after it has written, also one that seems gone. */
  readonly isReadByLease?: boolean | undefined;
}

export const followingState: Extract<LeadershipState, { readonly kind: 'following' }> = {
  kind: 'following',
  watch: undefined,
  handed: undefined,
};

/** The state after `event`, and what to do now. */
export function leadershipAfter(
  state: LeadershipState,
  event: LeadershipEvent,
  rules: LeadershipRules,
): { readonly state: LeadershipState; readonly command: LeadershipCommand } {
  if (state.kind === 'failed') return { state, command: undefined };
  switch (event.kind) {
    case 'look':
      return state.kind === 'following'
        ? afterLook(state, event.look, rules)
        : { state, command: undefined };
    case 'claimEnded': {
      const { term } = event;
      return still(term === undefined ? followingState : { kind: 'leading', term });
    }
    case 'lost':
      return still(followingState);
    case 'handOver': {
      const handed = { term: event.term, at: event.now };
      return still({ kind: 'following', watch: undefined, handed });
    }
    case 'fail':
      return still({ kind: 'failed', reason: event.reason });
    default:
      return unreachable(event);
  }
}

function still(state: LeadershipState): { state: LeadershipState; command: LeadershipCommand } {
  return { state, command: undefined };
}

function afterLook(
  state: Extract<LeadershipState, { kind: 'following' }>,
  look: Look,
  rules: LeadershipRules,
): { state: LeadershipState; command: LeadershipCommand } {
  const { now, term } = look;
  // Without the engine nobody knows whether the leader is silent, or only this host is deaf.
  if (!look.isEngineReached) return still({ ...state, watch: undefined });
  const before = state.watch;
  const isUnbroken = before?.term === term && now - before.lastAt < rules.leaseMillis / 2;
  const watch = { term, since: isUnbroken ? before.since : now, lastAt: now };
  const watched: LeadershipState = { ...state, watch };
  if (!look.isAtEnd || !look.isCandidate) return still(watched);
  if (Math.abs(look.skewMillis) > limits.clockSkewClaimMillisMax) return still(watched);
  if (look.leader === rules.boot) return { state: { kind: 'trying' }, command: 'takeUp' };
  const isDue = isClaimDue(look, now - watch.since, state.handed, rules);
  return isDue ? { state: { kind: 'trying' }, command: 'claim' } : still(watched);
}

function isClaimDue(
  look: Look,
  watchedMillis: number,
  handed: { readonly term: number; readonly at: number } | undefined,
  { leaseMillis, isReadByLease = false }: LeadershipRules,
): boolean {
  const { now, term, beatAgeMillis, hasLeaderWritten } = look;
  const isBack = handed?.term === term && !hasLeaderWritten;
  if (isBack && now - handed.at >= limits.handOverMillisMax) return true;
  const rankMillis = Math.min(look.rank, limits.candidatesMax) * limits.candidateRankMillis;
  const mayBeRead = isReadByLease && look.leader !== undefined;
  if (mayBeRead && look.endMillis < leaseMillis + rankMillis) return false;
  if (look.leader === undefined || look.isGone) return watchedMillis >= rankMillis;
  const silentMillis = Math.min(beatAgeMillis ?? watchedMillis, watchedMillis);
  return silentMillis >= leaseMillis + rankMillis;
}

/** A host that could lead a database. */
export interface Candidate {
  readonly id: bigint;
  /** True if it has applied to within a second of the end, with the program loaded. */
  readonly isWarm: boolean;
  readonly appliedOffset: number;
  /** Its place among the hosts where the database shall be; the first leads by preference. */
  readonly placement: number;
}

/** How many candidates are better than `me`: warm ones first, then those that applied most. */
export function rankOf(me: Candidate, candidates: readonly Candidate[]): number {
  return candidates.filter((other) => other.id !== me.id && compare(other, me) < 0).length;
}

function compare(one: Candidate, other: Candidate): number {
  if (one.isWarm !== other.isWarm) return one.isWarm ? -1 : 1;
  if (one.appliedOffset !== other.appliedOffset) return other.appliedOffset - one.appliedOffset;
  if (one.placement !== other.placement) return one.placement - other.placement;
  return one.id < other.id ? -1 : 1;
}

/**
 * Whether a leader must refuse confirmed reads: its last append or confirmation that came back
 * began too long ago, by its own monotonic clock. It goes on appending: it may still lead.
 */
export function isUnsure(now: number, provenAt: number, leaseMillis: number): boolean {
  return now - provenAt >= leaseMillis;
}

import { unreachable } from '../../assert.ts';
import type { DatabaseDescription } from '../../database/description.ts';
import type { Refusal } from '../../database/outcome.ts';
import type { Ticket } from '../../database/ticket.ts';
import type { TurnReport } from '../../database/turn.ts';
import { limits } from '../../limits.ts';
import type { FollowerRole } from '../replication/database-role.ts';
import type { Seat, SeatEnd, SeatEvents, SeatMode, SeatOpening } from '../seats/seat.ts';
import type { DatabaseStatistics } from './database-statistics.ts';
import type { Deferred } from './deferred.ts';
import type { Opening } from './opening.ts';
import type { WakeReason } from './rest.ts';

/**
 * The states of a supervised database, and the function that makes each transition:
 *
 * ```
 *  new ──constructor──▶ creating                        the program of a new database
 *  closed ──open, or the first request: #begin──▶ opening
 *  asleep ──wake, or a request: #begin──▶ opening
 *  creating, opening ──opened: #opened──▶ serving       before this no request is submitted
 *  creating, opening ──another host leads: #follow──▶ following
 *  following ──this host leads: #opened──▶ serving
 *  following ──letGo: its actor has finished──▶ closed  or #reopen──▶ opening
 *  broken ──letGo──▶ closed
 *  following ──ended: #reopen──▶ opening                or #break──▶ broken
 *  creating, opening, serving, vacating ──ended: #reopen──▶ opening
 *  creating, opening, serving, vacating ──ended, too often or for good: #break──▶ broken
 *  broken ──a request, or for its schedules: #hopeful──▶ opening  not before `Reopening` allows it
 *  serving ──space again: #writeAgain──▶ vacating ──its actor has finished: #reopen──▶ opening
 *  serving ──sleep──▶ settling ──its actor has finished: #settled──▶ asleep, or opening
 *  all but broken ──close: #close; or its actor ended while it closes──▶ stopped     final
 * ```
 *
 * A member has the fields that exist in its state alone. What outlives an actor (requests, replies
 * that are held, connections, offsets) is the owner's, and not part of any state.
 */
export type LifeState =
  /** It exists, and has no actor. */
  | { readonly kind: 'closed' }
  /** It has no actor, because nobody uses it. */
  | { readonly kind: 'asleep' }
  /** Its first actor creates it, or finds what a crash has left of its creation. */
  | { readonly kind: 'creating'; readonly seat: Seat; readonly starts: Starts }
  /** An actor reads its log. */
  | {
      readonly kind: 'opening';
      readonly seat: Seat;
      readonly starts: Starts;
      readonly opening: Opening;
      /** Why it was woken; absent: it did not sleep. */
      readonly wake: WakeReason | undefined;
    }
  | { readonly kind: 'serving'; readonly seat: Seat }
  /** Another host leads it: requests are refused with `database.notLeader`, but reads of copies. */
  | {
      readonly kind: 'following';
      readonly seat: Seat;
      readonly starts: Starts;
      role: FollowerRole;
      /** The program whose copy takes reads; `undefined`: it takes none. */
      readable: DatabaseDescription | undefined;
    }
  /** Its actor, which can only read, finishes its work; the next one can write. */
  | {
      readonly kind: 'vacating';
      readonly seat: Seat;
      readonly starts: Starts;
      /** True: there will be no next one, because the time to close has run out. */
      isLast: boolean;
    }
  /** Its actor finishes, because nobody uses it. Requests that come wait for the next one. */
  | {
      readonly kind: 'settling';
      readonly seat: Seat;
      readonly starts: Starts;
      /** Until what follows is decided. */
      readonly end: Deferred;
      isLast: boolean;
    }
  /** It has no actor; `fault` is the reason, with which requests are refused. */
  | { readonly kind: 'broken'; readonly fault: Refusal }
  | { readonly kind: 'stopped' };

/** While another host leads: the seat whose copy takes reads, its program, and its role. */
export interface ReadingSeat {
  readonly seat: Seat;
  readonly description: DatabaseDescription;
  readonly role: FollowerRole;
}

/** The states in which it serves, or will unless its actor ends. */
export type HopefulState = Extract<LifeState, { readonly seat: Seat }>;

/** Those who wait for it to serve. States pass the set on until it does, or will not. */
export type Starts = Set<Deferred>;

/** Receives what becomes of the actors. */
export interface LifeOwner extends Pick<SeatEvents, 'handOver' | 'durable' | 'memory'> {
  /** Ticket of the last request. */
  lastTicket(): Ticket;
  /** Refuses requests up to this ticket that no actor has; see `Opening`. */
  giveUp(lastTicket: Ticket, refusal: Refusal): void;
  /** An actor has opened the log, and will serve at once. All commits in it are durable. */
  opened(opening: SeatOpening): void;
  /**
   * The copy of a member that follows takes reads from now on, or no more. `leads`: because this
   * host leads, with the connections that have read it.
   */
  readable(leads: boolean): void;
  /** Results of such reads, and commits that the copy shows now. */
  followed(turn: TurnReport): void;
  /** It takes requests. */
  serves(): void;
  /** The actor is gone before its time. `isWanted`: it was ended to close the database. */
  ended(end: SeatEnd, isWanted: boolean): void;
  /** The actor has finished its work and is gone. */
  vacated(): void;
  /** It sleeps: the actor has finished its work and is gone. */
  fellAsleep(): void;
  /** It was woken, and serves. */
  woke(wake: WakeReason, millis: number): void;
  /** True if a request waits for the next actor. */
  isAwaited(): boolean;
  /** The database begins to close: no more requests come. */
  closes(): void;
  /** Resolves when no request is left; `undefined`: none is. */
  idle(): Promise<void> | undefined;
  /** It is broken or stopped, or another host leads it: nothing that waits will be done. */
  finished(state: 'broken' | 'stopped' | 'following', fault: Refusal): void;
}

/** How it is opened, unless there is more to say. */
export const openMode: SeatMode = { kind: 'open', skipFirstDisconnect: false };

/** The actor that there is. */
export function seatOf(state: LifeState): Seat | undefined {
  return 'seat' in state ? state.seat : undefined;
}

export function startsOf(state: LifeState): Starts {
  return 'starts' in state ? state.starts : new Set();
}

/** A program that ends an actor which only follows is not loaded by the next one, for a while. */
export function coldReasonAfter(
  state: LifeState,
  { cause, message, running }: SeatEnd,
): string | undefined {
  const isLoading = state.kind === 'following' && state.role.isLoading === true;
  const isOfProgram = running === undefined && (cause === 'budget' || cause === 'died');
  return isLoading && isOfProgram ? message : undefined;
}

/** Lets an actor finish its work; one that is too slow is ended. */
export async function finish(seat: Seat): Promise<void> {
  const slow = { cause: 'bug', message: 'It was too slow to end.' } as const;
  const deadline = setTimeout(() => seat.kill(slow), limits.shutdownMillisMax);
  await seat.close().finally(() => clearTimeout(deadline));
}

/** The state as operators and doors see it. */
export function shownState(state: LifeState): DatabaseStatistics['state'] {
  switch (state.kind) {
    case 'creating':
    case 'opening':
    case 'vacating':
    case 'following':
      return 'opening';
    case 'settling':
      return 'serving';
    case 'closed':
    case 'asleep':
    case 'serving':
    case 'broken':
    case 'stopped':
      return state.kind;
    default:
      return unreachable(state);
  }
}

import { assert, unreachable } from '../../assert.ts';
import type { Clock } from '../../database/clock.ts';
import {
  cancelledRefusal,
  Refusal,
  type RefusalBody,
  stoppedRefusal,
  updateFailure,
} from '../../database/outcome.ts';
import { noTicket, type Ticket, ticketNumber } from '../../database/ticket.ts';
import type { DatabaseReply, DatabaseRequest, TicketedRequest } from '../../database/turn.ts';
import type { SeatEnd } from '../seats/seat.ts';
import { ByTicket } from './by-ticket.ts';
import type { FeedRequest } from './feed-owner.ts';
import type { LiveFeed } from './live-feed.ts';

/**
 * A request whose outcome was not handed over yet, as the actor gets it, and the party that waits
 * for it.
 */
export type Pending = PromisedRequest | FeedPending;

/** A pending request whose outcome settles a promise. */
export interface PromisedRequest extends PendingState {
  readonly kind: 'promised';
  /** True: its outcome waits until it is durable. */
  readonly isConfirmed: boolean;
  readonly resolve: (reply: DatabaseReply) => void;
  readonly reject: (refusal: Refusal) => void;
}

/** A pending request of a connection, which receives the outcome. */
export class FeedPending implements PendingState {
  readonly kind = 'feed';
  readonly ticket: Ticket;
  readonly request: DatabaseRequest;
  acceptedMicros: bigint;
  readonly acceptedAt: number;
  wasSubmitted = false;
  wasHeld = false;
  deaths = 0;
  readonly feed: LiveFeed;
  /** The request as the door sent it. */
  readonly asked: FeedRequest;

  constructor(accepted: Accepted, feed: LiveFeed, asked: FeedRequest) {
    this.ticket = accepted.ticket;
    this.request = feed.databaseRequest(asked);
    this.acceptedMicros = accepted.acceptedMicros;
    this.acceptedAt = accepted.acceptedAt;
    this.feed = feed;
    this.asked = asked;
  }

  /** True when no one waits for it any more and it has no effects: it need not begin. */
  get isIdle(): boolean {
    const { kind } = this.asked;
    return this.feed.hasEnded && kind !== 'call' && kind !== 'disconnect';
  }

  resolve(reply: DatabaseReply): void {
    this.feed.answered(this.asked, reply, this.acceptedMicros);
  }

  /** Notes that the answer is promised, and comes later. */
  reading(queries: readonly number[]): void {
    this.feed.reading(this.asked, queries);
  }

  reject(refusal: Refusal): void {
    this.feed.refused(this.asked, refusal.body);
  }
}

type Accepted = Pick<PendingState, 'ticket' | 'acceptedMicros' | 'acceptedAt'>;

interface PendingState extends TicketedRequest {
  /** Moves while no actor has the request: see `notBefore`. */
  acceptedMicros: bigint;
  /** When it was accepted, in milliseconds of the monotonic clock. */
  readonly acceptedAt: number;
  wasSubmitted: boolean;
  /** True if it was held back when the actor could have had it. */
  wasHeld: boolean;
  /** Actors that ended while they had it. */
  deaths: number;
}

/** A request that was there when this many actors ended is suspected, and not run again. */
const deathsMax = 3;

/** The requests that an actor has or will get, in the order of their tickets. */
export class PendingRequests {
  readonly #clock: Clock;
  readonly #byTicket = new ByTicket<Pending>();
  /** Requests that no actor has. */
  #unsubmitted: Pending[] = [];
  #lastTicket: Ticket = noTicket;
  /** Time of the last request: a machine's clock may be set back, that of a database is not. */
  #lastMicros = 0n;
  #lastAcceptedAt: number;

  constructor(clock: Clock) {
    this.#clock = clock;
    this.#lastAcceptedAt = clock.monotonicMillis();
  }

  /** When the last request was accepted, in milliseconds of the monotonic clock. */
  get lastAcceptedAt(): number {
    return this.#lastAcceptedAt;
  }

  get size(): number {
    return this.#byTicket.size;
  }

  /** True while something is left that is not a procedure, handler or snapshot of an actor. */
  get isBusy(): boolean {
    for (const { request, wasSubmitted } of this.#byTicket) {
      if (!isLong(request) || !wasSubmitted) return true;
    }
    return false;
  }

  /** Procedures and handlers that an actor has. */
  procedures(): readonly Ticket[] {
    const begun = [...this.#byTicket].filter((pending) => pending.wasSubmitted);
    return begun.filter(({ request }) => takesItsTime(request)).map(({ ticket }) => ticket);
  }

  get lastTicket(): Ticket {
    return this.#lastTicket;
  }

  /**
   * When the longest-waiting request was accepted, by the monotonic clock; `undefined`: none waits.
   * Updates do not count: while a program is linked, no turn is involved. Nor do procedures,
   * handlers and snapshots, which may take their time.
   */
  get oldestAt(): number | undefined {
    let oldest: number | undefined;
    for (const { request, acceptedAt } of this.#byTicket) {
      if (request.kind === 'update' || isLong(request)) continue;
      if (oldest === undefined || acceptedAt < oldest) oldest = acceptedAt;
    }
    return oldest;
  }

  /** Ensures that no request, including those that no actor has yet, gets an earlier time. */
  notBefore(micros: bigint): void {
    if (micros <= this.#lastMicros) return;
    this.#lastMicros = micros;
    for (const pending of this.#unsubmitted) {
      if (pending.acceptedMicros < micros) pending.acceptedMicros = micros;
    }
  }

  /** Accepts a request: gives it its ticket and its timestamp. */
  add(request: DatabaseRequest, isConfirmed: boolean): Promise<DatabaseReply> {
    return new Promise((resolve, reject) => {
      const state = { request, wasSubmitted: false, wasHeld: false, deaths: 0 };
      this.#push({ kind: 'promised', ...state, ...this.#accept(), isConfirmed, resolve, reject });
    });
  }

  /** Accepts a request of a connection, which receives the outcome. */
  addOf(feed: LiveFeed, asked: FeedRequest): void {
    this.#push(new FeedPending(this.#accept(), feed, asked));
  }

  /**
   * Takes the requests that the actor gets now. `isHeld`: which of them stay, as do those that the
   * same connection sent behind them.
   */
  submit(isHeld?: (pending: Pending) => boolean): TicketedRequest[] {
    const unsubmitted = this.#unsubmitted;
    this.#unsubmitted = [];
    const heldFeeds = isHeld && new Set<LiveFeed>();
    const requests: TicketedRequest[] = [];
    for (const pending of unsubmitted) {
      const feed = pending.kind === 'feed' ? pending.feed : undefined;
      if (pending.kind === 'feed' && pending.isIdle) {
        this.#byTicket.take(pending.ticket);
        continue;
      }
      if (isHeld?.(pending) === true || (feed && heldFeeds?.has(feed))) {
        if (feed !== undefined) heldFeeds?.add(feed);
        pending.wasHeld = true;
        this.#unsubmitted.push(pending);
        continue;
      }
      if (pending.kind === 'feed' && pending.asked.kind === 'connect') pending.feed.began();
      if (pending.wasHeld) pending.acceptedMicros = this.#nowMicros();
      pending.wasSubmitted = true;
      requests.push(pending);
    }
    return requests;
  }

  /** Refuses those that were held back and accepted before a time; returns how many. */
  giveUpHeld(acceptedBefore: number, refusal: Refusal): number {
    const late = this.#unsubmitted.filter(
      ({ wasHeld, acceptedAt }) => wasHeld && acceptedAt < acceptedBefore,
    );
    for (const { ticket } of late) this.withdraw(ticket, refusal);
    return late.length;
  }

  /**
   * Answers callers of what an actor has had since before a time, of which nobody knows what will
   * come; returns how many. Work that takes its time is left alone, and so are connections.
   */
  giveUpBegun(acceptedBefore: number, refusal: Refusal): number {
    let count = 0;
    for (const pending of this.#byTicket) {
      const { kind, wasSubmitted, acceptedAt, request } = pending;
      const isLate = kind === 'promised' && wasSubmitted && acceptedAt < acceptedBefore;
      if (!isLate || isLong(request) || request.kind === 'update') continue;
      pending.reject(refusal);
      count += 1;
    }
    return count;
  }

  /** The request with this ticket, if its outcome has not arrived yet. */
  find(ticket: Ticket): Pending | undefined {
    return this.#byTicket.get(ticket);
  }

  /** The request that an actor ended with, if it is answered because of that. */
  endedWith(end: SeatEnd): Pending | undefined {
    const found = end.running === undefined ? undefined : this.find(end.running);
    return found === undefined || isAskedAgain(found, end) ? undefined : found;
  }

  /** Some rows of a subscription take a long time to read; its outcome comes later. */
  reading(ticket: Ticket, queries: readonly number[]): void {
    const pending = this.find(ticket);
    assert(pending?.kind === 'feed', 'rows are promised to connections');
    pending.reading(queries);
  }

  /** The copy of this host takes none any more: the actor that follows gets it, in its order. */
  putBack(pending: FeedPending): void {
    pending.wasSubmitted = false;
    this.#byTicket.add(pending);
    const at = this.#unsubmitted.findIndex(({ ticket }) => ticket > pending.ticket);
    this.#unsubmitted.splice(at < 0 ? this.#unsubmitted.length : at, 0, pending);
  }

  /** Removes those of connections that have ended, which no copy has. */
  dropIdle(): void {
    this.#unsubmitted = this.#unsubmitted.filter((pending) => {
      const isLeft = pending.kind !== 'feed' || !pending.feed.hasEnded;
      if (!isLeft) this.#byTicket.take(pending.ticket);
      return isLeft;
    });
  }

  /** Removes a request whose outcome has arrived. */
  take(ticket: Ticket): Pending | undefined {
    return this.#byTicket.take(ticket);
  }

  /** Refuses a request that no actor has; any other is left as it is. */
  withdraw(ticket: Ticket, refusal: Refusal): void {
    const pending = this.#byTicket.get(ticket);
    if (pending === undefined || pending.wasSubmitted) return;
    this.#byTicket.take(ticket);
    this.#unsubmitted = this.#unsubmitted.filter((other) => other !== pending);
    pending.reject(refusal);
  }

  /** Refuses all such requests up to a ticket but those of connections; returns their number. */
  withdrawAll(lastTicket: Ticket, refusal: Refusal): number {
    const tickets = this.#unsubmitted
      .filter(({ kind, ticket }) => kind === 'promised' && ticket <= lastTicket)
      .map(({ ticket }) => ticket);
    for (const ticket of tickets) this.withdraw(ticket, refusal);
    return tickets.length;
  }

  /**
   * Settles requests after an actor ended. The one that it was running gets its outcome; those that
   * it may have written are lost, because their outcome is unknown; the others are kept, to be
   * submitted to the next actor in the same order. Connections end with their actor, and so do
   * their requests. Returns how many are lost.
   */
  actorEnded(end: SeatEnd): number {
    let lostCount = 0;
    const kept = this.#byTicket.takeAll().filter((pending) => {
      const fate = this.#settleAfter(pending, end);
      if (fate === 'lost') lostCount += 1;
      return fate === 'kept';
    });
    for (const pending of kept) {
      pending.wasSubmitted = false;
      this.#byTicket.add(pending);
    }
    this.#unsubmitted = kept;
    return lostCount;
  }

  /** Gives back what many requests have made it take. There must be none now. */
  shrink(): void {
    const left = this.#byTicket.takeAll();
    assert(left.length === 0, 'a database with requests is in use');
  }

  rejectAll(refusal: Refusal): void {
    this.#unsubmitted = [];
    for (const pending of this.#byTicket.takeAll()) pending.reject(refusal);
  }

  #accept(): Accepted {
    const ticket = ticketNumber(this.#lastTicket + 1);
    this.#lastTicket = ticket;
    const acceptedMicros = this.#nowMicros();
    this.#lastAcceptedAt = this.#clock.monotonicMillis();
    return { ticket, acceptedMicros, acceptedAt: this.#lastAcceptedAt };
  }

  #nowMicros(): bigint {
    const now = this.#clock.nowMicros();
    if (now > this.#lastMicros) this.#lastMicros = now;
    return this.#lastMicros;
  }

  #push(pending: Pending): void {
    this.#byTicket.add(pending);
    this.#unsubmitted.push(pending);
  }

  #settleAfter(pending: Pending, end: SeatEnd): 'kept' | 'lost' | 'settled' {
    const { ticket, request } = pending;
    const isUndone = end.cause === 'full' && end.isUndone === true;
    if (isUndone && !isOnce(request)) return settleUndone(pending, end);
    if (pending.kind === 'feed') {
      if (isAskedAgain(pending, end)) pending.feed.leftUndone(pending.asked);
      else if (ticket === end.running) settleRunning(pending, end);
      else if (isUndoneIn(end, pending)) pending.feed.leftUndone(pending.asked);
      return pending.feed.hasBegun || pending.feed.hasEnded ? 'settled' : 'kept';
    }
    // What was not handed over is not in the log: it is refused with the reason.
    // An actor that gives its database away finishes what it has begun, but for procedures.
    const isUnbegun = end.cause === 'superseded' || end.handed !== undefined;
    if (!pending.wasSubmitted || (isUnbegun && !isOnce(request))) return 'kept';
    if (request.kind === 'update') return this.#settleUpdate(pending, end);
    if (takesItsTime(request)) return settleProcedure(pending, end);
    // Taken again, it does no harm.
    if (isLong(request)) return this.#keepUnlessSuspect(pending);
    if (request.kind === 'cancel') {
      pending.resolve({ kind: 'cancelled' });
      return 'settled';
    }
    // What it was reading is gone with the actor, which says so.
    if (request.kind === 'export') return this.#keepUnlessSuspect(pending);
    // A batch that is there already is not taken again.
    if (request.kind === 'import' && ticket !== end.running) {
      return this.#keepUnlessSuspect(pending);
    }
    // First, because the records of a long read's beginning were written long ago.
    if (ticket === end.running) {
      settleRunning(pending, end);
      return 'settled';
    }
    if (end.reached(ticket)) {
      pending.reject(lostRequest());
      return 'lost';
    }
    return this.#keepUnlessSuspect(pending);
  }

  /**
   * An update whose outcome was not handed over is run again only where another request ended the
   * actor: otherwise its program may have. It changes nothing if it is in the log already.
   */
  #settleUpdate(pending: PromisedRequest, { running }: SeatEnd): 'kept' | 'lost' {
    if (running !== undefined && running !== pending.ticket) {
      return this.#keepUnlessSuspect(pending);
    }
    pending.reject(lostUpdate());
    return 'lost';
  }

  #keepUnlessSuspect(pending: PromisedRequest): 'kept' | 'lost' {
    pending.deaths += 1;
    if (pending.deaths < deathsMax) return 'kept';
    pending.reject(suspectRefusal());
    return 'lost';
  }
}

/**
 * True of what an actor was reading for a connection when it was ended so that its host can take
 * over: an error would end a subscription for good, which another actor answers. The connection
 * ends with its actor, and its client asks again.
 */
function isAskedAgain(pending: Pending, { running, isForTakeOver }: SeatEnd): boolean {
  if (isForTakeOver !== true || pending.ticket !== running) return false;
  return pending.kind === 'feed' && pending.asked.kind !== 'oneOff';
}

/** True if nothing of a request remains after its actor, and nothing of it was done outside. */
function isUndoneIn(end: SeatEnd, { ticket, request, wasSubmitted }: FeedPending): boolean {
  if (!wasSubmitted) return true;
  return !takesItsTime(request) && (end.handed !== undefined || !end.reached(ticket));
}

/** True if it is not run again once an actor has had it. */
function isOnce(request: DatabaseRequest): boolean {
  return takesItsTime(request) || request.kind === 'cancel';
}

/** True of what runs on a lane, besides the turns. */
function takesItsTime({ kind }: DatabaseRequest): boolean {
  return kind === 'procedure' || kind === 'handler';
}

/** True of what is answered much later, without holding up anything. */
function isLong(request: DatabaseRequest): boolean {
  return takesItsTime(request) || request.kind === 'snapshot' || request.kind === 'roll';
}

/** It may have committed, and told others; so it is not run again. */
function settleProcedure(pending: PromisedRequest, end: SeatEnd): 'lost' | 'settled' {
  const isItsFault = end.cause === 'budget' || end.cause === 'died';
  if (pending.ticket === end.running && isItsFault) {
    settleRunning(pending, end);
    return 'settled';
  }
  pending.reject(lostRequest());
  return 'lost';
}

/** Submitted work had no effect: it is run again, unless its connection has ended. */
function settleUndone(pending: Pending, { message }: SeatEnd): 'kept' | 'settled' {
  if (pending.kind !== 'feed') return 'kept';
  const isOver = pending.feed.hasBegun || pending.feed.hasEnded;
  if (isOver && pending.asked.kind === 'call') pending.reject(refusal('database.full', message));
  return isOver ? 'settled' : 'kept';
}

/** The outcome of the request that an actor ended with; it never committed. */
function settleRunning(pending: Pending, end: SeatEnd): void {
  const { request } = pending;
  if (end.cause !== 'budget' && end.cause !== 'died') {
    pending.reject(end.cause === 'killed' ? killedRefusal() : faultRefusal());
    return;
  }
  const { message } = end;
  switch (request.kind) {
    case 'call': {
      const error = { code: 'reducer.overBudget', message } as const;
      pending.resolve({ kind: 'called', outcome: { kind: 'aborted', error, micros: 0 } });
      return;
    }
    case 'procedure':
    case 'handler': {
      const error = { code: 'procedure.overBudget', message } as const;
      pending.resolve({ kind: request.kind, outcome: { kind: 'failed', error, micros: 0 } });
      return;
    }
    case 'cancel':
      pending.resolve({ kind: 'cancelled' });
      return;
    case 'query': {
      const error = { code: 'sql.overBudget', message } as const;
      pending.resolve({ kind: 'queried', outcome: { kind: 'failed', error, micros: 0 } });
      return;
    }
    case 'preview': {
      const outcome = { kind: 'overBudget', message, micros: 0 } as const;
      pending.resolve({ kind: 'previewed', outcome });
      return;
    }
    case 'import': {
      const error = { code: 'import.overBudget', message } as const;
      pending.resolve({ kind: 'imported', outcome: { kind: 'failed', error } });
      return;
    }
    case 'connect':
      pending.resolve({ kind: 'connected', refusal: message });
      return;
    case 'subscribe':
    case 'unsubscribe': {
      const outcome = { kind: 'refused', error: message, micros: 0 } as const;
      pending.resolve({ kind: `${request.kind}d`, outcome });
      return;
    }
    case 'oneOff': {
      const outcome = { kind: 'failed', error: message, micros: 0 } as const;
      pending.resolve({ kind: 'oneOff', outcome });
      return;
    }
    case 'disconnect':
      pending.resolve({ kind: 'disconnected' });
      return;
    case 'update':
      pending.reject(lostUpdate());
      return;
    case 'program':
    case 'resume':
    case 'tables':
    case 'watches':
    case 'schedules':
    case 'snapshot':
    case 'roll':
    case 'export':
      pending.reject(stoppedRefusal());
      return;
    default:
      unreachable(request);
  }
}

function killedRefusal(): Refusal {
  const text = 'The process of the database was killed while the request ran. Nothing was changed.';
  return refusal('database.stopped', `${text} Try again.`);
}

function faultRefusal(): Refusal {
  return refusal('database.stopped', 'The request failed because of a fault in the service.');
}

function lostRequest(): Refusal {
  const text = 'The database crashed; it is not known whether the request happened.';
  return refusal('database.lost', text);
}

/** `updateOutcome` finds out what happened to the update. */
export function lostUpdate(): Refusal {
  const text = 'database crashed while waiting for transaction confirmation';
  return updateFailure('database.lost', text);
}

/** Of a request that has not begun: no one waits for it any more. */
export function abandonedRefusal(kind: DatabaseRequest['kind']): Refusal {
  if (kind === 'update') return cancelledRefusal();
  return refusal(
    'database.stopped',
    'The caller was gone before the procedure or the handler began.',
  );
}

function suspectRefusal(): Refusal {
  const text = `The database crashed ${deathsMax} times with this request waiting; it was not run.`;
  return refusal('database.stopped', text);
}

function refusal(code: RefusalBody['code'], message: string): Refusal {
  return new Refusal({ code, message });
}

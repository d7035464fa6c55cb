import { assert, unreachable } from '../../assert.ts';
import type { DatabaseDescription } from '../../database/description.ts';
import type { RefusalBody } from '../../database/outcome.ts';
import type { DatabaseReply, DatabaseRequest } from '../../database/turn.ts';
import { limits } from '../../limits.ts';
import type { LiveUpdate } from '../../live/live-update.ts';
import { EventLine } from './event-line.ts';
import type {
  LiveConnection,
  LiveEnd,
  LiveEvent,
  LiveOptions,
  LiveProcedure,
  LiveRequest,
  LiveSink,
  SetUpdate,
} from './live-connection.ts';

/** A request of a feed to the database: one of the door's, its beginning or its end. */
export type FeedRequest =
  | { readonly kind: 'connect' }
  | { readonly kind: 'disconnect' }
  | LiveRequest;

/** Where a feed registers what it has; `live-feeds.ts` is the one implementation. */
export interface FeedOwner {
  /** The feed has requests to submit. */
  hasRequests(feed: LiveFeed): void;
  /** The feed has events that `flush` will take. */
  hasEvents(feed: LiveFeed): void;
  /** The feed has ended before an actor learned of it. */
  forget(feed: LiveFeed): void;
  /** The running database. */
  describe(): DatabaseDescription | undefined;
  watch(feed: LiveFeed, setId: number, queries: readonly number[]): void;
  unwatch(feed: LiveFeed, setId: number, queries: readonly number[]): void;
}

/**
 * One connection on the gateway's side of a database:
 *
 * ```
 *  waiting ──began──▶ connecting ──connected──▶ open ──close, end──▶ ended
 *  waiting, connecting ──close, refused, end──▶ ended
 * ```
 *
 * Requests go through `#requests` to the database as it has room for them. Answers and changes are
 * collected in `#line` while a turn is handed over, and leave with `takeEvents`.
 */
export class LiveFeed implements LiveConnection {
  readonly options: LiveOptions;
  readonly #sink: LiveSink;
  readonly #owner: FeedOwner;
  #state: 'waiting' | 'connecting' | 'open' | 'ended' = 'waiting';
  #requests: FeedRequest[] = [{ kind: 'connect' }];
  readonly #line = new EventLine();
  #end: LiveEnd | undefined;
  /** The running database when its end was decided. */
  #lastDescription: DatabaseDescription | undefined;
  #changes: Change[] = [];
  /** Answers that need no database, held until the connection is admitted. */
  #early: LiveEvent[] = [];
  /** Requests of the door that the database has. */
  #submitted = 0;
  /** Query sets that the database has, and the numbers of their queries. */
  readonly #sets = new Map<number, readonly number[]>();
  /** Events that wait to become durable. */
  heldCount = 0;

  constructor(options: LiveOptions, sink: LiveSink, owner: FeedOwner) {
    assert(options.connectionId !== 0n, 'the id 0 stands for no connection');
    this.options = options;
    this.#sink = sink;
    this.#owner = owner;
  }

  get hasEnded(): boolean {
    return this.#state === 'ended';
  }

  /** True when an actor was asked to admit it. */
  get hasBegun(): boolean {
    return this.#state === 'connecting' || this.#state === 'open';
  }

  get isOpen(): boolean {
    return this.#state === 'open';
  }

  get setCount(): number {
    return this.#sets.size;
  }

  get unanswered(): number {
    return this.#requests.length + this.#submitted;
  }

  get description(): DatabaseDescription | undefined {
    return this.#lastDescription ?? this.#owner.describe();
  }

  send(request: LiveRequest): void {
    if (this.#state === 'ended') return;
    // With others queued, the owner already knows of it.
    if (this.#requests.push(request) === 1) this.#owner.hasRequests(this);
  }

  close(): void {
    if (this.#state === 'ended') return;
    const left = this.hasBegun ? this.#requests.filter(({ kind }) => kind === 'call') : undefined;
    this.#finish();
    if (left === undefined) {
      this.#owner.forget(this);
      return;
    }
    this.#requests = [...left, { kind: 'disconnect' }];
    this.#owner.hasRequests(this);
  }

  /** The next requests for the database, at most `countMax`, and not more than its share. */
  take(countMax: number): FeedRequest[] {
    const taken = this.#requests.splice(0, Math.min(countMax, this.#room));
    for (const { kind } of taken) {
      if (kind !== 'connect' && kind !== 'disconnect') this.#submitted += 1;
    }
    return taken;
  }

  /** Notes that the actor received the request to admit it. */
  began(): void {
    if (this.#state === 'waiting') this.#state = 'connecting';
  }

  /** True when it has requests that the database can take now. */
  get hasMore(): boolean {
    return this.#requests.length > 0 && this.#room > 0;
  }

  /** How many requests the database can take; a feed that has ended will not send more. */
  get #room(): number {
    if (this.#state === 'ended') return Number.POSITIVE_INFINITY;
    return limits.feedShareMax - this.#submitted;
  }

  answered(request: FeedRequest, reply: DatabaseReply, timestampMicros: bigint): void {
    if (this.#hearsNothing) return;
    if (request.kind === 'connect') {
      this.#connected(reply);
      return;
    }
    if (request.kind === 'disconnect') return;
    this.#settle();
    const event = this.#eventOf(request, reply, timestampMicros);
    if (this.#line.isPromised(request)) this.#keep(request, event);
    else this.#tell(event);
  }

  /** Reserves the place of an answer that comes later. A new set watches `queries` from now on. */
  reading(request: FeedRequest, queries: readonly number[]): void {
    if (this.#hearsNothing || request.kind === 'connect' || request.kind === 'disconnect') return;
    if (request.kind === 'subscribe') this.#addSet(request.setId, queries);
    if (request.kind === 'unsubscribe') this.dropSet(request.setId);
    this.#line.promise(request);
  }

  /** Answers a procedure, which the database never receives. */
  answerProcedure(request: LiveProcedure): void {
    if (this.#hearsNothing) return;
    this.#settle();
    const event = { kind: 'noProcedure', request } as const;
    if (this.#state === 'open') this.#tell(event);
    else this.#early.push(event);
  }

  /** Answers a request of which nothing ran. */
  refused(request: FeedRequest, body: RefusalBody): void {
    if (this.#hearsNothing || request.kind === 'disconnect') return;
    if (request.kind === 'connect') {
      this.endAfterEvents('database');
      return;
    }
    this.#settle();
    this.#tell({ kind: 'refused', request, body });
  }

  /** Remembers what a commit changed for one of its sets. Returns true for the first one. */
  collect(setId: number, update: LiveUpdate): boolean {
    this.#changes.push({ setId, update });
    return this.#changes.length === 1;
  }

  /** The only change collected; `undefined` when there are more. */
  get onlyChange(): Change | undefined {
    return this.#changes.length === 1 ? this.#changes[0] : undefined;
  }

  /** Takes the collected changes, by set and table. */
  takeChanges(): readonly SetUpdate[] {
    const changes = this.#changes;
    if (changes.length === 0) return noSets;
    this.#changes = [];
    if (changes.length > 1) changes.sort(byPlace);
    const sets: { setId: number; updates: LiveUpdate[] }[] = [];
    for (const { setId, update } of changes) {
      const last = sets.at(-1);
      if (last?.setId === setId) last.updates.push(update);
      else sets.push({ setId, updates: [update] });
    }
    return sets;
  }

  /** Adds a commit of another, or its effect on a set. */
  tell(event: LiveEvent): void {
    if (!this.#hearsNothing) this.#tell(event);
  }

  /** Removes one of its sets. Returns false when it was already gone. */
  dropSet(setId: number): boolean {
    const queries = this.#sets.get(setId);
    if (queries === undefined) return false;
    this.#sets.delete(setId);
    this.#owner.unwatch(this, setId, queries);
    return true;
  }

  /** Ends the feed after the events that it has so far. */
  endAfterEvents(reason: LiveEnd): void {
    if (this.#state === 'ended') return;
    this.#lastDescription = this.description;
    this.#end ??= reason;
    this.#owner.hasEvents(this);
  }

  /** Takes the events to deliver, in order, and then the end. */
  takeEvents(): { readonly events: readonly LiveEvent[]; readonly end: LiveEnd | undefined } {
    return { events: this.#line.take(), end: this.#end };
  }

  deliver(events: readonly LiveEvent[]): void {
    if (this.#state !== 'ended' && events.length > 0) this.#sink.deliver(events);
  }

  /**
   * How long the oldest event has waited to be sent; `heldMillis`: the same of events that wait to
   * become durable.
   */
  waitingMillis(heldMillis: number): number {
    const atClient = this.#sink.waitingMillis?.() ?? 0;
    return this.heldCount > 0 ? Math.max(atClient, heldMillis) : atClient;
  }

  /** Ends without being closed. The database knows, or is gone, unless `mustLeave`. */
  endNow(reason: LiveEnd, mustLeave = false): void {
    if (this.#state === 'ended') return;
    if (mustLeave) this.close();
    else this.#finish();
    this.#sink.ended(reason);
  }

  /** True when it has ended, or the end is its next event. */
  get #hearsNothing(): boolean {
    return this.#state === 'ended' || this.#end !== undefined;
  }

  /** Notes that the database has one of its requests fewer. */
  #settle(): void {
    const hadShare = this.#room === 0;
    this.#submitted -= 1;
    if (hadShare && this.#requests.length > 0) this.#owner.hasRequests(this);
  }

  #connected(reply: DatabaseReply): void {
    assert(reply.kind === 'connected', 'a connection is answered by its outcome');
    if (reply.refusal !== undefined) {
      this.endAfterEvents('refused');
      return;
    }
    this.#state = 'open';
    this.#tell({ kind: 'connected' });
    for (const event of this.#early) this.#tell(event);
    this.#early = [];
  }

  #tell(event: LiveEvent): void {
    const hadReady = this.#line.hasReady;
    this.#line.push(event);
    if (!hadReady && this.#line.hasReady) this.#owner.hasEvents(this);
    else if (this.#line.isTooLong) this.endAfterEvents('slow');
  }

  #keep(request: LiveRequest, event: LiveEvent): void {
    const hadReady = this.#line.hasReady;
    this.#line.keep(request, event);
    if (!hadReady && this.#line.hasReady) this.#owner.hasEvents(this);
  }

  #addSet(setId: number, queries: readonly number[]): void {
    this.#sets.set(setId, queries);
    this.#owner.watch(this, setId, queries);
  }

  #eventOf(request: LiveRequest, reply: DatabaseReply, timestampMicros: bigint): LiveEvent {
    if (reply.kind === 'called' && request.kind === 'call') {
      const sets = this.takeChanges();
      return { kind: 'called', request, outcome: reply.outcome, timestampMicros, sets };
    }
    if (reply.kind === 'subscribed' && request.kind === 'subscribe') {
      const { outcome } = reply;
      const isPromised = this.#line.isPromised(request);
      if (outcome.kind === 'applied' && !isPromised) {
        const queries = outcome.queries.map(({ query }) => query);
        this.#addSet(request.setId, queries);
      }
      if (outcome.kind === 'refused' && isPromised && this.#line.withdrawSet(request)) {
        this.dropSet(request.setId);
      }
      return { kind: 'subscribed', request, outcome };
    }
    if (reply.kind === 'unsubscribed' && request.kind === 'unsubscribe') {
      if (!this.#line.isPromised(request)) this.dropSet(request.setId);
      return { kind: 'unsubscribed', request, outcome: reply.outcome };
    }
    if (reply.kind === 'oneOff' && request.kind === 'oneOff') {
      return { kind: 'oneOff', request, outcome: reply.outcome };
    }
    assert(reply.kind === 'refused', `a request ${request.kind} is not answered by ${reply.kind}`);
    return { kind: 'refused', request, body: reply.body };
  }

  #finish(): void {
    this.#state = 'ended';
    this.#requests = [];
    this.#line.clear();
    this.#changes = [];
    for (const setId of [...this.#sets.keys()]) this.dropSet(setId);
  }
}

const noSets: readonly SetUpdate[] = [];

/** The changes of a commit for one query of one set. */
export interface Change {
  readonly setId: number;
  readonly update: LiveUpdate;
}

function byPlace(one: Change, other: Change): number {
  if (one.setId !== other.setId) return one.setId - other.setId;
  const { table, query } = one.update;
  if (table !== other.update.table) return table < other.update.table ? -1 : 1;
  return query - other.update.query;
}

/** The request as the database takes it. */
export function databaseRequest(
  request: Exclude<FeedRequest, LiveProcedure>,
  { caller, connectionId, confirmed, dialect = 'subscription' }: LiveOptions,
): DatabaseRequest {
  switch (request.kind) {
    case 'connect':
      return { kind: 'connect', caller, connectionId };
    case 'disconnect':
      return { kind: 'disconnect', connectionId };
    case 'call': {
      const { reducer, args, schemaVersion } = request;
      const connection = { kind: 'open', id: connectionId } as const;
      const call = { caller, connection, reducer, args, schemaVersion, confirmed };
      return { kind: 'call', call };
    }
    case 'subscribe': {
      const { setId, queries, knowsEvents } = request;
      return {
        kind: 'subscribe',
        subscribe: { caller, connectionId, setId, queries, knowsEvents, dialect },
      };
    }
    case 'unsubscribe': {
      const { setId, withRows } = request;
      return { kind: 'unsubscribe', unsubscribe: { connectionId, setId, withRows } };
    }
    case 'oneOff':
      return { kind: 'oneOff', oneOff: { caller, connectionId, sql: request.sql, dialect } };
    default:
      return unreachable(request);
  }
}

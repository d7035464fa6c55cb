import { assert, unreachable } from '../../assert.ts';
import type { DatabaseDescription } from '../../database/description.ts';
import type { SetId } from '../../database/live/set-id.ts';
import type { RefusalBody, RequestConnection, SubscribeOutcome } from '../../database/outcome.ts';
import type { DatabaseReply, DatabaseRequest } from '../../database/turn.ts';
import { limits } from '../../limits.ts';
import type { LiveUpdate } from '../../live/live-update.ts';
import { EventQueue } from './event-queue.ts';
import type {
  LiveConnection,
  LiveEnd,
  LiveEvent,
  LiveOptions,
  LiveRequest,
  LiveSink,
  LiveSubscribe,
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
  /** The feed has events that `deliver` will take. */
  hasEvents(feed: LiveFeed): void;
  /** The feed has ended before an actor learned of it. */
  forget(feed: LiveFeed): void;
  /** The running database. */
  describe(): DatabaseDescription | undefined;
  watch(feed: LiveFeed, setId: SetId, queries: readonly number[]): void;
  unwatch(feed: LiveFeed, setId: SetId, queries: readonly number[]): void;
}

type State =
  /** No actor has been asked to admit it. */
  | { readonly kind: 'waiting' }
  | { readonly kind: 'connecting' }
  | { readonly kind: 'open' }
  /** It gets the events that it has so far, and no others. */
  | {
      readonly kind: 'ending';
      readonly reason: LiveEnd;
      /** True when an actor was asked to admit it. */
      readonly hasBegun: boolean;
      /** The running database when the end was decided. */
      readonly description: DatabaseDescription | undefined;
    }
  /** `description`: as it was when it began to end; `undefined` if it ended at once. */
  | { readonly kind: 'ended'; readonly description: DatabaseDescription | undefined };

/**
 * One connection on the gateway's side of a database:
 *
 * ```
 *  waiting ──began──▶ connecting ──answered: admitted──▶ open
 *  waiting ──refused──▶ ending              its `connect` was never run
 *  connecting ──answered, refused──▶ ending    rejected by `client_connected`, or lost
 *  connecting, open ──too much waits, endAfterEvents──▶ ending
 *  any but ended ──close, endNow──▶ ended
 * ```
 *
 * Requests go through `#requests` to the database as it has room for them. Answers and changes are
 * collected in `#queue` while a turn is handed over, and leave with `takeEvents`.
 */
export class LiveFeed implements LiveConnection {
  readonly options: LiveOptions;
  readonly #sink: LiveSink;
  readonly #owner: FeedOwner;
  #state: State = { kind: 'waiting' };
  #requests: FeedRequest[] = [{ kind: 'connect' }];
  readonly #queue = new EventQueue();
  #changes: Change[] = [];
  /** Requests of the door that the database has. */
  #submitted = 0;
  /** Query sets that the database has, and the numbers of their queries. */
  readonly #sets = new Map<SetId, readonly number[]>();
  /** Its connection, as its calls name it. */
  readonly #connection: RequestConnection;
  /** Events that wait to become durable. */
  heldCount = 0;

  constructor(options: LiveOptions, sink: LiveSink, owner: FeedOwner) {
    assert(options.connectionId !== 0n, 'the id 0 stands for no connection');
    this.options = options;
    this.#connection = { kind: 'open', id: options.connectionId };
    this.#sink = sink;
    this.#owner = owner;
  }

  get hasEnded(): boolean {
    return this.#state.kind === 'ended';
  }

  /** True when an actor was asked to admit it, and it has not ended. */
  get hasBegun(): boolean {
    const state = this.#state;
    switch (state.kind) {
      case 'connecting':
      case 'open':
        return true;
      case 'ending':
        return state.hasBegun;
      case 'waiting':
      case 'ended':
        return false;
      default:
        return unreachable(state);
    }
  }

  get isOpen(): boolean {
    return this.#state.kind === 'open';
  }

  get setCount(): number {
    return this.#sets.size;
  }

  get queryCount(): number {
    let count = 0;
    for (const queries of this.#sets.values()) count += queries.length;
    return count;
  }

  get unanswered(): number {
    return this.#requests.length + this.#submitted;
  }

  get description(): DatabaseDescription | undefined {
    return this.#lastDescription ?? this.#owner.describe();
  }

  /** The running database when its end was decided. */
  get #lastDescription(): DatabaseDescription | undefined {
    const state = this.#state;
    return state.kind === 'ending' || state.kind === 'ended' ? state.description : undefined;
  }

  send(request: LiveRequest): void {
    if (this.hasEnded) return;
    // With others queued, the owner already knows of it.
    if (this.#requests.push(request) === 1) this.#owner.hasRequests(this);
  }

  close(): void {
    if (this.hasEnded) return;
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

  /** The request as the database takes it. */
  databaseRequest(request: FeedRequest): DatabaseRequest {
    const { options } = this;
    const { caller, connectionId, confirmed } = options;
    switch (request.kind) {
      case 'connect':
        return { kind: 'connect', caller, connectionId };
      case 'disconnect':
        return { kind: 'disconnect', connectionId };
      case 'call': {
        const { reducer, args, schemaVersion } = request;
        const connection = this.#connection;
        const call = { caller, connection, reducer, args, schemaVersion, confirmed };
        return { kind: 'call', call };
      }
      case 'procedure': {
        const { procedure, args, schemaVersion } = request;
        const connection = this.#connection;
        const called = { caller, connection, procedure, args, schemaVersion, confirmed };
        return { kind: 'procedure', procedure: called };
      }
      case 'subscribe':
        return { kind: 'subscribe', connection: options, subscribe: request };
      case 'unsubscribe':
        return { kind: 'unsubscribe', connectionId, unsubscribe: request };
      case 'oneOff':
        return { kind: 'oneOff', connection: options, oneOff: request };
      default:
        return unreachable(request);
    }
  }

  /** Notes that the actor received the request to admit it. */
  began(): void {
    if (this.#state.kind === 'waiting') this.#state = { kind: 'connecting' };
  }

  /** True when it has requests that the database can take now. */
  get hasMore(): boolean {
    return this.#requests.length > 0 && this.#room > 0;
  }

  /** How many requests the database can take; a feed that has ended will not send more. */
  get #room(): number {
    if (this.hasEnded) return Number.POSITIVE_INFINITY;
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
    if (reply.kind === 'outdated') {
      this.endAfterEvents('schema');
      return;
    }
    const event = this.#eventOf(request, reply, timestampMicros);
    if (this.#queue.isPromised(request)) this.#keep(request, event);
    else this.#push(event);
  }

  /** Reserves the place of an answer that comes later. A new set watches `queries` from now on. */
  reading(request: FeedRequest, queries: readonly number[]): void {
    if (this.#hearsNothing || request.kind === 'connect' || request.kind === 'disconnect') return;
    if (request.kind === 'subscribe') this.#addSet(request.setId, queries);
    if (request.kind === 'unsubscribe') this.dropSet(request.setId);
    this.#queue.promise(request);
  }

  /** Answers a request of which nothing ran. */
  refused(request: FeedRequest, body: RefusalBody): void {
    if (this.#hearsNothing || request.kind === 'disconnect') return;
    if (request.kind === 'connect') {
      this.endAfterEvents('database');
      return;
    }
    this.#settle();
    this.#push({ kind: 'refused', request, body });
  }

  /** Remembers what a commit changed for one of its sets. Returns true for the first one. */
  collect(setId: SetId, update: LiveUpdate): boolean {
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
    const sets: { setId: SetId; updates: LiveUpdate[] }[] = [];
    for (const { setId, update } of changes) {
      const last = sets.at(-1);
      if (last?.setId === setId) last.updates.push(update);
      else sets.push({ setId, updates: [update] });
    }
    return sets;
  }

  /** Adds a commit of another, or its effect on a set. */
  push(event: LiveEvent): void {
    if (!this.#hearsNothing) this.#push(event);
  }

  /** Removes one of its sets. Returns false when it was already gone. */
  dropSet(setId: SetId): boolean {
    const queries = this.#sets.get(setId);
    if (queries === undefined) return false;
    this.#sets.delete(setId);
    this.#owner.unwatch(this, setId, queries);
    return true;
  }

  /** Ends the feed after the events that it has so far. */
  endAfterEvents(reason: LiveEnd): void {
    if (this.#hearsNothing) return;
    const { hasBegun, description } = this;
    this.#state = { kind: 'ending', reason, hasBegun, description };
    this.#owner.hasEvents(this);
  }

  /** Takes the events to deliver, in order, and then the end. */
  takeEvents(): { readonly events: readonly LiveEvent[]; readonly end: LiveEnd | undefined } {
    const state = this.#state;
    return { events: this.#queue.take(), end: state.kind === 'ending' ? state.reason : undefined };
  }

  deliver(events: readonly LiveEvent[]): void {
    if (!this.hasEnded && events.length > 0) this.#sink.deliver(events);
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
    if (this.hasEnded) return;
    if (mustLeave) this.close();
    else this.#finish();
    this.#sink.ended(reason);
  }

  /** True when it has ended, or the end is its next event. */
  get #hearsNothing(): boolean {
    return this.#state.kind === 'ending' || this.#state.kind === 'ended';
  }

  /** Notes that the database has one of its requests fewer. */
  #settle(): void {
    const hadShare = this.#room === 0;
    this.#submitted -= 1;
    if (hadShare && this.#requests.length > 0) this.#owner.hasRequests(this);
  }

  #connected(reply: DatabaseReply): void {
    const state = this.#state;
    assert(reply.kind === 'connected', 'a connection is answered by its outcome');
    assert(state.kind === 'connecting', 'a connection is answered once it was asked for');
    if (reply.refusal !== undefined) {
      this.endAfterEvents('refused');
      return;
    }
    this.#state = { kind: 'open' };
    this.#push({ kind: 'connected' });
  }

  #push(event: LiveEvent): void {
    const hadReady = this.#queue.hasReady;
    this.#queue.push(event);
    if (!hadReady && this.#queue.hasReady) this.#owner.hasEvents(this);
    else if (this.#queue.isTooLong) this.endAfterEvents('slow');
  }

  #keep(request: LiveRequest, event: LiveEvent): void {
    const hadReady = this.#queue.hasReady;
    this.#queue.keep(request, event);
    if (!hadReady && this.#queue.hasReady) this.#owner.hasEvents(this);
  }

  #addSet(setId: SetId, queries: readonly number[]): void {
    this.#sets.set(setId, queries);
    this.#owner.watch(this, setId, queries);
  }

  #eventOf(request: LiveRequest, reply: DatabaseReply, timestampMicros: bigint): LiveEvent {
    if (reply.kind === 'refused') return { kind: 'refused', request, body: reply.body };
    switch (request.kind) {
      case 'call': {
        assert(reply.kind === 'called', unfit);
        const sets = this.takeChanges();
        return { kind: 'called', request, outcome: reply.outcome, timestampMicros, sets };
      }
      case 'subscribe':
        assert(reply.kind === 'subscribed', unfit);
        this.#subscribed(request, reply.outcome);
        return { kind: 'subscribed', request, outcome: reply.outcome };
      case 'unsubscribe':
        assert(reply.kind === 'unsubscribed', unfit);
        if (!this.#queue.isPromised(request)) this.dropSet(request.setId);
        return { kind: 'unsubscribed', request, outcome: reply.outcome };
      case 'oneOff':
        assert(reply.kind === 'oneOff', unfit);
        return { kind: 'oneOff', request, outcome: reply.outcome };
      case 'procedure':
        assert(reply.kind === 'procedure', unfit);
        return { kind: 'procedure', request, outcome: reply.outcome };
      default:
        return unreachable(request);
    }
  }

  /** Notes which set there is now, or that a promised one will not be. */
  #subscribed(request: LiveSubscribe, outcome: SubscribeOutcome): void {
    const isPromised = this.#queue.isPromised(request);
    switch (outcome.kind) {
      case 'applied':
        if (isPromised) return;
        this.#addSet(
          request.setId,
          outcome.queries.map(({ query }) => query),
        );
        return;
      case 'refused':
        if (isPromised && this.#queue.withdrawSet(request)) this.dropSet(request.setId);
        return;
      default:
        unreachable(outcome);
    }
  }

  #finish(): void {
    this.#state = { kind: 'ended', description: this.#lastDescription };
    this.#requests = [];
    this.#queue.clear();
    this.#changes = [];
    for (const setId of [...this.#sets.keys()]) this.dropSet(setId);
  }
}

const unfit = 'a request is answered by its own kind of reply, or refused';

const noSets: readonly SetUpdate[] = [];

/** The changes of a commit for one query of one set. */
export interface Change {
  readonly setId: SetId;
  readonly update: LiveUpdate;
}

function byPlace(one: Change, other: Change): number {
  if (one.setId !== other.setId) return one.setId - other.setId;
  const { table, query } = one.update;
  if (table !== other.update.table) return table < other.update.table ? -1 : 1;
  return query - other.update.query;
}

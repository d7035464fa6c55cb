import { assert, unreachable } from '../../assert.ts';
import type { DatabaseDescription } from '../../database/description.ts';
import type { SetId } from '../../database/live/set-id.ts';
import type {
  RefusalBody,
  RequestConnection,
  ResumeOutcome,
  SubscribeOutcome,
} from '../../database/outcome.ts';
import type { DatabaseReply, DatabaseRequest } from '../../database/turn.ts';
import { limits } from '../../limits.ts';
import type { LiveUpdate } from '../../live/live-update.ts';
import type { CommitOffset } from '../../store/commit-offset.ts';
import type { AttachedEnd } from '../replication/leader-line.ts';
import { type Change, CollectedChanges } from './collected-changes.ts';
import { databaseRequestOf } from './database-request.ts';
import { EventQueue } from './event-queue.ts';
import { FarCalls, type FarEvents } from './far-calls.ts';
import { isOfDoor, isOfLeader, sendableCount } from './far-order.ts';
import { farReturn, type LastLed } from './far-return.ts';
import type { FarSurroundings } from './far-surroundings.ts';
import type { FeedOwner, FeedRequest, TakenEvents } from './feed-owner.ts';
import { type FeedState, hasBegunIn } from './feed-state.ts';
import type {
  LiveConnection,
  LiveEnd,
  LiveEvent,
  LiveOptions,
  LiveRequest,
  LiveResume,
  LiveSink,
  LiveSubscribe,
  ResumedEvent,
  SetUpdate,
} from './live-connection.ts';
import { missedUpdates } from './missed-updates.ts';

/**
 * One connection on the gateway's side of a database:
 *
 * ```
 *  waiting ──began──▶ connecting ──answered: admitted──▶ open
 *  waiting ──refused──▶ ending              its `connect` was never run
 *  connecting ──answered, refused──▶ ending    rejected by `client_connected`, or lost
 *  connecting, open ──too much waits, endAfterEvents──▶ ending
 *  open ──leaveHome──▶ connecting       this host leads no more: its copy takes up the sets
 *  any but ended ──close, endNow──▶ ended
 * ```
 *
 * Requests go through `#requests` to the database as it has room for them. Answers and changes are
 * collected in `#queue` while a turn is handed over, and leave with `takeEvents`.
 */
export class LiveFeed implements LiveConnection {
  readonly options: LiveOptions;
  readonly #sink: LiveSink;
  readonly #owner: FeedOwner<LiveFeed>;
  #state: FeedState = { kind: 'waiting' };
  #requests: FeedRequest[] = [{ kind: 'connect' }];
  readonly #queue = new EventQueue();
  readonly #changes = new CollectedChanges();
  /** Requests of the door that the database has. */
  #submitted = 0;
  /** Of those, which the database has not done, and will not. */
  #undone: LiveRequest[] = [];
  /** Query sets that the database has, and the numbers of their queries. */
  readonly #sets = new Map<SetId, readonly number[]>();
  /** Its connection, as its calls name it. */
  readonly #connection: RequestConnection;
  /** Texts of the queries of its sets, if the copy of this host can take them up. */
  readonly #texts: Map<SetId, readonly string[]> | undefined;
  /** What it shows of the host that leads, if that is another one; and its calls there. */
  #around: FarSurroundings | undefined;
  #far: FarCalls | undefined;
  /** Has the copy of this host, which led before, take up its sets. */
  #return: LiveResume | undefined;
  /** Whether the leader has let it in, and the copy of this host knows of it. */
  #isLetIn = false;
  #isKnown = false;
  /** Requests that the copy of this host has, and has not begun to answer. */
  #copyOpen = 0;
  /** Events that wait to become durable. */
  heldCount = 0;

  constructor(options: LiveOptions, sink: LiveSink, owner: FeedOwner<LiveFeed>) {
    assert(options.connectionId !== 0n, 'the id 0 stands for no connection');
    this.options = options;
    this.#connection = { kind: 'open', id: options.connectionId };
    this.#around = options.far;
    this.#texts = options.moves && new Map();
    this.#sink = sink;
    this.#owner = owner;
  }

  get hasEnded(): boolean {
    return this.#state.kind === 'ended';
  }

  /** True when an actor was asked to admit it, and it has not ended. */
  get hasBegun(): boolean {
    return hasBegunIn(this.#state);
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
    const { isReturning } = this;
    this.#finish();
    if (isReturning) for (const one of [...(left ?? []), leaving]) this.sendFar(one);
    if (left === undefined || isReturning) {
      this.#owner.forget(this);
      return;
    }
    this.#requests = [...left, leaving];
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

  /** Whether the copy of this host has it. */
  get isKnown(): boolean {
    return this.#isKnown;
  }

  /** Its calls, which the host that leads answers; `undefined`: this host does. */
  get far(): FarCalls | undefined {
    return this.#far;
  }

  get #isFar(): boolean {
    return this.#around !== undefined;
  }

  /** True while it waits for the copy of this host, which led before. */
  get isReturning(): boolean {
    return this.#return !== undefined;
  }

  /**
   * This host leads no more, and its client has all up to the last acknowledged commit, and nothing
   * else: it goes on behind that from the copy here. False: it cannot.
   */
  leaveHome(last: LastLed): boolean {
    const { moves, confirmed } = this.options;
    const hasAll = this.#undone.length === this.#submitted && this.#queue.isEmpty;
    const isHome = !this.#isFar && this.isOpen;
    if (moves === undefined || !confirmed || !isHome || !hasAll) return false;
    this.#return = farReturn(last, this.options, this.#texts);
    for (const setId of [...this.#sets.keys()]) this.dropSet(setId);
    this.#requests.unshift(...this.#undone.splice(0));
    this.#submitted = 0;
    this.#copyOpen = 0;
    this.#state = { kind: 'connecting' };
    this.#around = moves;
    this.#isLetIn = true;
    this.#isKnown = false;
    this.#far = new FarCalls(moves, this.#farEvents());
    this.#sink.moved?.();
    return true;
  }

  /** The copy of this host takes reads. */
  enterCopy(): void {
    if (this.#hearsNothing) return;
    this.#requests.unshift({ kind: 'connect' });
    this.#owner.hasRequests(this);
  }

  /** Sends what is the leader's to that host; false: the database here gets it, or gets it, too. */
  sendFar(request: FeedRequest): boolean {
    const around = this.#around;
    if (around === undefined) return false;
    switch (request.kind) {
      case 'connect':
        this.#far ??= new FarCalls(around, this.#farEvents());
        return false;
      case 'call':
      case 'procedure':
        this.#far?.send(request);
        return true;
      case 'disconnect':
        this.#leaveFar();
        return true;
      default:
        this.#copyOpen += 1;
        return false;
    }
  }

  /** This host leads now: what comes is for its actor, in the order in which it was sent. */
  comeHome(): void {
    if (!this.#isFar) return;
    const unsent = this.#far?.release() ?? [];
    this.#around = undefined;
    this.#far = undefined;
    this.#submitted -= unsent.length;
    this.#requests.unshift(...unsent);
    if (this.#requests.length > 0) this.#owner.hasRequests(this);
  }

  /** The request as the database takes it. */
  databaseRequest(request: FeedRequest): DatabaseRequest {
    return databaseRequestOf(request, this.options, this.#connection);
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
    const room = limits.feedShareMax - this.#submitted;
    return this.#isFar ? Math.min(room, this.#farRoom) : room;
  }

  get #farRoom(): number {
    const [next] = this.#requests;
    if (next === undefined) return limits.feedShareMax;
    if (next.kind === 'connect' || next === this.#return) return 1;
    const open = { ofLeader: this.#far?.openCalls ?? 0, ofCopy: this.#copyOpen };
    return this.isOpen ? sendableCount(this.#requests, open) : 0;
  }

  /** Notes that its actor has ended, and has not done this. */
  leftUndone(request: FeedRequest): void {
    if (!this.hasEnded && isOfDoor(request)) this.#undone.push(request);
  }

  answered(request: FeedRequest, reply: DatabaseReply, timestampMicros: bigint): void {
    if (request.kind === 'disconnect') this.options.attached?.left();
    if (this.#hearsNothing) {
      if (this.#isFar && request.kind === 'connect') this.#knownLate(reply);
      return;
    }
    if (request.kind === 'connect') this.#connected(reply);
    if (request.kind === 'connect' || request.kind === 'disconnect') return;
    this.#settle(request);
    if (reply.kind === 'outdated') {
      this.endAfterEvents('schema');
      return;
    }
    if (request === this.#return) {
      this.#returned(request, reply);
      return;
    }
    const event = this.#eventOf(request, reply, timestampMicros);
    if (this.#queue.isPromised(request)) this.#keep(request, event);
    else this.#push(event);
  }

  /** Reserves the place of an answer that comes later. A new set watches `queries` from now on. */
  reading(request: FeedRequest, queries: readonly number[]): void {
    if (this.#hearsNothing || request.kind === 'connect' || request.kind === 'disconnect') return;
    if (request.kind === 'subscribe') this.#addSet(request, queries);
    if (request.kind === 'unsubscribe') this.dropSet(request.setId);
    this.#queue.promise(request);
    if (!this.#isFar) return;
    this.#copyOpen -= 1;
    if (this.hasMore) this.#owner.hasRequests(this);
  }

  /** Answers a request of which nothing ran. */
  refused(request: FeedRequest, body: RefusalBody): void {
    if (this.#state.kind === 'ending') this.leftUndone(request);
    if (this.#hearsNothing || request.kind === 'disconnect') return;
    if (request.kind === 'connect' || request === this.#return) {
      this.endAfterEvents('database');
      return;
    }
    this.#settle(request);
    this.#push({ kind: 'refused', request, body });
  }

  /**
   * The copy of this host had a request, and takes none any more. False: the feed has ended, or the
   * rest of an answer will never come.
   */
  canAskAgain(request: FeedRequest): boolean {
    const isHalf = isOfDoor(request) ? this.#queue.isPromised(request) : request.kind === 'connect';
    return !this.#hearsNothing && !isHalf;
  }

  /** Remembers what a commit changed for one of its sets. Returns true for the first one. */
  collect(setId: SetId, update: LiveUpdate): boolean {
    return this.#changes.add(setId, update);
  }

  /** The only change collected; `undefined` when there are more. */
  get onlyChange(): Change | undefined {
    return this.#changes.only;
  }

  /** Takes the collected changes, by set and table. */
  takeChanges(): readonly SetUpdate[] {
    return this.#changes.take();
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
    this.#texts?.delete(setId);
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
  takeEvents(): TakenEvents {
    const state = this.#state;
    const end = state.kind === 'ending' ? state.reason : undefined;
    return { events: this.#queue.take(), end, isAll: this.#queue.isWhole };
  }

  deliver(events: readonly LiveEvent[], position?: CommitOffset): void {
    if (!this.hasEnded && events.length > 0) this.#sink.deliver(events, position);
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
    const undone = [...this.#undone, ...this.#requests.filter(isOfDoor)];
    this.#leave(mustLeave);
    this.#sink.ended(reason, undone);
  }

  #leave(mustLeave: boolean): void {
    if (!this.#isFar) {
      if (mustLeave) this.close();
      else this.#finish();
      return;
    }
    this.#finish();
    this.#leaveFar();
  }

  #leaveFar(): void {
    if (this.#owner.left(this)) this.#far?.release();
    else this.#far?.close();
  }

  /** True when it has ended, or the end is its next event. */
  get #hearsNothing(): boolean {
    return this.#state.kind === 'ending' || this.#state.kind === 'ended';
  }

  #farEvents(): FarEvents {
    const add = (event: LiveEvent, push: () => void): void => {
      if (this.#hearsNothing) return;
      if ('request' in event) this.#settle(event.request);
      push();
      this.#owner.hasRequests(this);
    };
    return {
      letIn: () => {
        this.#isLetIn = true;
        this.#open();
      },
      add: (event) => add(event, () => this.#push(event)),
      addBefore: (place, event) =>
        add(event, () => this.#change((queue) => queue.putBefore(place, event))),
      keepPlace: (place) => this.#queue.promise(place),
      fillPlace: (place, event) => {
        const fill = (): void => this.#change((queue) => queue.keep(place, event));
        if (event === undefined) fill();
        else add(event, fill);
      },
      ended: (end) => this.#farEnded(end),
      goOn: () => this.#owner.hasRequests(this),
    };
  }

  #farEnded(end: AttachedEnd): void {
    const reason = end.kind === 'live' ? end.reason : 'database';
    if (end.kind === 'closed' && this.#sink.closed !== undefined && !this.hasEnded) {
      this.#leave(true);
      this.#sink.closed(end.code, end.reason);
    } else if (this.isReturning) this.endNow(reason);
    else this.endAfterEvents(reason);
    this.#owner.hasRequests(this);
  }

  /** Notes that the database has one of its requests fewer. */
  #settle(request: LiveRequest): void {
    const hadShare = this.#room === 0;
    this.#submitted -= 1;
    if (this.#isFar && !isOfLeader(request) && !this.#queue.isPromised(request)) {
      this.#copyOpen -= 1;
    }
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
    this.#isKnown = true;
    if (this.#return === undefined) {
      this.#open();
      return;
    }
    this.#requests.unshift(this.#return);
    this.#owner.hasRequests(this);
  }

  /** Goes on as if nothing had been, or ends: what its client has missed is not known here. */
  #returned(request: LiveResume, reply: DatabaseReply): void {
    this.#return = undefined;
    if (reply.kind !== 'resumed' || reply.outcome.kind !== 'resumed') {
      this.endAfterEvents('database');
      return;
    }
    this.#state = { kind: 'open' };
    for (const event of this.#resumed(request, reply.outcome).missed) this.#push(event);
    this.#owner.hasRequests(this);
  }

  /** It has ended, or begun to, before the copy of this host knew of it. */
  #knownLate(reply: DatabaseReply): void {
    this.#isKnown = reply.kind === 'connected' && reply.refusal === undefined;
    if (this.hasEnded) this.#owner.left(this);
  }

  #open(): void {
    const isLetIn = !this.#isFar || (this.#isLetIn && this.#isKnown);
    if (!isLetIn || this.#state.kind !== 'connecting') return;
    this.#state = { kind: 'open' };
    this.#push({ kind: 'connected' });
    if (this.#isFar) this.#owner.hasRequests(this);
  }

  #push(event: LiveEvent): void {
    const hadReady = this.#queue.hasReady;
    this.#queue.push(event);
    if (!hadReady && this.#queue.hasReady) this.#owner.hasEvents(this);
    else if (this.#queue.isTooLong) this.endAfterEvents('slow');
  }

  #keep(request: LiveRequest, event: LiveEvent): void {
    this.#change((queue) => queue.keep(request, event));
  }

  /** Something else than a new last event. */
  #change(work: (queue: EventQueue) => void): void {
    const hadReady = this.#queue.hasReady;
    work(this.#queue);
    if (!hadReady && this.#queue.hasReady) this.#owner.hasEvents(this);
  }

  #addSet({ setId, queries: of }: LiveResume['sets'][number], queries: readonly number[]): void {
    this.#sets.set(setId, queries);
    this.#texts?.set(setId, of);
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
      case 'resume':
        assert(reply.kind === 'resumed', unfit);
        return this.#resumed(request, reply.outcome);
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

  /** Notes which sets there are again. */
  #resumed(request: LiveResume, outcome: ResumeOutcome): ResumedEvent {
    outcome.sets.forEach(({ setId, queries }, at) => {
      const asked = request.sets[at];
      assert(asked?.setId === setId, 'all sets are resumed, in their order');
      this.#addSet(asked, queries);
    });
    return { kind: 'resumed', request, outcome, missed: missedUpdates(outcome) };
  }

  /** Notes which set there is now, or that a promised one will not be. */
  #subscribed(request: LiveSubscribe, outcome: SubscribeOutcome): void {
    const isPromised = this.#queue.isPromised(request);
    switch (outcome.kind) {
      case 'applied':
        if (isPromised) return;
        this.#addSet(
          request,
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
    this.#undone = [];
    this.#return = undefined;
    this.#queue.clear();
    this.#changes.take();
    for (const setId of [...this.#sets.keys()]) this.dropSet(setId);
  }
}

const leaving: FeedRequest = { kind: 'disconnect' };
const unfit = 'a request is answered by its own kind of reply, or refused';

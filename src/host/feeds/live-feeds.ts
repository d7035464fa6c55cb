import type { LiveCommit } from '../../database/live/live-commit.ts';
import type { OwnCommit } from '../../database/live/own-commit.ts';
import type { SetId } from '../../database/live/set-id.ts';
import type { TurnReport } from '../../database/turn.ts';
import { limits } from '../../limits.ts';
import type { LiveUpdate, RowChanges } from '../../live/live-update.ts';
import type { CommitOffset } from '../../store/commit-offset.ts';
import type { ConnectionNumber } from '../../values/connection-number.ts';
import type { LastLed } from './far-return.ts';
import type { FeedOwner, TakenEvents } from './feed-owner.ts';
import type { LiveEnd, LiveOptions, LiveSink, UpdatedEvent } from './live-connection.ts';
import { LiveFeed } from './live-feed.ts';
import type { Outbox } from './outbox.ts';
import type { PendingRequests } from './pending-requests.ts';

/** The call of a connection that a commit belongs to. */
interface CommitCaller {
  readonly feed: LiveFeed;
  readonly requestId: number;
  /** False: it receives the changes like everyone else. */
  readonly isCaller: boolean;
  /** Of one that reads this host's copy. */
  readonly own?: OwnCommit;
}

/** One set of one connection that watches a query. */
interface Subscriber {
  readonly feed: LiveFeed;
  readonly setId: SetId;
}

export interface LiveFeedsOptions {
  /** Takes the requests of all connections, and finds whose call made a commit. */
  readonly pending: PendingRequests;
  /** Holds events until they are durable. */
  readonly outbox: Outbox;
  /** Called when feeds have requests, or events that no turn brought: `submit` is due. */
  readonly wake: () => void;
  /** The running database. */
  readonly describe: FeedOwner<LiveFeed>['describe'];
  /**
   * Whether connections read this host's copy, or this host leads next and goes on with them;
   * absent: another host never leads.
   */
  readonly copy?: () => 'reads' | 'leads' | 'none';
}

/** Requests that one connection submits before others have their turn. */
const requestsInTurnMax = 256;

/**
 * All connections of one database, and which of them watch which query. The database reports each
 * query once; here it is sent to all its subscribers.
 *
 * ```
 *  send ─▶ feed ─▶ submit ─▶ pending requests        once per tick, and after each turn
 *  turn ─▶ answers, commit ─▶ feed ─▶ deliver ─▶ outbox ─▶ sink
 * ```
 */
export class LiveFeeds {
  readonly #options: LiveFeedsOptions;
  readonly #feeds = new Set<LiveFeed>();
  readonly #subscribers = new Map<number, Set<Subscriber>>();
  /** Feeds with requests, in the order of their turns. */
  readonly #waiting = new Set<LiveFeed>();
  /** Those that have read its copy, and left before its actor, which has them, has begun. */
  #leftEarly: LiveFeed[] = [];
  /** Those that read this host's copy. */
  readonly #far = new Map<ConnectionNumber, LiveFeed>();
  #eventful: LiveFeed[] = [];
  /** The current commit, if a connection that reads this host's copy has asked for it. */
  #ofFar: OwnCommit | undefined;
  /** Feeds with changes of the current commit. */
  #affected: LiveFeed[] = [];
  /** What waits to become durable, by turns. */
  readonly #held = new Set<readonly Held[]>();
  readonly #owner: FeedOwner<LiveFeed>;
  readonly #subscribersOf = new Map<LiveFeed, Map<SetId, Subscriber>>();

  constructor(options: LiveFeedsOptions) {
    this.#options = options;
    this.#owner = {
      describe: options.describe,
      hasRequests: (feed) => {
        this.#waiting.add(feed);
        options.wake();
      },
      hasEvents: (feed) => {
        this.#eventful.push(feed);
      },
      left: (feed) => {
        this.#forgetFar(feed);
        const copy = options.copy?.() ?? 'none';
        if (copy === 'leads') this.#leftEarly.push(feed);
        if (copy !== 'reads' || !feed.isKnown) return copy === 'leads';
        options.pending.addOf(feed, { kind: 'disconnect' });
        options.wake();
        return false;
      },
      forget: (feed) => {
        this.#waiting.delete(feed);
        this.#feeds.delete(feed);
      },
      watch: (feed, setId, queries) => this.#watch(feed, setId, queries),
      unwatch: (feed, setId, queries) => this.#unwatch(feed, setId, queries),
    };
  }

  get count(): number {
    return this.#feeds.size;
  }

  get setCount(): number {
    let count = 0;
    for (const feed of this.#feeds) count += feed.setCount;
    return count;
  }

  /** How long the oldest event of all has waited to be sent; see `LiveFeed`. */
  waitingMillis(heldMillis: number): number {
    let millis = 0;
    for (const feed of this.#feeds) millis = Math.max(millis, feed.waitingMillis(heldMillis));
    return millis;
  }

  open(options: LiveOptions, sink: LiveSink): LiveFeed {
    const feed = new LiveFeed(options, sink, this.#owner);
    this.#feeds.add(feed);
    const isFar = options.far !== undefined && !this.#far.has(options.connectionId);
    if (isFar) this.#far.set(options.connectionId, feed);
    this.#owner.hasRequests(feed);
    return feed;
  }

  /**
   * Makes requests pending while there is room, a few of each feed in turn, so that a feed that
   * sends many does not keep the others waiting. The others stay in their feeds.
   */
  submit(): void {
    const { pending, wake } = this.#options;
    for (const feed of this.#waiting) {
      const room = limits.feedQueueMax - pending.size;
      if (room <= 0) return;
      for (const request of feed.take(Math.min(room, requestsInTurnMax))) {
        if (!feed.sendFar(request)) pending.addOf(feed, request);
      }
      wake();
      // It goes to the end of the queue; its turn comes in this loop or when there is room again.
      this.#waiting.delete(feed);
      if (feed.hasMore) this.#waiting.add(feed);
      else if (feed.hasEnded) this.#feeds.delete(feed);
    }
  }

  /** Distributes what the copy of this host shows now, in the order of the commits. */
  follow({ commits, own = [] }: Pick<TurnReport, 'commits' | 'own'>): void {
    let next = 0;
    for (const commit of commits) {
      for (let one = own[next]; one !== undefined && one.offset <= commit.offset; one = own[next]) {
        next += 1;
        if (one.offset === commit.offset) this.#ofFar = one;
        else this.#far.get(one.connectionId)?.far?.committed(one, []);
      }
      this.commit(commit);
      const unseen = this.#ofFar;
      this.#ofFar = undefined;
      if (unseen !== undefined) this.#far.get(unseen.connectionId)?.far?.committed(unseen, []);
    }
    for (const one of own.slice(next)) this.#far.get(one.connectionId)?.far?.committed(one, []);
    for (const { far } of this.#far.values()) if (far?.isWaiting === true) far.reached();
    this.submit();
  }

  /** This host leads now: connections that have read its copy go on with the actor. */
  comeHome(): void {
    this.endReturning('database');
    for (const feed of this.#far.values()) feed.comeHome();
    this.#far.clear();
    for (const feed of this.#leftEarly.splice(0)) {
      this.#options.pending.addOf(feed, { kind: 'disconnect' });
    }
  }

  /** Ends those that are not let in yet; nobody knows whether they will be. */
  endUnadmitted(): void {
    for (const feed of this.#far.values()) if (!feed.isOpen) this.#end(feed, 'database');
  }

  /** Distributes a commit to the subscribers of what it changed. */
  commit(commit: LiveCommit): void {
    const { updates, failures } = commit;
    for (const { query, error } of failures) {
      for (const { feed, setId } of [...(this.#subscribers.get(query) ?? [])]) {
        if (feed.dropSet(setId)) feed.push({ kind: 'setFailed', setId, error });
      }
    }
    for (const update of updates) {
      const subscribers = this.#subscribers.get(update.query);
      if (subscribers === undefined) continue;
      for (const { feed, setId } of subscribers) {
        if (feed.collect(setId, update)) this.#affected.push(feed);
      }
    }
    if (this.#affected.length > 0) this.#pushUpdates(commit.offset, this.#callerOf(commit));
  }

  /**
   * Delivers what was collected, up to this write: at once, or when it is durable, in one piece for
   * all connections that wait for that. Calls `left` then; at once, when nothing waits.
   */
  deliver({ write, offset }: Pick<TurnReport, 'write' | 'offset'>, left: () => void): void {
    const held = this.#deliverNow(offset);
    if (held.length === 0) {
      // No one receives the answers any more, or they wait behind another one.
      left();
      return;
    }
    this.#held.add(held);
    const release = (): void => {
      left();
      this.#held.delete(held);
      for (const { feed, taken } of held) {
        feed.heldCount -= taken.events.length;
        send(feed, taken, offset);
      }
    };
    const fail = (): void => {
      this.#held.delete(held);
      for (const { feed, taken } of held) {
        // It gets those of them that came to be acknowledged from the copy.
        if (feed.isReturning) feed.heldCount -= taken.events.length;
        else feed.endNow('database');
      }
    };
    this.#options.outbox.hold({ write, offset, release, fail });
  }

  /** Delivers the events that need not be durable, and returns the others. */
  #deliverNow(offset: CommitOffset): readonly Held[] {
    const eventful = this.#eventful;
    this.#eventful = [];
    const held: Held[] = [];
    for (const feed of eventful) {
      const taken = feed.takeEvents();
      if (!feed.options.confirmed) send(feed, taken, offset);
      else hold(held, feed, taken);
      if (taken.end !== undefined) this.#feeds.delete(feed);
    }
    return held;
  }

  /** Ends these admitted connections, after the events that they have so far. */
  endOpen(ids: readonly ConnectionNumber[], reason: LiveEnd): void {
    const ended = new Set(ids);
    if (ended.size === 0) return;
    for (const feed of this.#feeds) {
      if (feed.isOpen && ended.has(feed.options.connectionId)) feed.endAfterEvents(reason);
    }
  }

  /** Ends the connections of an actor that is gone; those that it never had go on. */
  endBegun(reason: LiveEnd): void {
    for (const feed of this.#feeds) {
      if (feed.hasBegun) this.#end(feed, reason);
    }
  }

  /** Ends every connection at once. */
  endAll(reason: LiveEnd): void {
    this.#leftEarly = [];
    for (const feed of this.#feeds) this.#end(feed, reason);
    this.#waiting.clear();
  }

  /**
   * This host leads no more: those that can go on from its copy wait for that, the others end.
   * True: some wait.
   */
  leaveHome(last: LastLed): boolean {
    const unsaid = new Set<LiveFeed>();
    for (const { feed, taken } of [...this.#held].flat()) {
      // Updates come from the copy, if their commits are acknowledged in the end.
      const isAll = taken.events.every(({ kind }) => kind === 'updated');
      if (!isAll || taken.end !== undefined) unsaid.add(feed);
    }
    for (const feed of this.#feeds) {
      if (!feed.hasBegun) continue;
      if (!unsaid.has(feed) && feed.leaveHome(last)) this.#far.set(feed.options.connectionId, feed);
      else this.#end(feed, 'database');
    }
    return this.hasReturning;
  }

  /** True if some wait for the copy. */
  get hasReturning(): boolean {
    return this.#returning.length > 0;
  }

  get #returning(): readonly LiveFeed[] {
    return [...this.#far.values()].filter(({ isReturning }) => isReturning);
  }

  /** The copy of this host takes reads: those that wait for it go on. */
  enterCopy(): void {
    for (const feed of this.#returning) feed.enterCopy();
  }

  /** Ends those that wait for the copy. */
  endReturning(reason: LiveEnd): void {
    for (const feed of this.#returning) this.#end(feed, reason);
  }

  /** Ends all but those that wait for the copy. */
  endOthers(reason: LiveEnd): void {
    for (const feed of this.#feeds) if (!feed.isReturning) this.#end(feed, reason);
  }

  #end(feed: LiveFeed, reason: LiveEnd): void {
    this.#feeds.delete(feed);
    this.#forgetFar(feed);
    const { events, end = reason } = feed.takeEvents();
    send(feed, { events, end, isAll: false });
  }

  /** Another one may have its id by now. */
  #forgetFar(feed: LiveFeed): void {
    const { connectionId } = feed.options;
    if (this.#far.get(connectionId) === feed) this.#far.delete(connectionId);
  }

  #callerOf({ caller }: LiveCommit): CommitCaller | undefined {
    const own = this.#ofFar;
    const feed = own && this.#far.get(own.connectionId);
    if (own !== undefined && feed?.far !== undefined) {
      return { feed, requestId: feed.far.requestIdOf(own), isCaller: true, own };
    }
    const pending = caller === undefined ? undefined : this.#options.pending.find(caller);
    if (pending?.kind !== 'feed' || pending.asked.kind !== 'call') return undefined;
    const { requestId, isCaller } = pending.asked;
    return { feed: pending.feed, requestId, isCaller };
  }

  #pushUpdates(offset: CommitOffset, caller: CommitCaller | undefined): void {
    const affected = this.#affected;
    this.#affected = [];
    const requestId = caller?.requestId ?? 0;
    const shared = affected.length > 1 ? new SharedEvents(requestId, offset) : undefined;
    for (const feed of affected) {
      if (feed === caller?.feed && caller.own !== undefined) {
        this.#ofFar = undefined;
        feed.far?.committed(caller.own, feed.takeChanges());
        continue;
      }
      // Stays collected for the outcome of the call, which comes next.
      if (feed === caller?.feed && caller.isCaller) continue;
      const only = feed.onlyChange;
      const sets = feed.takeChanges();
      const event = only && shared?.of(only.setId, only.update);
      feed.push(event ?? { kind: 'updated', requestId, offset, sets });
    }
  }

  #watch(feed: LiveFeed, setId: SetId, queries: readonly number[]): void {
    const subscriber = { feed, setId };
    const ofFeed = this.#subscribersOf.get(feed) ?? new Map<SetId, Subscriber>();
    this.#subscribersOf.set(feed, ofFeed.set(setId, subscriber));
    for (const query of queries) {
      const subscribers = this.#subscribers.get(query);
      if (subscribers === undefined) this.#subscribers.set(query, new Set([subscriber]));
      else subscribers.add(subscriber);
    }
  }

  #unwatch(feed: LiveFeed, setId: SetId, queries: readonly number[]): void {
    const ofFeed = this.#subscribersOf.get(feed);
    const subscriber = ofFeed?.get(setId);
    if (ofFeed === undefined || subscriber === undefined) return;
    ofFeed.delete(setId);
    if (ofFeed.size === 0) this.#subscribersOf.delete(feed);
    for (const query of queries) {
      const subscribers = this.#subscribers.get(query);
      subscribers?.delete(subscriber);
      if (subscribers?.size === 0) this.#subscribers.delete(query);
    }
  }
}

interface Held {
  readonly feed: LiveFeed;
  readonly taken: TakenEvents;
}

/** `offset`: the last commit of the turn that they came with. */
function send(feed: LiveFeed, { events, end, isAll }: TakenEvents, offset?: CommitOffset): void {
  feed.deliver(events, isAll ? offset : undefined);
  if (end !== undefined) feed.endNow(end, end === 'slow');
}

/** Delivers at once what rests on no commit at the beginning, and holds all others. */
function hold(held: Held[], feed: LiveFeed, { events, end, isAll }: TakenEvents): void {
  // The host of an attached client announces it to a next leader, which must know of it.
  const waits = feed.options.attached !== undefined;
  const found = events.findIndex(
    ({ kind }) => (kind !== 'connected' || waits) && kind !== 'refused',
  );
  const count = found === -1 ? events.length : found;
  const rest = events.slice(count);
  if (count > 0) feed.deliver(events.slice(0, count));
  if (rest.length === 0 && end === undefined) return;
  feed.heldCount += rest.length;
  if (feed.heldCount > limits.socketMessagesOutMax) feed.endNow('slow', true);
  else held.push({ feed, taken: { events: rest, end, isAll } });
}

/**
 * Shares events between connections whose one changed query, or queries that changed alike, are in
 * sets with the same id.
 */
class SharedEvents {
  readonly #requestId: number;
  readonly #offset: CommitOffset;
  readonly #events = new Map<readonly RowChanges[], Map<SetId, UpdatedEvent>>();

  constructor(requestId: number, offset: CommitOffset) {
    this.#requestId = requestId;
    this.#offset = offset;
  }

  of(setId: SetId, update: LiveUpdate): UpdatedEvent {
    const events = this.#events.get(update.changes) ?? new Map<SetId, UpdatedEvent>();
    const known = events.get(setId);
    if (known !== undefined) return known;
    const sets = [{ setId, updates: [update] }];
    const ofCommit = { requestId: this.#requestId, offset: this.#offset };
    const event: UpdatedEvent = { kind: 'updated', ...ofCommit, sets };
    this.#events.set(update.changes, events.set(setId, event));
    return event;
  }
}

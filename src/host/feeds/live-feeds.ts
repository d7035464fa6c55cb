import type { LiveCommit } from '../../database/live/live-commit.ts';
import type { SetId } from '../../database/live/set-id.ts';
import type { TurnReport } from '../../database/turn.ts';
import { limits } from '../../limits.ts';
import type { LiveUpdate, RowChanges } from '../../live/live-update.ts';
import type { ConnectionNumber } from '../../values/connection-number.ts';
import type { LiveEnd, LiveEvent, LiveOptions, LiveSink, UpdatedEvent } from './live-connection.ts';
import { type FeedOwner, LiveFeed } from './live-feed.ts';
import type { Outbox } from './outbox.ts';
import type { PendingRequests } from './pending-requests.ts';

/** The call of a connection that a commit belongs to. */
interface CommitCaller {
  readonly feed: LiveFeed;
  readonly requestId: number;
  /** False: it receives the changes like everyone else. */
  readonly isCaller: boolean;
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
  readonly describe: FeedOwner['describe'];
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
  #eventful: LiveFeed[] = [];
  /** Feeds with changes of the current commit. */
  #affected: LiveFeed[] = [];
  readonly #owner: FeedOwner;
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
        pending.addOf(feed, request);
      }
      wake();
      // It goes to the end of the queue; its turn comes in this loop or when there is room again.
      this.#waiting.delete(feed);
      if (feed.hasMore) this.#waiting.add(feed);
      else if (feed.hasEnded) this.#feeds.delete(feed);
    }
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
    if (this.#affected.length > 0) this.#pushUpdates(this.#callerOf(commit));
  }

  /**
   * Delivers what was collected, up to this write: at once, or when it is durable, in one piece for
   * all connections that wait for that. Calls `left` then; at once, when nothing waits.
   */
  deliver({ write, offset }: Pick<TurnReport, 'write' | 'offset'>, left: () => void): void {
    const held = this.#deliverNow();
    if (held.length === 0) {
      // No one receives the answers any more, or they wait behind another one.
      left();
      return;
    }
    const release = (): void => {
      left();
      for (const { feed, events, end } of held) {
        feed.heldCount -= events.length;
        send(feed, events, end);
      }
    };
    const fail = (): void => {
      for (const { feed } of held) feed.endNow('database');
    };
    this.#options.outbox.hold({ write, offset, release, fail });
  }

  /** Delivers the events that need not be durable, and returns the others. */
  #deliverNow(): readonly Held[] {
    const eventful = this.#eventful;
    this.#eventful = [];
    const held: Held[] = [];
    for (const feed of eventful) {
      const { events, end } = feed.takeEvents();
      if (!feed.options.confirmed) send(feed, events, end);
      else hold(held, feed, events, end);
      if (end !== undefined) this.#feeds.delete(feed);
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
    for (const feed of this.#feeds) this.#end(feed, reason);
    this.#waiting.clear();
  }

  #end(feed: LiveFeed, reason: LiveEnd): void {
    this.#feeds.delete(feed);
    const { events, end } = feed.takeEvents();
    send(feed, events, end ?? reason);
  }

  #callerOf({ caller }: LiveCommit): CommitCaller | undefined {
    const pending = caller === undefined ? undefined : this.#options.pending.find(caller);
    if (pending?.kind !== 'feed' || pending.asked.kind !== 'call') return undefined;
    const { requestId, isCaller } = pending.asked;
    return { feed: pending.feed, requestId, isCaller };
  }

  #pushUpdates(caller: CommitCaller | undefined): void {
    const affected = this.#affected;
    this.#affected = [];
    const requestId = caller?.requestId ?? 0;
    const shared = affected.length > 1 ? new SharedEvents(requestId) : undefined;
    for (const feed of affected) {
      // Stays collected for the outcome of the call, which comes next.
      if (feed === caller?.feed && caller.isCaller) continue;
      const only = feed.onlyChange;
      const sets = feed.takeChanges();
      const event = only && shared?.of(only.setId, only.update);
      feed.push(event ?? { kind: 'updated', requestId, sets });
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
  readonly events: readonly LiveEvent[];
  readonly end: LiveEnd | undefined;
}

function send(feed: LiveFeed, events: readonly LiveEvent[], end: LiveEnd | undefined): void {
  feed.deliver(events);
  if (end !== undefined) feed.endNow(end, end === 'slow');
}

/** Delivers the first event of a connection at once and holds all others. */
function hold(
  held: Held[],
  feed: LiveFeed,
  events: readonly LiveEvent[],
  end: LiveEnd | undefined,
): void {
  const [first] = events;
  const rest = first?.kind === 'connected' ? events.slice(1) : events;
  if (first?.kind === 'connected') feed.deliver([first]);
  if (rest.length === 0 && end === undefined) return;
  feed.heldCount += rest.length;
  if (feed.heldCount > limits.socketMessagesOutMax) feed.endNow('slow', true);
  else held.push({ feed, events: rest, end });
}

/**
 * Shares events between connections whose one changed query, or queries that changed alike, are in
 * sets with the same id.
 */
class SharedEvents {
  readonly #requestId: number;
  readonly #events = new Map<readonly RowChanges[], Map<SetId, UpdatedEvent>>();

  constructor(requestId: number) {
    this.#requestId = requestId;
  }

  of(setId: SetId, update: LiveUpdate): UpdatedEvent {
    const events = this.#events.get(update.changes) ?? new Map<SetId, UpdatedEvent>();
    const known = events.get(setId);
    if (known !== undefined) return known;
    const sets = [{ setId, updates: [update] }];
    const event: UpdatedEvent = { kind: 'updated', requestId: this.#requestId, sets };
    this.#events.set(update.changes, events.set(setId, event));
    return event;
  }
}

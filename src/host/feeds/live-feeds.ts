import type { LiveCommit } from '../../database/live/live-feed.ts';
import { limits } from '../../limits.ts';
import type { LiveUpdate } from '../../live/live-update.ts';
import type { LiveEnd, LiveEvent, LiveOptions, LiveSink, UpdatedEvent } from './live-connection.ts';
import { type FeedOwner, LiveFeed } from './live-feed.ts';

/** The call that a commit belongs to. */
export interface CommitCaller {
  readonly feed: LiveFeed;
  readonly requestId: number;
  /** False: it receives the changes like everyone else. */
  readonly isCaller: boolean;
}

/** One set of one connection that watches a query. */
interface Watcher {
  readonly feed: LiveFeed;
  readonly setId: number;
}

/** Events from `flush` that the owner holds until they are durable. */
export interface HeldEvents {
  /** Delivers them; drops those of feeds that have ended meanwhile. */
  readonly release: () => void;
  /** Ends the feeds, because the events are lost. */
  readonly fail: () => void;
}

/**
 * All connections of one database, and which of them watch which query. The database reports each
 * query once; here it is sent to all its watchers.
 */
export class LiveFeeds {
  readonly #feeds = new Set<LiveFeed>();
  readonly #watchers = new Map<number, Set<Watcher>>();
  readonly #waiting = new Set<LiveFeed>();
  #eventful: LiveFeed[] = [];
  /** Feeds with changes of the current commit. */
  #affected: LiveFeed[] = [];
  readonly #owner: FeedOwner;
  /** Called when feeds have requests, or events that no turn brought. */
  readonly #wake: () => void;
  #watcherOf = new Map<LiveFeed, Map<number, Watcher>>();

  constructor(wake: () => void, describe: FeedOwner['describe']) {
    this.#wake = wake;
    this.#owner = {
      describe,
      hasRequests: (feed) => {
        this.#waiting.add(feed);
        this.#wake();
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
   * Passes requests to `submit` while there is `room`, a few of each feed in turn, so that a feed
   * that sends many does not keep the others waiting.
   */
  submitAll(room: () => number, submit: (feed: LiveFeed) => void): void {
    for (const feed of this.#waiting) {
      if (room() <= 0) return;
      submit(feed);
      // It goes to the end of the queue; its turn comes in this loop or when there is room again.
      this.#waiting.delete(feed);
      if (feed.hasMore) this.#waiting.add(feed);
      else if (feed.hasEnded) this.#feeds.delete(feed);
    }
  }

  /** Distributes a commit to the watchers of what it changed. */
  commit({ updates, failures }: LiveCommit, caller: CommitCaller | undefined): void {
    for (const { query, error } of failures) {
      for (const { feed, setId } of [...(this.#watchers.get(query) ?? [])]) {
        if (feed.dropSet(setId)) feed.tell({ kind: 'setFailed', setId, error });
      }
    }
    for (const update of updates) {
      const watchers = this.#watchers.get(update.query);
      if (watchers === undefined) continue;
      for (const { feed, setId } of watchers) {
        if (feed.collect(setId, update)) this.#affected.push(feed);
      }
    }
    if (this.#affected.length > 0) this.#tellAffected(caller);
  }

  /**
   * Delivers what was collected. Events that wait to become durable are returned, in one piece for
   * all connections.
   */
  flush(): HeldEvents | undefined {
    const eventful = this.#eventful;
    this.#eventful = [];
    const held: Held[] = [];
    for (const feed of eventful) {
      const { events, end } = feed.takeEvents();
      if (!feed.options.confirmed) tell(feed, events, end);
      else hold(held, feed, events, end);
      if (end !== undefined) this.#feeds.delete(feed);
    }
    if (held.length === 0) return undefined;
    return {
      release: () => {
        for (const { feed, events, end } of held) {
          feed.heldCount -= events.length;
          tell(feed, events, end);
        }
      },
      fail: () => {
        for (const { feed } of held) feed.endNow('database');
      },
    };
  }

  /** Ends admitted connections, after the events that they have so far. */
  endOpen(reason: LiveEnd): void {
    for (const feed of this.#feeds) if (feed.isOpen) feed.endAfterEvents(reason);
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
    tell(feed, events, end ?? reason);
  }

  #tellAffected(caller: CommitCaller | undefined): void {
    const affected = this.#affected;
    this.#affected = [];
    const requestId = caller?.requestId ?? 0;
    const shared = new SharedEvents(requestId);
    for (const feed of affected) {
      // Stays collected for the outcome of the call, which comes next.
      if (feed === caller?.feed && caller.isCaller) continue;
      const only = feed.onlyChange;
      const sets = feed.takeChanges();
      if (only === undefined) feed.tell({ kind: 'updated', requestId, sets });
      else feed.tell(shared.of(only.setId, only.update));
    }
  }

  #watch(feed: LiveFeed, setId: number, queries: readonly number[]): void {
    const watcher = { feed, setId };
    const ofFeed = this.#watcherOf.get(feed) ?? new Map<number, Watcher>();
    this.#watcherOf.set(feed, ofFeed.set(setId, watcher));
    for (const query of queries) {
      const watchers = this.#watchers.get(query);
      if (watchers === undefined) this.#watchers.set(query, new Set([watcher]));
      else watchers.add(watcher);
    }
  }

  #unwatch(feed: LiveFeed, setId: number, queries: readonly number[]): void {
    const ofFeed = this.#watcherOf.get(feed);
    const watcher = ofFeed?.get(setId);
    if (ofFeed === undefined || watcher === undefined) return;
    ofFeed.delete(setId);
    if (ofFeed.size === 0) this.#watcherOf.delete(feed);
    for (const query of queries) {
      const watchers = this.#watchers.get(query);
      watchers?.delete(watcher);
      if (watchers?.size === 0) this.#watchers.delete(query);
    }
  }
}

interface Held {
  readonly feed: LiveFeed;
  readonly events: readonly LiveEvent[];
  readonly end: LiveEnd | undefined;
}

function tell(feed: LiveFeed, events: readonly LiveEvent[], end: LiveEnd | undefined): void {
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

/** Shares events between connections whose one changed query is in a set with the same id. */
class SharedEvents {
  readonly #requestId: number;
  readonly #events = new Map<LiveUpdate, Map<number, UpdatedEvent>>();

  constructor(requestId: number) {
    this.#requestId = requestId;
  }

  of(setId: number, update: LiveUpdate): UpdatedEvent {
    const events = this.#events.get(update) ?? new Map<number, UpdatedEvent>();
    const known = events.get(setId);
    if (known !== undefined) return known;
    const sets = [{ setId, updates: [update] }];
    const event: UpdatedEvent = { kind: 'updated', requestId: this.#requestId, sets };
    this.#events.set(update, events.set(setId, event));
    return event;
  }
}

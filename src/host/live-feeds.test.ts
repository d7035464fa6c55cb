import { describe, expect, it } from 'vitest';
import type { LiveCommit } from '../database/turn.ts';
import { limits } from '../limits.ts';
import type { LiveUpdate } from '../live/live-update.ts';
import { emptyRowSet } from '../live/row-set.ts';
import { strangerRights } from '../sql/rights.ts';
import { commitOffset } from '../store/commit-offset.ts';
import type { LiveEnd, LiveEvent } from './live-connection.ts';
import type { FeedRequest, LiveFeed } from './live-feed.ts';
import { LiveFeeds } from './live-feeds.ts';

const caller = { identity: 1n, rights: strangerRights, jwtPayload: '' };

/** Feeds whose database is the test. */
class Lab {
  readonly feeds = new LiveFeeds(() => undefined);
  #lastId = 0n;

  /** A connection that was let in, and what it was told since. */
  open(confirmed = false) {
    const told: LiveEvent[] = [];
    const ends: LiveEnd[] = [];
    this.#lastId += 1n;
    const feed = this.feeds.open(
      { caller, connectionId: this.#lastId, confirmed },
      { deliver: (events) => told.push(...events), ended: (reason) => ends.push(reason) },
    );
    for (const request of this.requests(feed)) {
      feed.began();
      feed.answered(request, { kind: 'connected', refusal: undefined }, 0n);
    }
    this.feeds.flush();
    told.length = 0;
    return { feed, told, ends };
  }

  /** What the feed has for the database. */
  requests(feed: LiveFeed): FeedRequest[] {
    const taken: FeedRequest[] = [];
    this.feeds.submitAll(
      () => 1_000,
      (one) => {
        const requests = one.take(1_000);
        if (one === feed) taken.push(...requests);
      },
    );
    return taken;
  }

  watch(feed: LiveFeed, setId: number, ...numbers: number[]): void {
    const request = {
      kind: 'subscribe',
      requestId: 0,
      setId,
      queries: [],
      knowsEvents: true,
    } as const;
    const queries = numbers.map((query) => {
      return { query, table: 't', tableId: 1, isEvent: false, fragments: [] };
    });
    const outcome = { kind: 'applied', offset: commitOffset(1), queries, micros: 0 } as const;
    feed.send(request);
    this.requests(feed);
    feed.answered(request, { kind: 'subscribed', outcome }, 0n);
    this.feeds.flush();
  }
}

function update(query: number, table = 't'): LiveUpdate {
  const rows = { kind: 'fixedSize', rowBytes: 1, data: Uint8Array.of(1) } as const;
  const changes = [{ kind: 'persistent', inserts: rows, deletes: emptyRowSet } as const];
  return { query, table, tableId: 1, changes };
}

function commit(updates: LiveUpdate[], failed: number[] = []): LiveCommit {
  return {
    kind: 'committed',
    offset: commitOffset(2),
    timestampMicros: 0n,
    caller: undefined,
    updates,
    failures: failed.map((query) => ({ query, error: `no ${query}` })),
    resultsBefore: 0,
  };
}

describe('feeds', () => {
  it('[subscriptions 8] tell of a failed query before what changed, and drop its sets', () => {
    const lab = new Lab();
    const { feed, told } = lab.open();
    const other = lab.open();
    lab.watch(feed, 1, 10, 11);
    lab.watch(feed, 2, 11);
    lab.watch(other.feed, 3, 10);
    told.length = 0;
    other.told.length = 0;
    lab.feeds.commit(commit([update(11)], [10]), undefined);
    lab.feeds.flush();
    expect(told).toMatchObject([
      { kind: 'setFailed', setId: 1, error: 'no 10' },
      { kind: 'updated', sets: [{ setId: 2, updates: [{ query: 11 }] }] },
    ]);
    expect(other.told).toMatchObject([{ kind: 'setFailed', setId: 3 }]);
    expect(lab.feeds.setCount).toBe(1);
    lab.feeds.commit(commit([update(10), update(11)]), undefined);
    lab.feeds.flush();
    expect(other.told).toHaveLength(1);
    expect(told.at(-1)).toMatchObject({ sets: [{ setId: 2, updates: [{ query: 11 }] }] });
  });

  it('[subscriptions 5] order sets and tables, and share what is the same for several', () => {
    const lab = new Lab();
    const [one, two, three] = [lab.open(), lab.open(), lab.open()];
    lab.watch(one.feed, 5, 1, 2);
    lab.watch(one.feed, 4, 1);
    lab.watch(two.feed, 5, 1);
    lab.watch(three.feed, 5, 1);
    for (const { told } of [one, two, three]) told.length = 0;
    lab.feeds.commit(commit([update(1, 'z'), update(2, 'a')]), undefined);
    lab.feeds.flush();
    const [event] = one.told;
    const sets = event?.kind === 'updated' ? event.sets : [];
    expect(sets.map(({ setId, updates }) => [setId, updates.map(({ table }) => table)])).toEqual([
      [4, ['z']],
      [5, ['a', 'z']],
    ]);
    expect(two.told[0]).toBe(three.told[0]);
  });

  it('[subscriptions 14.2] end a client for whom too much waits to be durable', () => {
    const lab = new Lab();
    const { feed, told, ends } = lab.open(true);
    lab.watch(feed, 1, 1);
    const held: (() => void)[] = [];
    for (let at = 0; at <= limits.socketMessagesOutMax && ends.length === 0; at += 1) {
      lab.feeds.commit(commit([update(1)]), undefined);
      const events = lab.feeds.flush();
      if (events !== undefined) held.push(events.release);
    }
    expect(ends).toEqual(['slow']);
    expect(lab.requests(feed)).toEqual([{ kind: 'disconnect' }]);
    for (const release of held) release();
    expect(told).toEqual([]);
    expect([lab.feeds.count, lab.feeds.setCount]).toEqual([0, 0]);
  });

  it('[subscriptions 14.1] hold what must be durable, in one piece, and drop what is lost', () => {
    const lab = new Lab();
    const [one, two] = [lab.open(true), lab.open(true)];
    lab.watch(one.feed, 1, 1);
    lab.watch(two.feed, 1, 1);
    lab.feeds.commit(commit([update(1)]), undefined);
    const held = lab.feeds.flush();
    expect([one.told, two.told]).toEqual([[], []]);
    held?.release();
    expect([one.told.length, two.told.length]).toEqual([1, 1]);
    lab.feeds.commit(commit([update(1)]), undefined);
    lab.feeds.flush()?.fail();
    expect([one.ends, two.ends]).toEqual([['database'], ['database']]);
    expect(one.told).toHaveLength(1);
  });

  it('take turns: one that sends much does not keep the others waiting', () => {
    const lab = new Lab();
    const [one, two] = [lab.open(), lab.open()];
    const request = { kind: 'oneOff', requestId: 0, sql: '' } as const;
    for (let at = 0; at < 1_000; at += 1) one.feed.send(request);
    two.feed.send(request);
    const order: LiveFeed[] = [];
    let room = 300;
    lab.feeds.submitAll(
      () => room,
      (feed) => {
        const taken = feed.take(Math.min(room, 256));
        room -= taken.length;
        order.push(feed);
      },
    );
    expect(order).toEqual([one.feed, two.feed, one.feed]);
    expect([one.feed.unanswered, two.feed.unanswered]).toEqual([1_000, 1]);
  });
});

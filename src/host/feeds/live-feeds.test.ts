import { describe, expect, it } from 'vitest';
import type { LiveCommit } from '../../database/live/live-commit.ts';
import { querySetId } from '../../database/live/set-id.ts';
import { Refusal, type ResumeOutcome, type SubscribeOutcome } from '../../database/outcome.ts';
import { writeNumber } from '../../database/write-number.ts';
import { limits } from '../../limits.ts';
import type { LiveUpdate } from '../../live/live-update.ts';
import { emptyRowSet } from '../../live/row-set.ts';
import { epoch } from '../../log/epoch.ts';
import { tableId } from '../../schema/ids.ts';
import { strangerRights } from '../../sql/rights.ts';
import { commitOffset } from '../../store/commit-offset.ts';
import { TestClock } from '../../testing/test-clock.ts';
import { connectionNumber } from '../../values/connection-number.ts';
import { callerIdentity } from '../../values/identity-roles.ts';
import type {
  AttachedClient,
  AttachedRequest,
  AttachedSink,
  LeaderLine,
} from '../replication/leader-line.ts';
import type { SeatEnd } from '../seats/seat.ts';
import type { FarSurroundings } from './far-surroundings.ts';
import type { FeedRequest } from './feed-owner.ts';
import type { LiveCall, LiveEnd, LiveEvent, LiveResume, LiveSubscribe } from './live-connection.ts';
import type { LiveFeed } from './live-feed.ts';
import { LiveFeeds } from './live-feeds.ts';
import { Outbox } from './outbox.ts';
import { type FeedPending, PendingRequests } from './pending-requests.ts';

const caller = { identity: callerIdentity(1n), rights: strangerRights, jwtPayload: '' };

/** Feeds whose database is the test. */
class Lab {
  readonly pending = new PendingRequests(new TestClock());
  readonly outbox = new Outbox();
  readonly feeds = new LiveFeeds({
    pending: this.pending,
    outbox: this.outbox,
    wake: () => undefined,
    describe: () => undefined,
  });
  #lastId = 0n;
  #writes = 0;

  /** Opens a connection that was admitted, and collects what it receives from then on. */
  open(confirmed = false, moves?: FarSurroundings) {
    const told: LiveEvent[] = [];
    const ends: LiveEnd[] = [];
    this.#lastId += 1n;
    const feed = this.feeds.open(
      { caller, connectionId: connectionNumber(this.#lastId), confirmed, moves },
      { deliver: (events) => told.push(...events), ended: (reason) => ends.push(reason) },
    );
    for (const request of this.requests(feed)) {
      feed.answered(request, { kind: 'connected', refusal: undefined }, 0n);
    }
    this.deliver();
    told.length = 0;
    return { feed, told, ends };
  }

  /** Takes the requests of all feeds for the database, and returns those of this one. */
  requests(feed: LiveFeed): FeedRequest[] {
    return this.submitted().flatMap((one) => (one.feed === feed ? [one.asked] : []));
  }

  /** Takes the requests of all feeds, as if the database had answered those before. */
  submitted(): FeedPending[] {
    this.feeds.submit();
    const requests = this.pending.submit();
    return requests.flatMap(({ ticket }) => {
      const pending = this.pending.take(ticket);
      return pending?.kind === 'feed' ? [pending] : [];
    });
  }

  /** Delivers what the feeds have; what must be durable waits for `durable`. */
  deliver(): void {
    this.#writes += 1;
    const last = { write: writeNumber(this.#writes), offset: commitOffset(0) };
    this.feeds.deliver(last, () => undefined);
  }

  durable(): void {
    this.outbox.durable(writeNumber(this.#writes));
  }

  watch(feed: LiveFeed, set: number, ...numbers: number[]): void {
    const request = subscribeTo(set);
    const queries = numbers.map((query) => {
      return { query, table: 't', tableId: tableId(1), isEvent: false, fragments: [] };
    });
    const outcome = { kind: 'applied', offset: commitOffset(1), queries, micros: 0 } as const;
    feed.send(request);
    this.requests(feed);
    feed.answered(request, { kind: 'subscribed', outcome }, 0n);
    this.deliver();
  }
}

function subscribeTo(set: number): LiveSubscribe {
  const setId = querySetId(set);
  return { kind: 'subscribe', requestId: 0, setId, queries: ['SELECT 1'], knowsEvents: true };
}

function update(query: number, table = 't'): LiveUpdate {
  const rows = { kind: 'fixedSize', rowBytes: 1, data: Uint8Array.of(1) } as const;
  const changes = [{ kind: 'persistent', inserts: rows, deletes: emptyRowSet } as const];
  return { query, table, tableId: tableId(1), changes };
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
    lab.feeds.commit(commit([update(11)], [10]));
    lab.deliver();
    expect(told).toMatchObject([
      { kind: 'setFailed', setId: 1, error: 'no 10' },
      { kind: 'updated', sets: [{ setId: 2, updates: [{ query: 11 }] }] },
    ]);
    expect(other.told).toMatchObject([{ kind: 'setFailed', setId: 3 }]);
    expect(lab.feeds.setCount).toBe(1);
    lab.feeds.commit(commit([update(10), update(11)]));
    lab.deliver();
    expect(other.told).toHaveLength(1);
    expect(told.at(-1)).toMatchObject({ sets: [{ setId: 2, updates: [{ query: 11 }] }] });
  });

  it('[ease 3.10] share an event between callers whose queries changed alike', () => {
    const lab = new Lab();
    const [one, two, three] = [lab.open(), lab.open(), lab.open()];
    lab.watch(one.feed, 1, 7);
    lab.watch(two.feed, 1, 8);
    lab.watch(three.feed, 2, 9);
    for (const { told } of [one, two, three]) told.length = 0;
    const alike = update(7);
    lab.feeds.commit(commit([alike, { ...alike, query: 8 }, { ...alike, query: 9 }]));
    lab.deliver();
    expect(one.told).toMatchObject([{ kind: 'updated', sets: [{ setId: 1 }] }]);
    expect(two.told[0]).toBe(one.told[0]);
    expect(three.told).toMatchObject([{ kind: 'updated', sets: [{ setId: 2 }] }]);
  });

  it('[subscriptions 5] order sets and tables, and share what is the same for several', () => {
    const lab = new Lab();
    const [one, two, three] = [lab.open(), lab.open(), lab.open()];
    lab.watch(one.feed, 5, 1, 2);
    lab.watch(one.feed, 4, 1);
    lab.watch(two.feed, 5, 1);
    lab.watch(three.feed, 5, 1);
    for (const { told } of [one, two, three]) told.length = 0;
    lab.feeds.commit(commit([update(1, 'z'), update(2, 'a')]));
    lab.deliver();
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
    lab.durable();
    told.length = 0;
    for (let at = 0; at <= limits.socketMessagesOutMax && ends.length === 0; at += 1) {
      lab.feeds.commit(commit([update(1)]));
      lab.deliver();
    }
    expect(ends).toEqual(['slow']);
    expect(lab.requests(feed)).toEqual([{ kind: 'disconnect' }]);
    lab.durable();
    expect(told).toEqual([]);
    expect([lab.feeds.count, lab.feeds.setCount]).toEqual([0, 0]);
  });

  it('[subscriptions 14.1] hold what must be durable, in one piece, and drop what is lost', () => {
    const lab = new Lab();
    const [one, two] = [lab.open(true), lab.open(true)];
    lab.watch(one.feed, 1, 1);
    lab.watch(two.feed, 1, 1);
    lab.durable();
    for (const { told } of [one, two]) told.length = 0;
    lab.feeds.commit(commit([update(1)]));
    lab.deliver();
    expect([one.told, two.told, lab.outbox.size]).toEqual([[], [], 1]);
    lab.durable();
    expect([one.told.length, two.told.length]).toEqual([1, 1]);
    lab.feeds.commit(commit([update(1)]));
    lab.deliver();
    lab.outbox.failAll();
    expect([one.ends, two.ends]).toEqual([['database'], ['database']]);
    expect(one.told).toHaveLength(1);
  });

  describe('whose rows are still being read', () => {
    const rows = { kind: 'fixedSize', rowBytes: 1, data: Uint8Array.of(7) } as const;
    const query = { query: 9, table: 't', tableId: tableId(1), isEvent: false, fragments: [rows] };
    const offset = commitOffset(1);
    const applied = { kind: 'applied', offset, queries: [query], micros: 0 } as const;
    const refused = { kind: 'refused', error: 'too long', micros: 0 } as const;

    /** A feed that watches the query 1 in set 1, and has asked for the query 9 in set 2. */
    function reading() {
      const lab = new Lab();
      const { feed, told, ends } = lab.open();
      lab.watch(feed, 1, 1);
      told.length = 0;
      const request = { ...subscribeTo(2), requestId: 5 };
      feed.send(request);
      lab.requests(feed);
      feed.reading(request, [9]);
      const answer = (outcome: SubscribeOutcome) => {
        feed.answered(request, { kind: 'subscribed', outcome }, 0n);
        lab.deliver();
      };
      return { lab, feed, told, ends, answer };
    }

    it('[subscriptions 6, 17] hear of what was committed meanwhile after the rows', () => {
      const { lab, feed, told, answer } = reading();
      lab.feeds.commit(commit([update(1), update(9)]));
      lab.feeds.commit(commit([update(9)]));
      lab.deliver();
      expect([told.length, feed.unanswered]).toEqual([0, 1]);
      answer(applied);
      expect(told).toMatchObject([
        { kind: 'subscribed', outcome: applied },
        { kind: 'updated', sets: [{ setId: 1 }, { setId: 2 }] },
        { kind: 'updated', sets: [{ setId: 2 }] },
      ]);
      expect(feed.unanswered).toBe(0);
      lab.feeds.commit(commit([update(9)]));
      lab.deliver();
      expect(told).toHaveLength(4);
    });

    it('[subscriptions 6] hear of later requests in their order, whichever is read first', () => {
      const { lab, feed, told, answer } = reading();
      const once = { kind: 'oneOff', requestId: 6, sql: '' } as const;
      const again = { kind: 'oneOff', requestId: 7, sql: '' } as const;
      for (const request of [once, again]) feed.send(request);
      lab.requests(feed);
      feed.reading(once, []);
      const outcome = { kind: 'failed', error: 'no', micros: 0 } as const;
      feed.answered(again, { kind: 'oneOff', outcome }, 0n);
      feed.answered(once, { kind: 'oneOff', outcome }, 0n);
      lab.deliver();
      expect(told).toEqual([]);
      answer(applied);
      expect(told.map((event) => 'request' in event && event.request.requestId)).toEqual([5, 6, 7]);
    });

    it('[subscriptions 8] hear nothing of a set whose rows could not be read', () => {
      const { lab, feed, told, answer } = reading();
      lab.feeds.commit(commit([update(1), update(9)]));
      lab.feeds.commit(commit([update(9)]));
      answer(refused);
      expect(told).toMatchObject([
        { kind: 'subscribed', outcome: refused },
        { kind: 'updated', sets: [{ setId: 1, updates: [{ query: 1 }] }] },
      ]);
      expect(feed.setCount).toBe(1);
      lab.feeds.commit(commit([update(9)]));
      lab.deliver();
      expect(told).toHaveLength(2);
    });

    it('[subscriptions 8] hear of one error when it also failed for a commit', () => {
      const { lab, feed, told, answer } = reading();
      lab.feeds.commit(commit([], [9]));
      answer(refused);
      expect(told).toMatchObject([{ kind: 'subscribed', outcome: refused }]);
      expect(feed.setCount).toBe(1);
    });

    it('[subscriptions 8] keep another set that took its id meanwhile', () => {
      const { lab, feed, told, answer } = reading();
      const leave = {
        kind: 'unsubscribe',
        requestId: 6,
        setId: querySetId(2),
        withRows: false,
      } as const;
      const again = { ...subscribeTo(2), requestId: 7 };
      for (const request of [leave, again]) feed.send(request);
      lab.requests(feed);
      lab.feeds.commit(commit([update(9)]));
      const outcome = { kind: 'removed', offset, queries: undefined, micros: 0 } as const;
      feed.answered(leave, { kind: 'unsubscribed', outcome }, 0n);
      feed.answered(again, { kind: 'subscribed', outcome: applied }, 0n);
      lab.feeds.commit(commit([update(9)]));
      answer(refused);
      expect(told.map(({ kind }) => kind)).toEqual([
        'subscribed',
        'unsubscribed',
        'subscribed',
        'updated',
      ]);
      expect(feed.setCount).toBe(2);
    });

    it('[subscriptions 14.2] end when more waits than may', () => {
      const { lab, feed, told, ends } = reading();
      for (let at = 0; at <= limits.socketMessagesOutMax && ends.length === 0; at += 1) {
        lab.feeds.commit(commit([update(9)]));
        lab.deliver();
      }
      expect([ends, told]).toEqual([['slow'], []]);
      expect(lab.requests(feed)).toEqual([{ kind: 'disconnect' }]);
      expect([lab.feeds.count, lab.feeds.setCount]).toEqual([0, 0]);
    });
  });

  describe('take turns: one that sends much does not keep the others waiting', () => {
    const request = { kind: 'oneOff', requestId: 0, sql: '' } as const;

    /** Fills the given room, and returns the feeds that had a turn. */
    function fill(lab: Lab, room: number): LiveFeed[] {
      for (let left = limits.feedQueueMax - room; left > 0; left -= 1) {
        void lab.pending.add({ kind: 'program' }, false);
      }
      const feeds = lab.submitted().map(({ feed }) => feed);
      return feeds.filter((feed, at) => feed !== feeds[at - 1]);
    }

    it('while there is room', () => {
      const lab = new Lab();
      const [one, two] = [lab.open(), lab.open()];
      for (let at = 0; at < 1_000; at += 1) one.feed.send(request);
      two.feed.send(request);
      expect(fill(lab, 300)).toEqual([one.feed, two.feed, one.feed]);
      expect([one.feed.unanswered, two.feed.unanswered]).toEqual([1_000, 1]);
    });

    it('[durability D8] and has its share of the queue at most', () => {
      const lab = new Lab();
      const one = lab.open();
      const requests = Array.from({ length: limits.feedShareMax + 2 }, () => ({ ...request }));
      for (const each of requests) one.feed.send(each);
      fill(lab, 10_000);
      expect(lab.requests(one.feed)).toEqual([]);
      const answer = (each: FeedRequest | undefined): void => {
        const outcome = { kind: 'failed', error: 'no', micros: 0 } as const;
        if (each !== undefined) one.feed.answered(each, { kind: 'oneOff', outcome }, 0n);
      };
      answer(requests[0]);
      expect(lab.requests(one.feed)).toEqual([requests.at(-2)]);
      answer(requests[1]);
      expect(lab.requests(one.feed)).toEqual([requests.at(-1)]);
      answer(requests[2]);
      expect([lab.requests(one.feed), one.feed.unanswered]).toEqual([[], limits.feedShareMax - 1]);
    });

    it('and when room comes back little by little, which each of them would fill', () => {
      const lab = new Lab();
      const [one, two, three] = [lab.open(), lab.open(), lab.open()];
      for (const { feed } of [one, two]) for (let at = 0; at < 9; at += 1) feed.send(request);
      three.feed.send(request);
      expect(fill(lab, 2)).toEqual([one.feed]);
      one.feed.send(request);
      expect(fill(lab, 2)).toEqual([two.feed]);
      expect(fill(lab, 2)).toEqual([three.feed, one.feed]);
      expect(fill(lab, 100)).toEqual([two.feed, one.feed]);
      expect(fill(lab, 100)).toEqual([]);
    });
  });
});

describe('a connection that ends with its actor', () => {
  const call = (requestId: number): LiveCall => {
    const args = new Uint8Array(0);
    const asked = { requestId, reducer: 'r', args, schemaVersion: undefined };
    return { kind: 'call', ...asked, isCaller: true };
  };

  /** The numbers of what was left undone by an actor that ended while it had some requests. */
  function undoneAfter(end: Partial<SeatEnd>, sent: number, submitted: number): number[] {
    const lab = new Lab();
    const undone: number[] = [];
    const feed = lab.feeds.open(
      { caller, connectionId: connectionNumber(77n), confirmed: true },
      {
        deliver: () => undefined,
        ended: (_, left) => undone.push(...left.map(({ requestId }) => requestId)),
      },
    );
    for (const request of lab.requests(feed)) {
      feed.answered(request, { kind: 'connected', refusal: undefined }, 0n);
    }
    for (let at = 1; at <= submitted; at++) feed.send(call(at));
    lab.feeds.submit();
    const tickets = lab.pending.submit().map(({ ticket }) => ticket);
    for (let at = submitted + 1; at <= sent; at++) feed.send(call(at));
    const [, second] = tickets;
    lab.pending.actorEnded({
      ...{ cause: 'deposed', message: '', running: undefined },
      reached: (ticket) => second !== undefined && ticket <= second,
      ...end,
    });
    lab.feeds.endBegun('database');
    return undone;
  }

  it('[replication 12.6] says what was not done: all behind what was written', () => {
    expect(undoneAfter({}, 5, 4)).toEqual([3, 4, 5]);
  });

  it('[replication 12.6] has had done what was begun, where it was handed over', () => {
    const handed = { term: 2, to: {}, at: {} } as NonNullable<SeatEnd['handed']>;
    expect(undoneAfter({ handed }, 4, 3)).toEqual([1, 2, 3, 4]);
  });

  it('[replication 12.6] leaves nothing of a request behind one that it was not let in for', () => {
    const lab = new Lab();
    const undone: number[] = [];
    const feed = lab.feeds.open(
      { caller, connectionId: connectionNumber(78n), confirmed: true },
      {
        deliver: () => undefined,
        ended: (_, left) => undone.push(...left.map(({ requestId }) => requestId)),
      },
    );
    feed.send(call(1));
    lab.feeds.submit();
    feed.send(call(2));
    const body = { code: 'database.notLeader', message: 'no' } as const;
    lab.pending.rejectAll(new Refusal(body));
    lab.feeds.endAll('database');
    expect(undone).toEqual([1, 2]);
  });
});

describe('feeds of a host that leads no more', () => {
  const last = { epoch: epoch(7n), offset: commitOffset(1) };

  /** `told`: what the next leader hears of a connection. */
  function surroundings(told: string[], sinks: AttachedSink[] = []): FarSurroundings {
    const attachment = {
      send: (request: AttachedRequest) => void told.push(request.kind),
      unanswered: 0,
      close: () => void told.push('close'),
      release: () => [],
    };
    return {
      line: {
        attach: ({ isConnected }: AttachedClient, sink: AttachedSink) => {
          sinks.push(sink);
          told.push(`attach ${isConnected}`);
          return attachment;
        },
      } as unknown as LeaderLine,
      client: { isConnected: true } as AttachedClient,
      shownOffset: () => 0,
      reach: () => undefined,
      shownTerm: () => undefined,
      returnsValue: () => false,
    };
  }

  it('[replication 11.8] drop what was not acknowledged, and go on behind what was', () => {
    const lab = new Lab();
    const atLeader: string[] = [];
    const { feed, told, ends } = lab.open(true, surroundings(atLeader));
    lab.durable();
    lab.watch(feed, 1, 10);
    lab.durable();
    told.length = 0;
    lab.feeds.commit(commit([update(10)]));
    lab.deliver();
    const undone = subscribeTo(2);
    feed.send(undone);
    lab.requests(feed);
    feed.leftUndone(undone);
    expect(lab.feeds.leaveHome(last)).toBe(true);
    expect(atLeader).toEqual(['attach true']);
    lab.outbox.failAll();
    lab.feeds.endOthers('database');
    expect([told, ends, feed.heldCount, feed.queryCount]).toEqual([[], [], 0, 0]);
    // A commit of the copy's own numbers means nothing before its sets are there.
    lab.feeds.commit(commit([update(10)]));
    lab.feeds.enterCopy();
    expect(lab.requests(feed)).toEqual([{ kind: 'connect' }]);
    feed.answered({ kind: 'connect' }, { kind: 'connected', refusal: undefined }, 0n);
    const [back, ...none] = lab.requests(feed);
    const sets = [{ setId: 1, queries: ['SELECT 1'] }];
    expect([back, none]).toMatchObject([{ kind: 'resume', offset: 1n, sets }, []]);
    expect((back as LiveResume).history >> 64n).toBe(7n);
    const missed = [commit([update(4)])];
    const resumed = { history: 1n, offset: commitOffset(2), missed, micros: 0 };
    const outcome = {
      ...resumed,
      kind: 'resumed',
      sets: [{ setId: querySetId(1), queries: [4] }],
    } as const;
    feed.answered(back as LiveResume, { kind: 'resumed', outcome }, 0n);
    lab.feeds.deliver({ write: writeNumber(0), offset: commitOffset(2) }, () => undefined);
    expect(told).toMatchObject([{ kind: 'updated', sets: [{ setId: 1 }] }]);
    expect(lab.requests(feed)).toEqual([undone]);
    expect([ends, feed.isOpen, feed.queryCount]).toEqual([[], true, 1]);
  });

  it('[replication 11.8] end, where what their clients have cannot be said', () => {
    const lab = new Lab();
    const open = (confirmed = true) => {
      const one = lab.open(confirmed, surroundings([]));
      lab.durable();
      return one;
    };
    const [answered, unanswered, unconfirmed, led] = [open(), open(), open(false), lab.open(true)];
    lab.watch(answered.feed, 1, 10);
    unanswered.feed.send(subscribeTo(1));
    lab.requests(unanswered.feed);
    expect(lab.feeds.leaveHome(last)).toBe(false);
    for (const { ends } of [answered, unanswered, unconfirmed, led]) {
      expect(ends).toEqual(['database']);
    }
    lab.outbox.failAll();
    expect(lab.feeds.count).toBe(0);
  });

  it('[replication 11.8] end, where the copy knows too little, or comes too late, or leads', () => {
    const ends = (['rows', 'late', 'leads'] as const).map((why) => {
      const lab = new Lab();
      const atLeader: string[] = [];
      const one = lab.open(true, surroundings(atLeader));
      lab.durable();
      lab.feeds.leaveHome(last);
      if (why === 'late') lab.feeds.endReturning('database');
      if (why === 'leads') lab.feeds.comeHome();
      if (why !== 'rows') return [...one.ends, ...atLeader];
      lab.feeds.enterCopy();
      lab.requests(one.feed);
      one.feed.answered({ kind: 'connect' }, { kind: 'connected', refusal: undefined }, 0n);
      const [back] = lab.requests(one.feed);
      const outcome: ResumeOutcome = {
        ...({ kind: 'rows', history: 1n, offset: commitOffset(2) } as const),
        ...{ sets: [], missed: [], micros: 0 },
      };
      one.feed.answered(back as LiveResume, { kind: 'resumed', outcome }, 0n);
      lab.feeds.deliver({ write: writeNumber(0), offset: commitOffset(2) }, () => undefined);
      return [...one.ends, ...atLeader];
    });
    expect(ends).toEqual(Array(3).fill(['database', 'attach true', 'close']));
  });

  it('[replication 11.8] end at once, where the next leader does not know them', () => {
    const lab = new Lab();
    const sinks: AttachedSink[] = [];
    const { feed, ends } = lab.open(true, surroundings([], sinks));
    lab.durable();
    lab.feeds.leaveHome(last);
    sinks[0]?.ended({ kind: 'live', reason: 'database' });
    expect([ends, feed.hasEnded, lab.feeds.hasReturning]).toEqual([['database'], true, false]);
  });

  it('[replication 11.8] have the next leader run what they sent before they left', () => {
    const lab = new Lab();
    const atLeader: string[] = [];
    const { feed } = lab.open(true, surroundings(atLeader));
    lab.durable();
    lab.feeds.leaveHome(last);
    const call = { kind: 'call', requestId: 1, isCaller: true, reducer: 'add' } as const;
    feed.send({ ...call, args: noArgs, schemaVersion: undefined });
    feed.close();
    expect(atLeader).toEqual(['attach true', 'call', 'close']);
    expect(lab.feeds.count).toBe(0);
  });
});

const noArgs = new Uint8Array(0);

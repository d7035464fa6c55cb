import { afterEach, describe, expect, it } from 'vitest';
import { querySetId } from '../../src/database/live/set-id.ts';
import { Refusal } from '../../src/database/outcome.ts';
import type {
  LiveConnection,
  LiveEnd,
  LiveEvent,
  LiveRequest,
  LiveSink,
} from '../../src/host/feeds/live-connection.ts';
import { rowCountOf } from '../../src/live/row-set.ts';
import { type ConnectionNumber, connectionNumber } from '../../src/values/connection-number.ts';
import { encodeValue } from '../../src/values/encode.ts';
import type { Value } from '../../src/values/value.ts';
import { takeTurns } from '../support/share.ts';
import type { Shop, ShopOpener } from '../support/shop.ts';
import { lifecycleReducers, shopModule } from '../support/shop-module.ts';

/** What a client that stays sees of a database, wherever the database runs. */
export function liveConnectionContract(name: string, open: ShopOpener): void {
  let shop: Shop;
  const withShop = async (text = shopModule()): Promise<Shop> => {
    shop = await open(text);
    return shop;
  };
  let lastId = 100n;
  const arrive = (subject = 'ada', confirmed = true): Visitor => {
    lastId += 1n;
    return new Visitor(shop, subject, connectionNumber(lastId), confirmed);
  };

  describe(`a connection that stays (${name})`, () => {
    afterEach(() => shop.close());

    it('[websocket 3] is let in first, whatever else was sent', async () => {
      await withShop(shopModule({ more: lifecycleReducers }));
      const ada = arrive();
      const args = new Uint8Array(0);
      const schemaVersion = undefined;
      ada.send({ kind: 'procedure', requestId: 1, procedure: 'p', args, schemaVersion });
      ada.call(2, 'idle');
      expect((await ada.next()).kind).toBe('connected');
      expect(await ada.next()).toMatchObject({
        kind: 'procedure',
        outcome: { kind: 'failed', error: { code: 'procedure.unknown', procedure: 'p' } },
      });
      expect(await ada.next()).toMatchObject({ kind: 'called', outcome: { kind: 'committed' } });
      expect(ada.live.unanswered).toBe(0);
      expect(shop.handle.statistics().connections).toBe(1);
      ada.live.close();
      await expect.poll(() => shop.handle.statistics().connections).toBe(0);
      expect(await shop.visits()).toEqual([
        ['connected', 'ada'],
        ['disconnected', 'ada'],
        ['connected', 'owner'],
      ]);
    });

    it('[websocket 3] is not let in when client_connected refuses', async () => {
      await withShop(shopModule({ more: lifecycleReducers }));
      const stranger = arrive('stranger');
      stranger.call(1, 'add', 'x');
      expect(await stranger.gone).toBe('refused');
      expect(stranger.events).toEqual([]);
      expect(await shop.texts()).toEqual(['made by init']);
    });

    it('[websocket 3] leaves nothing when it goes before it is let in', async () => {
      await withShop(shopModule({ more: lifecycleReducers }));
      const gone = arrive();
      gone.live.close();
      const going = arrive();
      await new Promise((resolve) => setImmediate(resolve));
      going.live.close();
      await expect.poll(() => shop.handle.statistics().connections).toBe(0);
      expect([...gone.events, ...going.events]).toEqual([]);
    });

    it('[subscriptions 2] sees first rows, and every later commit once, in order', async () => {
      await withShop();
      const ada = arrive();
      ada.subscribe(1, 5, 'SELECT * FROM item');
      for (let at = 0; at < 300; at += 1) ada.call(at, 'add', `${at}`);
      expect((await ada.next()).kind).toBe('connected');
      const first = await ada.next();
      const rows = first.kind === 'subscribed' && first.outcome.kind === 'applied';
      expect(
        rows && first.outcome.queries.map(({ fragments }) => fragments.map(rowCountOf)),
      ).toEqual([[1]]);
      for (let at = 0; at < 300; at += 1) {
        const called = await ada.next();
        if (called.kind !== 'called') throw new Error(called.kind);
        expect(called.request.requestId).toBe(at);
        expect(called.sets).toMatchObject([{ setId: 5, updates: [{ table: 'item' }] }]);
      }
      // Many calls of one turn are told in one go.
      expect(ada.deliveries).toBeLessThan(200);
    });

    it('[subscriptions 5] tells a caller with the outcome and others apart, all the same', async () => {
      await withShop();
      const [ada, bob, cyd] = [arrive('ada'), arrive('bo'), arrive('cydney')];
      for (const one of [ada, bob, cyd]) {
        one.subscribe(1, 7, 'SELECT * FROM item');
        await one.next();
        await one.next();
      }
      ada.call(9, 'add', 'x');
      const called = await ada.next();
      const [one, other] = [await bob.next(), await cyd.next()];
      expect(one).toMatchObject({ kind: 'updated', requestId: 9, sets: [{ setId: 7 }] });
      expect(other).toBe(one);
      if (called.kind !== 'called' || one.kind !== 'updated') throw new Error('other kinds');
      expect(called.sets[0]?.updates[0]).toBe(one.sets[0]?.updates[0]);
      ada.call(10, 'add', 'y', false);
      expect(await ada.next()).toMatchObject({ kind: 'updated', requestId: 10 });
      expect(await ada.next()).toMatchObject({ kind: 'called', sets: [] });
      await shop.call('add', ['by a request']);
      expect(await cyd.next()).toMatchObject({ kind: 'updated', requestId: 10 });
      expect(await cyd.next()).toMatchObject({ kind: 'updated', requestId: 0 });
    });

    it('[http 18.4] says which queries are watched, and by how many', async () => {
      await withShop();
      const [ada, bob] = [arrive('ada'), arrive('bob')];
      for (const one of [ada, bob]) {
        one.subscribe(1, 7, 'SELECT * FROM item');
        await one.next();
        await one.next();
      }
      expect([ada.live.queryCount, bob.live.queryCount]).toEqual([1, 1]);
      await shop.call('add', ['x']);
      expect(await shop.handle.watches()).toEqual([
        {
          ...{ sql: 'SELECT * FROM item', subscribers: 2, kind: 'incremental' },
          ...{ evaluations: 1, microsMean: expect.any(Number) },
        },
      ]);
      ada.live.close();
      bob.live.close();
      await expect.poll(() => shop.handle.watches()).toEqual([]);
    });

    it('[subscriptions 5] orders sets by id and tables by name', async () => {
      await withShop(shopModule({ more: lifecycleReducers }));
      const ada = arrive();
      ada.subscribe(1, 9, 'SELECT * FROM visit', 'SELECT * FROM item');
      ada.subscribe(2, 3, 'SELECT * FROM item');
      for (let at = 0; at < 3; at += 1) await ada.next();
      await shop.call('add', ['x']);
      const seen: unknown[] = [];
      for (let at = 0; at < 3; at += 1) {
        const event = await ada.next();
        if (event.kind !== 'updated') throw new Error(event.kind);
        seen.push(event.sets.map(({ setId, updates }) => [setId, updates.map((u) => u.table)]));
      }
      // The temporary connection comes, calls, and leaves.
      expect(seen).toEqual([
        [[9, ['visit']]],
        [
          [3, ['item']],
          [9, ['item']],
        ],
        [[9, ['visit']]],
      ]);
    });

    it('[subscriptions 7] hears nothing of a set that is gone', async () => {
      await withShop();
      const ada = arrive();
      ada.subscribe(1, 1, 'SELECT * FROM item');
      ada.send({ kind: 'unsubscribe', requestId: 2, setId: querySetId(1), withRows: true });
      ada.call(3, 'add', 'x');
      const kinds = [await ada.next(), await ada.next(), await ada.next()].map(({ kind }) => kind);
      expect(kinds).toEqual(['connected', 'subscribed', 'unsubscribed']);
      expect(await ada.next()).toMatchObject({ kind: 'called', sets: [] });
      expect(shop.handle.statistics().querySets).toBe(0);
    });

    it('[subscriptions 14.1] with confirmation, tells only what is durable', async () => {
      await withShop();
      for (const confirmed of [true, false]) {
        const ada = arrive('ada', confirmed);
        await ada.next();
        for (let at = 0; at < 50; at += 1) {
          ada.call(at, 'add', 'x');
          const called = await ada.next();
          if (called.kind !== 'called' || called.outcome.kind !== 'committed') throw new Error();
          const { durableOffset } = shop.handle.statistics();
          if (confirmed) expect(durableOffset).toBeGreaterThanOrEqual(called.outcome.offset);
        }
        ada.live.close();
      }
    });

    it('answers more requests than the database has room for', async () => {
      await withShop();
      const ada = arrive('ada', false);
      const bob = arrive('bo', false);
      for (let at = 0; at < 20_000; at += 1) ada.call(at, 'idle');
      bob.call(1, 'idle');
      await bob.next();
      expect(await bob.next()).toMatchObject({ kind: 'called', outcome: { kind: 'committed' } });
      expect((await ada.next()).kind).toBe('connected');
      for (let at = 0; at < 20_000; at += 1) {
        const { kind, request } = (await ada.next()) as { kind: string; request: LiveRequest };
        if (kind !== 'called' || request.requestId !== at) throw new Error(`${kind} ${at}`);
      }
    });

    it('runs the calls of a client that has left, and tells nobody', async () => {
      await withShop();
      const ada = arrive();
      await ada.next();
      for (const text of ['a', 'b']) ada.call(1, 'add', text);
      ada.live.close();
      ada.live.close();
      ada.call(2, 'add', 'late');
      await expect.poll(() => shop.texts()).toEqual(['made by init', 'a', 'b']);
      expect(ada.events).toHaveLength(0);
      await expect.poll(() => shop.handle.statistics().connections).toBe(0);
    });

    it('ends when the database stops, and lets nobody in afterwards', async () => {
      await withShop();
      const ada = arrive();
      await ada.next();
      await shop.handle.close();
      expect(await ada.gone).toBe('database');
      expect(() => arrive()).toThrow(Refusal);
    });

    it('ends when its database crashes; the next one knows nothing of it', async () => {
      await withShop(shopModule({ more: lifecycleReducers }));
      const ada = arrive();
      ada.subscribe(1, 1, 'SELECT * FROM item');
      await ada.next();
      await ada.next();
      await shop.crash();
      expect(await ada.gone).toBe('database');
      await shop.reopen();
      expect(shop.handle.statistics()).toMatchObject({ connections: 0, querySets: 0 });
      expect((await shop.visits()).slice(0, 2)).toEqual([
        ['connected', 'ada'],
        ['disconnected', 'ada'],
      ]);
    });

    it('[subscriptions 13] ends when an update breaks clients, and goes on when not', async () => {
      await withShop();
      const ada = arrive();
      ada.subscribe(1, 1, 'SELECT * FROM item');
      await ada.next();
      await ada.next();
      const permission = { policy: 'compatible', token: undefined } as const;
      const next = shopModule({ more: 'export const more = db.reducer(() => {});' });
      await shop.handle.update(await shop.build(next), permission, 5_000);
      ada.call(2, 'more');
      expect(await ada.next()).toMatchObject({ kind: 'called', outcome: { kind: 'committed' } });
      await shop.call('add', ['x']);
      expect((await ada.next()).kind).toBe('updated');
      const breaking = await shop.build(shopModule({ itemColumns: 'n: t.u32().default(7),' }));
      const plan = await shop.handle.plan(breaking);
      const token = plan.kind === 'automatic' ? plan.token : '';
      const before = shop.handle.description;
      await shop.handle.update(breaking, { policy: 'breakClients', token }, 5_000);
      expect(await ada.gone).toBe('schema');
      // What it was told last is of before.
      expect(ada.live.description).toBe(before);
      const bob = arrive('bo');
      expect((await bob.next()).kind).toBe('connected');
      expect(bob.live.description).toBe(shop.handle.description);
      expect(bob.live.description).not.toBe(before);
    });

    takeTurns(name);
  });
}

/** A client, and what it was told. */
class Visitor implements LiveSink {
  readonly live: LiveConnection;
  /** Told and not looked at yet. */
  readonly events: LiveEvent[] = [];
  deliveries = 0;
  readonly gone: Promise<LiveEnd>;
  #tellEnd: (reason: LiveEnd) => void = () => undefined;
  #wake: () => void = () => undefined;
  readonly #argumentsOf: (reducer: string, args: readonly Value[]) => Uint8Array;

  constructor(shop: Shop, subject: string, connectionId: ConnectionNumber, confirmed: boolean) {
    this.gone = new Promise((resolve) => {
      this.#tellEnd = resolve;
    });
    this.#argumentsOf = (reducer, args) => {
      const definition = shop.handle.description?.definition;
      const params = definition?.reducers.find((one) => one.name === reducer)?.params;
      return encodeValue(params ?? { kind: 'product', elements: [] }, args);
    };
    const caller = shop.caller(subject);
    this.live = shop.handle.live({ caller, connectionId, confirmed }, this);
  }

  deliver(events: readonly LiveEvent[]): void {
    this.deliveries += 1;
    this.events.push(...events);
    this.#wake();
  }

  ended(reason: LiveEnd): void {
    this.#tellEnd(reason);
  }

  send(request: LiveRequest): void {
    this.live.send(request);
  }

  call(requestId: number, reducer: string, text?: string, isCaller = true): void {
    const args = this.#argumentsOf(reducer, text === undefined ? [] : [text]);
    this.send({ kind: 'call', requestId, reducer, args, schemaVersion: undefined, isCaller });
  }

  subscribe(requestId: number, set: number, ...queries: string[]): void {
    const setId = querySetId(set);
    this.send({ kind: 'subscribe', requestId, setId, queries, knowsEvents: true });
  }

  async next(): Promise<LiveEvent> {
    for (;;) {
      const event = this.events.shift();
      if (event !== undefined) return event;
      await new Promise<void>((resolve) => {
        this.#wake = resolve;
      });
    }
  }
}

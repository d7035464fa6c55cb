import { afterEach, describe, expect, it } from 'vitest';
import { temporaryConnection } from '../../src/host/supervision/temporary-connection.ts';
import { takeTurns } from '../support/share.ts';
import { type Shop, shopOpener } from '../support/shop.ts';

const source = `
  import { schema, t, table } from 'reducerdb/server';
  const item = table({ public: true }, { id: t.u64().primaryKey().autoInc(), text: t.string() });
  const db = schema({ item });
  export default db;
  const ways = {
    buffers: () => { const all = []; for (;;) all.push(new Uint8Array(4_000_000).fill(1)); },
    rows: (ctx) => ctx.withTx((tx) => {
      for (;;) tx.db.item.insert({ id: 0n, text: 'x'.repeat(100_000) });
    }),
    transactions: (ctx) => { for (;;) ctx.withTx((tx) => void tx.db.item.count()); },
    calls: (ctx) => { for (;;) ctx.call(add, { text: 'c' }); },
    reads: (ctx) => ctx.read(({ db: tables }) => { for (;;) tables.item.count(); }),
    recursion: (ctx) => { const again = () => ctx.withTx(() => again()); again(); },
    stack: (ctx) => ctx.withTx((tx) => {
      const again = (n) => { tx.db.item.insert({ id: 0n, text: String(n) }); again(n + 1); };
      again(0);
    }),
    value: () => 'x'.repeat(8_000_000),
    log: () => { for (;;) console.log('x'.repeat(10_000)); },
    jobs: () => { const again = () => Promise.resolve().then(again); again(); return 'started'; },
    globals: () => [
      typeof SharedArrayBuffer, typeof Atomics, typeof process, typeof fetch, typeof Worker,
    ].join(),
  };
  const sees = (value) => {
    const found = [];
    for (let at = value, depth = 0; depth < 9 && at != null; at = at.constructor, depth++) {
      try {
        found.push(typeof at.constructor('return typeof process')(), at === Function);
      } catch (error) {
        found.push(error.name);
      }
    }
    return found.includes('object') ? 'process' : '';
  };
  const later = {
    spin: async (ctx) => { await ctx.sleep(1); for (;;); },
    hold: async (ctx) => { await ctx.sleep(1); ctx.withTx(() => { for (;;); }); },
    jobs: async (ctx) => {
      await ctx.sleep(1);
      const again = () => Promise.resolve().then(again);
      again();
    },
    awaits: async (ctx) => { await ctx.sleep(1); for (;;) await null; },
    heap: async (ctx) => {
      await ctx.sleep(1);
      const all = []; for (;;) all.push(new Array(1_000).fill(all.length));
    },
    buffers: async (ctx) => {
      const all = [];
      for (;;) { await ctx.sleep(0); all.push(new Uint8Array(4_000_000).fill(1)); }
    },
    closures: async (ctx) => {
      const all = [];
      for (;;) { await null; all.push(new Promise(() => {}).then(() => all)); }
    },
    sleeps: async (ctx) => {
      await Promise.all(Array.from({ length: 1_000_000 }, () => ctx.sleep(1)));
    },
    fetches: async (ctx) => {
      const url = 'http://127.0.0.1:1/';
      await Promise.all(Array.from({ length: 10_000 }, () => ctx.fetch(url)));
    },
    stack: async (ctx) => {
      const again = async () => { await again(); };
      await again();
    },
    signals: async (ctx) => {
      const again = () => ctx.signal.addEventListener('abort', again);
      for (;;) { again(); ctx.signal.addEventListener('abort', () => again()); }
    },
    thens: async (ctx) => {
      const seen = [];
      const { then } = Promise.prototype;
      const seeing = function (...given) {
        seen.push(...given.map(sees), sees(this));
        return Reflect.apply(then, this, given);
      };
      try { Promise.prototype.then = seeing; seen.push('replaced'); } catch {}
      const watched = (promise) => Object.assign(promise, { then: seeing });
      await watched(ctx.sleep(1));
      await { then(...given) { seen.push(...given.map(sees)); given[0](1); } };
      const chunks = { async *[Symbol.asyncIterator]() { yield 1; await watched(ctx.sleep(1)); yield 2; } };
      for await (const chunk of chunks) seen.push(sees(chunk));
      await watched(ctx.fetch('http://127.0.0.1:1/')).catch((error) => seen.push(sees(error)));
      ctx.signal.addEventListener('abort', (event) => seen.push(sees(event)));
      return seen.join('');
    },
    promises: async (ctx) => {
      const Own = Promise;
      globalThis.Promise = class { static resolve() { return { then() {} }; } };
      try {
        return await new Own((resolve) => ctx.sleep(1).then(() => resolve('mine')));
      } finally {
        globalThis.Promise = Own;
      }
    },
  };
  export const actLater = db.procedure({ how: t.string() }, t.string(), (ctx, { how }) => {
    const result = later[how](ctx);
    return result.then(String);
  });
  export const add = db.reducer({ text: t.string() }, (ctx, { text }) => {
    ctx.db.item.insert({ id: 0n, text });
  });
  export const act = db.procedure({ how: t.string() }, t.string(), (ctx, { how }) => {
    return String(ways[how](ctx));
  });
`;

const budget = { callMillisMax: 2_000, workerHeapMebibytesMax: 48 };

/** What a hostile procedure does to its own lane is no matter of others. */
describe.each(['thread', 'process'] as const)('a hostile procedure (%s)', (kind) => {
  const open = shopOpener(kind, budget);
  let shop: Shop;
  afterEach(() => shop.close());

  const act = async (how: string, procedure = 'act') => {
    const { schemaVersion } = await shop.handle.describe();
    const bytes = new TextEncoder().encode(how);
    const args = new Uint8Array(4 + bytes.length);
    new DataView(args.buffer).setUint32(0, bytes.length, true);
    args.set(bytes, 4);
    return shop.handle.procedure({
      caller: shop.caller('mallory'),
      connection: temporaryConnection(),
      procedure,
      args,
      schemaVersion,
      confirmed: false,
    });
  };

  it.each([
    ['buffers', 'procedure.overBudget'],
    ['rows', 'procedure.overBudget'],
    ['reads', 'procedure.overBudget'],
    // On a busy machine its second is over first.
    ['stack', expect.stringMatching(/^procedure\.(failed|overBudget)$/)],
    ['recursion', expect.stringMatching(/^procedure\.(failed|overBudget)$/)],
    ['value', 'procedure.failed'],
    ['log', 'procedure.overBudget'],
    ['jobs', 'procedure.overBudget'],
  ])('[living 2.6] that takes too much is ended, and nobody else: %s', async (how, code) => {
    shop = await open(source);
    const acting = act(how);
    for (let left = 20; left > 0; left--) {
      expect(await shop.call('add', ['between'])).toMatchObject({ kind: 'committed' });
    }
    expect(await acting).toMatchObject({ kind: 'failed', error: { code } });
    expect(await shop.texts()).toEqual(Array(20).fill('between'));
    expect(shop.reports()).toEqual([]);
  });

  it.each([
    ['spin', 'procedure.overBudget'],
    ['hold', 'procedure.overBudget'],
    ['jobs', 'procedure.overBudget'],
    ['awaits', 'procedure.overBudget'],
    ['heap', 'procedure.overBudget'],
    ['buffers', 'procedure.overBudget'],
    ['closures', 'procedure.overBudget'],
    ['signals', 'procedure.overBudget'],
    // On a busy machine its time is over first.
    ['sleeps', expect.stringMatching(/^procedure\.(failed|overBudget)$/)],
    ['fetches', expect.stringMatching(/^procedure\.(failed|overBudget)$/)],
    ['stack', expect.stringMatching(/^procedure\.(failed|overBudget)$/)],
  ])('[living 2.2, 2.6] that goes on after a wait is ended alone: %s', async (how, code) => {
    shop = await open(source);
    const acting = act(how, 'act_later');
    for (let left = 20; left > 0; left--) {
      expect(await shop.call('add', ['between'])).toMatchObject({ kind: 'committed' });
    }
    expect(await acting).toMatchObject({ kind: 'failed', error: { code } });
    expect(await shop.texts()).toEqual(Array(20).fill('between'));
    expect(shop.reports()).toEqual([]);
  });

  it('[living 2.2] finds nothing of the host by what promises call', async () => {
    shop = await open(source);
    const outcome = await act('thens', 'act_later');
    if (outcome.kind !== 'returned') throw new Error(JSON.stringify(outcome.error));
    expect(new TextDecoder().decode(outcome.value.subarray(4))).toBe('');
  });

  it('[living 2.2] can break what it waits with, and ends by that', async () => {
    shop = await open(source);
    const message = expect.stringContaining('awaits a promise that nothing will resolve');
    expect(await act('promises', 'act_later')).toMatchObject({ error: { message } });
  });

  it.each(['transactions', 'calls'])('lets others have their turn: endless %s', async (how) => {
    shop = await open(source);
    const acting = act(how);
    acting.catch(() => undefined);
    for (let left = 50; left > 0; left--) {
      expect(await shop.call('add', ['between'])).toMatchObject({ kind: 'committed' });
    }
    const texts = await shop.texts();
    expect(texts.filter((text) => text === 'between')).toHaveLength(50);
    await shop.crash();
    await acting.catch(() => undefined);
    await shop.reopen();
  });

  it('sees nothing of what its lane is made of', async () => {
    shop = await open(source);
    const { value } = (await act('globals')) as { value: Uint8Array };
    const text = new TextDecoder().decode(value.subarray(4));
    expect(text).toBe(Array(5).fill('undefined').join());
  });

  takeTurns(kind);
});

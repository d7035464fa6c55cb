import { afterEach, describe, expect, it } from 'vitest';
import { temporaryConnection } from '../../src/host/supervision/temporary-connection.ts';
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
  export const add = db.reducer({ text: t.string() }, (ctx, { text }) => {
    ctx.db.item.insert({ id: 0n, text });
  });
  export const act = db.procedure({ how: t.string() }, t.string(), (ctx, { how }) => {
    return String(ways[how](ctx));
  });
`;

const open = shopOpener('thread', { callMillisMax: 2_000, workerHeapMebibytesMax: 48 });

/** What a hostile procedure does to its own lane is no matter of others. */
describe('a hostile procedure', () => {
  let shop: Shop;
  afterEach(() => shop.close());

  const act = async (how: string) => {
    const { schemaVersion } = await shop.handle.describe();
    const bytes = new TextEncoder().encode(how);
    const args = new Uint8Array(4 + bytes.length);
    new DataView(args.buffer).setUint32(0, bytes.length, true);
    args.set(bytes, 4);
    return shop.handle.procedure({
      caller: shop.caller('mallory'),
      connection: temporaryConnection(),
      procedure: 'act',
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
});

import { setMaxListeners } from 'node:events';
import { afterEach, describe, expect, it, vi } from 'vitest';
import { present } from '../../src/assert.ts';
import type { ProcedureOutcome } from '../../src/database/outcome.ts';
import { temporaryConnection } from '../../src/host/supervision/temporary-connection.ts';
import { BinaryReader } from '../../src/values/binary-reader.ts';
import { decoderOf } from '../../src/values/decode.ts';
import { encodeValue } from '../../src/values/encode.ts';
import type { Value } from '../../src/values/value.ts';
import { takeTurns } from '../support/share.ts';
import type { Shop, ShopOpener } from '../support/shop.ts';

const source = `
  import { CallError, SenderError, schema, t, table } from 'reducerdb/server';
  const item = table({ public: true }, { id: t.u64().primaryKey().autoInc(), text: t.string() });
  const db = schema({ item });
  export default db;
  const Refusal = t.enum('Refusal', { TooLong: t.u32() });
  export const add = db.reducer(
    { returns: t.u64(), throws: Refusal }, { text: t.string() },
    (ctx, { text }) => {
      if (text === 'long') throw new CallError({ tag: 'TooLong', value: 4 });
      console.log('adds ' + text);
      return ctx.db.item.insert({ id: 0n, text }).id;
    },
  );
  export const put = db.procedure({ text: t.string(), times: t.u32() }, t.u64(), (ctx, args) => {
    for (let left = args.times; left > 0; left--) {
      ctx.withTx((tx) => void tx.db.item.insert({ id: 0n, text: args.text }));
    }
    return ctx.read(({ db: tables }) => tables.item.count());
  });
  export const callAdd = db.procedure({ text: t.string() }, t.string(), (ctx, args) => {
    try {
      return String(ctx.call(add, args));
    } catch (error) {
      return error instanceof CallError ? error.error.tag + error.error.value : String(error);
    }
  });
  export const large = db.procedure({ size: t.u32() }, t.u32(), (ctx, { size }) => {
    const text = 'x'.repeat(size);
    const id = ctx.withTx((tx) => tx.db.item.insert({ id: 0n, text }).id);
    return ctx.read(({ db: tables }) => tables.item.id.find(id)?.text.length ?? 0);
  });
  export const undo = db.procedure(t.string(), (ctx) => ctx.withTx((tx) => {
    tx.db.item.insert({ id: 0n, text: 'undone' });
    throw new SenderError('not this');
  }));
  export const spin = db.procedure(t.unit(), () => { for (;;); });
  export const hold = db.procedure(t.unit(), (ctx) => ctx.withTx((tx) => {
    tx.db.item.insert({ id: 0n, text: 'held' });
    for (;;);
  }));
  export const eat = db.procedure(t.unit(), () => {
    const all = []; for (;;) all.push(new Array(1_000).fill(all.length));
  });
  let globals = 0;
  export const count = db.procedure(t.u32(), () => ++globals);
  export const nap = db.procedure({ millis: t.f64() }, t.f64(), async (ctx, { millis }) => {
    await ctx.sleep(millis);
    ctx.withTx((tx) => void tx.db.item.insert({ id: 0n, text: 'slept' }));
    return millis;
  });
  export const naps = db.procedure({ count: t.u32() }, t.u32(), async (ctx, { count }) => {
    await Promise.all(Array.from({ length: count }, () => ctx.sleep(1)));
    for (let left = count; left > 0; left--) await ctx.sleep(0);
    return count;
  });
  export const tidy = db.procedure(t.unit(), async (ctx) => {
    ctx.call(add, { text: 'waits' });
    try {
      await ctx.sleep(600_000);
    } catch (error) {
      ctx.call(add, { text: error.message });
    }
    return {};
  });
  export const never = db.procedure(t.unit(), async () => new Promise(() => {}));
  export const spinLater = db.procedure({ millis: t.f64() }, t.unit(), async (ctx, { millis }) => {
    await ctx.sleep(millis);
    for (;;);
  });
  export const holdLater = db.procedure({ millis: t.f64() }, t.unit(), async (ctx, { millis }) => {
    await ctx.sleep(millis);
    return ctx.withTx(() => { for (;;); });
  });
  export const scanAll = db.procedure(t.u64(), (ctx) => ctx.read(({ db: tables }) => {
    let seen = 0n;
    for (const { text } of tables.item.iter()) seen += BigInt(text.length);
    return seen;
  }));
`;

/** Procedures of a database, wherever it and its lanes run. */
export function proceduresContract(name: string, open: ShopOpener, canEnd: boolean): void {
  let shop: Shop;

  async function run(
    procedure: string,
    args: readonly Value[] = [],
    signal?: AbortSignal,
  ): Promise<ProcedureOutcome> {
    const { definition, schemaVersion } = await shop.handle.describe();
    const found = definition.procedures.find((one) => one.name === procedure);
    const { params } = present(found, procedure);
    const request = {
      caller: shop.caller('somebody'),
      connection: temporaryConnection(),
      procedure,
      args: encodeValue(params, args, definition.typespace),
      schemaVersion,
      confirmed: true,
    };
    return shop.handle.procedure(request, signal);
  }

  async function value(procedure: string, args: readonly Value[] = []): Promise<Value> {
    const outcome = await run(procedure, args);
    if (outcome.kind === 'failed') throw new Error(JSON.stringify(outcome.error));
    const { definition } = await shop.handle.describe();
    const found = definition.procedures.find((one) => one.name === procedure);
    const { returnType } = present(found, procedure);
    return decoderOf(returnType, definition.typespace)(new BinaryReader(outcome.value));
  }

  const textsIn = async () => (await shop.rows('SELECT text FROM item ORDER BY id')).flat();

  describe(`procedures (${name})`, () => {
    afterEach(() => shop.close());

    it('[living 2.1, 2.3, 2.4] read and write in their own lane', async () => {
      shop = await open(source);
      expect(await value('put', ['a', 3])).toBe(3n);
      expect(await textsIn()).toEqual(['a', 'a', 'a']);
      expect(await value('call_add', ['b'])).toBe('4');
      expect(await value('call_add', ['long'])).toBe('TooLong4');
      expect(shop.messages()).toContain('adds b');
      expect(await run('undo')).toMatchObject({
        error: { code: 'procedure.failed', message: 'not this' },
      });
      expect(await textsIn()).toEqual(['a', 'a', 'a', 'b']);
    });

    it('[living 2.1] run beside each other, with calls between them', async () => {
      shop = await open(source);
      const puts = Array.from({ length: 24 }, (_, index) => value('put', [`p${index}`, 20]));
      const calls = Array.from({ length: 50 }, () => shop.call('add', ['c']));
      await Promise.all([...puts, ...calls]);
      expect((await textsIn()).filter((text) => text === 'c')).toHaveLength(50);
      expect(await textsIn()).toHaveLength(24 * 20 + 50);
    });

    it('[living 2.3] pass rows of any size', async () => {
      shop = await open(source);
      for (const size of [0, 60_000, 65_530, 65_536, 70_000, 1_000_000]) {
        expect(await value('large', [size])).toBe(size);
      }
      expect(await value('scan_all')).toBe(1_261_066n);
    });

    it('[living 2.1] keep what they declare outside to their lane', async () => {
      shop = await open(source);
      const counts: Value[] = [];
      for (let left = 5; left > 0; left--) counts.push(await value('count'));
      expect(counts).toEqual([1, 2, 3, 4, 5]);
    });

    it('[living 2.3] have their transaction aborted when it takes too long', async () => {
      shop = await open(source);
      const held = run('hold');
      const outcome = await held;
      expect(outcome).toMatchObject({ kind: 'failed', error: { code: 'procedure.overBudget' } });
      const { message } = present('error' in outcome ? outcome.error : undefined, 'error') as {
        message: string;
      };
      expect(message).toContain('was open for longer than 1000 ms and was aborted');
      expect(await textsIn()).toEqual([]);
      expect(await value('put', ['after', 1])).toBe(1n);
    });

    it('[living 2.2] wait by the dozen, more than there are lanes', async () => {
      shop = await open(source);
      const leaving = new AbortController();
      setMaxListeners(0, leaving.signal);
      const waiting = Array.from({ length: 60 }, () => run('tidy', [], leaving.signal));
      await vi.waitUntil(async () => (await textsIn()).length === 60, { timeout: 60_000 });
      // All have begun, and none has ended.
      expect(await textsIn()).toEqual(Array(60).fill('waits'));
      leaving.abort();
      for (const outcome of await Promise.all(waiting)) {
        expect(outcome).toMatchObject({ kind: 'returned' });
      }
      const aborted = 'the call was aborted: the caller is gone';
      expect((await textsIn()).slice(60)).toEqual(Array(60).fill(aborted));
    });

    it('[living 2.2] wait many times, and let others have their turn', async () => {
      shop = await open(source);
      const naps = Array.from({ length: 8 }, () => value('naps', [200]));
      expect(await value('call_add', ['meanwhile'])).toBe('1');
      expect(await Promise.all(naps)).toEqual(Array(8).fill(200));
    });

    it('[living 2.8] are aborted when their database closes', async () => {
      shop = await open(source);
      const waiting = [run('tidy'), run('nap', [600_000])];
      await vi.waitUntil(async () => (await textsIn()).length === 1, { timeout: 60_000 });
      await shop.reopen();
      const [tidied, slept] = await Promise.all(waiting);
      expect(tidied).toMatchObject({ kind: 'returned' });
      expect(slept).toMatchObject({
        error: {
          message: expect.stringContaining('AbortError: the call was aborted: the database'),
        },
      });
      expect((await textsIn())[1]).toMatch(/^the call was aborted: the database stops/);
    });

    it('[living 2.6] fail at once when nothing can end them', async () => {
      shop = await open(source);
      expect(await run('never')).toMatchObject({
        error: { code: 'procedure.failed', message: expect.stringContaining('awaits a promise') },
      });
    });

    it('[living 2.3] have a transaction aborted that takes too long after a wait', async () => {
      shop = await open(source);
      expect(await run('hold_later', [100])).toMatchObject({
        error: {
          code: 'procedure.overBudget',
          message: expect.stringContaining('was open for longer than 1000 ms and was aborted'),
        },
      });
      expect(await value('put', ['after', 1])).toBe(1n);
    });

    it.runIf(canEnd)('[living 2.6] that wait end with the one that computes', async () => {
      shop = await open(source);
      const leaving = new AbortController();
      setMaxListeners(0, leaving.signal);
      const beside = Array.from({ length: 12 }, () => run('nap', [600_000], leaving.signal));
      const spinning = Array.from({ length: 8 }, () => run('spin_later', [300]));
      expect(await shop.call('add', ['meanwhile'])).toMatchObject({ kind: 'committed' });
      const ends = await Promise.all(spinning);
      const codes = ends.map((end) => (end.kind === 'failed' ? end.error.code : end.kind));
      expect(codes).toContain('procedure.overBudget');
      // Those on a lane without one of the others.
      leaving.abort();
      const said = new Set((await Promise.all(beside)).map((end) => JSON.stringify(end)));
      expect(
        [...said].filter((text) => text.includes('ended because of another call')),
      ).not.toEqual([]);
      expect(await value('put', ['after', 1])).toBe(2n);
    });

    it.runIf(canEnd)('[living 2.6] are ended when they compute for too long', async () => {
      shop = await open(source);
      const spinning = Array.from({ length: 5 }, () => run('spin'));
      expect(await shop.call('add', ['meanwhile'])).toMatchObject({ kind: 'committed' });
      for (const outcome of await Promise.all(spinning)) {
        expect(outcome).toMatchObject({ error: { code: 'procedure.overBudget' } });
      }
      expect(await value('put', ['after', 1])).toBe(2n);
    });

    it.runIf(canEnd)('[living 2.6] are ended when they take too much memory', async () => {
      shop = await open(source);
      expect(await run('eat')).toMatchObject({ error: { code: 'procedure.overBudget' } });
      expect(await value('put', ['after', 1])).toBe(1n);
    });

    takeTurns(name);
  });
}

import { afterEach, describe, expect, it } from 'vitest';
import { present } from '../../src/assert.ts';
import type { ProcedureOutcome } from '../../src/database/outcome.ts';
import { temporaryConnection } from '../../src/host/supervision/temporary-connection.ts';
import { BinaryReader } from '../../src/values/binary-reader.ts';
import { decoderOf } from '../../src/values/decode.ts';
import { encodeValue } from '../../src/values/encode.ts';
import type { Value } from '../../src/values/value.ts';
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
  export const scanAll = db.procedure(t.u64(), (ctx) => ctx.read(({ db: tables }) => {
    let seen = 0n;
    for (const { text } of tables.item.iter()) seen += BigInt(text.length);
    return seen;
  }));
`;

/** Procedures of a database, wherever it and its lanes run. */
export function proceduresContract(name: string, open: ShopOpener, canEnd: boolean): void {
  let shop: Shop;

  async function run(procedure: string, args: readonly Value[] = []): Promise<ProcedureOutcome> {
    const { definition, schemaVersion } = await shop.handle.describe();
    const found = definition.procedures.find((one) => one.name === procedure);
    const { params } = present(found, procedure);
    return shop.handle.procedure({
      caller: shop.caller('somebody'),
      connection: temporaryConnection(),
      procedure,
      args: encodeValue(params, args, definition.typespace),
      schemaVersion,
      confirmed: true,
    });
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
  });
}

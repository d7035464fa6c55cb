import { schema, t, table } from 'reducerdb/server';

const counter = table({ public: true }, { id: t.u32().primaryKey(), n: t.u64() });
const db = schema({ counter });
export default db;

export const init = db.init((ctx) => {
  for (let id = 0; id < 1_000; id++) ctx.db.counter.insert({ id, n: 0n });
});

/** One read and one write. */
export const count = db.reducer({ id: t.u32() }, (ctx, { id }) => {
  const found = ctx.db.counter.id.find(id);
  if (found !== null) ctx.db.counter.id.update({ id, n: found.n + 1n });
});

export const transactions = db.procedure({ times: t.u32() }, t.unit(), (ctx, { times }) => {
  for (let id = 0; id < times; id++) {
    ctx.withTx((tx) => {
      const found = tx.db.counter.id.find(id % 1_000);
      if (found !== null) tx.db.counter.id.update({ id: found.id, n: found.n + 1n });
    });
  }
  return {};
});

/** Waits for an answer. */
export const ask = db.procedure({ url: t.string() }, t.unit(), async (ctx, { url }) => {
  const reply = await ctx.fetch(url);
  await reply.text();
  return {};
});

/** Computes until it is ended. */
export const spin = db.procedure({}, t.unit(), () => {
  for (;;);
});

/** Sends requests for so long, as fast as it can. */
export const flood = db.procedure(
  { url: t.string(), millis: t.u32() },
  t.unit(),
  async (ctx, { url, millis }) => {
    const until = Date.now() + millis;
    const sendOn = async () => {
      while (Date.now() < until) await ctx.fetch(url).catch(() => undefined);
    };
    await Promise.all(Array.from({ length: 1_000 }, sendOn));
    return {};
  },
);

export const calls = db.procedure({ times: t.u32() }, t.unit(), (ctx, { times }) => {
  for (let id = 0; id < times; id++) ctx.call(count, { id: id % 1_000 });
  return {};
});

import { schema, t, table } from 'reducerdb/server';

/** What many look at: each row was sent at `sent`, in nanoseconds of the sender's clock. */
const score = table(
  { public: true, indexes: [] },
  { id: t.u32().index('hash').primaryKey(), sent: t.u64(), points: t.u32() },
);

/** What is large. */
const player = table(
  { public: true, indexes: [] },
  { id: t.u32().index('hash').primaryKey(), name: t.string(), joined: t.i64() },
);

const db = schema({ score, player });
export default db;

export const open = db.reducer({ count: t.u32() }, (ctx, { count }) => {
  for (let id = 0; id < count; id += 1) ctx.db.score.insert({ id, sent: 0n, points: 0 });
});

export const put = db.reducer(
  { id: t.u32(), sent: t.u64(), points: t.u32() },
  (ctx, { id, sent, points }) => {
    ctx.db.score.id.update({ id, sent, points });
  },
);

export const join = db.reducer({ from: t.u32(), count: t.u32() }, (ctx, { from, count }) => {
  for (let id = from; id < from + count; id += 1) {
    ctx.db.player.insert({ id, name: `player ${id}`, joined: BigInt(id) });
  }
});

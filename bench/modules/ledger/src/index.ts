import { SenderError, schema, t, table } from 'reducerdb/server';

const account = table(
  { public: true, indexes: [] },
  { id: t.u32().index('hash').primaryKey(), name: t.string(), balance: t.i64() },
);

const db = schema({ account });
export default db;

/** Names have 12 characters. */
export const open = db.reducer({ first: t.u32(), count: t.u32() }, (ctx, { first, count }) => {
  for (let id = first; id < first + count; id += 1) {
    ctx.db.account.insert({ id, name: String(id).padStart(12, '0'), balance: 1_000_000n });
  }
});

export const transfer = db.reducer(
  { from: t.u32(), to: t.u32(), amount: t.i64() },
  (ctx, { from, to, amount }) => {
    const payer = ctx.db.account.id.find(from);
    const payee = ctx.db.account.id.find(to);
    if (!payer || !payee) throw new SenderError('no such account');
    ctx.db.account.id.update({ ...payer, balance: payer.balance - amount });
    ctx.db.account.id.update({ ...payee, balance: payee.balance + amount });
  },
);

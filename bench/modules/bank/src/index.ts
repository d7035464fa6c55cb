import { SenderError, schema, t, table } from 'reducerdb/server';

const account = table(
  { public: true, indexes: [] },
  { id: t.u32().index('hash').primaryKey(), balance: t.i64() },
);

const db = schema({ account });
export default db;

export const open = db.reducer({ count: t.u32(), balance: t.i64() }, (ctx, { count, balance }) => {
  for (let id = 0; id < count; id += 1) ctx.db.account.insert({ id, balance });
});

export const transfer = db.reducer(
  { from: t.u32(), to: t.u32(), amount: t.i64() },
  (ctx, { from, to, amount }) => {
    const payer = ctx.db.account.id.find(from);
    const payee = ctx.db.account.id.find(to);
    if (!payer || !payee) throw new SenderError('no such account');
    if (payer.balance < amount) throw new SenderError('not enough');
    ctx.db.account.id.update({ id: from, balance: payer.balance - amount });
    ctx.db.account.id.update({ id: to, balance: payee.balance + amount });
  },
);

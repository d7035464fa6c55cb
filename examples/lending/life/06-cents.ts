import { SenderError, schema, t, table } from 'reducerdb/server';

/** What neighbours lend each other, and what it would cost to buy it again, in cents. */
const item = table(
  { public: true },
  {
    id: t.u32().primaryKey().autoInc(),
    name: t.string(),
    lender: t.string(),
    price: t.u32(),
    note: t.string().default(''),
  },
);

/** Who has it. */
const loan = table(
  { public: true },
  {
    id: t.u32().primaryKey().autoInc(),
    itemId: t.u32().index('btree'),
    who: t.string(),
    days: t.u8(),
  },
);

const db = schema({ item, loan });
export default db;

export const add = db.reducer(
  { name: t.string(), owner: t.string(), price: t.string() },
  (ctx, { name, owner, price }) => {
    if (name === '') throw new SenderError('an item has a name');
    ctx.db.item.insert({ name, lender: owner, price: Math.round(Number(price) * 100) });
  },
);

export const lend = db.reducer(
  { id: t.u32(), who: t.string(), days: t.u8() },
  (ctx, { id, who, days }) => {
    if (ctx.db.item.id.find(id) === null) throw new SenderError(`there is no item ${id}`);
    ctx.db.loan.insert({ itemId: id, who, days });
  },
);

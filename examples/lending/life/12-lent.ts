import { SenderError, schema, t, table } from 'reducerdb/server';

/** What neighbours lend each other. */
const item = table(
  { public: true },
  {
    id: t.u32().primaryKey().autoInc(),
    lender: t.string(),
    name: t.string(),
    /** How often it was lent. */
    lent: t.u32(),
  },
);

/** What it would cost to buy it again, in cents. Not for everybody to see. */
const price = table({}, { itemId: t.u32().primaryKey(), cents: t.u32() });

/** Who has it. */
const loan = table(
  { public: true },
  {
    id: t.u32().primaryKey().autoInc(),
    itemId: t.u32().index('btree'),
    days: t.u8(),
    first: t.string(),
    last: t.string(),
  },
);

const db = schema({ item, price, loan });
export default db;

export const add = db.reducer(
  { name: t.string(), owner: t.string(), price: t.string() },
  (ctx, { name, owner, price }) => {
    if (name === '') throw new SenderError('an item has a name');
    const { id } = ctx.db.item.insert({ name, lender: owner, lent: 0 });
    ctx.db.price.insert({ itemId: id, cents: Math.round(Number(price) * 100) });
  },
);

export const lend = db.reducer(
  { id: t.u32(), who: t.string(), days: t.u8() },
  (ctx, { id, who, days }) => {
    const item = ctx.db.item.id.find(id);
    if (item === null) throw new SenderError(`there is no item ${id}`);
    ctx.db.item.id.update({ ...item, lent: item.lent + 1 });
    const [first = '', ...rest] = who.split(' ');
    ctx.db.loan.insert({ itemId: id, days, first, last: rest.join(' ') });
  },
);

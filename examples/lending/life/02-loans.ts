import { SenderError, schema, t, table } from 'reducerdb/server';

/** What neighbours lend each other, and what it would cost to buy it again, such as `12.50`. */
const tool = table(
  { public: true },
  {
    id: t.u32().primaryKey().autoInc(),
    name: t.string(),
    owner: t.string(),
    price: t.string(),
  },
);

/** Who has it. */
const loan = table(
  { public: true },
  {
    id: t.u32().primaryKey().autoInc(),
    toolId: t.u32().index('btree'),
    who: t.string(),
    days: t.u8(),
  },
);

const db = schema({ tool, loan });
export default db;

export const add = db.reducer(
  { name: t.string(), owner: t.string(), price: t.string() },
  (ctx, { name, owner, price }) => {
    if (name === '') throw new SenderError('a tool has a name');
    ctx.db.tool.insert({ name, owner, price });
  },
);

export const lend = db.reducer(
  { id: t.u32(), who: t.string(), days: t.u8() },
  (ctx, { id, who, days }) => {
    if (ctx.db.tool.id.find(id) === null) throw new SenderError(`there is no tool ${id}`);
    ctx.db.loan.insert({ toolId: id, who, days });
  },
);

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

const db = schema({ tool });
export default db;

export const add = db.reducer(
  { name: t.string(), owner: t.string(), price: t.string() },
  (ctx, { name, owner, price }) => {
    if (name === '') throw new SenderError('a tool has a name');
    ctx.db.tool.insert({ name, owner, price });
  },
);

import { SenderError, schema, t, table } from '../../../src/server/index.ts';
import { priceCount, textLengthMax, zoneCount } from './sizes.ts';

// A module under mixed load: how many rows its tables have stays the same, whatever is called how often.

/** Rows that change in place; `changes` counts how often. */
const item = table(
  { public: true },
  {
    id: t.u32().primaryKey(),
    zone: t.u32().index(),
    price: t.u32().index(),
    changes: t.u32(),
    text: t.string(),
  },
);
/** Rows that come and go. */
const entry = table(
  { public: true },
  { id: t.u32().primaryKey(), zone: t.u32().index('hash'), text: t.string() },
);
/** Who is connected, callers over HTTP among them. */
const presence = table({}, { id: t.connectionId().primaryKey(), who: t.identity().index() });

const db = schema({ item, entry, presence });
export default db;

export const arrive = db.clientConnected((ctx) => {
  if (ctx.connectionId) ctx.db.presence.insert({ id: ctx.connectionId, who: ctx.sender });
});
export const leave = db.clientDisconnected((ctx) => {
  if (ctx.connectionId) ctx.db.presence.id.delete(ctx.connectionId);
});

export const fill = db.reducer({ from: t.u32(), to: t.u32() }, (ctx, { from, to }) => {
  for (let id = from; id < to; id += 1) {
    const text = '.'.repeat((id * 31) % textLengthMax);
    const price = (id * 7_919) % priceCount;
    ctx.db.item.insert({ id, zone: id % zoneCount, price, changes: 0, text });
  }
});
export const bump = db.reducer({ id: t.u32(), text: t.string() }, (ctx, { id, text }) => {
  const found = ctx.db.item.id.find(id);
  if (found === null) throw new SenderError(`there is no item ${id}`);
  const price = ctx.random.integerInRange(0, priceCount - 1);
  ctx.db.item.id.update({ ...found, price, changes: found.changes + 1, text });
});
export const add = db.reducer({ id: t.u32(), zone: t.u32(), text: t.string() }, (ctx, row) => {
  ctx.db.entry.insert(row);
});
export const remove = db.reducer({ id: t.u32() }, (ctx, { id }) => {
  if (!ctx.db.entry.id.delete(id)) throw new SenderError(`there is no entry ${id}`);
});
/** Changes a row, then refuses: nothing of it may stay. */
export const refuse = db.reducer({ id: t.u32() }, (ctx, { id }) => {
  ctx.db.item.id.delete(id);
  throw new SenderError('refused');
});

/** A table to read, views over it, and a door that keeps some callers out. */
export const readsModule = `
import { SenderError, schema, t, table } from 'reducerdb/server';

const note = table({ name: 'note', public: true }, {
  id: t.u64().primaryKey().autoInc(),
  text: t.string(),
});
const secret = table({ name: 'secret' }, { id: t.u64().primaryKey().autoInc() });
const banned = table({ name: 'banned' }, { who: t.identity().primaryKey() });
const seen = table({ name: 'seen', public: true }, { id: t.u64().primaryKey().autoInc() });
const db = schema({ note, secret, banned, seen });
export default db;

export const clientConnected = db.clientConnected((ctx) => {
  if (ctx.db.banned.who.find(ctx.sender)) throw new SenderError('you are banned');
  ctx.db.seen.insert({ id: 0n });
});
export const add = db.reducer({ text: t.string() }, (ctx, { text }) => {
  ctx.db.note.insert({ id: 0n, text });
});
export const ban = db.reducer({ who: t.identity() }, (ctx, { who }) => {
  ctx.db.banned.insert({ who });
});
const Row = t.object('Row', { text: t.string(), mine: t.string() });
export const shown = db.view({ name: 'shown', public: true }, t.array(Row), (ctx) =>
  [...ctx.db.note.iter()].map(({ text }) => ({ text, mine: ctx.sender.toHexString() })),
);
export const touchy = db.anonymousView({ name: 'touchy', public: true }, t.array(Row), (ctx) => {
  for (const { text } of ctx.db.note.iter()) if (text === 'hang') for (;;);
  return [];
});
export const spin = db.anonymousView({ name: 'spin', public: true }, t.array(Row), () => {
  for (;;);
});
`;

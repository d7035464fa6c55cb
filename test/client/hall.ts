import { SenderError, schema, t, table } from '../../src/server/index.ts';

// A module for clients: built and published as it stands, and the type of those who connect to it.

const Mood = t.enum('Mood', ['Calm', 'Angry']);

const guest = table(
  { public: true },
  {
    id: t.u32().primaryKey(),
    nick: t.string().unique(),
    tableNo: t.u32().index(),
    mood: Mood,
    note: t.string().optional(),
  },
);
const seat = table({ public: true }, { no: t.u32().primaryKey(), byWindow: t.bool() });
const word = table({ public: true }, { text: t.string(), at: t.timestamp() });
const bell = table({ public: true, event: true }, { tune: t.string() });
const secret = table({}, { id: t.u32().primaryKey() });

const db = schema({ guest, seat, word, bell, secret });
export default db;

export const arrive = db.reducer(
  { id: t.u32(), nick: t.string(), tableNo: t.u32(), note: t.string().optional() },
  (ctx, { id, nick, tableNo, note }) => {
    if (ctx.db.guest.id.find(id) !== null) throw new SenderError(`${id} is here already`);
    ctx.db.guest.insert({ id, nick, tableNo, mood: Mood.Calm, note });
  },
);
export const move = db.reducer({ id: t.u32(), tableNo: t.u32() }, (ctx, { id, tableNo }) => {
  const found = ctx.db.guest.id.find(id);
  if (found === null) throw new SenderError(`nobody has the id ${id}`);
  ctx.db.guest.id.update({ ...found, tableNo, mood: Mood.Angry });
});
export const leave = db.reducer({ id: t.u32() }, (ctx, { id }) => {
  ctx.db.guest.id.delete(id);
});
export const place = db.reducer({ no: t.u32(), byWindow: t.bool() }, (ctx, row) => {
  ctx.db.seat.no.delete(row.no);
  ctx.db.seat.insert(row);
});
export const speak = db.reducer({ text: t.string() }, (ctx, { text }) => {
  ctx.db.word.insert({ text, at: ctx.timestamp });
});
export const ring = db.reducer({ tune: t.string() }, (ctx, { tune }) => {
  ctx.db.bell.insert({ tune });
});
export const crash = db.reducer(() => {
  throw new TypeError('a detail');
});
export const angry = db.anonymousView({ public: true }, t.array(guest.rowType), (ctx) =>
  [...ctx.db.guest].filter(({ mood }) => mood.tag === 'Angry'),
);

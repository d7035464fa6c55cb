import { SenderError, schema, t, table } from 'reducerdb/server';

/** Notes that everyone sees; each belongs to the identity that wrote it. */
const note = table(
  { public: true },
  {
    id: t.u64().primaryKey().autoInc(),
    author: t.identity(),
    text: t.string(),
    likes: t.u32(),
    written: t.timestamp(),
  },
);

/** One row for each open connection, such as a window of a browser. */
const visitor = table(
  { public: true },
  { connection: t.connectionId().primaryKey(), identity: t.identity() },
);

const db = schema({ note, visitor });
export default db;

// Clients call these functions. Each runs in one transaction.

/** Adds a note of the caller. */
export const addNote = db.reducer({ text: t.string() }, (ctx, { text }) => {
  const trimmed = text.trim();
  if (trimmed === '') throw new SenderError('a note needs a text');
  if (trimmed.length > 280) throw new SenderError('a note has at most 280 characters');
  ctx.db.note.insert({
    id: 0n, // 0 asks for the next number
    author: ctx.sender,
    text: trimmed,
    likes: 0,
    written: ctx.timestamp,
  });
});

/** Adds one to the likes of a note. */
export const likeNote = db.reducer({ id: t.u64() }, (ctx, { id }) => {
  const found = ctx.db.note.id.find(id);
  if (!found) throw new SenderError(`there is no note ${id}`);
  ctx.db.note.id.update({ ...found, likes: found.likes + 1 });
});

/** Removes a note of the caller. */
export const removeNote = db.reducer({ id: t.u64() }, (ctx, { id }) => {
  const found = ctx.db.note.id.find(id);
  if (!found) throw new SenderError(`there is no note ${id}`);
  if (!found.author.equals(ctx.sender)) throw new SenderError('that is not your note');
  ctx.db.note.id.delete(id);
});

// The database calls these by itself when a connection opens and when it ends.

export const arrived = db.clientConnected((ctx) => {
  if (!ctx.connectionId) return;
  ctx.db.visitor.insert({ connection: ctx.connectionId, identity: ctx.sender });
});

export const left = db.clientDisconnected((ctx) => {
  if (ctx.connectionId) ctx.db.visitor.connection.delete(ctx.connectionId);
});

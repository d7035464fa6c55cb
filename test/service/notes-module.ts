/** A public table, a private one, and a public view of the private one. */
export const notesModule = `
  import { schema, t, table } from 'reducerdb/server';
  const note = table({ public: true }, { id: t.u32().primaryKey(), text: t.string() });
  const secret = table({}, { id: t.u32().primaryKey(), text: t.string() });
  const db = schema({ note, secret });
  export default db;
  export const init = db.init(() => undefined);
  export const addNote = db.reducer({ id: t.u32() }, (ctx, { id }) => {
    ctx.db.note.insert({ id, text: ctx.sender.toHexString() });
  });
  export const dropNote = db.reducer({ id: t.u32() }, (ctx, { id }) => {
    ctx.db.note.id.delete(id);
  });
  export const secretTexts = db.anonymousView({ public: true }, t.array(secret.rowType), (ctx) => {
    return [...ctx.db.secret.iter()];
  });
`;

/** A module whose reducer answers with a word, and whose tables and columns differ. */
export interface Version {
  readonly word: string;
  /** More columns of `note`. */
  readonly columns?: string;
  /** More tables, and how they are called. */
  readonly tables?: string;
  readonly named?: string;
  /** What `add` does before it inserts. */
  readonly first?: string;
}

export function sourceOf({ word, columns = '', tables = '', named = '', first = '' }: Version) {
  return `
    import { schema, SenderError, t, table } from 'reducerdb/server';
    const note = table({ public: true }, {
      id: t.u64().primaryKey().autoInc(),
      text: t.string(),
      ${columns}
    });
    ${tables}
    const db = schema({ note${named} });
    export default db;
    export const add = db.reducer({ text: t.string() }, (ctx, { text }) => {
      ${first}
      ctx.db.note.insert({ text: '${word} ' + text });
    });
    export const tell = db.reducer((ctx) => { throw new SenderError('${word}'); });
  `;
}

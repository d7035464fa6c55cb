/** Tables of one kind of index each, filled by calls: what rows and indexes take in memory. */
import { schema, t, table } from 'reducerdb/server';

const plain = table(
  { public: true },
  { id: t.u32().primaryKey(), name: t.string(), amount: t.i64() },
);
const numbers = table({}, { id: t.u32(), amount: t.i64().index() });
const hashed = table({}, { id: t.u32(), amount: t.i64().index('hash') });
const names = table({}, { id: t.u32(), name: t.string().index() });
const lists = table({}, { id: t.u32(), labels: t.array(t.string()).index('inverted') });
const texts = table({}, { id: t.u32(), body: t.string().index('text', { language: 'english' }) });
const vectors = table(
  {},
  { id: t.u32(), place: t.vector(384).index('vector', { metric: 'cosine' }) },
);
const db = schema({ plain, numbers, hashed, names, lists, texts, vectors });
export default db;

const nameOf = (id: number) => `name ${String(id).padStart(7, '0')}`;

export const fill = db.reducer(
  { into: t.string(), from: t.u32(), to: t.u32() },
  (ctx, { into, from, to }) => {
    const word = () => `word${ctx.random.integerInRange(0, 4_999)}`;
    for (let id = from; id < to; id += 1) {
      const amount = BigInt(id);
      if (into === 'plain') ctx.db.plain.insert({ id, name: nameOf(id), amount });
      else if (into === 'numbers') ctx.db.numbers.insert({ id, amount });
      else if (into === 'hashed') ctx.db.hashed.insert({ id, amount });
      else if (into === 'names') ctx.db.names.insert({ id, name: nameOf(id) });
      else if (into === 'lists') ctx.db.lists.insert({ id, labels: [word(), word(), word()] });
      else if (into === 'texts') {
        ctx.db.texts.insert({ id, body: Array.from({ length: 40 }, word).join(' ') });
      } else {
        ctx.db.vectors.insert({ id, place: Array.from({ length: 384 }, () => ctx.random() - 0.5) });
      }
    }
  },
);

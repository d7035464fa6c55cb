import { SenderError, schema, t, table } from 'reducerdb/server';

/** What visitors ask. The agent fills in the answer. */
const question = table(
  { public: true },
  {
    id: t.u64().primaryKey().autoInc(),
    asker: t.identity(),
    text: t.string(),
    answer: t.string().optional(),
    asked: t.timestamp(),
  },
);

/** What there is to know: the agent answers from these rows. */
const fact = table({ public: true }, { topic: t.string().primaryKey(), text: t.string() });

/** Who may answer: whoever created the database, and the agents that they hired. */
const staff = table({}, { identity: t.identity().primaryKey() });

const db = schema({ question, fact, staff });
export default db;

export const begin = db.init((ctx) => {
  ctx.db.staff.insert({ identity: ctx.sender });
});

/** Asks a question. */
export const ask = db.reducer({ text: t.string() }, (ctx, { text }) => {
  const trimmed = text.trim();
  if (trimmed === '') throw new SenderError('a question needs a text');
  if (trimmed.length > 280) throw new SenderError('a question has at most 280 characters');
  const { sender: asker, timestamp: asked } = ctx;
  ctx.db.question.insert({ id: 0n, asker, text: trimmed, asked });
});

/** Answers a question that has no answer yet. For staff alone. */
export const answer = db.reducer({ id: t.u64(), text: t.string() }, (ctx, { id, text }) => {
  if (!ctx.db.staff.identity.find(ctx.sender)) throw new SenderError('only staff answers');
  const found = ctx.db.question.id.find(id);
  if (!found) throw new SenderError(`there is no question ${id}`);
  if (found.answer !== undefined) throw new SenderError(`question ${id} has an answer`);
  ctx.db.question.id.update({ ...found, answer: text });
});

/** Lets an agent answer: a limited token is an identity of its own. For staff alone. */
export const hire = db.reducer({ agent: t.identity() }, (ctx, { agent }) => {
  if (!ctx.db.staff.identity.find(ctx.sender)) throw new SenderError('only staff hires');
  if (!ctx.db.staff.identity.find(agent)) ctx.db.staff.insert({ identity: agent });
});

/** Writes a fact down, in place of what was known about its topic. For staff alone. */
export const learn = db.reducer({ topic: t.string(), text: t.string() }, (ctx, fact) => {
  if (!ctx.db.staff.identity.find(ctx.sender)) throw new SenderError('only staff writes facts');
  ctx.db.fact.topic.delete(fact.topic);
  ctx.db.fact.insert(fact);
});

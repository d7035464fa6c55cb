import { SenderError, schema, t, table } from 'reducerdb/server';

/** Tasks that everybody sees; each belongs to the identity that added it. */
const task = table(
  { public: true },
  {
    id: t.u64().primaryKey().autoInc(),
    owner: t.identity().index(),
    title: t.string(),
    done: t.bool(),
    created: t.timestamp(),
  },
);

const db = schema({ task });
export default db;

// Reducers are called as `add_task`, `complete_task` … by every client.

/** Adds a task that belongs to the caller. */
export const addTask = db.reducer({ title: t.string() }, (ctx, { title }) => {
  if (title.trim() === '') throw new SenderError('a task needs a title');
  const added = ctx.db.task.insert({
    id: 0n, // 0 asks for the next number
    owner: ctx.sender,
    title,
    done: false,
    created: ctx.timestamp,
  });
  console.log(`task ${added.id} added`);
});

/** Marks a task of the caller as done. */
export const completeTask = db.reducer({ id: t.u64() }, (ctx, { id }) => {
  const found = ctx.db.task.id.find(id);
  if (!found) throw new SenderError(`there is no task ${id}`);
  if (!found.owner.equals(ctx.sender)) throw new SenderError('that is not your task');
  ctx.db.task.id.update({ ...found, done: true });
});

/** Removes the tasks of the caller that are done. */
export const removeDone = db.reducer((ctx) => {
  for (const mine of ctx.db.task.owner.filter(ctx.sender)) {
    if (mine.done) ctx.db.task.id.delete(mine.id);
  }
});

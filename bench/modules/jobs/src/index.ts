import { ScheduleAt } from 'reducerdb';
import { schema, t, table } from 'reducerdb/server';

const job = table({}, { id: t.u64().primaryKey().autoInc(), at: t.scheduleAt(), counter: t.u32() });

const counter = table({ public: true }, { id: t.u32().primaryKey(), count: t.u64() });

const db = schema({ job, counter });
export default db;

export const setUp = db.init((ctx) => {
  for (let id = 0; id < 1_000; id += 1) ctx.db.counter.insert({ id, count: 0n });
});

export const runJob = db.reducer({ onSchedule: job }, { row: job.rowType }, (ctx, { row }) => {
  const found = ctx.db.counter.id.find(row.counter);
  if (found) ctx.db.counter.id.update({ ...found, count: found.count + 1n });
});

/** Does what a run does. */
export const count = db.reducer({ id: t.u32() }, (ctx, { id }) => {
  const found = ctx.db.counter.id.find(id);
  if (found) ctx.db.counter.id.update({ ...found, count: found.count + 1n });
});

/** Makes rows that are all due at the same time. */
export const plan = db.reducer({ rows: t.u32(), due: t.timestamp() }, (ctx, { rows, due }) => {
  const at = ScheduleAt.time(due.microsSinceUnixEpoch);
  for (let row = 0; row < rows; row += 1) ctx.db.job.insert({ id: 0n, at, counter: row % 1_000 });
});

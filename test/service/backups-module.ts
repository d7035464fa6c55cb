import { type Program, written } from './written-module.ts';

const entry = '{ public: true }, { id: t.u64().primaryKey().autoInc(), n: t.u32() }';
const job =
  '{ public: true }, { id: t.u64().primaryKey().autoInc(), at: t.scheduleAt(), what: t.string() }';
const ran = '{ public: true }, { n: t.u64().primaryKey().autoInc(), what: t.string() }';

/** A module whose rows say which commit made them: `add` inserts `n` under the next key. */
export function entries(): Promise<Program> {
  return written({
    tables: { entry, job, ran },
    exports: `
      export const add = db.reducer({ n: t.u32() }, (ctx, { n }) => {
        ctx.db.entry.insert({ id: 0n, n });
      });
      export const work = db.reducer({ onSchedule: job }, { job: job.rowType }, (ctx, { job }) => {
        ctx.db.ran.insert({ n: 0n, what: job.what });
      });
      export const soon = db.reducer({ millis: t.i64(), what: t.string() }, (ctx, { millis, what }) => {
        const at = ScheduleAt.time(ctx.timestamp.microsSinceUnixEpoch + millis * 1000n);
        ctx.db.job.insert({ id: 0n, at, what });
      });`,
  });
}

import { type Program, written } from './written-module.ts';

const job =
  '{ public: true }, { id: t.u64().primaryKey().autoInc(), at: t.scheduleAt(), what: t.string() }';
const secret = '{}, { id: t.u64().primaryKey().autoInc(), at: t.scheduleAt() }';
const ran =
  '{ public: true }, { n: t.u64().primaryKey().autoInc(), job: t.u64(), what: t.string(), at: t.timestamp() }';

/**
 * A module whose scheduled reducer notes each run in `ran`. What a job does beside that is in its
 * `what`: `fail`, `spin`, or nothing.
 */
export function jobs(options = '', says?: string): Promise<Program> {
  return written({
    tables: { job, secret, ran },
    exports: `
      export const work = db.reducer({ onSchedule: job${options} }, { job: job.rowType }, (ctx, { job }) => {
        if (job.what === 'fail') throw new SenderError('it failed');
        if (job.what === 'spin') for (;;);
        ctx.db.ran.insert({ n: 0n, job: job.id, what: job.what, at: ctx.timestamp });
      });
      export const hide = db.reducer({ onSchedule: secret }, { secret: secret.rowType }, () => {
        throw new SenderError('it failed');
      });
      const micros = (ctx) => ctx.timestamp.microsSinceUnixEpoch;
      export const once = db.reducer({ millis: t.i64(), what: t.string() }, (ctx, { millis, what }) => {
        ctx.db.job.insert({ id: 0n, at: ScheduleAt.time(micros(ctx) + millis * 1000n), what });
      });
      export const every = db.reducer({ millis: t.i64(), what: t.string() }, (ctx, { millis, what }) => {
        ctx.db.job.insert({ id: 0n, at: ScheduleAt.interval(millis * 1000n), what });
      });
      export const drop = db.reducer((ctx) => {
        for (const row of [...ctx.db.job.iter()]) ctx.db.job.id.delete(row.id);
      });`,
    ...(says !== undefined && { says }),
  });
}

import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { afterAll, expect, it } from 'vitest';
import { openTestDatabase } from './test-database.ts';

const folder = mkdtempSync(path.join(tmpdir(), 'reducerdb-scheduled-'));
afterAll(() => rmSync(folder, { recursive: true, force: true }));
writeFileSync(path.join(folder, 'package.json'), '{"type":"module","main":"index.ts"}');
writeFileSync(
  path.join(folder, 'index.ts'),
  `import { ScheduleAt, SenderError, schema, t, table } from 'reducerdb/server';
  const id = t.u64().primaryKey().autoInc();
  const job = table({}, { id, at: t.scheduleAt(), isBad: t.bool() });
  const ran = table({}, { id, job: t.u64(), at: t.timestamp() });
  const db = schema({ job, ran });
  export default db;
  export const work = db.reducer({ onSchedule: job }, { job: job.rowType }, (ctx, { job }) => {
    if (job.isBad) throw new SenderError('a bad job');
    ctx.db.ran.insert({ id: 0n, job: job.id, at: ctx.timestamp });
  });
  export const once = db.reducer({ millis: t.i64(), isBad: t.bool() }, (ctx, { millis, isBad }) => {
    const at = ctx.timestamp.microsSinceUnixEpoch + millis * 1000n;
    ctx.db.job.insert({ id: 0n, at: ScheduleAt.time(at), isBad });
  });
  export const every = db.reducer({ millis: t.i64() }, (ctx, { millis }) => {
    ctx.db.job.insert({ id: 0n, at: ScheduleAt.interval(millis * 1000n), isBad: false });
  });`,
);

/** Moves the clock in steps; gives each run with its time since the start, in seconds. */
async function story(): Promise<string[]> {
  const db = await openTestDatabase({ module: folder });
  const begin = db.clock.now;
  const told: string[] = [];
  const tell = async (seconds: number) => {
    for (const { schedule, row, due, outcome, error } of await db.clock.advance(seconds * 1_000)) {
      const at = due.since(begin).millis / 1_000;
      told.push(
        [schedule, row?.id, at, outcome, ...(error === undefined ? [] : [error])].join(' '),
      );
    }
    told.push('--');
  };
  await db.call('every', [10_000n]);
  await db.call('once', [25_000n, false]);
  await db.call('once', [5_000n, true]);
  await tell(4);
  await tell(26);
  await db.call('once', [0n, false]);
  await tell(3_600 * 24);
  const rows = await db.query('SELECT job FROM ran');
  told.push(`${rows.length} rows`);
  expect(db.clock.now.since(begin).millis).toBe((3_600 * 24 + 30) * 1_000);
  await db.close();
  return told;
}

it('[living 1.15] a move of the clock runs what becomes due, in order', async () => {
  const told = await story();
  expect(told.slice(0, 7)).toEqual([
    '--',
    'job 3 5 failed a bad job',
    'job 1 10 committed',
    'job 1 20 committed',
    'job 2 25 committed',
    'job 1 30 committed',
    '--',
  ]);
  expect(told.slice(-2)).toEqual(['--', '8645 rows']);
  expect(await story()).toEqual(told);
}, 60_000);

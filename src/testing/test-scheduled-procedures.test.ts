import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { afterAll, expect, it } from 'vitest';
import { openTestDatabase } from './test-database.ts';

const folder = mkdtempSync(path.join(tmpdir(), 'reducerdb-errands-'));
afterAll(() => rmSync(folder, { recursive: true, force: true }));
writeFileSync(path.join(folder, 'package.json'), '{"type":"module","main":"index.ts"}');
writeFileSync(
  path.join(folder, 'index.ts'),
  `import { ScheduleAt, schema, TimeDuration, t, table } from 'reducerdb/server';
  const id = t.u64().primaryKey().autoInc();
  const note = table({}, { id, at: t.scheduleAt() });
  const mail = table({}, { id, at: t.scheduleAt(), failures: t.u32() });
  const ping = table({}, { id, at: t.scheduleAt() });
  const nap = table({}, { id, at: t.scheduleAt() });
  const told = table({}, { id, what: t.string(), at: t.timestamp() });
  const db = schema({ note, mail, ping, nap, told });
  export default db;
  const tell = (ctx, what) => ctx.db.told.insert({ id: 0n, what, at: ctx.timestamp });
  export const onNote = db.reducer({ onSchedule: note }, { note: note.rowType }, (ctx) => {
    tell(ctx, 'note');
  });
  export const onMail = db.procedure(
    { onSchedule: mail, delivery: 'atLeastOnce' }, { mail: mail.rowType }, t.unit(),
    (ctx, { mail }) => {
      const left = ctx.withTx((tx) => {
        const row = tx.db.mail.id.find(mail.id);
        if (row.failures > 0) tx.db.mail.id.update({ ...row, failures: row.failures - 1 });
        tell(tx, 'mail ' + mail.id + ' ' + ctx.sender.isEqual(ctx.databaseIdentity));
        return row.failures;
      });
      if (left > 0) throw new Error('no answer');
      return {};
    },
  );
  export const onPing = db.procedure(
    { onSchedule: ping, delivery: 'atMostOnce' }, { ping: ping.rowType }, t.unit(),
    (ctx) => {
      const rows = ctx.read((read) => [...read.db.ping.iter()].length);
      ctx.withTx((tx) => tell(tx, 'ping ' + rows + ' ' + (ctx.connectionId === null)));
      return {};
    },
  );
  export const onNap = db.procedure(
    { onSchedule: nap, delivery: 'atLeastOnce' }, { row: nap.rowType }, t.unit(),
    async (ctx, { row }) => {
      ctx.withTx((tx) => tell(tx, 'asleep ' + row.id));
      await ctx.sleep(TimeDuration.fromMillis(10_000));
      ctx.withTx((tx) => tell(tx, 'awake ' + row.id));
      return {};
    },
  );
  export const planNap = db.reducer((ctx) => {
    const now = ctx.timestamp.microsSinceUnixEpoch;
    ctx.db.nap.insert({ id: 0n, at: ScheduleAt.time(now) });
    ctx.db.nap.insert({ id: 0n, at: ScheduleAt.time(now) });
    ctx.db.note.insert({ id: 0n, at: ScheduleAt.time(now + 4_000_000n) });
  });
  const planned = { millis: t.i64(), failures: t.u32() };
  export const plan = db.reducer(planned, (ctx, { millis, failures }) => {
    const at = ScheduleAt.time(ctx.timestamp.microsSinceUnixEpoch + millis * 1000n);
    ctx.db.note.insert({ id: 0n, at });
    ctx.db.mail.insert({ id: 0n, at, failures });
    ctx.db.ping.insert({ id: 0n, at });
  });`,
);

/** Moves the clock in steps; gives each run with its time since the start, in seconds. */
async function story(): Promise<string[]> {
  const db = await openTestDatabase({ module: folder });
  const begin = db.clock.now;
  const told: string[] = [];
  const tell = async (seconds: number) => {
    for (const run of await db.clock.advance(seconds * 1_000)) {
      const at = run.due.since(begin).millis / 1_000;
      told.push(`${run.function} ${run.row?.id} ${at} ${run.outcome} ${run.error ?? ''}`.trim());
    }
    told.push('--');
  };
  await db.call('plan', [5_000n, 0]);
  await db.call('plan', [5_000n, 1]);
  await tell(4);
  await tell(1);
  await tell(10);
  await db.call('plan', [1_000n, 9]);
  await tell(60);
  for (const { what, at } of await db.query('SELECT what, at FROM told ORDER BY id')) {
    told.push(`${what} ${(at as typeof begin).since(begin).millis / 1_000}`);
  }
  const left = await db.query('SELECT id FROM mail');
  told.push(`${left.length} left`);
  await db.close();
  return told;
}

it('[living 1.12, 1.15] a move of the clock runs procedures to their end, one by one', async () => {
  const told = await story();
  expect(told.slice(0, 10)).toEqual([
    '--',
    'on_mail 1 5 committed',
    'on_mail 2 5 failed Uncaught Error: no answer',
    'on_note 1 5 committed',
    'on_note 2 5 committed',
    'on_ping 1 5 committed',
    'on_ping 2 5 committed',
    '--',
    'on_mail 2 5 committed',
    '--',
  ]);
  const failed = 'on_mail 3 16 failed Uncaught Error: no answer';
  expect(told.filter((line) => line === failed).length).toBe(5);
  expect(told.slice(told.lastIndexOf('--') + 1)).toEqual([
    ...['mail 1 true 5', 'mail 2 true 5', 'note 5', 'note 5', 'ping 1 true 5', 'ping 0 true 5'],
    ...['mail 2 true 6', 'mail 3 true 16', 'note 16', 'ping 0 true 16'],
    ...['mail 3 true 17', 'mail 3 true 19', 'mail 3 true 23', 'mail 3 true 31', '1 left'],
  ]);
  expect(await story()).toEqual(told);
}, 60_000);

it('[living 1.12, 1.15] others run while a procedure sleeps, and the move goes on', async () => {
  const db = await openTestDatabase({ module: folder });
  const begin = db.clock.now;
  await db.call('plan_nap');
  const ran = await db.clock.advance(60_000);
  expect(ran.map((run) => [run.function, run.row?.id, run.outcome])).toEqual([
    ['on_note', 1n, 'committed'],
    ['on_nap', 1n, 'committed'],
    ['on_nap', 2n, 'committed'],
  ]);
  const told = await db.query('SELECT what, at FROM told ORDER BY id');
  expect(told.map(({ what, at }) => [what, (at as typeof begin).since(begin).millis])).toEqual([
    ['asleep 1', 0],
    ['asleep 2', 0],
    ['note', 4_000],
    ['awake 1', 10_000],
    ['awake 2', 10_000],
  ]);
  expect(await db.query('SELECT id FROM nap')).toEqual([]);
  await db.close();
}, 60_000);

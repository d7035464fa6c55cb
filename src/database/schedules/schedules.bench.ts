import { every, JobDatabase, type JobTables, once } from '../../../test/support/job-database.ts';
import { TestClock } from '../../testing/test-clock.ts';
import type { Value } from '../../values/value.ts';
import { Schedules } from './schedules.ts';

/**
 * What many scheduled rows cost: armed at open, held in memory, and run while a caller makes calls
 * back to back. `scale` 1 has a million rows. Bars: armed within a second, at most 64 bytes a row,
 * and a call beside a backlog takes at most 10 times as long as alone at p99.
 */
export async function benchmarks(scale: number): Promise<Figure[]> {
  const rowCount = Math.max(500, Math.floor(1_000_000 * scale));
  await armed(Math.min(rowCount, 20_000), 'interval');
  const rows = { once: await armed(rowCount, 'once'), interval: await armed(rowCount, 'interval') };
  return [
    { name: `${rowCount} rows that run once, armed`, unit: 'ms', value: rows.once.armMillis },
    {
      name: `${rowCount} rows with an interval, armed`,
      unit: 'ms',
      value: rows.interval.armMillis,
    },
    { name: 'an armed row that runs once', unit: 'bytes', value: rows.once.bytes },
    { name: 'an armed row with an interval', unit: 'bytes', value: rows.interval.bytes },
    {
      name: `commit that inserts ${rowCount} rows with an interval, rows that run once as baseline`,
      unit: 'ms',
      value: rows.interval.insertMillis,
      baseline: rows.once.insertMillis,
    },
    {
      name: 'commit that deletes them, likewise',
      unit: 'ms',
      value: rows.interval.deleteMillis,
      baseline: rows.once.deleteMillis,
    },
    ...(await backlogFigures(rowCount)),
  ];
}

interface Figure {
  readonly name: string;
  readonly unit: string;
  readonly value: number;
  readonly baseline?: number;
}

async function armed(rowCount: number, kind: 'once' | 'interval') {
  const jobs = await JobDatabase.open({ clock: new RunningClock() });
  const far = jobs.clock.nowMicros() + 10n ** 12n;
  const at = (row: number) =>
    kind === 'once' ? once(far + BigInt(row % 9_973)) : every(10 ** 12 + row);
  const insertMillis = await timed(() => insert(jobs, rowCount, at));
  const { store, clock } = jobs;
  const parts = {
    store,
    clock,
    cron: undefined,
    isPaused: false,
    follower: undefined,
    warn: () => {},
  };
  const schedules = new Schedules(parts);
  schedules.serve(jobs.database.description.definition);
  const armMillis = await timed(async () => schedules.arm(0n));
  const queues = schedules.all.reduce((sum, { queue }) => sum + queue.bytes, 0);
  const hidden = store.tableByName('st_schedule_due')?.memory().totalBytes ?? 0;
  const deleteMillis = await timed(() => jobs.act((tables) => tables.clear('job')));
  await jobs.database.close();
  return { insertMillis, armMillis, deleteMillis, bytes: (queues + hidden) / rowCount };
}

async function insert(jobs: JobDatabase, rowCount: number, at: (row: number) => Value) {
  const outcome = await jobs.act((tables) => {
    for (let row = 0; row < rowCount; row++) tables.insert('job', [BigInt(row), at(row), '']);
  });
  if (outcome.kind !== 'committed') throw new Error('the rows were refused');
}

/** All rows come to be due at once; calls alone and beside them by turns. */
async function backlogFigures(rowCount: number): Promise<Figure[]> {
  const clock = new RunningClock();
  const jobs = await JobDatabase.open({ clock });
  const alone: number[] = [];
  const beside: number[] = [];
  let runs = 0;
  let besideMillis = 0;
  await calls(jobs, [], 2_000);
  for (let round = 0; round < rounds; round++) {
    const share = Math.ceil(rowCount / rounds);
    const due = once(clock.nowMicros() + 3_600_000_000n);
    await insert(jobs, share, () => due);
    await calls(jobs, alone, 1_000);
    clock.advance(3_600_000);
    const before = jobs.module.runs.length;
    besideMillis += await timed(() => callsBeside(jobs, beside));
    runs += jobs.module.runs.length - before;
    jobs.module.runs.length = 0;
  }
  await jobs.database.close();
  return [
    {
      name: `call beside a backlog of due rows, p99, alone as baseline`,
      unit: 'ms',
      value: shareOf(beside, 0.99),
      baseline: shareOf(alone, 0.99),
    },
    {
      name: 'the same call, median',
      unit: 'ms',
      value: shareOf(beside, 0.5),
      baseline: shareOf(alone, 0.5),
    },
    {
      name: 'runs of the backlog beside calls',
      unit: 'runs/s',
      value: runs / (besideMillis / 1_000),
    },
  ];
}

const rounds = 4;

async function calls(jobs: JobDatabase, waits: number[], count: number): Promise<void> {
  for (let call = 0; call < count; call++) waits.push(await callOnce(jobs, call));
}

/** Makes calls as long as anything is due. */
async function callsBeside(jobs: JobDatabase, waits: number[]): Promise<void> {
  for (let call = 0; jobs.database.nextDueMicros !== undefined; call++) {
    waits.push(await callOnce(jobs, call));
  }
}

function callOnce(jobs: JobDatabase, call: number): Promise<number> {
  return timed(() => jobs.act((tables) => void ledger(tables, call)));
}

function ledger(tables: JobTables, call: number): number {
  return tables.put('ledger', [BigInt(call % 100), `text ${call}`]);
}

function shareOf(waits: readonly number[], share: number): number {
  const sorted = [...waits].sort((one, other) => one - other);
  return sorted[Math.floor((sorted.length - 1) * share)] ?? 0;
}

async function timed(work: () => Promise<unknown>): Promise<number> {
  const begin = performance.now();
  await work();
  return performance.now() - begin;
}

/** The clock of the machine, which can be moved forward. */
class RunningClock extends TestClock {
  override nowMicros(): bigint {
    return super.nowMicros() + BigInt(Math.floor(performance.now() * 1_000));
  }

  override monotonicMillis(): number {
    return super.monotonicMillis() + performance.now();
  }
}

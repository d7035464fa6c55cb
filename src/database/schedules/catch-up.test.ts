import { describe, expect, it } from 'vitest';
import {
  cronOf,
  every,
  JobDatabase,
  JobFailure,
  JobModule,
  type JobOptions,
  once,
  policyOf,
  rawJobs,
  secondsCron,
} from '../../../test/support/job-database.ts';
import { present } from '../../assert.ts';
import { limits } from '../../limits.ts';
import { MemoryDisk } from '../../node/memory-disk.ts';
import type { SchedulePolicy } from '../../schema/definition.ts';
import { tableId } from '../../schema/ids.ts';

const second = 1_000_000;

function moduleWith(policy: Partial<SchedulePolicy>): JobModule {
  const module = new JobModule();
  module.raw = rawJobs(policyOf(policy));
  return module;
}

/** Lets a database be down for a time, in which rows of `job` come to be due. */
async function afterOutage(
  policy: Partial<SchedulePolicy>,
  rows: readonly (readonly [bigint, ReturnType<typeof every>, string])[],
  downMillis: number,
): Promise<JobDatabase> {
  const disk = new MemoryDisk();
  const first = await JobDatabase.open({ disk, module: moduleWith(policy) });
  await first.act((tables) => {
    for (const row of rows) tables.put('job', row);
  });
  await first.database.close();
  first.clock.advance(downMillis);
  const { clock, module } = first;
  return JobDatabase.open({ disk, clock, module, opens: true });
}

describe('what was missed while the database was down', () => {
  const tick = [[1n, every(10 * second), 'a']] as const;
  const seconds = (jobs: JobDatabase, since: bigint) =>
    jobs.module.runs.map(({ micros }) => Number(micros - since) / second);

  it.each<[SchedulePolicy['catchUp'], number[]]>([
    ['skip', [40]],
    ['once', [35, 40]],
    ['all', [35, 35, 35, 40]],
  ])('[living 1.10, 1.4] %s: three times of an interval run at %j', async (catchUp, times) => {
    const jobs = await afterOutage({ catchUp }, tick, 35_000);
    const start = jobs.clock.nowMicros() - 35_000_000n;
    expect(jobs.database.nextDueMicros).toBe(start + 40_000_000n);
    await jobs.advance(5_000);
    expect(seconds(jobs, start)).toEqual(times);
    const skipped = { skip: 3, once: 2, all: 0 }[catchUp];
    expect(jobs.database.scheduleFigures).toMatchObject({ skipped, committed: times.length });
  });

  it('[living 1.10] skip is one line in the log, and lasting', async () => {
    const jobs = await afterOutage({}, [...tick, [2n, every(second), 'b']], 35_000);
    const text = 'Schedule `job` skipped 38 due times that it had missed (catchUp: skip)';
    expect(jobs.lines.filter((line) => line.includes('skipped'))).toEqual([text]);
    expect(jobs.rows('st_schedule_due').map(([, key, due]) => [key, due])).toEqual([
      [1n, jobs.clock.nowMicros() + 5_000_000n],
      [2n, jobs.clock.nowMicros() + 1_000_000n],
    ]);
  });

  it('[living 1.10] more rows are moved on than one transaction takes', async () => {
    const count = limits.scheduleSkippedRowsMax + 5;
    const rows = Array.from({ length: count }, (_, id) => {
      return [BigInt(id), every(10 * second), `${id}`] as const;
    });
    const jobs = await afterOutage({}, rows, 11_000);
    expect(jobs.ran).toEqual([]);
    const next = jobs.clock.nowMicros() + 9_000_000n;
    const dues = new Set(jobs.rows('st_schedule_due').map(([, , due]) => due));
    expect(dues).toEqual(new Set([next]));
    expect(jobs.database.scheduleFigures.skipped).toBe(count);
  });

  it('[living 1.10] all: at most 1,000 of a row, oldest first, then a line', async () => {
    const module: Partial<SchedulePolicy> = { catchUp: 'all' };
    const rows = [
      [1n, every(1_000), 'many'],
      [2n, every(10 * second), 'few'],
    ] as const;
    const jobs = await afterOutage(module, rows, 35_000);
    const many = jobs.ran.filter((note) => note === 'many');
    expect(many).toHaveLength(limits.scheduleCatchUpRunsMax);
    expect(jobs.ran.filter((note) => note === 'few')).toHaveLength(3);
    expect(jobs.lines.filter((line) => line.includes('skipped'))).toEqual([
      'Schedule `job` skipped 34000 due times that it had missed ' +
        '(catchUp: all, all but the first 1000 of a row)',
    ]);
    await jobs.advance(1);
    expect(jobs.ran.filter((note) => note === 'many')).toHaveLength(1_001);
  });

  it.each<SchedulePolicy['catchUp']>(['skip', 'once', 'all'])(
    '[living 1.10] %s: rows that run once run at once',
    async (catchUp) => {
      const jobs = await afterOutage({ catchUp }, [[1n, once(5n), 'a']], 10_000);
      expect([jobs.ran, jobs.rows('job')]).toEqual([['a'], []]);
    },
  );

  it('[living 1.5] all: each time runs while the database serves, too', async () => {
    const jobs = await JobDatabase.open({ module: moduleWith({ catchUp: 'all' }) });
    await jobs.act((tables) => tables.put('job', [1n, every(second), 'a']));
    await jobs.advance(4_500);
    expect(jobs.ran).toHaveLength(4);
    expect(jobs.database.scheduleFigures.skipped).toBe(0);
  });
});

describe('a run that is repeated', () => {
  const retry = { attempts: 3, backoffMicros: 1_000_000n };

  it('[living 1.10] runs again after a delay that doubles, as often as declared', async () => {
    const jobs = await JobDatabase.open({ module: moduleWith({ retry }) });
    const start = jobs.clock.nowMicros();
    jobs.module.onRun = () => {
      throw new JobFailure('broken');
    };
    await jobs.act((tables) => tables.put('job', [1n, once(start), 'a']));
    await jobs.settled();
    expect(jobs.rows('job')).toHaveLength(1);
    expect(jobs.database.nextDueMicros).toBe(start + 1_000_000n);
    for (let left = 10; left > 0; left--) await jobs.advance(500);
    expect(jobs.module.runs.map(({ micros }) => Number(micros - start) / second)).toEqual([
      0, 1, 3,
    ]);
    expect([jobs.rows('job'), jobs.rows('st_schedule_attempt')]).toEqual([[], []]);
    expect(jobs.lines.at(-1)).toMatch(/^broken \(scheduled: table job, row 1, due .*, run 3\)$/);
  });

  it('[living 1.10, 1.4] survives a restart, and ends with success in its phase', async () => {
    const disk = new MemoryDisk();
    const first = await JobDatabase.open({ disk, module: moduleWith({ retry }) });
    const { clock, module } = first;
    const start = clock.nowMicros();
    let failures = 2;
    module.onRun = () => {
      if (failures-- > 0) throw new JobFailure('broken');
    };
    await first.act((tables) => tables.put('job', [1n, every(10 * second), 'a']));
    await first.advance(10_000);
    await first.database.close();
    clock.advance(500);
    const again = await JobDatabase.open({ disk, clock, module, opens: true });
    expect(again.database.nextDueMicros).toBe(start + 11_000_000n);
    const listed = await again.ask({ kind: 'list' });
    expect(listed).toMatchObject({
      schedules: [
        { name: 'job', rowKey: undefined, state: 'armed' },
        { name: 'job', rowKey: 1n, state: 'retrying', lastError: 'broken', failures: 1 },
        { name: 'other' },
      ],
    });
    await again.advance(500);
    await again.advance(2_000);
    expect(module.runs).toHaveLength(3);
    expect(again.rows('st_schedule_attempt')).toEqual([]);
    expect(again.database.nextDueMicros).toBe(start + 20_000_000n);
  });

  it.each<[string, 'gone' | 'stays', (jobs: JobDatabase) => Promise<unknown>]>([
    ['deleted', 'gone', (jobs) => jobs.act((tables) => tables.remove('job', 1n))],
    ['given another time', 'gone', (jobs) => put(jobs, jobs.clock.nowMicros() + 60_000_000n, 'a')],
    [
      'changed in other columns',
      'stays',
      (jobs) => put(jobs, jobs.module.runs[0]?.micros ?? 0n, 'b'),
    ],
  ])('[living 1.10] is dropped with its row: %s', async (_, left, change) => {
    const jobs = await JobDatabase.open({ module: moduleWith({ retry }) });
    jobs.module.onRun = () => {
      if (jobs.ran.length === 1) throw new JobFailure('broken');
    };
    await put(jobs, jobs.clock.nowMicros(), 'a');
    await jobs.settled();
    expect(jobs.rows('st_schedule_attempt')).toHaveLength(1);
    await change(jobs);
    expect(jobs.rows('st_schedule_attempt')).toHaveLength(left === 'gone' ? 0 : 1);
    await jobs.advance(1_000);
    expect(jobs.ran).toEqual(left === 'gone' ? ['a'] : ['a', 'b']);
  });

  it('[living 1.10] leaves time to calls when each run ends the database', async () => {
    const disk = new MemoryDisk();
    const policy = { attempts: 4, backoffMicros: 1_000n };
    const first = await JobDatabase.open({ disk, module: moduleWith({ retry: policy }) });
    const { clock, module } = first;
    const due = clock.nowMicros() + 1_000_000n;
    await put(first, due, 'a');
    const id = tableId(first.tableId('job'));
    await first.database.close();
    clock.advance(1_000);
    const delays: number[] = [];
    for (let left = 3; left > 0; left--) {
      const failed = { tableId: id, key: 1n, dueMicros: due };
      const again = await JobDatabase.open({ disk, clock, module, opens: true, failed });
      const next = present(again.database.nextDueMicros, 'the next run');
      delays.push(Number(next - clock.nowMicros()) / second);
      await again.database.close();
      clock.advance(1_000 * present(delays.at(-1), 'delay'));
    }
    expect(delays).toEqual([30, 60, 120]);
    expect(module.runs).toEqual([]);
  });

  it('[living 1.10] waits at most 5 minutes', async () => {
    const policy = { attempts: 9, backoffMicros: BigInt(200 * second) };
    const jobs = await JobDatabase.open({ module: moduleWith({ retry: policy }) });
    jobs.module.onRun = () => {
      throw new JobFailure('broken');
    };
    await put(jobs, jobs.clock.nowMicros(), 'a');
    await jobs.settled();
    for (const delay of [200, 300, 300]) {
      expect(jobs.alarmAt).toBe(jobs.clock.nowMicros() + BigInt(delay * second));
      await jobs.advance(delay * 1_000);
    }
  });

  async function put(jobs: JobDatabase, due: bigint, note: string) {
    await jobs.act((tables) => tables.put('job', [1n, once(due), note]));
  }
});

describe('a pause', () => {
  it('[living 1.14] of all schedules lets nothing run, and counts as an outage', async () => {
    const jobs = await JobDatabase.open();
    const start = jobs.clock.nowMicros();
    await jobs.act((tables) => {
      tables.put('job', [1n, every(10 * second), 'tick']);
      tables.put('other', [1n, once(start + 1_000_000n), 'once']);
    });
    expect(await jobs.ask({ kind: 'pause' })).toEqual({ kind: 'applied', names: ['job', 'other'] });
    expect([jobs.database.nextDueMicros, jobs.alarmAt]).toEqual([undefined, undefined]);
    await jobs.advance(35_000);
    expect(await jobs.ask({ kind: 'run', name: 'job' })).toEqual({ kind: 'paused' });
    expect(jobs.ran).toEqual([]);
    await jobs.ask({ kind: 'resume' });
    await jobs.settled();
    expect([jobs.ran, jobs.database.nextDueMicros]).toEqual([['once'], start + 40_000_000n]);
  });

  it('[living 1.14] of one schedule by name is lasting', async () => {
    const disk = new MemoryDisk();
    const first = await JobDatabase.open({ disk });
    const { clock, module } = first;
    await first.act((tables) => {
      for (const name of ['job', 'other']) tables.put(name, [1n, once(1n << 40n), name]);
    });
    await first.ask({ kind: 'pause', name: 'job' });
    await first.act((tables) => tables.put('job', [2n, once(5n), 'job 2']));
    await first.database.close();
    const again = await JobDatabase.open({ disk, clock, module, opens: true });
    expect([again.ran, again.rows('job').length]).toEqual([['job', 'other'], 1]);
    expect(again.database.scheduleFigures).toMatchObject({ paused: 1, armedRows: 1 });
    expect(await again.ask({ kind: 'resume', name: 'job' })).toMatchObject({ names: ['job'] });
    await again.settled();
    expect(again.ran).toEqual(['job', 'other', 'job 2']);
    expect(again.rows('st_schedule_control')).toEqual([]);
  });

  it('[living 1.14] is there when the database opens, if its owner says so', async () => {
    const disk = new MemoryDisk();
    const options: JobOptions = { disk, schedulesPaused: true };
    const jobs = await JobDatabase.open(options);
    await jobs.act((tables) => tables.put('job', [1n, once(5n), 'a']));
    await jobs.advance(1_000);
    expect(jobs.ran).toEqual([]);
    await jobs.ask({ kind: 'resume' });
    await jobs.settled();
    expect(jobs.ran).toEqual(['a']);
  });
});

describe('run and skip', () => {
  it('[living 1.14] use up the next due time, and the phase stays', async () => {
    const jobs = await JobDatabase.open();
    const start = jobs.clock.nowMicros();
    await jobs.act((tables) => {
      tables.put('job', [1n, every(10 * second), 'a']);
      tables.put('job', [2n, every(15 * second), 'b']);
    });
    await jobs.advance(3_000);
    const due = () =>
      jobs.rows('st_schedule_due').map((row) => Number((row[2] as bigint) - start) / second);
    expect(await jobs.ask({ kind: 'run', name: 'job' })).toEqual({
      kind: 'applied',
      names: ['job'],
    });
    expect([jobs.ran, due()]).toEqual([['a'], [20, 15]]);
    expect(jobs.module.runs[0]?.micros).toBe(start + 3_000_000n);
    await jobs.ask({ kind: 'skip', name: 'job', rowKey: 2n });
    expect([jobs.ran, due()]).toEqual([['a'], [20, 30]]);
    await jobs.advance(17_000);
    expect([jobs.ran, due()]).toEqual([
      ['a', 'a'],
      [30, 30],
    ]);
  });

  it('[living 1.14] skip ends a row that runs once, run runs it before its time', async () => {
    const jobs = await JobDatabase.open();
    const due = once(jobs.clock.nowMicros() + 9_000_000n);
    await jobs.act((tables) => {
      tables.put('job', [1n, due, 'a']);
      tables.put('other', [1n, due, 'b']);
    });
    await jobs.ask({ kind: 'skip', name: 'job' });
    await jobs.ask({ kind: 'run' });
    expect([jobs.ran, jobs.rows('job'), jobs.rows('other')]).toEqual([['b'], [], []]);
    expect(await jobs.ask({ kind: 'run', name: 'job', rowKey: 5n })).toEqual({ kind: 'unknown' });
    expect(await jobs.ask({ kind: 'run', name: 'ledger' })).toEqual({ kind: 'unknown' });
  });
});

describe('crons', () => {
  const raw = (expression: string, policy?: SchedulePolicy) =>
    rawJobs({ crons: [cronOf(expression, policy)] });

  async function openWith(expression: string, options: JobOptions = {}) {
    const module = new JobModule();
    module.raw = raw(expression);
    return JobDatabase.open({ module, cron: secondsCron, ...options });
  }

  it('[living 1.11] run at the times of their expression, and learn the due time', async () => {
    const jobs = await openWith('every 60');
    const start = jobs.clock.nowMicros();
    await jobs.advance(61_000);
    await jobs.advance(60_000);
    expect(jobs.module.runs).toEqual([
      {
        table: 'nightly',
        id: start + 60_000_000n,
        note: `nightly ${start + 60_000_000n}`,
        micros: start + 61_000_000n,
      },
      {
        table: 'nightly',
        id: start + 120_000_000n,
        note: `nightly ${start + 120_000_000n}`,
        micros: start + 121_000_000n,
      },
    ]);
    expect(await jobs.ask({ kind: 'list' })).toMatchObject({
      schedules: [{ name: 'job' }, { name: 'nightly', expression: 'every 60', runs: 2 }, {}],
    });
  });

  it.each<[SchedulePolicy['catchUp'], number[]]>([
    ['skip', []],
    ['once', [180]],
    ['all', [60, 120, 180]],
  ])('[living 1.10, 1.11] %s: of three missed times run %j', async (catchUp, dues) => {
    const disk = new MemoryDisk();
    const module = new JobModule();
    module.raw = raw('every 60', { catchUp, retry: undefined });
    const first = await JobDatabase.open({ disk, module, cron: secondsCron });
    const { clock } = first;
    const start = clock.nowMicros();
    await first.database.close();
    clock.advance(185_000);
    const again = await JobDatabase.open({ disk, clock, module, cron: secondsCron, opens: true });
    expect(module.runs.map(({ id }) => Number(id - start) / second)).toEqual(dues);
    expect(again.database.nextDueMicros).toBe(start + 240_000_000n);
  });

  it('[living 1.10, 1.11] repeat failed runs for the same due time', async () => {
    const module = new JobModule();
    const retry = { attempts: 2, backoffMicros: 1_000_000n };
    module.raw = raw('every 60', { catchUp: 'skip', retry });
    const jobs = await JobDatabase.open({ module, cron: secondsCron });
    const start = jobs.clock.nowMicros();
    jobs.module.onRun = () => {
      throw new JobFailure('broken');
    };
    await jobs.advance(60_000);
    expect(await jobs.ask({ kind: 'list' })).toMatchObject({
      schedules: [{}, { name: 'nightly', state: 'retrying', lastError: 'broken' }, {}],
    });
    await jobs.advance(1_000);
    expect(module.runs.map(({ id }) => id)).toEqual([start + 60_000_000n, start + 60_000_000n]);
    expect(jobs.database.nextDueMicros).toBe(start + 120_000_000n);
  });

  it('[living 1.11] are disabled if they cannot be read, and the database opens', async () => {
    const disk = new MemoryDisk();
    const first = await openWith('every 60', { disk });
    const { clock, module } = first;
    await first.database.close();
    const again = await JobDatabase.open({ disk, clock, module, opens: true });
    await again.advance(600_000);
    expect(module.runs).toEqual([]);
    expect(await again.ask({ kind: 'list' })).toMatchObject({
      schedules: [{}, { name: 'nightly', state: 'disabled', nextDueMicros: undefined }, {}],
    });
  });

  it('[living 1.11] another expression counts from now, the same one goes on', async () => {
    const jobs = await openWith('every 60');
    const start = jobs.clock.nowMicros();
    await jobs.advance(50_000);
    await jobs.update({
      ...raw('every 60'),
      crons: [cronOf('every 60', { catchUp: 'once', retry: undefined })],
    });
    expect(jobs.database.nextDueMicros).toBe(start + 60_000_000n);
    await jobs.update(raw('every 7'));
    expect(Number((jobs.database.nextDueMicros ?? 0n) - start) / second).toBeLessThanOrEqual(57);
    await jobs.update(rawJobs());
    expect([jobs.database.nextDueMicros, jobs.rows('st_schedule_control')]).toEqual([
      undefined,
      [],
    ]);
  });
});

describe('an update of the program', () => {
  it('[living 1.4] keeps the phase of intervals, and arms new schedules from now', async () => {
    const disk = new MemoryDisk();
    const jobs = await JobDatabase.open({ disk });
    const start = jobs.clock.nowMicros();
    await jobs.act((tables) => {
      tables.put('job', [1n, every(10 * second), 'a']);
      tables.put('other', [1n, every(20 * second), 'b']);
    });
    await jobs.advance(4_000);
    await jobs.update(rawJobs({ schedules: rawJobs().schedules.slice(0, 1) }));
    expect(jobs.rows('st_schedule_due').map((row) => row[2])).toEqual([start + 10_000_000n]);
    await jobs.update(rawJobs());
    const dues = [start + 10_000_000n, start + 24_000_000n];
    expect(jobs.rows('st_schedule_due').map((row) => row[2])).toEqual(dues);
    await jobs.advance(6_000);
    await jobs.advance(14_000);
    expect(jobs.ran).toEqual(['a', 'a', 'b']);
    await jobs.database.close();
    const { clock, module } = jobs;
    const again = await JobDatabase.open({ disk, clock, module, opens: true });
    expect(again.database.nextDueMicros).toBe(start + 30_000_000n);
  });
});

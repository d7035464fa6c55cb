import { describe, expect, it, vi } from 'vitest';
import type { InlineDesk } from '../../../test/support/inline-desk.ts';
import { every, JobDatabase, JobModule, once } from '../../../test/support/job-database.ts';
import {
  changing,
  gate,
  type JobBody,
  jobLanes,
  rawProcedures,
} from '../../../test/support/job-procedures.ts';
import { limits } from '../../limits.ts';
import type { Disk } from '../../log/disk.ts';
import { MemoryDisk } from '../../node/memory-disk.ts';
import type { Delivery, SchedulePolicy } from '../../schema/definition.ts';
import { SimulatedDisk } from '../../testing/simulated-disk.ts';
import { databaseAsCaller, databaseIdentity } from '../../values/identity-roles.ts';
import type { ListedSchedule } from './schedule-ask.ts';

const second = 1_000_000;

interface Given {
  readonly delivery?: Delivery;
  readonly policy?: Partial<SchedulePolicy>;
  readonly disk?: Disk;
  readonly lanesMax?: number;
}

/** A database whose table `job` schedules a procedure; `other` schedules a reducer. */
async function open(body: JobBody, given: Given = {}) {
  const {
    delivery = 'atMostOnce',
    policy = {},
    disk = new MemoryDisk() as Disk,
    lanesMax = 4,
  } = given;
  const module = new JobModule();
  module.raw = rawProcedures({ job: delivery }, { job: policy });
  const desk = jobLanes(module, body, { lanesMax });
  const jobs = await JobDatabase.open({ module, lanes: desk, disk });
  return { jobs, desk, module, disk };
}

/** Waits until nothing is claimed and nothing is due. */
async function settled(jobs: JobDatabase): Promise<void> {
  await vi.waitUntil(async () => {
    await jobs.settled();
    return (await listed(jobs)).every(({ state }) => state !== 'running');
  });
  await jobs.settled();
}

async function advance(jobs: JobDatabase, millis: number): Promise<void> {
  jobs.clock.advance(millis);
  await settled(jobs);
}

async function listed(jobs: JobDatabase): Promise<readonly ListedSchedule[]> {
  const outcome = await jobs.ask({ kind: 'list' });
  return outcome.kind === 'listed' ? outcome.schedules : [];
}

async function rowOf(jobs: JobDatabase, key = 1n): Promise<ListedSchedule | undefined> {
  return (await listed(jobs)).find(({ rowKey }) => rowKey === key);
}

function running(desk: InlineDesk, count: number): Promise<unknown> {
  return vi.waitUntil(() => desk.running.length === count);
}

const nothing: JobBody = () => undefined;

describe('a scheduled procedure that runs at most once', () => {
  it('[living 1.12, abi 13.3] gets its row, as the database, when it is gone', async () => {
    let rows: unknown[] = [];
    const calls: unknown[] = [];
    const { jobs } = await open((_, call) => {
      rows = jobs.rows('job');
      calls.push([call.sender, call.connectionId, call.jwtPayload, call.isScheduled]);
      return undefined;
    });
    const due = jobs.clock.nowMicros() + 5_000_000n;
    await jobs.act((tables) => tables.put('job', [1n, once(due), 'a']));
    await advance(jobs, 4_999);
    expect(jobs.ran).toEqual([]);
    await advance(jobs, 1);
    expect(jobs.module.runs).toEqual([{ table: 'job', id: 1n, note: 'a', micros: due }]);
    expect([rows, jobs.rows('job')]).toEqual([[], []]);
    expect(calls).toEqual([[databaseAsCaller(databaseIdentity(3n)), 0n, '', true]]);
    expect((await listed(jobs))[0]).toMatchObject({
      ...{ name: 'job', target: 'procedure', runs: 1, failures: 0, lastOutcome: 'committed' },
      ...{ lastDueMicros: due, lastRunMicros: due, armedRows: 0, state: 'armed' },
    });
    expect(jobs.database.nextDueMicros).toBeUndefined();
  });

  it('[living 1.12] begins when it is durable that it does', async () => {
    const offsets: number[] = [];
    const { jobs } = await open(() => {
      offsets.push(jobs.durableOffset);
      return undefined;
    });
    await jobs.act((tables) => tables.put('job', [1n, once(5n), 'past']));
    const before = jobs.store.offset;
    await settled(jobs);
    expect(offsets).toEqual([before + 1]);
  });

  it('[living 1.12, abi 13.3] is not repeated when it fails', async () => {
    const { jobs } = await open(() => {
      throw new Error('no answer');
    });
    const due = jobs.clock.nowMicros() + 1_000_000n;
    await jobs.act((tables) => tables.put('job', [7n, once(due), 'a']));
    await advance(jobs, 1_000);
    await advance(jobs, 600_000);
    expect([jobs.ran, jobs.rows('job')]).toEqual([['a'], []]);
    const place = 'scheduled: table job, row 7, due 2025-01-01T00:00:01.000Z';
    expect(jobs.lines).toContain(`no answer (${place})`);
    expect((await listed(jobs))[0]).toMatchObject({
      ...{ runs: 1, failures: 1, lastOutcome: 'failed', lastError: 'no answer' },
    });
  });

  it('[living 1.12] is listed while it runs, and never runs beside itself', async () => {
    const first = gate();
    const { jobs, desk } = await open(function* (run) {
      if (run.note === 'slow') yield { kind: 'wait', until: first.opened };
    });
    await jobs.act((tables) => tables.put('job', [1n, once(5n), 'slow']));
    await running(desk, 1);
    expect(await rowOf(jobs)).toMatchObject({ state: 'running', armedRows: 0, lastDueMicros: 5n });
    await jobs.act((tables) => tables.put('job', [1n, once(6n), 'again']));
    await jobs.settled();
    expect(jobs.ran).toEqual(['slow']);
    expect(await jobs.ask({ kind: 'run', name: 'job', rowKey: 1n })).toEqual({ kind: 'unknown' });
    first.open();
    await settled(jobs);
    expect(jobs.ran).toEqual(['slow', 'again']);
  });

  it.each([
    ['skip' as const, [1, 4, 5], 2],
    ['all' as const, [1, 2, 3, 4, 5], 0],
  ])(
    '[living 1.5, 1.13] of an interval goes on after its end (%s)',
    async (catchUp, ticks, skipped) => {
      const first = gate();
      const { jobs, desk } = await open(
        function* () {
          if (jobs.ran.length === 1) yield { kind: 'wait', until: first.opened };
        },
        { policy: { catchUp } },
      );
      const start = Number(jobs.clock.nowMicros());
      await jobs.act((tables) => tables.put('job', [1n, every(second), 'tick']));
      jobs.clock.advance(1_000);
      await jobs.settled();
      await running(desk, 1);
      expect(jobs.rows('st_schedule_due')[0]?.[2]).toBe(BigInt(start + 2 * second));
      jobs.clock.advance(2_500);
      await jobs.settled();
      first.open();
      await settled(jobs);
      await advance(jobs, 500);
      await advance(jobs, 1_000);
      const dues = (await listed(jobs))[0];
      expect(dues?.lastDueMicros).toBe(BigInt(start + 5 * second));
      expect(jobs.ran.length).toBe(ticks.length);
      expect(jobs.database.scheduleFigures.skipped).toBe(skipped);
    },
  );
});

describe('a scheduled procedure that runs at least once', () => {
  const atLeastOnce = { delivery: 'atLeastOnce' } as const;

  it('[living 1.12] keeps its row, claimed, until it has returned', async () => {
    const end = gate();
    const { jobs, desk } = await open(function* () {
      yield { kind: 'wait', until: end.opened };
    }, atLeastOnce);
    await jobs.act((tables) => tables.put('job', [1n, once(5n), 'a']));
    await running(desk, 1);
    expect(jobs.rows('job').length).toBe(1);
    const [claim] = jobs.rows('st_schedule_attempt');
    expect(claim).toEqual([jobs.tableId('job'), 1n, 5n, 0n, 0, 1, '']);
    end.open();
    await settled(jobs);
    expect([jobs.rows('job'), jobs.rows('st_schedule_attempt')]).toEqual([[], []]);
    expect(jobs.ran).toEqual(['a']);
  });

  it('[living 1.3, 1.12] leaves a row that it has changed', async () => {
    const { jobs, module } = await open(function* (run) {
      if (run.note !== 'a') return;
      yield* changing(module, (tables) => tables.put('job', [1n, once(900_000_000n), 'b']));
    }, atLeastOnce);
    module.onRun = () => undefined;
    await jobs.act((tables) => tables.put('job', [1n, once(5n), 'a']));
    await settled(jobs);
    expect(jobs.ran).toEqual(['a', 'b']);
    expect(jobs.rows('job')).toEqual([]);
  });

  it('[living 1.12] does not begin for a row that is deleted before', async () => {
    const disk = new SimulatedDisk();
    const { jobs } = await open(nothing, { ...atLeastOnce, disk });
    await settled(jobs);
    const sync = gate();
    disk.beforeSync = () => sync.opened;
    await jobs.act((tables) => tables.put('job', [1n, once(5n), 'a']));
    await vi.waitUntil(() => jobs.rows('st_schedule_attempt').length === 1);
    await jobs.act((tables) => tables.remove('job', 1n));
    sync.open();
    await settled(jobs);
    expect([jobs.ran, jobs.rows('st_schedule_attempt')]).toEqual([[], []]);
    expect((await listed(jobs))[0]).toMatchObject({ runs: 0, armedRows: 0 });
  });

  it('[living 1.12] is repeated with growing delays, and then kept as failed', async () => {
    const times: number[] = [];
    const { jobs } = await open(() => {
      times.push(Number(jobs.clock.nowMicros()));
      throw new Error(`no answer ${times.length}`);
    }, atLeastOnce);
    const start = Number(jobs.clock.nowMicros());
    await jobs.act((tables) => tables.put('job', [1n, once(BigInt(start) + 1_000_000n), 'a']));
    await advance(jobs, 1_000);
    expect(await rowOf(jobs)).toMatchObject({
      ...{ state: 'retrying', lastError: 'no answer 1', nextDueMicros: BigInt(start + 2 * second) },
    });
    for (let millis = 0; millis < 40_000; millis += 500) await advance(jobs, 500);
    expect(times.map((time) => (time - start) / second)).toEqual([1, 2, 4, 8, 16]);
    expect(await rowOf(jobs)).toMatchObject({
      ...{ state: 'failed', lastError: 'no answer 5', runs: 5, failures: 5, armedRows: 0 },
      nextDueMicros: undefined,
    });
    expect(jobs.rows('job').length).toBe(1);
    expect((await listed(jobs))[0]).toMatchObject({ armedRows: 0, nextDueMicros: undefined });
    expect(jobs.database.nextDueMicros).toBeUndefined();
    expect(jobs.lines.at(-1)).toBe(
      'A row is kept as failed after 5 runs; it stays until it is changed ' +
        '(scheduled: table job, row 1, due 2025-01-01T00:00:01.000Z, run 5)',
    );
  });

  describe('that has failed', () => {
    async function failed() {
      const opened = await open(
        (run) => {
          if (run.note !== 'fine' && opened.jobs.ran.length <= 2) throw new Error('no');
          return undefined;
        },
        { ...atLeastOnce, policy: { retry: { attempts: 2, backoffMicros: 1_000_000n } } },
      );
      const { jobs } = opened;
      await jobs.act((tables) => tables.put('job', [1n, once(5n), 'a']));
      await settled(jobs);
      await advance(jobs, 1_000);
      expect(await rowOf(jobs)).toMatchObject({ state: 'failed' });
      return jobs;
    }

    it('[living 1.12] runs again when it is edited', async () => {
      const jobs = await failed();
      await jobs.act((tables) => tables.put('job', [1n, once(5n), 'same time']));
      await settled(jobs);
      expect(jobs.ran).toEqual(['a', 'a']);
      await jobs.act((tables) => tables.put('job', [1n, once(6n), 'fine']));
      await settled(jobs);
      expect(jobs.ran).toEqual(['a', 'a', 'fine']);
      expect([jobs.rows('job'), await rowOf(jobs)]).toEqual([[], undefined]);
    });

    it('[living 1.12, 1.14] runs again by hand', async () => {
      const jobs = await failed();
      const applied = { kind: 'applied', names: ['job'] };
      expect(await jobs.ask({ kind: 'run', name: 'job', rowKey: 1n })).toEqual(applied);
      await settled(jobs);
      expect([jobs.ran, jobs.rows('job')]).toEqual([['a', 'a', 'a'], []]);
    });

    it('[living 1.12, 1.14] is ended by hand, or deleted', async () => {
      const jobs = await failed();
      expect(await jobs.ask({ kind: 'skip', name: 'job', rowKey: 1n })).toMatchObject({
        kind: 'applied',
      });
      expect([jobs.rows('job'), jobs.rows('st_schedule_attempt')]).toEqual([[], []]);
      const other = await failed();
      await other.act((tables) => tables.remove('job', 1n));
      expect([other.rows('job'), other.rows('st_schedule_attempt')]).toEqual([[], []]);
      expect((await listed(other))[0]).toMatchObject({ armedRows: 0 });
    });
  });

  it('[living 1.12] goes on with an interval; its row is listed until a run returns', async () => {
    let fails = true;
    const { jobs } = await open(
      () => {
        if (fails) throw new Error('no');
        return undefined;
      },
      { ...atLeastOnce, policy: { retry: { attempts: 1, backoffMicros: 1n } } },
    );
    await jobs.act((tables) => tables.put('job', [1n, every(60 * second), 'a']));
    await advance(jobs, 60_000);
    const next = jobs.clock.nowMicros() + 60_000_000n;
    const failed = { state: 'failed', lastError: 'no', nextDueMicros: next, armedRows: 1 };
    expect(await rowOf(jobs)).toMatchObject(failed);
    expect((await listed(jobs))[0]).toMatchObject({ armedRows: 1, nextDueMicros: next });
    fails = false;
    await advance(jobs, 60_000);
    expect(jobs.ran).toEqual(['a', 'a']);
    expect(await rowOf(jobs)).toBeUndefined();
  });

  it('[living 1.12, 2.8] is taken up again after a crash, which counts, with delay', async () => {
    const end = gate();
    const { jobs, disk, desk, module } = await open(function* () {
      yield { kind: 'wait', until: end.opened };
    }, atLeastOnce);
    await jobs.act((tables) => tables.put('job', [1n, once(5n), 'a']));
    await running(desk, 1);
    await vi.waitUntil(() => jobs.durableOffset === jobs.store.offset);
    const { clock } = jobs;
    const lanes = jobLanes(module, nothing);
    const next = await JobDatabase.open({ module, disk, clock, lanes, opens: true });
    expect(await rowOf(next)).toMatchObject({
      ...{ state: 'retrying', runs: 1, lastError: 'The database ended while the procedure ran' },
    });
    const place = 'scheduled: table job, row 1, due 1970-01-01T00:00:00.000Z';
    expect(next.lines).toContain(`The database ended while the procedure ran (${place})`);
    await advance(next, 1_000);
    expect([next.ran, next.rows('job')]).toEqual([['a', 'a'], []]);
  });

  it('[living 2.8] is taken up again after a stop, which does not count', async () => {
    const { jobs, disk, desk, module } = await open(function* () {
      yield { kind: 'wait', until: gate().opened };
    }, atLeastOnce);
    await jobs.act((tables) => tables.put('job', [1n, once(5n), 'a']));
    await running(desk, 1);
    desk.stop = async () => desk.endLane('the database stops');
    await jobs.database.close();
    const { clock } = jobs;
    const lanes = jobLanes(module, nothing);
    const next = await JobDatabase.open({ module, disk, clock, lanes, opens: true });
    await settled(next);
    expect([next.ran, next.rows('job')]).toEqual([['a', 'a'], []]);
    expect((await listed(next))[0]).toMatchObject({ runs: 1, failures: 0 });
  });

  it('[living 1.12] whose program is replaced runs again with the new one', async () => {
    const end = gate();
    const { jobs, desk, module } = await open(function* () {
      if (jobs.ran.length > 1) return;
      yield { kind: 'wait', until: end.opened };
      const answer = yield* changing(module, () => undefined);
      throw new Error(JSON.stringify(answer));
    }, atLeastOnce);
    await jobs.act((tables) => tables.put('job', [1n, once(5n), 'a']));
    await running(desk, 1);
    await jobs.update({ ...module.raw, schedulePolicies: [] });
    end.open();
    await settled(jobs);
    expect([jobs.ran, jobs.rows('job')]).toEqual([['a', 'a'], []]);
    expect(jobs.lines.some((line) => line.includes('published again'))).toBe(true);
  });

  it.each([
    ['a reducer', {}],
    ['at most once', { job: 'atMostOnce' as const }],
  ])('[living 1.12] that fails after it became one of %s runs as that', async (_, deliveries) => {
    const end = gate();
    const { jobs, desk } = await open(function* () {
      if (jobs.ran.length > 1) return;
      yield { kind: 'wait', until: end.opened };
      throw new Error('no');
    }, atLeastOnce);
    await jobs.act((tables) => tables.put('job', [1n, once(5n), 'a']));
    await running(desk, 1);
    await jobs.update(rawProcedures(deliveries));
    end.open();
    await settled(jobs);
    expect([jobs.ran, jobs.rows('job')]).toEqual([['a', 'a'], []]);
  });
});

describe('a schedule that ends while its procedure runs', () => {
  it.each(['atMostOnce', 'atLeastOnce'] as const)(
    '[living 1.12, migrations 2] leaves its rows to nobody (%s)',
    async (delivery) => {
      const end = gate();
      const { jobs, desk, module } = await open(
        function* () {
          yield { kind: 'wait', until: end.opened };
        },
        { delivery },
      );
      await jobs.act((tables) => tables.put('job', [1n, every(second), 'a']));
      jobs.clock.advance(1_000);
      await jobs.settled();
      await running(desk, 1);
      const { schedules } = module.raw;
      const left = schedules.filter(({ tableName }) => tableName !== 'job');
      await jobs.update({
        ...module.raw,
        schedules: left,
        scheduleDeliveries: [],
        schedulePolicies: [],
      });
      expect([jobs.rows('st_schedule_attempt'), jobs.rows('st_schedule_due')]).toEqual([[], []]);
      end.open();
      await vi.waitUntil(() => desk.running.length === 0);
      await advance(jobs, 5_000);
      expect([jobs.ran, jobs.rows('job').length]).toEqual([['a'], 1]);
      expect(jobs.stopped).toBeUndefined();
    },
  );

  it('[living 1.12, 2.8] gives a claimed row its run before the database closes', async () => {
    const disk = new SimulatedDisk();
    const { jobs } = await open(nothing, { disk });
    await settled(jobs);
    const sync = gate();
    disk.beforeSync = () => sync.opened;
    await jobs.act((tables) => tables.put('job', [1n, once(5n), 'a']));
    await vi.waitUntil(() => jobs.rows('job').length === 0);
    expect(jobs.ran).toEqual([]);
    const closed = jobs.database.close();
    sync.open();
    await closed;
    expect(jobs.ran).toEqual(['a']);
  });
});

describe('slow scheduled procedures', () => {
  it('[living 1.13] take few lanes, hold up no reducer, and wait as rows', async () => {
    const end = gate();
    const { jobs, desk } = await open(function* () {
      yield { kind: 'wait', until: end.opened };
    });
    const { scheduledProceduresMax: max, databaseLanesMax } = limits;
    expect(max).toBeLessThan(databaseLanesMax);
    await jobs.act((tables) => {
      for (let id = 1n; id <= 20n; id++) tables.put('job', [id, once(5n + id), `${id}`]);
    });
    await running(desk, max);
    await jobs.settled();
    expect([desk.running.length, desk.queuedCount, jobs.rows('job').length]).toEqual([max, 0, 17]);
    await jobs.act((tables) => tables.put('other', [1n, once(900n), 'reducer']));
    await jobs.settled();
    expect(jobs.ran).toContain('reducer');
    // They are late, but not because nothing runs: nothing is reported as overdue.
    expect(jobs.database.nextDueMicros).toBeUndefined();
    expect(jobs.alarmAt).toBeUndefined();
    end.open();
    await vi.waitUntil(() => jobs.rows('job').length === 0);
    await settled(jobs);
    const procedures = jobs.ran.filter((note) => note !== 'reducer');
    expect(procedures).toEqual(Array.from({ length: 20 }, (_, at) => `${at + 1}`));
  });

  it('[living 1.13] wait as long as nothing runs procedures', async () => {
    const module = new JobModule();
    module.raw = rawProcedures({ job: 'atMostOnce' });
    const jobs = await JobDatabase.open({ module });
    await jobs.act((tables) => tables.put('job', [1n, once(5n), 'a']));
    await jobs.settled();
    expect([jobs.ran, jobs.rows('job').length]).toEqual([[], 1]);
  });

  it('[living 1.14] are paused, run early and skipped by hand', async () => {
    const { jobs } = await open(nothing);
    const at = jobs.clock.nowMicros() + 60_000_000n;
    await jobs.act((tables) => {
      for (const id of [1n, 2n, 3n]) tables.put('job', [id, once(at + id), `${id}`]);
    });
    await jobs.ask({ kind: 'pause', name: 'job' });
    expect(await jobs.ask({ kind: 'run', name: 'job' })).toEqual({ kind: 'paused' });
    await jobs.ask({ kind: 'resume', name: 'job' });
    await jobs.ask({ kind: 'run', name: 'job' });
    await jobs.ask({ kind: 'skip', name: 'job', rowKey: 2n });
    await settled(jobs);
    expect([jobs.ran, jobs.rows('job').length]).toEqual([['1'], 1]);
    await advance(jobs, 70_000);
    expect(jobs.ran).toEqual(['1', '3']);
  });

  it('[living 1.14] with an interval keep their phase when they run early', async () => {
    const { jobs } = await open(nothing);
    const start = jobs.clock.nowMicros();
    await jobs.act((tables) => tables.put('job', [1n, every(10 * second), 'a']));
    await jobs.ask({ kind: 'run', name: 'job' });
    await settled(jobs);
    expect(jobs.ran).toEqual(['a']);
    expect(jobs.rows('st_schedule_due')[0]?.[2]).toBe(start + 20_000_000n);
  });
});

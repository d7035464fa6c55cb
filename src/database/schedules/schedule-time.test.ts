import { describe, expect, it } from 'vitest';
import { every, JobDatabase, once } from '../../../test/support/job-database.ts';
import { MemoryDisk } from '../../node/memory-disk.ts';
import { TestClock } from '../../testing/test-clock.ts';
import { ScheduleTime } from './schedule-time.ts';

/** A wall clock that can be set, beside a monotonic one. */
class StepClock extends TestClock {
  #set = 0n;
  #monotonic = 0;

  step(millis: number): void {
    this.#set += BigInt(Math.round(millis * 1_000));
  }

  pass(millis: number): void {
    this.#monotonic += millis;
    this.step(millis);
  }

  override advance(by: number): Promise<readonly []> {
    this.pass(by);
    return Promise.resolve([]);
  }

  override nowMicros(): bigint {
    return super.nowMicros() + this.#set;
  }

  override monotonicMillis(): number {
    return this.#monotonic;
  }
}

function timeOf(clock: StepClock) {
  const told: string[] = [];
  const watchers = {
    skipped: () => void told.push('skipped'),
    warn: (message: string) => void told.push(message),
  };
  const time = new ScheduleTime(clock, watchers);
  const start = time.now();
  return { told, at: () => (time.now() - start) / 1_000 };
}

describe('[living 1.6] the time of schedules', () => {
  it('stands still while the clock is behind by less than a second', () => {
    const clock = new StepClock();
    const { at, told } = timeOf(clock);
    clock.pass(100);
    expect(at()).toBe(100);
    clock.step(-999);
    expect(at()).toBe(100);
    clock.pass(998);
    expect(at()).toBe(100);
    clock.pass(2);
    expect([at(), told]).toEqual([101, []]);
  });

  it('goes on while the clock is behind by more, and follows it when it has caught up', () => {
    const clock = new StepClock();
    const { at, told } = timeOf(clock);
    clock.step(-3_600_000);
    for (let step = 1; step <= 100; step++) {
      clock.pass(0.25);
      expect(at()).toBeCloseTo(step * 0.25, 2);
    }
    expect(told).toEqual([
      expect.stringMatching(/^The clock was set back by 3600 s, to 2024-12-31T23/),
    ]);
    clock.step(3_600_000 + 5);
    expect(at()).toBe(30);
    clock.step(-500);
    expect([at(), told.length]).toEqual([30, 1]);
  });

  it('skips nothing when the clock goes forward by less than a minute', () => {
    const clock = new StepClock();
    const { at, told } = timeOf(clock);
    clock.step(59_999);
    expect([at(), told]).toEqual([59_999, []]);
    clock.pass(3_600_000);
    expect([at(), told]).toEqual([3_659_999, []]);
  });

  it('reports a minute or more that was skipped', () => {
    const clock = new StepClock();
    const { at, told } = timeOf(clock);
    clock.pass(1_000);
    clock.step(60_000);
    expect(at()).toBe(61_000);
    expect(told).toEqual([
      expect.stringMatching(/^The clock went forward by 60 s at once/),
      'skipped',
    ]);
  });
});

describe('[living 1.6] a database whose clock is set', () => {
  const open = () => JobDatabase.open({ clock: new StepClock() });
  const step = ({ clock }: JobDatabase, millis: number) => (clock as StepClock).step(millis);

  it('repeats nothing, and goes on, when it is set back by an hour', async () => {
    const jobs = await open();
    await jobs.act((tables) => tables.put('job', [1n, every(10_000_000), 'a']));
    for (let tick = 0; tick < 3; tick++) await jobs.advance(10_000);
    step(jobs, -3_600_000);
    await jobs.advance(9_000);
    expect(jobs.ran).toHaveLength(3);
    expect(jobs.alarmAt).toBe(jobs.clock.nowMicros() + 1_000_000n);
    await jobs.advance(1_000);
    expect(jobs.ran).toHaveLength(4);
    expect(jobs.warnings).toHaveLength(1);
  });

  it('waits for the clock after a restart, and its timestamps never go back', async () => {
    const disk = new MemoryDisk();
    const clock = new StepClock();
    const first = await JobDatabase.open({ clock, disk });
    await first.act((tables) => tables.put('job', [1n, every(10_000_000), 'a']));
    await first.advance(20_000);
    await first.act((tables) => tables.put('job', [2n, once(1n), 'b']));
    await first.database.close();
    const last = clock.nowMicros();
    clock.step(-3_600_000);
    const { module } = first;
    module.runs.length = 0;
    const again = await JobDatabase.open({ clock, disk, module, opens: true });
    expect(module.runs).toEqual([{ table: 'job', id: 2n, note: 'b', micros: last }]);
    expect(again.warnings).toEqual([
      'The clock is 3600 s behind the last commit. What is due repeatedly may wait until ' +
        '2025-01-01T00:00:20.000Z.',
    ]);
    await again.advance(3_600_000);
    expect(again.ran).toEqual(['b']);
    await again.advance(10_000);
    expect(again.ran).toEqual(['b', 'a']);
  });

  it('runs what has become due when it goes forward by less than a minute', async () => {
    const jobs = await open();
    await jobs.act((tables) => {
      tables.put('job', [1n, every(10_000_000), 'a']);
      tables.put('job', [2n, once(jobs.clock.nowMicros() + 20_000_000n), 'b']);
    });
    step(jobs, 35_000);
    await jobs.settled();
    expect(jobs.ran).toEqual(['a', 'b']);
  });

  it('treats more as an outage: intervals skip, what runs once runs', async () => {
    const jobs = await open();
    await jobs.act((tables) => {
      tables.put('job', [1n, every(10_000_000), 'a']);
      tables.put('job', [2n, once(jobs.clock.nowMicros() + 20_000_000n), 'b']);
    });
    step(jobs, 3_600_000);
    await jobs.settled();
    expect(jobs.ran).toEqual(['b']);
    expect(jobs.warnings).toHaveLength(1);
    await jobs.advance(10_000);
    expect(jobs.ran).toEqual(['b', 'a']);
  });
});

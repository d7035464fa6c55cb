import { describe, expect, it } from 'vitest';
import {
  every,
  JobDatabase,
  JobFailure,
  type JobTables,
  once,
} from '../../../test/support/job-database.ts';
import { limits } from '../../limits.ts';
import { MemoryDisk } from '../../node/memory-disk.ts';
import { tableId } from '../../schema/ids.ts';
import type { ScheduledMark } from './scheduled-mark.ts';

const second = 1_000_000;

describe('a row that runs once', () => {
  it('[living 1.1, 1.3] runs when it is due, can be read meanwhile, and is gone then', async () => {
    const jobs = await JobDatabase.open();
    const due = jobs.clock.nowMicros() + 5_000_000n;
    const seen: number[] = [];
    jobs.module.onRun = () => void seen.push(jobs.rows('job').length);
    await jobs.act((tables) => tables.put('job', [1n, once(due), 'a']));
    await jobs.advance(4_999);
    expect(jobs.ran).toEqual([]);
    const before = jobs.store.offset;
    await jobs.advance(1);
    expect(jobs.module.runs).toEqual([{ table: 'job', id: 1n, note: 'a', micros: due }]);
    expect([seen, jobs.rows('job')]).toEqual([[1], []]);
    expect(jobs.store.offset).toBe(before + 1);
    await jobs.advance(60_000);
    expect(jobs.ran).toEqual(['a']);
    expect(jobs.database.nextDueMicros).toBeUndefined();
  });

  it('[living 1.3] stays, armed anew, if its reducer gives it another time', async () => {
    const jobs = await JobDatabase.open();
    const start = jobs.clock.nowMicros();
    jobs.module.onRun = (tables, run) => {
      if (run.note === 'a') tables.put('job', [1n, once(start + 9_000_000n), 'b']);
    };
    await jobs.act((tables) => tables.put('job', [1n, once(start + 1_000_000n), 'a']));
    await jobs.advance(1_000);
    expect(jobs.rows('job')).toEqual([[1n, once(start + 9_000_000n), 'b']]);
    await jobs.advance(8_000);
    expect([jobs.ran, jobs.rows('job')]).toEqual([['a', 'b'], []]);
  });

  it('[living 1.3] is gone if its reducer changed other columns, or deleted it', async () => {
    const jobs = await JobDatabase.open();
    const due = once(jobs.clock.nowMicros() + 1_000_000n);
    jobs.module.onRun = (tables, { id }) => {
      if (id === 1n) tables.put('job', [1n, due, 'changed']);
      else tables.remove('job', id);
    };
    await jobs.act((tables) => {
      tables.put('job', [1n, due, 'a']);
      tables.put('job', [2n, due, 'b']);
    });
    await jobs.advance(1_000);
    expect([jobs.ran, jobs.rows('job')]).toEqual([['a', 'b'], []]);
  });

  it('[living 1.9] that is past runs at once, in a turn of its own', async () => {
    const jobs = await JobDatabase.open();
    await jobs.act((tables) => tables.put('job', [1n, once(5n), 'past']));
    await jobs.settled();
    expect(jobs.ran).toEqual(['past']);
  });

  it('[living 1.9] that was deleted or rolled back never runs', async () => {
    const jobs = await JobDatabase.open();
    const due = once(jobs.clock.nowMicros() + 1_000_000n);
    await jobs.act((tables) => {
      for (const id of [1n, 2n]) tables.put('job', [id, due, `${id}`]);
    });
    await jobs.act((tables) => tables.remove('job', 1n));
    await jobs.act((tables) => {
      tables.put('job', [3n, due, 'rolled back']);
      throw new JobFailure('no');
    });
    expect((await jobs.sql('DELETE FROM job WHERE id = 2')).kind).toBe('result');
    expect(jobs.database.nextDueMicros).toBeUndefined();
    await jobs.advance(60_000);
    expect(jobs.ran).toEqual([]);
  });

  it('[living 1.9] runs as a statement has left it', async () => {
    const jobs = await JobDatabase.open();
    const due = jobs.clock.nowMicros() + 9_000_000n;
    await jobs.act((tables) => tables.put('job', [1n, once(due), 'a']));
    await jobs.sql("UPDATE job SET note = 'b'");
    expect(jobs.database.nextDueMicros).toBe(due);
    await jobs.advance(9_000);
    expect(jobs.ran).toEqual(['b']);
  });
});

describe('a row with an interval', () => {
  it('[living 1.4, 1.5] runs at multiples of the interval from its first time', async () => {
    const jobs = await JobDatabase.open();
    const start = jobs.clock.nowMicros();
    await jobs.act((tables) => tables.put('job', [1n, every(10 * second), 'a']));
    await jobs.advance(10_003);
    await jobs.advance(9_997);
    // 25 s late: the tick that was due runs once, those that passed meanwhile do not.
    await jobs.advance(35_000);
    expect(jobs.module.runs.map(({ micros }) => Number(micros - start) / 1_000)).toEqual([
      10_003, 20_000, 55_000,
    ]);
    expect(jobs.database.nextDueMicros).toBe(start + 60_000_000n);
    expect(jobs.rows('job')).toHaveLength(1);
  });

  it('[living 1.4] keeps its phase if other columns change, and counts from an edit', async () => {
    const jobs = await JobDatabase.open();
    const start = jobs.clock.nowMicros();
    const next = () => Number((jobs.database.nextDueMicros ?? 0n) - start) / 1_000;
    await jobs.act((tables) => tables.put('job', [1n, every(-10 * second), 'a']));
    await jobs.advance(4_000);
    await jobs.act((tables) => tables.put('job', [1n, every(-10 * second), 'b']));
    expect(next()).toBe(10_000);
    await jobs.act((tables) => tables.put('job', [1n, every(7 * second), 'b']));
    expect(next()).toBe(11_000);
    await jobs.act((tables) => tables.put('job', [1n, once(start + 6_000_000n), 'b']));
    expect([next(), jobs.rows('st_schedule_due')]).toEqual([6_000, []]);
  });

  it('[living 1.4] goes on in step after a restart', async () => {
    const disk = new MemoryDisk();
    const first = await JobDatabase.open({ disk });
    const { clock, module } = first;
    const start = clock.nowMicros();
    await first.act((tables) => tables.put('job', [1n, every(10 * second), 'a']));
    await first.advance(10_000);
    await first.database.close();
    clock.advance(4_000);
    const again = await JobDatabase.open({ disk, clock, module, opens: true });
    expect(again.alarmAt).toBe(start + 20_000_000n);
    await again.advance(6_000);
    expect(module.runs.map(({ micros }) => micros - start)).toEqual([10_000_000n, 20_000_000n]);
  });

  it('runs at most once a turn, even if it is due all the time', async () => {
    const jobs = await JobDatabase.open();
    await jobs.act((tables) => tables.put('job', [1n, every(0), 'a']));
    await jobs.advance(1);
    expect(jobs.ran).toEqual(['a']);
    await jobs.advance(1);
    expect(jobs.ran).toEqual(['a', 'a']);
  });

  it('is edited, deleted or left by its own reducer', async () => {
    const jobs = await JobDatabase.open();
    const start = jobs.clock.nowMicros();
    jobs.module.onRun = (tables, { note }) => {
      if (note === 'edit') tables.put('job', [1n, every(3 * second), 'left']);
      if (note === 'delete') tables.remove('job', 2n);
    };
    await jobs.act((tables) => {
      tables.put('job', [1n, every(second), 'edit']);
      tables.put('job', [2n, every(second), 'delete']);
    });
    await jobs.advance(1_000);
    expect(jobs.rows('st_schedule_due')).toEqual([[jobs.tableId('job'), 1n, start + 4_000_000n]]);
    await jobs.advance(3_000);
    expect(jobs.ran).toEqual(['edit', 'delete', 'left']);
    expect(jobs.rows('st_schedule_due')).toEqual([[jobs.tableId('job'), 1n, start + 7_000_000n]]);
  });
});

describe('a run that fails', () => {
  const fail = () => {
    throw new JobFailure('broken');
  };

  it('[living 1.2] is rolled back, ends its row, is logged and counted', async () => {
    const jobs = await JobDatabase.open();
    jobs.module.onRun = (tables) => {
      tables.put('ledger', [1n, 'x']);
      fail();
    };
    const due = jobs.clock.nowMicros() + 1_000_000n;
    await jobs.act((tables) => {
      tables.put('job', [7n, once(due), 'a']);
      tables.put('job', [8n, every(second), 'b']);
    });
    await jobs.advance(1_000);
    expect([jobs.rows('ledger'), jobs.ran]).toEqual([[], ['a', 'b']]);
    expect(jobs.rows('job')).toEqual([[8n, every(second), 'b']]);
    expect(jobs.database.nextDueMicros).toBe(due + 1_000_000n);
    expect(jobs.lines).toContain(
      'broken (scheduled: table job, row 7, due 2025-01-01T00:00:01.000Z)',
    );
    expect(jobs.database.scheduleFigures).toMatchObject({ armedRows: 1, committed: 0, failed: 2 });
  });

  it('[living 1.2] ends its row although the quota allows nothing more', async () => {
    const jobs = await JobDatabase.open();
    jobs.database.setStorage({ rowBytesMax: 2 ** 21 });
    jobs.module.onRun = (tables) => void tables.put('ledger', [1n, 'x'.repeat(2 ** 23)]);
    await jobs.act((tables) => tables.put('job', [1n, once(1n), 'a']));
    await jobs.settled();
    expect([jobs.rows('ledger'), jobs.rows('job')]).toEqual([[], []]);
    expect(jobs.lines.at(-1)).toMatch(/^Quota exceeded: .*\(scheduled: table job, row 1, due 1970/);
  });

  it.each<[string, (due: bigint) => ScheduledMark['dueMicros'], number]>([
    ['the run that ended it', (due) => due, 0],
    ['another due time, which is ignored', (due) => due - 1n, 1],
  ])('[living 1.2] counts as failed after the end of its actor: %s', async (_, dueOf, left) => {
    const disk = new MemoryDisk();
    const { database, clock, module, put, id } = await openWith(disk);
    const due = clock.nowMicros() + 1_000_000n;
    await put([[1n, once(due), 'a']]);
    await database.close();
    clock.advance(1_000);
    const mark = { tableId: id, key: 1n, dueMicros: dueOf(due) };
    const again = await JobDatabase.open({ disk, clock, module, opens: true, failed: mark });
    expect(module.runs).toHaveLength(left);
    expect(again.rows('job')).toEqual([]);
    const failed = 1 - left;
    expect(again.database.scheduleFigures).toMatchObject({ failed, committed: left });
    expect(again.warnings).toHaveLength(failed);
    await again.database.close();
    const third = await JobDatabase.open({ disk, clock, module, opens: true });
    expect(third.rows('job')).toEqual([]);
  });
});

async function openWith(disk: MemoryDisk) {
  const jobs = await JobDatabase.open({ disk });
  const { database, clock, module } = jobs;
  const put = (rows: Parameters<JobTables['put']>[1][]) =>
    jobs.act((tables) => {
      for (const row of rows) tables.put('job', row);
    });
  return { database, clock, module, put, id: tableId(jobs.tableId('job')) };
}

describe('order and fairness', () => {
  it('[living 1.7] ties run in the order of due time, table name and key', async () => {
    const jobs = await JobDatabase.open();
    const due = jobs.clock.nowMicros() + 1_000_000n;
    await jobs.act((tables) => {
      tables.put('other', [1n, once(due), 'other 1']);
      tables.put('other', [9n, once(due - 1n), 'other 9']);
      for (const id of [2n ** 63n, 3n, 2n ** 32n, 20n]) tables.put('job', [id, once(due), `${id}`]);
    });
    await jobs.advance(1_000);
    const keys = [3n, 20n, 2n ** 32n, 2n ** 63n].map(String);
    expect(jobs.ran).toEqual(['other 9', ...keys, 'other 1']);
  });

  it('[living 1.8] a turn runs at most 128, then its requests: callers come between', async () => {
    const jobs = await JobDatabase.open();
    const count = 2 * limits.scheduledRunsPerTurnMax + 1;
    const due = once(jobs.clock.nowMicros() + 1_000_000n);
    await jobs.act((tables) => {
      for (let id = 0; id < count; id++) tables.put('job', [BigInt(id), due, `${id}`]);
    });
    jobs.clock.advance(1_000);
    const at: number[] = [];
    for (let call = 0; call < 3; call++) {
      await jobs.act(() => void at.push(jobs.ran.length));
    }
    expect(at).toEqual([128, 256, 257]);
  });

  it('[living 1.5] measures how late each run is', async () => {
    const jobs = await JobDatabase.open();
    await jobs.act((tables) => tables.put('job', [1n, every(second), 'a']));
    for (let run = 0; run < 9; run++) await jobs.advance(1_000);
    await jobs.advance(1_700);
    const listed = await jobs.ask({ kind: 'list' });
    expect(listed).toMatchObject({
      schedules: [
        { name: 'job', runs: 10, latenessP50Micros: 0n },
        { name: 'other', runs: 0 },
      ],
    });
    const p99 = listed.kind === 'listed' ? listed.schedules[0]?.latenessP99Micros : undefined;
    expect(Number(p99)).toBeGreaterThanOrEqual(700_000);
    expect(Number(p99)).toBeLessThan(700_000 * 1.13);
    expect(jobs.lines).toContain('Schedule `job` runs 700 ms late');
  });
});

describe('the state of schedules', () => {
  it('[living 1.9] is hidden from statements, lists and previews', async () => {
    const jobs = await JobDatabase.open();
    await jobs.act((tables) => tables.put('job', [1n, every(second), 'a']));
    const listed = await jobs.sql("SELECT * FROM st_table WHERE table_name = 'st_schedule_due'");
    expect(listed).toMatchObject({ kind: 'result', rowCount: 0 });
    expect(await jobs.sql('SELECT * FROM st_schedule_due')).toMatchObject({ kind: 'failed' });
    expect(await jobs.sql('DELETE FROM st_schedule_control')).toMatchObject({ kind: 'failed' });
  });

  it('[living 1.9] refuses a row that is due in more than two years', async () => {
    const jobs = await JobDatabase.open();
    const now = jobs.clock.nowMicros();
    const limit = BigInt(limits.scheduleDelayMillisMax) * 1_000n;
    const codes: number[] = [];
    await jobs.act((tables) => {
      codes.push(tables.put('job', [1n, once(now + limit), 'a']));
      codes.push(tables.put('job', [2n, once(now + limit - 1n), 'a']));
      codes.push(tables.put('job', [3n, every(2 ** 62), 'a']));
      codes.push(tables.put('job', [4n, once(-(2n ** 62n)), 'a']));
    });
    expect(codes).toEqual([-13, 0, -13, 0]);
    const outcome = await jobs.sql(`UPDATE job SET note = 'b' WHERE id = 2`);
    expect(outcome.kind).toBe('result');
    await jobs.act((tables) => tables.put('other', [1n, every(2 ** 40), 'never']));
    expect(jobs.rows('other')).toHaveLength(1);
  });

  it('[living 1.4] lets nothing run while the database closes', async () => {
    const jobs = await JobDatabase.open();
    await jobs.act((tables) => tables.put('job', [1n, once(jobs.clock.nowMicros() + 1n), 'a']));
    jobs.clock.advance(1);
    await jobs.database.close();
    expect([jobs.ran, jobs.alarmAt]).toEqual([[], undefined]);
  });
});

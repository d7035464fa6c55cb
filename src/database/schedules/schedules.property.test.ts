import { expect, it } from 'vitest';
import {
  every,
  JobDatabase,
  JobFailure,
  type JobTables,
  once,
} from '../../../test/support/job-database.ts';
import { MemoryDisk } from '../../node/memory-disk.ts';
import { Random } from '../../testing/random.ts';
import type { SumValue, Value } from '../../values/value.ts';

const tables = ['job', 'other'] as const;

/** What a slow model knows of a row: its `ScheduleAt`, and when it is due. */
interface Known {
  readonly at: Value;
  readonly due: bigint;
}

type Model = Map<string, Known>;

/** Follows the rows as they are after a commit at `now`. */
function follow(model: Model, jobs: JobDatabase, now: bigint): void {
  const rows = new Map<string, Value>();
  for (const name of tables) {
    for (const [id, at = 0n] of jobs.rows(name)) rows.set(`${name} ${id}`, at);
  }
  for (const key of model.keys()) if (!rows.has(key)) model.delete(key);
  for (const [key, at] of rows) {
    const known = model.get(key);
    if (known !== undefined && String(known.at) === text(at)) continue;
    const { tag, value } = at as SumValue;
    const [micros = 0n] = value as bigint[];
    model.set(key, {
      at: text(at),
      due: tag === 1 ? micros : now + (micros < 0n ? -micros : micros),
    });
  }
}

function text(at: Value): string {
  const { tag, value } = at as SumValue;
  return `${tag} ${value}`;
}

function someRow(random: Random, now: bigint): Value[] {
  const id = BigInt(random.below(12)) << BigInt(random.below(2) * 40);
  const isInterval = random.chance(0.5);
  const seconds = random.below(4) + 1;
  const at = isInterval
    ? every(seconds * 1_000_000 * (random.chance(0.2) ? -1 : 1))
    : once(now + BigInt(random.below(9) * 1_000_000));
  return [id, at, `note ${random.below(3)}`];
}

/** Changes rows at random, as a caller, a statement or a reducer would. */
function change(random: Random, now: bigint, edit: JobTables): void {
  for (let left = random.below(4); left >= 0; left--) {
    const name = tables[random.below(2)] ?? 'job';
    const row = someRow(random, now);
    if (random.chance(0.3)) edit.remove(name, row[0] as bigint);
    else edit.put(name, row);
  }
}

const statements = [
  'DELETE FROM job WHERE id < 3',
  'DELETE FROM other',
  "UPDATE job SET note = 'x' WHERE id > 2",
];

it.each(Array.from({ length: 12 }, (_, seed) => seed + 1))(
  '[living 1.4, 1.9] what is armed is what the rows say, seed %i',
  async (seed) => {
    const random = new Random(seed);
    const disk = new MemoryDisk();
    const jobs = await JobDatabase.open({ disk });
    const model: Model = new Map();
    for (let step = 0; step < 60; step++) {
      // Nothing is due, so that only edits move due times.
      const now = jobs.clock.nowMicros();
      const firstDue = [...model.values()]
        .map(({ due }) => due)
        .sort((a, b) => (a < b ? -1 : 1))[0];
      expect(jobs.database.nextDueMicros).toBe(firstDue);
      if (firstDue === undefined || firstDue > now + 1_000_000n) jobs.clock.advance(700);
      if (random.chance(0.2)) await jobs.sql(statements[random.below(3)] ?? '');
      else {
        await jobs.act((edit) => {
          change(random, jobs.clock.nowMicros() + 60_000_000n, edit);
          if (random.chance(0.2)) throw new JobFailure('rolled back');
        });
      }
      follow(model, jobs, jobs.clock.nowMicros());
    }
    const hidden = jobs.rows('st_schedule_due').map(([schedule, key, due]) => {
      const name = schedule === jobs.tableId('job') ? 'job' : 'other';
      return `${name} ${key} ${due}`;
    });
    const intervals = [...model].filter(([, { at }]) => String(at).startsWith('0'));
    expect(hidden.sort()).toEqual(intervals.map(([key, { due }]) => `${key} ${due}`).sort());
    await jobs.database.close();
    const { clock, module } = jobs;
    const again = await JobDatabase.open({ disk, clock, module, opens: true });
    await runLikeModel(again, model);
  },
);

/** Goes from due time to due time: each runs what the model says, in its order. */
async function runLikeModel(jobs: JobDatabase, model: Model): Promise<void> {
  const { clock, module } = jobs;
  for (let left = 30; left > 0 && model.size > 0; left--) {
    const due = [...model.values()].reduce(
      (least, one) => (one.due < least ? one.due : least),
      1n << 60n,
    );
    expect(jobs.database.nextDueMicros).toBe(due);
    const running = [...model].filter(([, known]) => known.due === due);
    for (const [key, known] of running) {
      const [tag, micros = ''] = String(known.at).split(' ');
      const every = BigInt(micros.replace('-', ''));
      if (tag === '0') model.set(key, { ...known, due: due + every });
      else model.delete(key);
    }
    module.runs.length = 0;
    await jobs.advance(Number(due - clock.nowMicros()) / 1_000);
    expect(module.runs.map(({ table, id }) => `${table} ${id}`)).toEqual(
      running.map(([key]) => key).sort(byTableAndKey),
    );
  }
}

function byTableAndKey(one: string, other: string): number {
  const [table = '', key = ''] = one.split(' ');
  const [otherTable = '', otherKey = ''] = other.split(' ');
  if (table !== otherTable) return table < otherTable ? -1 : 1;
  return BigInt(key) < BigInt(otherKey) ? -1 : 1;
}

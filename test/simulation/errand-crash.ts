import { noProgress } from '../../src/database/progress.ts';
import type { ScheduledMark } from '../../src/database/schedules/scheduled-mark.ts';
import { nextTurn } from '../../src/node/next-turn.ts';
import type { SchedulePolicy } from '../../src/schema/definition.ts';
import type { Random } from '../../src/testing/random.ts';
import { SimulatedDisk } from '../../src/testing/simulated-disk.ts';
import { TestClock } from '../../src/testing/test-clock.ts';
import type { InlineDesk, LaneAnswer, LaneStep } from '../support/inline-desk.ts';
import { every, JobDatabase, JobModule, type JobTables, once } from '../support/job-database.ts';
import { changing, type ErrandRun, jobLanes, rawProcedures } from '../support/job-procedures.ts';

/** A row as an edit writes it; no two versions of a row have the same time. */
export interface ErrandRow {
  /** `job`: its procedure runs at most once; `other`: at least once. */
  readonly table: 'job' | 'other';
  readonly id: number;
  /** Absent: the row is removed. */
  readonly at?: { readonly isInterval: boolean; readonly micros: number };
  /** What its runs do: `plain`, `slow`, `fail`, `rearm`, `delete` or `die`. */
  readonly note: string;
}

/** What a procedure did, which no crash undoes. */
export interface Errand {
  readonly kind: 'began' | 'returned';
  readonly table: string;
  readonly id: number;
  /** The `ScheduleAt` of its row, which tells versions apart. */
  readonly at: number;
  readonly isInterval: boolean;
  /**
   * At most once: the next due time, of an interval. At least once: the due time. `undefined`: the
   * row was edited between its claim and its run.
   */
  readonly due: number | undefined;
}

/** One life of a database, over crashes. */
export interface ErrandHistory {
  /** The edits that are in the database at the end, in the order of commits. */
  readonly edits: readonly ErrandRow[];
  readonly errands: readonly Errand[];
  /** What went wrong while it lived. */
  readonly faults: readonly string[];
  readonly endMicros: number;
  readonly rows: readonly ErrandRow[];
  /** `table id` of rows that are kept as failed. */
  readonly failed: readonly string[];
  readonly catchUp: SchedulePolicy['catchUp'];
  readonly hasGivenUp: boolean;
}

const notes = [
  'plain',
  'plain',
  'plain',
  'slow',
  'slow',
  'fail',
  'rearm',
  'delete',
  'die',
] as const;
const tables = ['job', 'other'] as const;
const second = 1_000_000;

/**
 * Lives through `crashes` power cuts and ends of the actor, while rows are edited at random, the
 * clock moves, and procedures run for rows: they take their time, fail, end the actor, and edit
 * their rows.
 */
export async function errandHistory(random: Random, crashes: number): Promise<ErrandHistory> {
  const world = new World(random);
  await world.open(false);
  for (let crash = 0; crash < crashes; crash++) {
    await world.liveUntilEnd();
    await world.reopen(true);
  }
  await world.finish();
  return world.history();
}

class World {
  readonly #random: Random;
  readonly #catchUp: SchedulePolicy['catchUp'];
  readonly #module = new JobModule();
  readonly #clock = new TestClock();
  readonly #errands: Errand[] = [];
  readonly #faults: string[] = [];
  #disk = new SimulatedDisk();
  #jobs: JobDatabase | undefined;
  #lanes: InlineDesk | undefined;
  #mark: ScheduledMark | undefined;
  #nextId = 1;
  #hasGivenUp = false;
  /** Rows for which a procedure runs, in this life. */
  #running = new Set<string>();
  /** Procedures that take their time, in this life. */
  #sleepers: (() => void)[] = [];

  constructor(random: Random) {
    this.#random = random;
    this.#catchUp = (['skip', 'once', 'all'] as const)[random.below(3)] ?? 'skip';
    const retry = random.chance(0.5) ? { attempts: 3, backoffMicros: 700_000n } : undefined;
    const catchUp = this.#catchUp;
    this.#module.raw = rawProcedures(
      { job: 'atMostOnce', other: 'atLeastOnce' },
      { job: { catchUp }, other: { catchUp, retry } },
    );
  }

  get jobs(): JobDatabase {
    if (this.#jobs === undefined) throw new Error('the database is not open');
    return this.#jobs;
  }

  async open(opens: boolean, failed?: ScheduledMark): Promise<void> {
    this.#noteGivenUp();
    this.#running = new Set();
    this.#sleepers = [];
    const disk = this.#disk;
    const running = this.#running;
    const isAlive = (): boolean => this.#running === running && !disk.isOff;
    const lanes = jobLanes(this.#module, (run) => this.#errand(run, isAlive));
    this.#lanes = lanes;
    const progress = {
      ...noProgress,
      scheduled: (mark: ScheduledMark) => {
        this.#mark = mark;
      },
    };
    const options = { clock: this.#clock, module: this.#module, disk, progress, lanes, opens };
    this.#jobs = await JobDatabase.open(failed === undefined ? options : { ...options, failed });
  }

  /** Until the power is cut, or a run has ended the actor. */
  async liveUntilEnd(): Promise<void> {
    const random = this.#random;
    this.#disk.stopAt(this.#disk.operationCount + 1 + random.below(80));
    for (let left = 4_000; this.jobs.stopped === undefined && !this.#disk.isOff; left--) {
      if (left === 0) throw new Error('the power was never cut');
      const step = random.below(10);
      if (step < 3) await this.#write([this.#someRow()]);
      else if (step < 6) await this.#advance(random.below(2_000));
      else if (step < 8) this.#wakeSomeone();
      else await nextTurn();
    }
  }

  async reopen(mayTakeLong: boolean): Promise<void> {
    const random = this.#random;
    // An actor that was not ended by a run, or by nothing that is known, names none.
    const died = this.#disk.isOff || random.chance(0.3) ? undefined : this.#mark;
    this.#lanes?.endLane('the machine is off');
    this.#disk = this.#disk.isOff ? this.#disk.crash(random) : this.#disk.afterKill();
    for (let failed = died; ; failed = undefined) {
      this.#clock.advance(1 + random.below(mayTakeLong && random.chance(0.3) ? 60_000 : 9));
      if (random.chance(0.3)) this.#disk.stopAt(1 + random.below(12));
      try {
        await this.open(true, failed);
        return;
      } catch (error) {
        if (!this.#disk.isOff) throw error;
        this.#disk = this.#disk.crash(random);
      }
    }
  }

  /** Without further power cuts, until nothing runs and nothing is due. */
  async finish(): Promise<void> {
    for (let left = 400; left > 0; left--) {
      this.#disk.stopAt(Number.POSITIVE_INFINITY);
      if (this.jobs.stopped !== undefined || this.#disk.isOff) {
        await this.reopen(false);
        continue;
      }
      while (this.#wakeSomeone()) await this.#calm();
      await this.#calm();
      if (left < 300 && this.#isQuiet()) return;
      await this.#write(this.#restless());
      // Runs that end their database are repeated after minutes.
      await this.#advance(left < 300 ? 5_000 : 500);
    }
    throw new Error('it does not come to rest');
  }

  history(): ErrandHistory {
    this.#noteGivenUp();
    const { jobs } = this;
    const names = new Map(tables.map((name) => [jobs.tableId(name), name]));
    const failed = jobs.rows('st_schedule_attempt').filter(([, , , , , state]) => state === 2);
    const ledger = jobs.rows('ledger') as [bigint, string][];
    const texts = ledger.sort(([one], [other]) => Number(one - other)).map(([, text]) => text);
    return {
      edits: texts.flatMap((text) => JSON.parse(text) as ErrandRow[]),
      errands: this.#errands,
      faults: this.#faults,
      endMicros: Number(this.#clock.nowMicros()),
      rows: this.#rows(),
      failed: failed.map(([schedule, key]) => `${names.get(schedule as number)} ${key}`),
      catchUp: this.#catchUp,
      hasGivenUp: this.#hasGivenUp,
    };
  }

  #noteGivenUp(): void {
    const lines = this.#jobs?.lines ?? [];
    if (lines.some((line) => line.startsWith('A row is kept as failed'))) this.#hasGivenUp = true;
  }

  /** Nothing runs, and nothing is due before the time that the clock shows. */
  #isQuiet(): boolean {
    const { jobs } = this;
    const next = jobs.database.nextDueMicros;
    const isDue = next !== undefined && next <= this.#clock.nowMicros();
    const waiting = jobs.rows('st_schedule_attempt').some(([, , , , , state]) => state !== 2);
    return this.#running.size === 0 && !isDue && !waiting;
  }

  async #advance(millis: number): Promise<void> {
    this.#clock.advance(millis);
    await this.#calm();
  }

  /** Lets syncs end, claims begin, and what has ended be written. */
  async #calm(): Promise<void> {
    for (let left = 6; left > 0; left--) {
      await this.jobs.settled();
      await nextTurn();
    }
  }

  /** True if a procedure that takes its time goes on. */
  #wakeSomeone(): boolean {
    const [wake] = this.#sleepers.splice(this.#random.below(this.#sleepers.length || 1), 1);
    wake?.();
    return wake !== undefined;
  }

  async #write(rows: readonly ErrandRow[]): Promise<void> {
    if (rows.length === 0) return;
    await this.jobs.act((edit) => noteEdit(edit, rows)).catch(() => undefined);
  }

  /** A new row, or another version of an earlier one. */
  #someRow(): ErrandRow {
    const random = this.#random;
    const isNew = random.chance(0.8);
    const id = isNew ? this.#nextId++ : 1 + random.below(this.#nextId);
    const table = tables[id % 2] ?? 'job';
    const some = notes[random.below(notes.length)] ?? 'plain';
    const isInterval = random.chance(0.3);
    // The database would hardly serve between runs that make up for one time after the other.
    const note = isInterval && this.#catchUp === 'all' && some === 'die' ? 'fail' : some;
    if (!isNew && random.chance(0.4)) return { table, id, note };
    const micros = isInterval
      ? second + random.below(4 * second)
      : Number(this.#clock.nowMicros()) + random.below(6 * second) - second;
    return { table, id, at: { isInterval, micros }, note };
  }

  /** Intervals that would keep it from coming to rest. */
  #restless(): readonly ErrandRow[] {
    return this.#rows()
      .filter(({ at, note }) => at?.isInterval === true && ['fail', 'die', 'slow'].includes(note))
      .map(({ table, id }) => ({ table, id, note: 'plain' }));
  }

  #rows(): readonly ErrandRow[] {
    return tables.flatMap((table) =>
      this.jobs.rows(table).map((row) => {
        const [id, at, note] = row as [bigint, { tag: number; value: [bigint] }, string];
        const micros = Number(at.value[0]);
        return { table, id: Number(id), at: { isInterval: at.tag === 0, micros }, note };
      }),
    );
  }

  *#errand(run: ErrandRun, isAlive: () => boolean): Generator<LaneStep, void, LaneAnswer> {
    const { jobs } = this;
    const id = Number(run.id);
    const table = run.table as ErrandRow['table'];
    const key = `${table} ${id}`;
    const errand = this.#errandOf(run);
    if (this.#running.has(key)) this.#faults.push(`${key} runs beside itself`);
    const running = this.#running;
    running.add(key);
    try {
      if (isAlive()) this.#errands.push({ ...errand, kind: 'began' });
      if (run.note === 'slow') {
        const until = new Promise<void>((resolve) => this.#sleepers.push(resolve));
        yield { kind: 'wait', until };
      }
      if (run.note === 'fail') throw new Error('it fails');
      if (run.note === 'die') {
        yield* changing(this.#module, () => {
          throw new Error('it ends the actor');
        });
      }
      const at = { isInterval: false, micros: Number(this.#clock.nowMicros()) + 2 * second + id };
      if (run.note === 'rearm') yield* this.#changed({ table, id, at, note: 'plain' });
      if (run.note === 'delete') yield* this.#changed({ table, id, note: 'plain' });
      if (isAlive() && jobs.stopped === undefined) {
        this.#errands.push({ ...errand, kind: 'returned' });
      }
    } finally {
      running.delete(key);
    }
  }

  *#changed(row: ErrandRow): Generator<LaneStep, void, LaneAnswer> {
    yield* changing(this.#module, (edit) => noteEdit(edit, [row]));
  }

  #errandOf(run: ErrandRun): Omit<Errand, 'kind'> {
    const { jobs } = this;
    const { table } = run;
    const at = run.at as { tag: number; value: [bigint] };
    const of = { table, id: Number(run.id), at: Number(at.value[0]), isInterval: at.tag === 0 };
    const hidden = table === 'job' ? 'st_schedule_due' : 'st_schedule_attempt';
    const schedule = jobs.tableId(table);
    const found = jobs.rows(hidden).find(([id, key]) => id === schedule && key === run.id);
    return { ...of, due: found === undefined ? undefined : Number(found[2]) };
  }
}

function noteEdit(edit: JobTables, rows: readonly ErrandRow[]): void {
  for (const { table, id, at, note } of rows) {
    if (at === undefined) edit.remove(table, BigInt(id));
    else {
      const when = at.isInterval ? every(at.micros) : once(BigInt(at.micros));
      edit.put(table, [BigInt(id), when, note]);
    }
  }
  edit.put('ledger', [BigInt(edit.rowCount('ledger')), JSON.stringify(rows)]);
}

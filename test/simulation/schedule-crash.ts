import { noProgress } from '../../src/database/progress.ts';
import type { ScheduledMark } from '../../src/database/schedules/scheduled-mark.ts';
import { nextTurn } from '../../src/node/next-turn.ts';
import type { SchedulePolicy } from '../../src/schema/definition.ts';
import type { Random } from '../../src/testing/random.ts';
import { SimulatedDisk } from '../../src/testing/simulated-disk.ts';
import { TestClock } from '../../src/testing/test-clock.ts';
import {
  cronOf,
  every,
  JobDatabase,
  JobFailure,
  JobModule,
  type JobTables,
  once,
  policyOf,
  type Run,
  rawJobs,
  secondsCron,
} from '../support/job-database.ts';

/** A row as an edit writes it. Times are microseconds. */
export interface EditedRow {
  readonly table: string;
  readonly id: number;
  /** Absent: the row is removed. */
  readonly at?: { readonly isInterval: boolean; readonly micros: number };
  /** What its runs do: `plain`, `rearm`, `delete`, `chain`, `fail` or `die`. */
  readonly note: string;
}

/** What the ledger holds, in the order of commits: each commit writes one. */
export type LedgerEntry =
  | { readonly kind: 'edit'; readonly micros: number; readonly rows: readonly EditedRow[] }
  | {
      readonly kind: 'run';
      readonly micros: number;
      readonly table: string;
      readonly id: number;
      readonly due: number;
      readonly note: string;
    };

/** One life of a database, over crashes. */
export interface History {
  readonly ledger: readonly LedgerEntry[];
  /** Whether entries that were known to be durable were gone after a crash. */
  readonly lost: readonly string[];
  readonly createdMicros: number;
  /** When it was opened again, or that was tried. */
  readonly openings: readonly number[];
  /** The end, when nothing is due any more. */
  readonly endMicros: number;
  readonly rows: readonly EditedRow[];
  /** `table id due` of each row with an interval. */
  readonly dues: readonly string[];
  readonly policy: SchedulePolicy;
  readonly cronSeconds: number;
  readonly crashes: number;
}

/** The notes of rows whose runs never commit. */
export const silentNotes: readonly string[] = ['fail', 'die'];

const notes = ['plain', 'plain', 'rearm', 'delete', 'chain', 'fail', 'die'] as const;
const tables = ['job', 'other'] as const;
const second = 1_000_000;

/**
 * Lives through `crashes` power cuts and ends of the actor: edits rows at random, moves the clock,
 * and lets due rows run, which note themselves in a ledger, fail, end the actor, edit themselves
 * and make others.
 */
export async function scheduleHistory(random: Random, crashes: number): Promise<History> {
  const world = await World.create(random);
  for (let crash = 0; crash < crashes; crash++) {
    await world.liveUntilEnd();
    await world.reopen();
  }
  await world.finish();
  return world.history();
}

class World {
  readonly #random: Random;
  readonly #policy: SchedulePolicy;
  readonly #cronSeconds: number;
  readonly #module = new JobModule();
  readonly #clock = new TestClock();
  readonly #created: number;
  readonly #openings: number[] = [];
  readonly #lost: string[] = [];
  #disk = new SimulatedDisk();
  #jobs: JobDatabase | undefined;
  #mark: ScheduledMark | undefined;
  #durable: string[] = [];
  #nextId = 1;
  #crashes = 0;

  private constructor(random: Random) {
    this.#random = random;
    const catchUp = (['skip', 'once', 'all'] as const)[random.below(3)] ?? 'skip';
    const retry = random.chance(0.3) ? { attempts: 3, backoffMicros: 700_000n } : undefined;
    this.#policy = { catchUp, retry };
    this.#cronSeconds = 2 + random.below(5);
    const cron = cronOf(`every ${this.#cronSeconds}`, this.#policy);
    this.#module.raw = rawJobs({ ...policyOf(this.#policy), crons: [cron] });
    this.#module.onRun = (edit, run) => this.#onRun(edit, run);
    this.#created = Number(this.#clock.nowMicros());
  }

  static async create(random: Random): Promise<World> {
    const world = new World(random);
    world.#jobs = await JobDatabase.open(world.#options());
    return world;
  }

  get jobs(): JobDatabase {
    if (this.#jobs === undefined) throw new Error('the database is not open');
    return this.#jobs;
  }

  /** Until the power is cut, or a run has ended the actor. */
  async liveUntilEnd(): Promise<void> {
    const random = this.#random;
    this.#disk.stopAt(this.#disk.operationCount + 1 + random.below(80));
    for (let left = 2_000; this.jobs.stopped === undefined && !this.#disk.isOff; left--) {
      if (left === 0) throw new Error('the power was never cut');
      const step = random.below(10);
      if (step < 4) await this.#edit(random.chance(0.7));
      else if (step < 8) await this.#advance(random.below(3_000));
      else if (step === 8) await this.#noteDurable();
      else await nextTurn();
    }
    this.#crashes += 1;
  }

  /** Also when the power is cut while it opens; after a long time, unless it is to come to rest. */
  async reopen(mayTakeLong = true): Promise<void> {
    const random = this.#random;
    const died = this.#disk.isOff ? undefined : this.#mark;
    this.#disk = this.#disk.isOff ? this.#disk.crash(random) : this.#disk.afterKill();
    for (let failed = died; ; failed = undefined) {
      const isLong = mayTakeLong && random.chance(0.3);
      this.#clock.advance(1 + random.below(isLong ? 60_000 : 9));
      this.#openings.push(Number(this.#clock.nowMicros()));
      if (random.chance(0.3)) this.#disk.stopAt(1 + random.below(8));
      try {
        const options = { ...this.#options(), opens: true };
        this.#jobs = await JobDatabase.open(
          failed === undefined ? options : { ...options, failed },
        );
        this.#compareDurable();
        return;
      } catch (error) {
        if (!this.#disk.isOff) throw error;
        this.#disk = this.#disk.crash(random);
      }
    }
  }

  /** Without further power cuts, until no row is due and no failed run is to be repeated. */
  async finish(): Promise<void> {
    for (let left = 300; left > 0; left--) {
      this.#disk.stopAt(Number.POSITIVE_INFINITY);
      if (this.jobs.stopped !== undefined || this.#disk.isOff) await this.reopen(false);
      else if (left < 280 && this.#isQuiet()) return;
      else {
        await this.#write(this.#restless());
        await this.#advance(500);
      }
    }
    throw new Error('it does not come to rest');
  }

  /** Rows whose runs fail again and again are to be removed. */
  #restless(): readonly EditedRow[] {
    return this.#rows()
      .filter(({ at, note: kind }) => at?.isInterval === true && silentNotes.includes(kind))
      .map(({ table, id }) => ({ table, id, note: 'plain' }));
  }

  #rows(): readonly EditedRow[] {
    return tables.flatMap((table) => this.jobs.rows(table).map((row) => editedRow(table, row)));
  }

  history(): History {
    const { jobs } = this;
    const names = new Map(tables.map((name) => [jobs.tableId(name), name]));
    return {
      ledger: this.#ledger().map((text) => JSON.parse(text) as LedgerEntry),
      lost: this.#lost,
      createdMicros: this.#created,
      openings: this.#openings,
      endMicros: Number(this.#clock.nowMicros()),
      rows: this.#rows(),
      dues: jobs
        .rows('st_schedule_due')
        .map(([schedule, key, due]) => `${names.get(schedule as number)} ${key} ${due}`),
      policy: this.#policy,
      cronSeconds: this.#cronSeconds,
      crashes: this.#crashes,
    };
  }

  #options() {
    const progress = {
      ...noProgress,
      scheduled: (mark: ScheduledMark) => {
        this.#mark = mark;
      },
    };
    const fixed = { clock: this.#clock, module: this.#module, cron: secondsCron };
    return { ...fixed, disk: this.#disk, progress };
  }

  #isQuiet(): boolean {
    const { jobs } = this;
    return jobs.rows('st_schedule_attempt').length === 0 && jobs.stopped === undefined;
  }

  async #advance(millis: number): Promise<void> {
    this.#clock.advance(millis);
    await this.jobs.settled();
  }

  async #edit(isAwaited: boolean): Promise<void> {
    const rows = Array.from({ length: 1 + this.#random.below(3) }, () => this.#someRow());
    const done = this.#write(rows);
    if (isAwaited) await done;
  }

  async #write(rows: readonly EditedRow[]): Promise<void> {
    const body = (edit: JobTables): void => {
      for (const row of rows) apply(edit, row);
      note(edit, { kind: 'edit', micros: Number(this.#clock.nowMicros()), rows });
    };
    await this.jobs.act(body).catch(() => undefined);
  }

  /** A new row, or another version of an earlier one. No two rows have the same time. */
  #someRow(): EditedRow {
    const random = this.#random;
    const isNew = random.chance(0.7);
    const id = isNew ? this.#nextId++ : 1 + random.below(this.#nextId);
    const table = tables[id % 2] ?? 'job';
    const kind = notes[random.below(notes.length)] ?? 'plain';
    if (!isNew && random.chance(0.4)) return { table, id, note: kind };
    const isInterval = random.chance(0.4);
    const micros = isInterval
      ? second + random.below(4 * second)
      : Number(this.#clock.nowMicros()) + random.below(6 * second) - second;
    return { table, id, at: { isInterval, micros }, note: kind };
  }

  #onRun(edit: JobTables, { table, id, note: kind, micros }: Run): void {
    const due = Number(this.#mark?.dueMicros);
    if (kind === 'fail') {
      edit.put('ledger', [0n, 'rolled back']);
      throw new JobFailure('it fails');
    }
    if (kind === 'die') throw new Error('it ends the actor');
    const text = table === 'nightly' ? 'plain' : kind;
    const run = { kind: 'run', micros: Number(micros), table, due, note: text } as const;
    const entry: LedgerEntry = { ...run, id: table === 'nightly' ? 0 : Number(id) };
    const number = note(edit, entry);
    for (const row of effectsOf(entry, number)) apply(edit, row);
  }

  /** What is durable now must be there after every crash. */
  async #noteDurable(): Promise<void> {
    for (let left = 50; left > 0; left--) {
      const { jobs } = this;
      if (jobs.stopped !== undefined || this.#disk.isOff) return;
      if (jobs.durableOffset === jobs.store.offset) {
        this.#durable = this.#ledger();
        return;
      }
      await nextTurn();
    }
  }

  #compareDurable(): void {
    const now = this.#ledger();
    this.#lost.push(...this.#durable.filter((text, at) => now[at] !== text));
    this.#durable = now.slice(0, this.#durable.length);
  }

  #ledger(): string[] {
    const rows = this.jobs.rows('ledger') as [bigint, string][];
    return rows.sort(([one], [other]) => Number(one - other)).map(([, text]) => text);
  }
}

/** What a run does to rows beside noting itself; `number` is that of its entry in the ledger. */
export function effectsOf(run: LedgerEntry, number: number): readonly EditedRow[] {
  if (run.kind === 'edit') return run.rows;
  const { table, id, micros } = run;
  // Fractions of a millisecond keep these times apart from those of edits.
  const at = { isInterval: false, micros: micros + 2 * second + number };
  switch (run.note) {
    case 'rearm':
      return [{ table, id, at, note: 'plain' }];
    case 'delete':
      return [{ table, id, note: 'plain' }];
    case 'chain':
      return [{ table: 'other', id: 1_000_000 + number, at, note: 'plain' }];
    default:
      return [];
  }
}

function apply(edit: JobTables, { table, id, at, note: kind }: EditedRow): void {
  if (at === undefined) edit.remove(table, BigInt(id));
  else {
    const when = at.isInterval ? every(at.micros) : once(BigInt(at.micros));
    edit.put(table, [BigInt(id), when, kind]);
  }
}

/** Returns the number of the entry. */
function note(edit: JobTables, entry: LedgerEntry): number {
  const number = edit.rowCount('ledger');
  edit.put('ledger', [BigInt(number), JSON.stringify(entry)]);
  return number;
}

function editedRow(table: string, row: readonly unknown[]): EditedRow {
  const [id, at, kind] = row as [bigint, { tag: number; value: [bigint] }, string];
  const micros = Number(at.value[0]);
  return { table, id: Number(id), at: { isInterval: at.tag === 0, micros }, note: kind };
}

import { noProgress, type Progress } from '../../src/database/progress.ts';
import type { DeclaredStep } from '../../src/schema/declared-step.ts';
import { Random } from '../../src/testing/random.ts';
import { SimulatedDisk } from '../../src/testing/simulated-disk.ts';
import { migrated } from '../schema/migration-builder.ts';
import { moduleOf, type TableSketch, text, u32 } from '../schema/module-builder.ts';
import {
  changeReducer,
  MigratingDatabase,
  type Row,
  type RowChange,
  type TestProgram,
} from '../support/migrating-database.ts';

/** What a run has shown, for a test to look at. */
export interface MigrationRunReport {
  readonly outcome: 'updated' | 'refused';
  readonly isOnline: boolean;
  /** Changes that others have committed while rows were taken. */
  readonly changes: number;
  /** What was found after each power cut. */
  readonly old: number;
  readonly next: number;
  /** Publishes that were cancelled between two slices. */
  readonly cancelled: number;
}

/** How many writes and slices of a migration are cut, each in a run of its own. */
export type Cuts = number | 'every';

/**
 * A random migration of two tables, `a` with a key and `b` without, by functions that are random but
 * pure, while others change rows. Then the tables are compared with what the obvious way gives, and
 * again after a restart. In further runs, power is cut at operations of the disk, and the publish is
 * cancelled between slices. Throws an error that names the seed.
 */
export async function runMigration(seed: number, cuts: Cuts): Promise<MigrationRunReport> {
  try {
    return await run(seed, cuts);
  } catch (error) {
    throw new Error(`seed ${seed}: ${String(error)}`, { cause: error });
  }
}

async function run(seed: number, cuts: Cuts): Promise<MigrationRunReport> {
  const random = new Random(seed);
  const plan = new Plan(random);
  const isOnline = random.chance(0.7);
  const migrationSizes = {
    ...{ onlineRowsMin: isOnline ? 0 : 1_000, sliceMillis: 0 },
    ...{ batchRows: random.between(1, 4), lastRowsMax: random.below(3) },
  };
  const start: Start = (disk, { open = false, progress = noProgress } = {}) =>
    MigratingDatabase.start(plan.programs, { disk, open, progress, migrationSizes });
  const disk = new SimulatedDisk();
  const database = await start(disk);
  const rows = new Rows(database, new Random(seed + 1));
  await rows.fill();
  plan.onRow = () => rows.maybeChange();
  const reply = await database.publish('after');
  plan.onRow = () => undefined;
  await rows.settled();
  const outcome = reply.kind === 'updated' ? 'updated' : 'refused';
  const made = plan.rowsAfter(rows.tables);
  // Others may have changed afterwards what was in the way.
  const hadReason = plan.mayThrow || (plan.mayConflict && rows.changes > 0);
  const isAllowed = outcome === 'updated' ? made !== undefined : made === undefined || hadReason;
  require(isAllowed, `it was ${outcome}: ${reply.kind === 'refused' ? reply.body.message : ''}`);
  const expected = outcome === 'updated' ? (made ?? {}) : textsOf(rows.tables);
  requireSame(database.all(), expected);
  await database.database.close();
  const again = await start(disk, { open: true });
  requireSame(again.all(), expected);
  await again.database.close();
  const found = await runCuts({ start, plan, seed, random }, cuts);
  return { outcome, isOnline, changes: rows.changes, ...found };
}

type Start = (
  disk: SimulatedDisk,
  options?: { readonly open?: boolean; readonly progress?: Progress },
) => Promise<MigratingDatabase>;

interface CutRun {
  readonly start: Start;
  readonly plan: Plan;
  readonly seed: number;
  readonly random: Random;
}

async function runCuts(run: CutRun, cuts: Cuts) {
  const { filled, operations, looks } = await runWhole(run);
  const found = { old: 0, next: 0, cancelled: 0 };
  for (const at of someOf(operations - filled, cuts, run.random)) {
    const isNext = await runPowerCut(run, filled + at);
    found[isNext ? 'next' : 'old']++;
  }
  for (const at of someOf(looks, cuts, run.random)) {
    await runCancelled(run, at);
    found.cancelled++;
  }
  return found;
}

/** Numbers from 1 to `count`. */
function someOf(count: number, cuts: Cuts, random: Random): number[] {
  if (cuts === 'every') return Array.from({ length: count }, (_, index) => index + 1);
  if (count === 0) return [];
  return Array.from({ length: cuts }, () => random.between(1, count));
}

/** What there is to cut: nobody else changes rows here, nor in the runs that are cut. */
async function runWhole({ start, seed }: CutRun) {
  const disk = new SimulatedDisk();
  let looks = 0;
  const progress = { ...noProgress, isAbandoned: () => ++looks < 0 };
  const database = await start(disk, { progress });
  await new Rows(database, new Random(seed + 1)).fill();
  const filled = disk.operationCount;
  await database.publish('after');
  const operations = disk.operationCount;
  await database.database.close();
  return { filled, operations, looks };
}

/** All that is found is as before, or all is as after. */
async function runPowerCut({ start, plan, seed }: CutRun, cut: number): Promise<boolean> {
  const disk = new SimulatedDisk();
  const database = await start(disk);
  const rows = new Rows(database, new Random(seed + 1));
  await rows.fill();
  disk.stopAt(cut);
  const reply = await database.publish('after').catch(() => undefined);
  const again = await start(disk.crash(new Random(cut)), { open: true });
  const isNext = again.core.program.definition.migrations.length > 0;
  const made = plan.rowsAfter(rows.tables);
  require(!isNext || made !== undefined, `cut at ${cut}: what is refused has happened`);
  require(isNext || reply?.kind !== 'updated' || disk.isOff, `cut at ${cut}: it is lost`);
  requireSame(again.all(), isNext ? (made ?? {}) : textsOf(rows.tables));
  return isNext;
}

/** All is as before, at once and after a restart, and the same publish can be made again. */
async function runCancelled({ start, plan, seed }: CutRun, at: number): Promise<void> {
  const disk = new SimulatedDisk();
  let looks = 0;
  const progress = { ...noProgress, isAbandoned: () => ++looks === at };
  const database = await start(disk, { progress });
  const rows = new Rows(database, new Random(seed + 1));
  await rows.fill();
  const reply = await database.publish('after');
  const isRefused = reply.kind === 'refused' && reply.body.code === 'migration.cancelled';
  require(isRefused, `cancelled at look ${at}: it was answered by ${reply.kind}`);
  requireSame(database.all(), textsOf(rows.tables));
  await database.database.close();
  const again = await start(disk, { open: true });
  requireSame(again.all(), textsOf(rows.tables));
  const made = plan.rowsAfter(rows.tables);
  const isUpdated = (await again.publish('after')).kind === 'updated';
  require(isUpdated === (made !== undefined), `after a cancel at ${at}: published ${isUpdated}`);
  requireSame(again.all(), made ?? textsOf(rows.tables));
  await again.database.close();
}

type Tables = { readonly a: ReadonlyMap<number, Row>; readonly b: ReadonlyMap<string, Row> };

/** What becomes of the tables, and by which functions. */
class Plan {
  readonly programs: Readonly<Record<string, TestProgram>>;
  /** Whether a function throws for some row. */
  readonly mayThrow: boolean;
  /** Whether rows can share a unique key. */
  get mayConflict(): boolean {
    return this.#isUnique || this.#hasKey;
  }

  onRow: () => void = () => undefined;
  readonly #ofA: 'addColumn' | 'dropColumn' | 'split' | 'keep';
  readonly #ofB: 'map' | 'rename' | 'drop' | 'keep';
  readonly #salt: number;
  readonly #isUnique: boolean;
  readonly #hasKey: boolean;

  constructor(random: Random) {
    this.#ofA = random.pick(['addColumn', 'addColumn', 'dropColumn', 'split', 'keep']);
    this.#ofB = random.pick(
      this.#ofA === 'keep' ? ['map', 'map', 'rename'] : ['map', 'rename', 'drop', 'keep'],
    );
    this.#salt = random.between(1, 5);
    this.#isUnique = this.#ofA === 'addColumn' && random.chance(0.3);
    this.#hasKey = random.chance(0.5);
    this.mayThrow = random.chance(0.1);
    const before = moduleOf([a, b], rest);
    const after = moduleOf(this.#tables(), rest);
    const code = {
      rows: (table: string, row: Row) => {
        this.onRow();
        return table === 'a' ? this.#mapA(row) : { b: this.#mapB(row) };
      },
    };
    this.programs = {
      before: { module: before },
      after: { module: migrated(after, { before, steps: this.#steps() }), code },
    };
  }

  /** `undefined`: keys would be there twice, or a function throws. */
  rowsAfter({ a: rowsA, b: rowsB }: Tables): Record<string, string[]> | undefined {
    const made: Record<string, string[]> = {};
    for (const { name } of this.#tables()) made[name] = [];
    const add = (name: string, row: Row): void => {
      const list = made[name] ?? [];
      const line = textOf(row);
      if (!list.includes(line)) list.push(line);
      made[name] = list.sort();
    };
    try {
      for (const row of rowsA.values()) {
        const gives = this.#ofA === 'keep' ? { a: [row] } : this.#mapA(row);
        for (const [name, rows] of Object.entries(gives)) for (const one of rows) add(name, one);
      }
    } catch {
      return undefined;
    }
    const nameOfB = this.#ofB === 'rename' ? 'c' : 'b';
    for (const row of this.#ofB === 'drop' ? [] : rowsB.values()) {
      for (const one of this.#ofB === 'map' ? this.#mapB(row) : [row]) add(nameOfB, one);
    }
    return this.#isTwice(made) ? undefined : made;
  }

  #isTwice(made: Readonly<Record<string, readonly string[]>>): boolean {
    const twice = (name: string, column: number): boolean => {
      const keys = (made[name] ?? []).map((line) => line.split(' ')[column]);
      return new Set(keys).size < keys.length;
    };
    return (this.#isUnique && twice('a', 1)) || (this.#hasKey && twice('part', 0));
  }

  #mapA([id = 0, n = 0, s = '']: Row): Record<string, Row[]> {
    if (this.mayThrow && Number(id) % 17 === this.#salt) throw new Error('not this one');
    switch (this.#ofA) {
      case 'dropColumn':
        return { a: [[id, n]] };
      case 'split': {
        const isOdd = Number(id) % (this.#salt * 7) === 3;
        const label = isOdd ? `odd${id}` : `p${n}`;
        return { a: [[id, n]], part: [[n, label]] };
      }
      default:
        return { a: [[id, n, s, Number(n) * this.#salt]] };
    }
  }

  #mapB([x = 0, s = '']: Row): Row[] {
    const kept: Row = [Number(x) % 5, s];
    if (Number(x) % 4 === 0) return [];
    return Number(x) % 3 === 0 ? [kept, [Number(x) + this.#salt, 'twice']] : [kept];
  }

  #steps(): DeclaredStep[] {
    const steps: DeclaredStep[] = [];
    const ofA: Record<string, DeclaredStep> = {
      addColumn: { kind: 'addColumn', table: 'a', column: 'm' },
      dropColumn: { kind: 'dropColumn', table: 'a', column: 's' },
      split: { kind: 'splitTable', table: 'a', into: ['a', 'part'], reads: false },
    };
    const ofB: Record<string, DeclaredStep> = {
      map: { kind: 'mapRows', table: 'b', reads: false },
      rename: { kind: 'renameTable', from: 'b', to: 'c' },
      drop: { kind: 'dropTable', table: 'b' },
    };
    for (const step of [ofA[this.#ofA], ofB[this.#ofB]]) if (step !== undefined) steps.push(step);
    return steps;
  }

  #tables(): TableSketch[] {
    const short: TableSketch = { ...a, columns: { id: u32, n: u32 } };
    const added: TableSketch = { ...a, columns: { ...a.columns, m: u32 } };
    const part: TableSketch = { name: 'part', columns: { n: u32, label: text } };
    const tables: TableSketch[] = [];
    if (this.#ofA === 'keep') tables.push(a);
    if (this.#ofA === 'addColumn')
      tables.push(this.#isUnique ? { ...added, unique: [['n']] } : added);
    if (this.#ofA === 'dropColumn' || this.#ofA === 'split') tables.push(short);
    if (this.#ofA === 'split') tables.push(this.#hasKey ? { ...part, primaryKey: 'n' } : part);
    if (this.#ofB !== 'drop') tables.push(this.#ofB === 'rename' ? { ...b, name: 'c' } : b);
    return tables;
  }
}

const a: TableSketch = { name: 'a', columns: { id: u32, n: u32, s: text }, primaryKey: 'id' };
const b: TableSketch = { name: 'b', columns: { x: u32, s: text } };
const rest = { reducers: [changeReducer], caseConversion: 'none' } as const;

/** The rows of the tables before, as commits leave them. */
class Rows {
  tables: { a: Map<number, Row>; b: Map<string, Row> } = { a: new Map(), b: new Map() };
  changes = 0;
  readonly #database: MigratingDatabase;
  readonly #random: Random;
  /** As they will be when all that was asked for is done. */
  #asked: { a: Map<number, Row>; b: Map<string, Row> } = { a: new Map(), b: new Map() };
  #running: Promise<void>[] = [];

  constructor(database: MigratingDatabase, random: Random) {
    this.#database = database;
    this.#random = random;
  }

  async fill(): Promise<void> {
    for (let left = this.#random.below(6); left > 0; left--) await this.#change(12);
    this.changes = 0;
  }

  maybeChange(): void {
    if (this.#running.length < 30 && this.#random.chance(0.3)) void this.#change(3);
  }

  async settled(): Promise<void> {
    await Promise.all(this.#running);
  }

  #change(most: number): Promise<void> {
    const random = this.#random;
    const next = { a: new Map(this.#asked.a), b: new Map(this.#asked.b) };
    for (let left = random.between(1, most); left > 0; left--) {
      const id = random.below(60);
      const n = random.below(40);
      const s = random.pick(['', 'x', 'yy', 'zzz']);
      if (random.chance(0.6)) {
        if (random.chance(0.3)) next.a.delete(id);
        else next.a.set(id, [id, n, s]);
      } else if (random.chance(0.4)) next.b.delete(textOf([n, s]));
      else next.b.set(textOf([n, s]), [n, s]);
    }
    const changes = [changeOf('a', this.#asked.a, next.a), changeOf('b', this.#asked.b, next.b)];
    this.#asked = next;
    const done = this.#database.change(...changes).then(
      () => {
        this.tables = next;
        this.changes++;
      },
      (error: unknown) => {
        require(String(error).includes('schema.changed'), String(error));
      },
    );
    this.#running.push(done);
    return done;
  }
}

function changeOf<Key>(table: string, before: Map<Key, Row>, after: Map<Key, Row>): RowChange {
  const isIn = (rows: Map<Key, Row>, [key, row]: [Key, Row]) =>
    textOf(rows.get(key) ?? []) === textOf(row);
  return {
    table,
    remove: [...before].filter((one) => !isIn(after, one)).map(([, row]) => row),
    insert: [...after].filter((one) => !isIn(before, one)).map(([, row]) => row),
  };
}

function textsOf({ a: rowsA, b: rowsB }: Tables): Record<string, string[]> {
  return { a: [...rowsA.values()].map(textOf).sort(), b: [...rowsB.values()].map(textOf).sort() };
}

function textOf(row: Row): string {
  return row.map(String).join(' ');
}

function requireSame(found: unknown, expected: unknown): void {
  const [is, wanted] = [found, expected].map((one) => JSON.stringify(sorted(one)));
  require(is === wanted, `found ${is}, expected ${wanted}`);
}

function sorted(tables: unknown): unknown {
  const entries = Object.entries(tables as Record<string, string[]>);
  return entries.sort(([one], [other]) => (one < other ? -1 : 1));
}

function require(condition: boolean, message: string): void {
  if (!condition) throw new Error(message);
}

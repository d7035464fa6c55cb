import { limits } from '../../limits.ts';
import type { ModuleDefinition } from '../../schema/definition.ts';
import { fullTablesOf } from '../../schema/flatten.ts';
import type { TableId } from '../../schema/ids.ts';
import type { ChangeSet, TableChange } from '../../store/change-set.ts';
import { noRow } from '../../store/row-ref.ts';
import type { Store } from '../../store/store.ts';
import type { Transaction } from '../../store/transaction.ts';
import type { Clock } from '../clock.ts';
import type { CronReader } from '../cron.ts';
import { ArmedCron } from './armed-cron.ts';
import { ArmedTable } from './armed-table.ts';
import { deriveMissing, deriveRows, type HiddenRows } from './derive.ts';
import { farMicros, microsOf } from './due-time.ts';
import type { DueCron, DueRow } from './due-work.ts';
import { EndedRunCounts } from './ended-runs.ts';
import { ProcedureRuns } from './procedure-runs.ts';
import type { ScheduleFollower } from './ran-schedule.ts';
import { ScheduleCounts } from './schedule-counts.ts';
import { noScheduleFigures, type ScheduleFigures } from './schedule-figures.ts';
import {
  type Attempt,
  AttemptRows,
  attemptTableId,
  type Control,
  ControlRows,
  controlTableId,
  DueRows,
  dueTableId,
  type RowKey,
  readAttempt,
  readControls,
  visitDue,
} from './schedule-tables.ts';
import { ScheduleTime } from './schedule-time.ts';

export type Armed = ArmedTable | ArmedCron;

export interface ScheduleParts {
  readonly store: Store;
  readonly clock: Clock;
  readonly cron: CronReader | undefined;
  readonly warn: (message: string) => void;
  readonly isPaused: boolean;
  readonly follower: ScheduleFollower | undefined;
}

/**
 * The schedules of one database: what is due when, kept in step with the rows. What has to survive
 * is in the rows and in hidden tables; the queues here are built from them.
 *
 * ```
 *  rows ──▶ beforeCommit: hidden rows, in the same commit ──▶ committed: queues ──▶ take: a run
 *    ▲                                                                                │
 *    └────────────── the end of the row, or its next due time, in one commit ◀────────┘
 * ```
 */
export class Schedules {
  readonly time: ScheduleTime;
  readonly hidden: HiddenRows;
  readonly controls: ControlRows;
  readonly counts = new ScheduleCounts();
  readonly ended = new EndedRunCounts();
  readonly runs = new ProcedureRuns();
  /** True: nothing runs, whatever is due. */
  isPaused: boolean;
  readonly #parts: ScheduleParts;
  /** In the order in which ties run. */
  #all: readonly Armed[] = [];
  #tables: ReadonlyMap<TableId, ArmedTable> = new Map();
  /** False: no commit concerns schedules. */
  #isNeeded = false;
  /** Rows without their hidden rows, or the other way round. */
  #isTorn = false;
  /** Rows for which a procedure ran when the database ended. */
  #lost: RowKey[] = [];

  constructor(parts: ScheduleParts) {
    const { store, clock, warn, isPaused } = parts;
    this.#parts = parts;
    this.isPaused = isPaused;
    this.hidden = { dues: new DueRows(store), attempts: new AttemptRows(store) };
    this.controls = new ControlRows(store);
    this.time = new ScheduleTime(clock, { warn, skipped: (now) => this.missUntil(now) });
  }

  get follower(): ScheduleFollower | undefined {
    return this.#parts.follower;
  }

  get all(): readonly Armed[] {
    return this.#all;
  }

  get isNeeded(): boolean {
    return this.#isNeeded;
  }

  /** Takes the schedules of the program that serves, whose tables the store has now. */
  serve(definition: ModuleDefinition): void {
    const { store, cron } = this.#parts;
    const before = new Map(this.#all.map((armed) => [`${armed.kind} ${armed.name}`, armed]));
    const tables: ArmedTable[] = [];
    for (const { table } of fullTablesOf(definition)) {
      // Rows of event tables are gone when their transaction ends.
      if (table.schedule === undefined || table.isEvent) continue;
      const stored = store.tableByName(table.name);
      if (stored === undefined) continue;
      const old = before.get(`table ${table.name}`) as ArmedTable | undefined;
      const kept = old?.id === stored.id ? old : undefined;
      tables.push(new ArmedTable(table.schedule, stored, kept));
    }
    const crons = definition.crons.map((one, position) => {
      return new ArmedCron(one, position, cron, before.get(`cron ${one.name}`) as ArmedCron);
    });
    this.#all = [...tables, ...crons].sort((one, other) => (one.name < other.name ? -1 : 1));
    this.#tables = new Map(tables.map((armed) => [armed.id, armed]));
    this.#isNeeded = this.#all.length > 0;
    for (const armed of tables) armed.guardAgainst(() => this.time.now());
  }

  /** Builds all queues from the rows. What was due before now was missed. */
  arm(lastMicros: bigint): void {
    if (!this.#isNeeded) return;
    this.time.warnIfBefore(microsOf(lastMicros));
    const intervals = new Map<TableId, number>();
    for (const { queue } of this.#all) queue.clear();
    this.hidden.dues.forEach((schedule, due, high, low) => {
      this.#tables.get(schedule)?.queue.add(due, high, low);
      intervals.set(schedule, (intervals.get(schedule) ?? 0) + 1);
    });
    for (const armed of this.#tables.values()) {
      const count = this.#addTimes(armed);
      if (count !== (intervals.get(armed.id) ?? 0)) this.#isTorn = true;
      intervals.delete(armed.id);
    }
    if (intervals.size > 0) this.#isTorn = true;
    this.hidden.attempts.forEach((row, attempt) => {
      const armed = this.#tables.get(row.schedule);
      if (attempt.state === 'waits') armed?.queue.add(attempt.at, row.high, row.low);
      if (attempt.state === 'claimed') this.#lost.push(row);
      if (armed !== undefined) countResting(armed, attempt, 1);
    });
    for (const armed of this.#tables.values()) armed.queue.order();
    this.#followControls(this.controls.all());
    if (this.#cronsToBegin().length > 0) this.#isTorn = true;
    this.missUntil(this.time.now());
  }

  /** Adds the rows that run once, and returns the number of the others. */
  #addTimes(armed: ArmedTable): number {
    const { table, queue } = armed;
    let intervals = 0;
    for (let ref = table.nextRow(noRow); ref !== noRow; ref = table.nextRow(ref)) {
      const { isInterval, micros } = armed.atOf(ref);
      if (isInterval) {
        intervals += 1;
      } else {
        const { high, low } = armed.keyOf(ref);
        queue.add(micros, high, low);
      }
    }
    return intervals;
  }

  /** Nothing could run until now: what was due in the meantime was missed. */
  missUntil(nowMicros: number): void {
    for (const { state } of this.#all) state.downUntil = nowMicros;
  }

  /** Called before each commit: writes the hidden rows that belong to it. */
  beforeCommit(transaction: Transaction, timestampMicros: bigint): void {
    if (!this.#isNeeded) return;
    for (const armed of this.#tables.values()) {
      if (!armed.table.changes.hasNetChange) continue;
      const now = Math.max(this.time.now(), Number(timestampMicros));
      deriveRows(transaction, armed, this.hidden, Math.min(now, farMicros));
    }
  }

  /** Called after each commit: arms what it has changed. */
  committed(changes: ChangeSet | undefined): void {
    if (!this.#isNeeded || changes === undefined) return;
    for (const change of changes.tables) {
      const armed = this.#tables.get(change.tableId);
      if (armed !== undefined) armTimes(armed, change);
      else if (change.tableId === dueTableId) this.#armDues(change);
      else if (change.tableId === attemptTableId) this.#armAttempts(change);
      else if (change.tableId === controlTableId) this.#armControls(change);
    }
    for (const armed of this.#tables.values()) {
      const { queue, table } = armed;
      if (queue.size > 2 * table.rowCount + limits.scheduleStaleMax) this.rebuild(armed);
    }
  }

  #armDues({ inserts: { bytes, count } }: TableChange): void {
    let at = 0;
    for (let left = count; left > 0; left--) {
      at = visitDue(bytes, at, (schedule, due, high, low) => {
        this.#tables.get(schedule)?.queue.push(due, high, low);
      });
    }
  }

  #armAttempts({ inserts, deletes }: TableChange): void {
    let at = 0;
    for (let left = deletes.count; left > 0; left--) {
      const { row, attempt, end } = readAttempt(deletes.bytes, at);
      at = end;
      this.#rest(row, attempt, -1);
      this.rearm(row);
    }
    at = 0;
    for (let left = inserts.count; left > 0; left--) {
      const { row, attempt, end } = readAttempt(inserts.bytes, at);
      at = end;
      this.#rest(row, attempt, 1);
      if (attempt.state === 'waits') {
        this.#tables.get(row.schedule)?.queue.push(attempt.at, row.high, row.low);
      }
    }
  }

  /** Queues a row that has come to be due at another time than its entries say, if it is. */
  rearm({ schedule, high, low }: RowKey): void {
    const armed = this.#tables.get(schedule);
    const at = armed === undefined ? undefined : this.effectiveAt(armed, high, low);
    if (at !== undefined) armed?.queue.push(at, high, low);
  }

  #rest(row: RowKey, attempt: Attempt, by: 1 | -1): void {
    const armed = this.#tables.get(row.schedule);
    if (armed !== undefined) countResting(armed, attempt, by);
  }

  #armControls({ inserts, deletes }: TableChange): void {
    const inserted = readControls(inserts);
    const names = new Set(inserted.map(({ name }) => name));
    const gone = readControls(deletes).filter(({ name }) => !names.has(name));
    for (const { name } of gone) this.#follow(name, undefined);
    this.#followControls(inserted);
  }

  #followControls(controls: readonly Control[]): void {
    for (const control of controls) this.#follow(control.name, control);
  }

  #follow(name: string, control: Control | undefined): void {
    for (const armed of this.#all) {
      if (armed.name !== name) continue;
      armed.state.isPaused = control?.isPaused ?? false;
      if (armed.kind === 'cron') armed.follow(control);
    }
  }

  /** Drops the entries of a queue that no longer hold, by building it again from the rows. */
  rebuild(armed: ArmedTable): void {
    const { table, queue } = armed;
    queue.clear();
    for (let ref = table.nextRow(noRow); ref !== noRow; ref = table.nextRow(ref)) {
      const { high, low } = armed.keyOf(ref);
      const at = this.effectiveAt(armed, high, low);
      if (at !== undefined) queue.add(at, high, low);
    }
    queue.order();
  }

  /** When a row runs: as it says itself, or otherwise if its attempt says so. */
  effectiveAt(armed: ArmedTable, high: number, low: number): number | undefined {
    const ref = armed.find(high, low);
    if (ref === noRow) return undefined;
    const { dues, attempts } = this.hidden;
    const row = { schedule: armed.id, high, low };
    const { isInterval, micros } = armed.atOf(ref);
    const attempt = attempts.find(row);
    if (attempt?.state === 'waits') return attempt.at;
    if (attempt !== undefined && isAtRest(attempt, isInterval)) return undefined;
    return isInterval ? dues.find(row) : micros;
  }

  /** True if something is due now. */
  isDue(): boolean {
    if (!this.#isNeeded || this.isPaused || this.follower?.isHeld() === true) return false;
    if (this.#isTorn || this.#lost.length > 0) return true;
    const first = this.#first();
    return first !== undefined && first.queue.firstDue <= this.time.now();
  }

  /** When the next run is due; `undefined`: none is to come. */
  nextDue(): number | undefined {
    if (!this.#isNeeded || this.isPaused) return undefined;
    for (const armed of this.#all) this.#dropStale(armed);
    return this.#first()?.queue.firstDue;
  }

  /** The time of the wall clock at which the next run is due. */
  alarmMicros(): bigint | undefined {
    const due = this.nextDue();
    return due === undefined ? undefined : BigInt(due - this.time.aheadMicros());
  }

  #dropStale(armed: Armed): void {
    if (armed.kind === 'cron' || armed.state.isPaused) return;
    const { queue } = armed;
    // What is left goes when it is taken.
    for (let left = limits.scheduleStaleMax; left > 0 && queue.size > 0; left--) {
      const { firstDue, firstHigh, firstLow } = queue;
      if (this.#holds(armed, firstDue, firstHigh, firstLow)) return;
      queue.pop();
    }
  }

  /** True if an entry says when its row runs next. Another entry follows when a run has ended. */
  #holds(armed: ArmedTable, due: number, high: number, low: number): boolean {
    if (this.runs.has({ schedule: armed.id, high, low })) return false;
    return this.effectiveAt(armed, high, low) === due;
  }

  /** True while it does not run what is due: it is paused, or its procedures have no place. */
  #isHeld({ state, isOfProcedure }: Armed): boolean {
    return state.isPaused || (isOfProcedure && !this.runs.hasPlace);
  }

  /** The schedule whose first entry comes first; ties in the order of names. */
  #first(): Armed | undefined {
    let first: Armed | undefined;
    let due = Number.POSITIVE_INFINITY;
    for (const armed of this.#all) {
      const { firstDue } = armed.queue;
      if (firstDue >= due || this.#isHeld(armed)) continue;
      first = armed;
      due = firstDue;
    }
    return first;
  }

  /**
   * Takes the entry that comes first, if it is due at `nowMicros`: what has to run, or `stale` if
   * the entry no longer holds.
   */
  take(nowMicros: number): DueRow | DueCron | 'stale' | undefined {
    if (this.isPaused || this.follower?.isHeld() === true) return undefined;
    const armed = this.#first();
    if (armed === undefined || armed.queue.firstDue > nowMicros) return undefined;
    return this.takeFrom(armed);
  }

  /** Takes the first entry of one schedule, whether it is due or not; there must be one. */
  takeFrom(armed: Armed): DueRow | DueCron | 'stale' {
    const { queue } = armed;
    const { firstDue, firstHigh, firstLow } = queue;
    if (armed.kind === 'cron') {
      const work = this.dueCronOf(armed);
      queue.pop();
      return work ?? 'stale';
    }
    queue.pop();
    if (!this.#holds(armed, firstDue, firstHigh, firstLow)) return 'stale';
    return this.rowOf(armed, firstHigh, firstLow) ?? 'stale';
  }

  /** What one schedule has to run next, now or later. It stays in its queue. */
  firstOf(armed: Armed): DueRow | DueCron | undefined {
    const { queue } = armed;
    if (armed.kind === 'cron') return this.dueCronOf(armed);
    while (queue.size > 0) {
      const { firstDue, firstHigh, firstLow } = queue;
      if (this.#holds(armed, firstDue, firstHigh, firstLow)) {
        return this.rowOf(armed, firstHigh, firstLow);
      }
      queue.pop();
    }
    return undefined;
  }

  /** What there is to run for the row with this key, now or later; nothing while it runs. */
  rowOf(armed: ArmedTable, high: number, low: number): DueRow | undefined {
    const row = { schedule: armed.id, high, low };
    if (this.runs.has(row)) return undefined;
    const found = this.hidden.attempts.find(row);
    if (found?.state === 'claimed') return undefined;
    return this.#dueRow(armed, row, found?.state === 'waits' ? found : undefined);
  }

  /** The row as it was claimed for a procedure; `undefined`: it is not. */
  claimedOf(armed: ArmedTable, row: RowKey): DueRow | undefined {
    const found = this.hidden.attempts.find(row);
    return found?.state === 'claimed' ? this.#dueRow(armed, row, found) : undefined;
  }

  #dueRow(armed: ArmedTable, row: RowKey, attempt: Attempt | undefined): DueRow | undefined {
    const { table } = armed;
    const ref = armed.find(row.high, row.low);
    if (ref === noRow) return undefined;
    const { isInterval, micros: at } = armed.atOf(ref);
    const due = attempt?.due ?? (isInterval ? this.hidden.dues.find(row) : at);
    if (due === undefined) return undefined;
    const bytes = new Uint8Array(table.lengthOf(ref));
    table.copyRow(ref, bytes, 0);
    const isSettled = attempt !== undefined;
    return { armed, row, bytes, isInterval, at, due, attempt: attempt?.attempt ?? 0, isSettled };
  }

  /** What there is to run for a cron, now or later. */
  dueCronOf(armed: ArmedCron): DueCron | undefined {
    const { control } = armed;
    if (control === undefined || armed.queue.size === 0) return undefined;
    return { armed, control, due: control.due, attempt: control.attempt };
  }

  /** True if hidden rows and rows do not match, which `mend` puts right. */
  get isTorn(): boolean {
    return this.#isTorn;
  }

  /** Rows for which a procedure ran when the database ended; each is given once. */
  takeLost(): readonly RowKey[] {
    return this.#lost.splice(0);
  }

  /** Gives crons that are new, or have another expression, their next time from now. */
  beginCrons(transaction: Transaction, nowMicros: number): void {
    for (const cron of this.#cronsToBegin()) {
      this.controls.put(transaction, cron.controlAt(cron.nextAfter(nowMicros)));
    }
  }

  #cronsToBegin(): readonly ArmedCron[] {
    return this.#all.filter((one): one is ArmedCron => {
      if (one.kind !== 'cron' || one.fault !== undefined) return false;
      return one.control === undefined || !one.isOf(one.control);
    });
  }

  /** Gives rows the hidden rows that they lack, and removes those that belong to none. */
  mend(transaction: Transaction, nowMicros: number): void {
    const { dues } = this.hidden;
    const strays: RowKey[] = [];
    dues.forEach((schedule, _, high, low) => {
      const armed = this.#tables.get(schedule);
      const ref = armed?.find(high, low) ?? noRow;
      const isKept = armed !== undefined && ref !== noRow && armed.atOf(ref).isInterval;
      if (!isKept) strays.push({ schedule, high, low });
    });
    for (const row of strays) dues.remove(transaction, row);
    for (const armed of this.#tables.values()) {
      deriveMissing(transaction, armed, this.hidden, nowMicros);
    }
    this.beginCrons(transaction, nowMicros);
    this.#isTorn = false;
  }

  /** The scheduled table with this id. */
  armedOf(id: TableId): ArmedTable | undefined {
    return this.#tables.get(id);
  }

  /** The cron at this place of the definition. */
  cronAt(position: number): ArmedCron | undefined {
    return this.#all.find((one): one is ArmedCron => {
      return one.kind === 'cron' && one.position === position;
    });
  }

  figures(): ScheduleFigures {
    if (!this.#isNeeded && this.counts.runs === 0) return noScheduleFigures;
    const armedRows = this.#all.reduce((sum, one) => sum + one.armedRows, 0);
    const paused = this.#all.filter((one) => this.isPaused || one.state.isPaused).length;
    return { armedRows, paused, running: this.runs.count, ...this.counts.figures() };
  }
}

/** True if an attempt keeps its row from running. */
function isAtRest({ state }: Attempt, isInterval: boolean): boolean {
  return state === 'claimed' || (state === 'failed' && !isInterval);
}

function countResting({ state }: Armed, attempt: Attempt, by: 1 | -1): void {
  if (isAtRest(attempt, attempt.at !== 0)) state.atRest += by;
}

function armTimes(armed: ArmedTable, { inserts: { bytes, count } }: TableChange): void {
  const { shape } = armed.table;
  let at = 0;
  for (let left = count; left > 0; left--) {
    const { isInterval, micros } = armed.atIn(bytes, at);
    if (!isInterval) {
      const { high, low } = armed.keyIn(bytes, at);
      armed.queue.push(micros, high, low);
    }
    at = shape.endOfRow(bytes, at, bytes.length);
  }
}

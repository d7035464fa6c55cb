import { present } from '../../assert.ts';
import { limits } from '../../limits.ts';
import type { Transaction } from '../../store/transaction.ts';
import { BinaryWriter } from '../../values/binary-writer.ts';
import type { DatabaseCore } from '../core.ts';
import { hostLine } from '../host-line.ts';
import type { Progress } from '../progress.ts';
import { runReducer } from '../run-reducer.ts';
import { nextOf, planOf } from './catch-up.ts';
import type { DueWork } from './due-work.ts';
import { endFailed } from './fail-run.ts';
import {
  countRun,
  countSkipped,
  hostRun,
  markOf,
  moveOn,
  placeOf,
  placeText,
  reportLateness,
} from './move-on.ts';
import { claimRun, failClaimed, failLost, rowKeyOf } from './run-procedure.ts';
import type { ScheduledMark } from './scheduled-mark.ts';
import type { Armed } from './schedules.ts';

/**
 * Runs what is due, in order, until the share of the turn is used up; synchronous. What comes to be
 * due meanwhile waits for the next turn, so that no schedule keeps a turn going. Returns whether a
 * record may have been appended.
 */
export function runDue(core: DatabaseCore, progress: Progress): boolean {
  const { schedules, clock } = core;
  const startedAt = clock.monotonicMillis();
  const now = schedules.time.now();
  const passing = new Passing(core);
  if (schedules.isTorn) passing.mend();
  const hasFailed = failLost(core);
  let ran = 0;
  for (let taken = 0; ran < limits.scheduledRunsPerTurnMax; taken++) {
    const isOver = clock.monotonicMillis() - startedAt >= limits.scheduleSliceMillisMax;
    if (taken > 0 && isOver) break;
    const work = schedules.take(now);
    if (work === undefined) break;
    if (work === 'stale') continue;
    const plan = planOf(work, now);
    if (plan.due === undefined) {
      passing.add(work, plan);
      continue;
    }
    passing.flush();
    countSkipped(core, work.armed, plan.skipped);
    progress.scheduled(markOf(work, plan.due));
    begin(core, { ...work, due: plan.due });
    ran += 1;
  }
  passing.flush();
  passing.report();
  return ran > 0 || hasFailed || passing.hasWritten;
}

/** A reducer runs to its end; a procedure is handed to a lane once its claim is durable. */
function begin(core: DatabaseCore, work: DueWork): void {
  if ('row' in work && work.armed.isOfProcedure) claimRun(core, work);
  else runWork(core, work);
}

/**
 * Runs one due time of a schedule to its end: the reducer, and the end of the row or its next due
 * time, are one commit. If the reducer fails, another commit does the latter alone, or has the run
 * repeated. Returns why it failed.
 */
export function runWork(core: DatabaseCore, work: DueWork): string | undefined {
  const { schedules } = core;
  const { armed, due } = work;
  const start = schedules.time.now();
  reportLateness(core, armed, start - due);
  const reducer = core.program.reducers.get(armed.functionName);
  const next = nextOf(work, start);
  const outcome = runReducer(core, {
    ...hostRun(core, start),
    reducer: present(reducer, `the reducer of schedule ${armed.name}`),
    args: argumentsOf(work),
    after: (transaction) => moveOn(core, transaction, work, { next, start }),
    place: () => placeOf(work),
  });
  const error = outcome.kind === 'returned' ? undefined : outcome.message;
  const end = { dueMicros: due, startMicros: start, error };
  const committed = 'rows' in outcome && { rows: outcome.rows, offset: core.store.offset };
  countRun(core, armed, committed === false ? end : { ...end, committed });
  if (error !== undefined) endFailed(core, work, { start, error });
  const { name, functionName } = armed;
  const row = 'row' in work ? work.bytes : undefined;
  const target = 'reducer';
  schedules.follower?.ran({ name, functionName, target, row, dueMicros: BigInt(due), error });
  return error;
}

/**
 * Ends a run that has ended the actor before this one: it failed. Ignored if its time has been
 * dealt with already.
 */
export function failMarked(core: DatabaseCore, mark: ScheduledMark, message: string): void {
  const { schedules } = core;
  const warn = (place: string): void => {
    core.warn(`A scheduled run ended the database, and counts as failed: ${place}. ${message}`);
  };
  const work = workOf(core, mark);
  if (work === undefined) {
    const place = failProcedure(core, mark, message);
    if (place !== undefined) warn(place);
    return;
  }
  const start = schedules.time.now();
  const place = placeOf(work);
  core.report(hostLine('error', `${message} (${place})`));
  warn(place);
  const startMicros = Math.max(start, work.due);
  countRun(core, work.armed, { dueMicros: work.due, startMicros, error: message });
  endFailed(core, work, { start, error: message, hasEndedActor: true });
}

/** A procedure that has ended the actor was claimed before. Returns its place. */
function failProcedure(
  core: DatabaseCore,
  { tableId, key, dueMicros }: ScheduledMark,
  error: string,
): string | undefined {
  const armed = core.schedules.armedOf(tableId);
  if (armed?.isOfProcedure !== true) return undefined;
  const due = Number(dueMicros);
  const place = placeText(armed, { key, due });
  const row = rowKeyOf(armed, key);
  if (failClaimed(core, armed, row, { error, due, hasEndedActor: true })) return place;
  // One that runs at most once has left nothing behind.
  core.report(hostLine('error', `${error} (${place})`));
  countRun(core, armed, { dueMicros: due, startMicros: due, error });
  return place;
}

/** Passes over the next due time: nothing runs for it. */
export function passOver(core: DatabaseCore, work: DueWork): void {
  const start = core.schedules.time.now();
  const next = nextOf(work, start);
  runReducer(core, {
    ...hostRun(core, start),
    after: (transaction) => moveOn(core, transaction, work, { next }),
  });
  countSkipped(core, work.armed, 1);
}

/** The run that a mark names, if it is still to come. */
function workOf({ schedules }: DatabaseCore, mark: ScheduledMark): DueWork | undefined {
  const { tableId, key, dueMicros } = mark;
  const due = Number(dueMicros);
  const armed = schedules.armedOf(tableId);
  if (armed === undefined) {
    const cron = schedules.cronAt(Number(key));
    const work = cron === undefined ? undefined : schedules.dueCronOf(cron);
    return work !== undefined && work.due <= due ? { ...work, due } : undefined;
  }
  const { high, low } = rowKeyOf(armed, key);
  const work = schedules.rowOf(armed, high, low);
  if (work === undefined) return undefined;
  // A run that makes up for several missed times has the last of them as its due time.
  const isTick = work.isInterval && work.due <= due;
  return isTick || work.due === due ? { ...work, due } : undefined;
}

/** The missed times of a slice that do not run, moved on in as few transactions as may be. */
class Passing {
  hasWritten = false;
  readonly #core: DatabaseCore;
  #works: { readonly work: DueWork; readonly next: number | undefined }[] = [];

  constructor(core: DatabaseCore) {
    this.#core = core;
  }

  add(work: DueWork, plan: Pick<ReturnType<typeof planOf>, 'next' | 'skipped' | 'isCut'>): void {
    this.#works.push({ work, next: plan.next });
    const { state } = work.armed;
    countSkipped(this.#core, work.armed, plan.skipped);
    state.unreported += plan.skipped;
    if (plan.isCut) state.isCut = true;
    if (this.#works.length >= limits.scheduleSkippedRowsMax) this.flush();
  }

  flush(): void {
    const works = this.#works;
    if (works.length === 0) return;
    this.#works = [];
    this.#write((transaction) => {
      for (const { work, next } of works) moveOn(this.#core, transaction, work, { next });
    });
  }

  mend(): void {
    const { schedules } = this.#core;
    const now = schedules.time.now();
    this.#write((transaction) => schedules.mend(transaction, now));
  }

  /** One line for each schedule, once all that it has missed is dealt with. */
  report(): void {
    for (const { kind, name, state, queue, policy } of this.#core.schedules.all) {
      if (state.unreported === 0 || queue.firstDue < state.downUntil) continue;
      const times = timesText(state.unreported, kind);
      const most = `all but the first ${limits.scheduleCatchUpRunsMax} of a row`;
      const why = state.isCut ? `catchUp: all, ${most}` : `catchUp: ${policy.catchUp}`;
      const text = `Schedule \`${name}\` skipped ${times} that it had missed (${why})`;
      this.#core.report(hostLine('warn', text));
      state.unreported = 0;
      state.isCut = false;
    }
  }

  #write(after: (transaction: Transaction) => void): void {
    runReducer(this.#core, { ...hostRun(this.#core, this.#core.schedules.time.now()), after });
    this.hasWritten = true;
  }
}

function timesText(count: number, kind: Armed['kind']): string {
  if (kind === 'cron') return 'the times';
  return count === 1 ? '1 due time' : `${count} due times`;
}

/** A reducer takes its row, whose bytes are the arguments; that of a cron takes the due time. */
function argumentsOf(work: DueWork): Uint8Array {
  if ('row' in work) return work.bytes;
  const writer = new BinaryWriter(8);
  writer.i64(BigInt(work.due));
  return writer.finish();
}

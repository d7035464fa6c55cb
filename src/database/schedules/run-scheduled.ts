import { present } from '../../assert.ts';
import { limits } from '../../limits.ts';
import { noRow } from '../../store/row-ref.ts';
import type { Transaction } from '../../store/transaction.ts';
import { BinaryWriter } from '../../values/binary-writer.ts';
import { noConnection } from '../../values/connection-number.ts';
import { databaseAsCaller } from '../../values/identity-roles.ts';
import type { DatabaseCore } from '../core.ts';
import { hostLine } from '../host-line.ts';
import type { Progress } from '../progress.ts';
import { noBytes, type ReducerRun, runReducer } from '../run-reducer.ts';
import { nextOf, planOf } from './catch-up.ts';
import { farMicros, timeText } from './due-time.ts';
import { keyOf } from './schedule-tables.ts';
import type { ScheduledMark } from './scheduled-mark.ts';
import type { Armed, DueCron, DueRow } from './schedules.ts';

/** Something that is due: a row, or a cron. */
export type DueWork = DueRow | DueCron;

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
    work.armed.state.counts.skipped += plan.skipped;
    schedules.counts.skipped += plan.skipped;
    progress.scheduled(markOf(work, plan.due));
    runWork(core, { ...work, due: plan.due });
    ran += 1;
  }
  passing.flush();
  passing.report();
  return ran > 0 || passing.hasWritten;
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
  armed.state.counts.add(end);
  schedules.counts.add(end);
  if (error !== undefined) endFailed(core, work, { start, error });
  const { name, functionName } = armed;
  const row = 'row' in work ? work.bytes : undefined;
  schedules.ran?.({ name, functionName, row, dueMicros: BigInt(due), error });
  return error;
}

/**
 * Ends a run that has ended the actor before this one: it failed. Ignored if its time has been
 * dealt with already.
 */
export function failMarked(core: DatabaseCore, mark: ScheduledMark, message: string): void {
  const { schedules } = core;
  const work = workOf(core, mark);
  if (work === undefined) return;
  const start = schedules.time.now();
  const place = placeOf(work);
  core.report(hostLine('error', `${message} (${place})`));
  core.warn(`A scheduled run ended the database, and counts as failed: ${place}. ${message}`);
  const { counts } = work.armed.state;
  const end = { dueMicros: work.due, startMicros: Math.max(start, work.due), error: message };
  counts.add(end);
  schedules.counts.add(end);
  endFailed(core, work, { start, error: message, hasEndedActor: true });
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
  const low = Number(key & 0xffff_ffffn);
  const high = Number(key >> 32n);
  const armed = schedules.armedOf(tableId);
  if (armed === undefined) {
    const cron = schedules.cronAt(Number(key));
    const work = cron === undefined ? undefined : schedules.dueCronOf(cron);
    return work !== undefined && work.due <= due ? { ...work, due } : undefined;
  }
  const work = schedules.rowOf(armed, high, low);
  if (work === undefined) return undefined;
  // A run that makes up for several missed times has the last of them as its due time.
  const isTick = work.isInterval && work.due <= due;
  return isTick || work.due === due ? { ...work, due } : undefined;
}

interface Failed {
  readonly start: number;
  readonly error: string;
  /** Default: false. */
  readonly hasEndedActor?: boolean;
}

/** The commit after a failed run; the host's own work, which no quota and no view prevents. */
function endFailed(core: DatabaseCore, work: DueWork, failed: Failed): void {
  const { start, error, hasEndedActor = false } = failed;
  const { retry } = work.armed.policy;
  const attempt = work.attempt + 1;
  const isRepeated = retry !== undefined && attempt < retry.attempts;
  const next = nextOf(work, start);
  runReducer(core, {
    ...hostRun(core, start),
    after: (transaction) => {
      if (!isRepeated) return moveOn(core, transaction, work, { next, start, error });
      const backoff = Number(retry.backoffMicros);
      const delay = delayOf(hasEndedActor ? Math.max(backoff, endingBackoff) : backoff, attempt);
      const at = Math.min(start + delay, farMicros);
      repeatAt(core, transaction, work, { start, error, attempt, at });
    },
  });
}

const endingBackoff = limits.scheduleEndingRetryMillisMin * 1_000;

/** The delay after this many failed runs doubles with each, up to a bound. */
function delayOf(backoff: number, attempt: number): number {
  return Math.min(backoff * 2 ** (attempt - 1), limits.scheduleRetryMillisMax * 1_000);
}

interface Again extends Failed {
  readonly attempt: number;
  readonly at: number;
}

function repeatAt(core: DatabaseCore, transaction: Transaction, work: DueWork, again: Again): void {
  const { controls, hidden } = core.schedules;
  const { error, attempt, at, start } = again;
  const { due } = work;
  const text = error.slice(0, errorCharactersMax);
  if ('row' in work) {
    hidden.attempts.put(transaction, work.row, { due, at, attempt, error: text });
    return;
  }
  const last = { lastDue: due, lastStart: start, lastError: text };
  controls.put(transaction, { ...work.control, due, at, attempt, ...last });
}

/** Errors are kept with their rows, so they are cut. */
const errorCharactersMax = 1_000;

interface Next extends Partial<Failed> {
  /** `undefined`: never again. */
  readonly next: number | undefined;
}

/**
 * Ends a row that runs once, or writes the next due time. A row that the run itself has deleted or
 * given another `ScheduleAt` is left to `beforeCommit`.
 */
function moveOn(core: DatabaseCore, transaction: Transaction, work: DueWork, given: Next): void {
  const { next, start, error = '' } = given;
  const { hidden, controls } = core.schedules;
  if (!('row' in work)) {
    const { armed, due } = work;
    const lastError = error.slice(0, errorCharactersMax);
    const last = start === undefined ? {} : { lastDue: due, lastStart: start, lastError };
    controls.put(transaction, { ...armed.controlAt(next), ...last });
    return;
  }
  const { armed, row, isInterval, at } = work;
  const ref = armed.find(row.high, row.low);
  if (ref === noRow) return;
  const now = armed.atOf(ref);
  if (now.isInterval !== isInterval || now.micros !== at) return;
  if (work.attempt > 0) hidden.attempts.remove(transaction, row);
  if (isInterval) hidden.dues.put(transaction, row, next ?? farMicros);
  else transaction.deleteRef(armed.table, ref);
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

function countSkipped({ schedules }: DatabaseCore, { state }: Armed, count: number): void {
  state.counts.skipped += count;
  schedules.counts.skipped += count;
}

/** A transaction of the host on behalf of a schedule. */
export function hostRun(core: DatabaseCore, startMicros: number): ReducerRun {
  const start = BigInt(startMicros);
  // As for calls: no timestamp is before that of a commit that was there at opening.
  const timestampMicros = start > core.lastMicros ? start : core.lastMicros;
  return {
    reducer: undefined,
    sender: databaseAsCaller(core.identity),
    connectionId: noConnection,
    timestampMicros,
    args: noBytes,
    jwtPayload: '',
  };
}

/** A reducer takes its row, whose bytes are the arguments; that of a cron takes the due time. */
function argumentsOf(work: DueWork): Uint8Array {
  if ('row' in work) return work.bytes;
  const writer = new BinaryWriter(8);
  writer.i64(BigInt(work.due));
  return writer.finish();
}

function markOf(work: DueWork, due: number): ScheduledMark {
  const dueMicros = BigInt(due);
  const { armed } = work;
  if (!('row' in work)) return { tableId: armed.id, key: BigInt(work.armed.position), dueMicros };
  return { tableId: armed.id, key: keyOf(work.row), dueMicros };
}

/** Names a run in lines of the log. */
function placeOf(work: DueWork): string {
  const { armed, due } = work;
  const where =
    'row' in work ? `table ${armed.name}, row ${keyOf(work.row)}` : `cron ${armed.name}`;
  const again = work.attempt > 0 ? `, run ${work.attempt + 1}` : '';
  return `scheduled: ${where}, due ${timeText(due)}${again}`;
}

/** At most one line a minute for each schedule. */
function reportLateness(core: DatabaseCore, { name, state }: Armed, lateMicros: number): void {
  if (lateMicros < limits.scheduleLateMillis * 1_000) return;
  const now = core.clock.monotonicMillis();
  if (now - state.reportedMillis < limits.scheduleLateLineMillis) return;
  state.reportedMillis = now;
  const millis = Math.round(lateMicros / 1_000);
  core.report(hostLine('warn', `Schedule \`${name}\` runs ${millis} ms late`));
}

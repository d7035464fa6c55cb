import { limits } from '../../limits.ts';
import type { TableId } from '../../schema/ids.ts';
import type { Rights } from '../../sql/rights.ts';
import type { SqlSchema } from '../../sql/schema.ts';
import { isReadable } from '../readable.ts';
import type { ArmedTable } from './armed-table.ts';
import { nextOf } from './catch-up.ts';
import type { ListedSchedule } from './schedule-ask.ts';
import type { ScheduleRunEnd } from './schedule-counts.ts';
import { type Attempt, type Control, keyOf, type RowKey } from './schedule-tables.ts';
import type { Armed, Schedules } from './schedules.ts';

/** The parts of a database that a list of its schedules reads. */
export interface ListedCore {
  readonly schedules: Schedules;
  readonly program: { readonly sql: SqlSchema };
}

/** The schedules of a database, and rows of tables that the caller may read. */
export function listSchedules(core: ListedCore, rights: Rights): readonly ListedSchedule[] {
  return core.schedules.all.flatMap((armed) => {
    const whole = listedSchedule(core, armed);
    const isShown = armed.kind === 'table' && isReadable(core.program.sql, rights, armed.table);
    if (!isShown) return [whole];
    return [whole, ...listedRuns(core, whole, armed), ...listedAttempts(core, whole, armed)];
  });
}

function listedSchedule(core: ListedCore, armed: Armed): ListedSchedule {
  const { schedules } = core;
  const { name, functionName, policy, state, armedRows } = armed;
  const { counts } = state;
  const isPaused = schedules.isPaused || state.isPaused;
  return {
    name,
    functionName,
    armedRows,
    tableName: armed.kind === 'table' ? name : undefined,
    target: armed.kind === 'table' ? armed.definition.target : 'reducer',
    catchUp: policy.catchUp,
    expression: armed.kind === 'cron' ? armed.definition.expression : undefined,
    timeZone: armed.kind === 'cron' ? armed.definition.timeZone : undefined,
    state: isPaused ? 'paused' : stateOf(armed),
    rowKey: undefined,
    nextDueMicros: optional(nextDueOf(core, armed)),
    ...lastOf(state.counts.last, armed.kind === 'cron' ? armed.control : undefined),
    runs: counts.runs,
    failures: counts.failed,
    latenessP50Micros: optional(counts.lateness(0.5)),
    latenessP99Micros: optional(counts.lateness(0.99)),
  };
}

function stateOf(armed: Armed): ListedSchedule['state'] {
  if (armed.kind === 'table') return 'armed';
  if (armed.fault !== undefined) return 'disabled';
  return (armed.control?.attempt ?? 0) > 0 ? 'retrying' : 'armed';
}

/** Missed times that will be skipped are not shown as due. */
function nextDueOf({ schedules }: ListedCore, armed: Armed): number | undefined {
  if (schedules.isPaused || armed.state.isPaused) return undefined;
  const work = schedules.firstOf(armed);
  if (work === undefined) return undefined;
  const isOnce = 'row' in work && !work.isInterval;
  const isSkipped = armed.policy.catchUp === 'skip' && work.due < armed.state.downUntil;
  const isSettled = 'row' in work ? work.isSettled : work.attempt > 0;
  if (isSkipped && !isOnce && !isSettled) return nextOf(work, schedules.time.now());
  return armed.queue.firstDue;
}

/** What is shown of one row, with the rest of its schedule. */
function listedRow(
  whole: ListedSchedule,
  row: RowKey,
  shown: Pick<ListedSchedule, 'state' | 'nextDueMicros' | 'lastDueMicros' | 'lastRunMicros'>,
  { attempt, error }: Pick<Attempt, 'attempt' | 'error'>,
): ListedSchedule {
  return {
    ...whole,
    ...shown,
    rowKey: keyOf(row),
    armedRows: shown.nextDueMicros === undefined ? 0 : 1,
    lastOutcome: attempt === 0 ? undefined : 'failed',
    lastError: attempt === 0 ? undefined : error,
    runs: attempt,
    failures: attempt,
    latenessP50Micros: undefined,
    latenessP99Micros: undefined,
  };
}

/** Rows whose procedure is running; one that runs at most once is gone already. */
function listedRuns(
  { schedules }: ListedCore,
  whole: ListedSchedule,
  { id }: ArmedTable,
): readonly ListedSchedule[] {
  const runs = [...schedules.runs.all].filter(({ work }) => work.row.schedule === id);
  return runs.map(({ work, startMicros }) => {
    const { row, due, attempt } = work;
    const times = { lastDueMicros: BigInt(due), lastRunMicros: optional(startMicros) };
    const error = schedules.hidden.attempts.find(row)?.error ?? '';
    const shown = { state: 'running', nextDueMicros: undefined, ...times } as const;
    return listedRow(whole, row, shown, { attempt, error });
  });
}

/** Rows whose failed run is repeated, and those that are kept as failed. */
function listedAttempts(
  { schedules }: ListedCore,
  whole: ListedSchedule,
  { id }: ArmedTable,
): readonly ListedSchedule[] {
  return firstAttempts(schedules, id).map(({ row, attempt }) => {
    const { at, due } = attempt;
    const times = { lastDueMicros: BigInt(due), lastRunMicros: undefined };
    const nextDueMicros = at === 0 ? undefined : BigInt(at);
    return listedRow(whole, row, { state: shownState(attempt), nextDueMicros, ...times }, attempt);
  });
}

/** A claimed row that nothing runs for will be repeated. */
function shownState({ state, attempt }: Attempt): ListedSchedule['state'] {
  if (state === 'failed') return 'failed';
  return state === 'waits' && attempt === 0 ? 'armed' : 'retrying';
}

interface RowAttempt {
  readonly row: RowKey;
  readonly attempt: Attempt;
}

/** Those of one schedule that run first, then those that do not run. There can be very many. */
function firstAttempts({ hidden, runs }: Schedules, schedule: TableId): readonly RowAttempt[] {
  const max = limits.scheduleListedRowsMax;
  let first: RowAttempt[] = [];
  const cut = (): void => {
    first.sort((one, other) => timeOf(one) - timeOf(other));
    first = first.slice(0, max);
  };
  hidden.attempts.forEach((row, attempt) => {
    if (row.schedule !== schedule || runs.has(row)) return;
    first.push({ row, attempt });
    if (first.length >= 2 * max) cut();
  });
  cut();
  return first;
}

function timeOf({ attempt: { at } }: RowAttempt): number {
  return at === 0 ? Number.POSITIVE_INFINITY : at;
}

/** The last run; that of a cron is known from its row, too. */
function lastOf(last: ScheduleRunEnd | undefined, control: Control | undefined): Last {
  if (last !== undefined) return lastRun(last);
  if (control === undefined || control.lastStart === 0) return noRun;
  const { lastDue: dueMicros, lastStart: startMicros, lastError } = control;
  return lastRun({ dueMicros, startMicros, error: lastError === '' ? undefined : lastError });
}

type Last = Pick<ListedSchedule, 'lastDueMicros' | 'lastRunMicros' | 'lastOutcome' | 'lastError'>;

const noRun: Last = {
  ...{ lastDueMicros: undefined, lastRunMicros: undefined },
  ...{ lastOutcome: undefined, lastError: undefined },
};

function lastRun({ dueMicros, startMicros, error }: ScheduleRunEnd): Last {
  return {
    lastDueMicros: BigInt(dueMicros),
    lastRunMicros: BigInt(startMicros),
    lastOutcome: error === undefined ? 'committed' : 'failed',
    lastError: error,
  };
}

function optional(micros: number | undefined): bigint | undefined {
  return micros === undefined ? undefined : BigInt(micros);
}

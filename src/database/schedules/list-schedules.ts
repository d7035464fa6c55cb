import { limits } from '../../limits.ts';
import type { TableId } from '../../schema/ids.ts';
import type { Rights } from '../../sql/rights.ts';
import type { SqlSchema } from '../../sql/schema.ts';
import { isReadable } from '../readable.ts';
import { nextOf } from './catch-up.ts';
import type { ListedSchedule } from './schedule-ask.ts';
import type { ScheduleRunEnd } from './schedule-counts.ts';
import { type Control, keyOf } from './schedule-tables.ts';
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
    return isShown ? [whole, ...listedAttempts(core, whole, armed.id)] : [whole];
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
  if (isSkipped && !isOnce && work.attempt === 0) return nextOf(work, schedules.time.now());
  return armed.queue.firstDue;
}

/** Rows whose failed run is repeated, only for callers who may read the table. */
function listedAttempts(
  { schedules }: ListedCore,
  whole: ListedSchedule,
  schedule: TableId,
): readonly ListedSchedule[] {
  const rows = schedules.hidden.attempts.all().filter((row) => row.schedule === schedule);
  rows.sort((one, other) => one.at - other.at);
  return rows.slice(0, limits.scheduleListedRowsMax).map((row) => ({
    ...whole,
    state: 'retrying',
    rowKey: keyOf(row),
    armedRows: 1,
    nextDueMicros: BigInt(row.at),
    lastDueMicros: BigInt(row.due),
    lastRunMicros: undefined,
    lastOutcome: 'failed',
    lastError: row.error,
    runs: row.attempt,
    failures: row.attempt,
    latenessP50Micros: undefined,
    latenessP99Micros: undefined,
  }));
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

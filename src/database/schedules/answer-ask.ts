import { unreachable } from '../../assert.ts';
import { limits } from '../../limits.ts';
import type { TableId } from '../../schema/ids.ts';
import type { Transaction } from '../../store/transaction.ts';
import { type DatabaseCore, requireSpace } from '../core.ts';
import type { Caller } from '../outcome.ts';
import { isReadable } from '../preview-changes.ts';
import { runReducer } from '../run-reducer.ts';
import { nextOf } from './catch-up.ts';
import { type DueWork, hostRun, keyOf, passOver, runWork } from './run-scheduled.ts';
import type { ListedSchedule, ScheduleAsk, ScheduleOutcome } from './schedule-ask.ts';
import type { ScheduleRunEnd } from './schedule-counts.ts';
import { type Control, noControl } from './schedule-tables.ts';
import type { Armed } from './schedules.ts';

export interface AskedOfSchedules {
  readonly caller: Caller;
  readonly ask: ScheduleAsk;
}

/** Answers a question about the schedules of a database, or carries out an order; synchronous. */
export function answerAsk(core: DatabaseCore, { caller, ask }: AskedOfSchedules): ScheduleOutcome {
  switch (ask.kind) {
    case 'list':
      return { kind: 'listed', schedules: listed(core, caller) };
    case 'run':
    case 'skip':
      return useUp(core, ask);
    case 'pause':
    case 'resume':
      return pauseOrResume(core, ask);
    default:
      return unreachable(ask);
  }
}

/** Runs or skips what is due next, of one row, of one schedule, or of each. */
function useUp(
  core: DatabaseCore,
  { kind, name, rowKey }: Extract<ScheduleAsk, { kind: 'run' | 'skip' }>,
): ScheduleOutcome {
  const { schedules } = core;
  const found = named(core, name);
  if (name !== undefined && found.length === 0) return { kind: 'unknown' };
  const isPaused = schedules.isPaused || (name !== undefined && found.every(isPausedByName));
  if (isPaused && kind === 'run') return { kind: 'paused' };
  const works = found
    .filter((armed) => kind === 'skip' || !isPausedByName(armed))
    .flatMap((armed) => workOf(core, armed, rowKey) ?? []);
  if (rowKey !== undefined && works.length === 0) return { kind: 'unknown' };
  if (works.length > 0) requireSpace(core);
  for (const work of works) {
    if (kind === 'run') runWork(core, work);
    else passOver(core, work);
  }
  return { kind: 'applied', names: works.map(({ armed }) => armed.name) };
}

function isPausedByName({ state }: Armed): boolean {
  return state.isPaused;
}

/** What is due next, now or later. A row that is taken stays in its queue until that finds out. */
function workOf(
  { schedules }: DatabaseCore,
  armed: Armed,
  rowKey: bigint | undefined,
): DueWork | undefined {
  if (rowKey !== undefined) {
    if (armed.kind === 'cron') return undefined;
    return schedules.rowOf(armed, Number(rowKey >> 32n), Number(rowKey & 0xffff_ffffn));
  }
  return schedules.firstOf(armed);
}

function pauseOrResume(
  core: DatabaseCore,
  { kind, name }: Extract<ScheduleAsk, { kind: 'pause' | 'resume' }>,
): ScheduleOutcome {
  const { schedules } = core;
  const found = named(core, name);
  if (name !== undefined && found.length === 0) return { kind: 'unknown' };
  const isPause = kind === 'pause';
  // The pause of all schedules is the owner's to keep; a resume of all also ends each one's own.
  const changed =
    isPause && name === undefined ? [] : found.filter((one) => one.state.isPaused !== isPause);
  if (changed.length > 0) requireSpace(core);
  const now = schedules.time.now();
  const isDown = (armed: Armed) => schedules.isPaused || armed.state.isPaused;
  const down = isPause ? [] : found.filter(isDown);
  if (name === undefined) schedules.isPaused = isPause;
  if (changed.length > 0) {
    const after = (transaction: Transaction): void => {
      for (const armed of changed) setPaused(core, transaction, armed, isPause ? now : undefined);
    };
    runReducer(core, { ...hostRun(core, now), after });
  }
  for (const { state } of down) state.downUntil = now;
  return { kind: 'applied', names: found.map((armed) => armed.name) };
}

function setPaused(
  { schedules: { controls } }: DatabaseCore,
  transaction: Transaction,
  armed: Armed,
  paused: number | undefined,
): void {
  const { name } = armed;
  const isPaused = paused !== undefined;
  const control = controls.find(name) ?? { ...noControl, name };
  const isEmpty = !isPaused && control.expression === '';
  if (isEmpty) controls.remove(transaction, name);
  else controls.put(transaction, { ...control, isPaused, paused: paused ?? 0 });
}

/** The schedules with this name, of which there can be a table and a cron; or all. */
function named({ schedules }: DatabaseCore, name: string | undefined): readonly Armed[] {
  return schedules.all.filter((armed) => name === undefined || armed.name === name);
}

function listed(core: DatabaseCore, { rights }: Caller): readonly ListedSchedule[] {
  return core.schedules.all.flatMap((armed) => {
    const whole = listedSchedule(core, armed);
    const isShown = armed.kind === 'table' && isReadable(core, rights, armed.table);
    return isShown ? [whole, ...listedAttempts(core, whole, armed.id)] : [whole];
  });
}

function listedSchedule(core: DatabaseCore, armed: Armed): ListedSchedule {
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
function nextDueOf({ schedules }: DatabaseCore, armed: Armed): number | undefined {
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
  { schedules }: DatabaseCore,
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

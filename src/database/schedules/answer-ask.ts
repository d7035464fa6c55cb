import { unreachable } from '../../assert.ts';
import type { Transaction } from '../../store/transaction.ts';
import { type DatabaseCore, requireSpace } from '../core.ts';
import type { Caller } from '../outcome.ts';
import { runReducer } from '../run-reducer.ts';
import type { DueWork } from './due-work.ts';
import { listSchedules } from './list-schedules.ts';
import { hostRun } from './move-on.ts';
import { runSoon } from './run-procedure.ts';
import { passOver, runWork } from './run-scheduled.ts';
import type { ScheduleAsk, ScheduleOutcome } from './schedule-ask.ts';
import { noControl } from './schedule-tables.ts';
import type { Armed } from './schedules.ts';

export interface AskedOfSchedules {
  readonly caller: Caller;
  readonly ask: ScheduleAsk;
}

/** Answers a question about the schedules of a database, or carries out an order; synchronous. */
export function answerAsk(core: DatabaseCore, { caller, ask }: AskedOfSchedules): ScheduleOutcome {
  switch (ask.kind) {
    case 'list':
      return { kind: 'listed', schedules: listSchedules(core, caller.rights) };
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
    if (kind === 'skip') passOver(core, work);
    else if ('row' in work && work.armed.isOfProcedure) runSoon(core, work);
    else runWork(core, work);
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

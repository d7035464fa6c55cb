import { limits } from '../../limits.ts';
import { noRow } from '../../store/row-ref.ts';
import type { Transaction } from '../../store/transaction.ts';
import { noConnection } from '../../values/connection-number.ts';
import { databaseAsCaller } from '../../values/identity-roles.ts';
import type { DatabaseCore } from '../core.ts';
import { hostLine } from '../host-line.ts';
import { noBytes, type ReducerRun } from '../run-reducer.ts';
import { farMicros, timeText } from './due-time.ts';
import type { DueWork } from './due-work.ts';
import type { ScheduleRunEnd } from './schedule-counts.ts';
import { keyOf } from './schedule-tables.ts';
import type { ScheduledMark } from './scheduled-mark.ts';
import type { Armed } from './schedules.ts';

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

interface Next {
  /** `undefined`: never again. */
  readonly next: number | undefined;
  /** When it ran; absent: it did not. */
  readonly start?: number;
  /** Why that failed. */
  readonly error?: string;
}

/**
 * Ends a row that runs once, or writes the next due time. A row that the run itself has deleted or
 * given another `ScheduleAt` is left to `beforeCommit`.
 */
export function moveOn(
  core: DatabaseCore,
  transaction: Transaction,
  work: DueWork,
  { next, start, error = '' }: Next,
): void {
  const { hidden, controls } = core.schedules;
  if (!('row' in work)) {
    const { armed, due } = work;
    const last = { lastDue: due, lastError: keptError(error) };
    controls.put(transaction, {
      ...armed.controlAt(next),
      ...(start !== undefined && { ...last, lastStart: start }),
    });
    return;
  }
  const { armed, row, isInterval, at } = work;
  const ref = armed.find(row.high, row.low);
  if (ref === noRow) return;
  const now = armed.atOf(ref);
  if (now.isInterval !== isInterval || now.micros !== at) return;
  if (hidden.attempts.count > 0) hidden.attempts.remove(transaction, row);
  if (isInterval) hidden.dues.put(transaction, row, next ?? farMicros);
  else transaction.deleteRef(armed.table, ref);
}

/** Errors are kept with their rows, so they are cut. */
export function keptError(error: string): string {
  return error.slice(0, errorCharactersMax);
}

const errorCharactersMax = 1_000;

export function markOf(work: DueWork, due: number): ScheduledMark {
  const dueMicros = BigInt(due);
  const { armed } = work;
  if (!('row' in work)) return { tableId: armed.id, key: BigInt(work.armed.position), dueMicros };
  return { tableId: armed.id, key: keyOf(work.row), dueMicros };
}

/** Names a run in lines of the log. */
export function placeOf(work: DueWork): string {
  const { armed, due, attempt } = work;
  const key = 'row' in work ? keyOf(work.row) : undefined;
  return placeText(armed, { key, due, attempt });
}

export function placeText(
  { name }: Pick<Armed, 'name'>,
  {
    key,
    due,
    attempt = 0,
  }: { readonly key: bigint | undefined; readonly due: number; readonly attempt?: number },
): string {
  const where = key === undefined ? `cron ${name}` : `table ${name}, row ${key}`;
  const again = attempt > 0 ? `, run ${attempt + 1}` : '';
  return `scheduled: ${where}, due ${timeText(due)}${again}`;
}

/** At most one line a minute for each schedule. */
export function reportLateness(
  core: DatabaseCore,
  { name, state }: Armed,
  lateMicros: number,
): void {
  if (lateMicros < limits.scheduleLateMillis * 1_000) return;
  const now = core.clock.monotonicMillis();
  if (now - state.reportedMillis < limits.scheduleLateLineMillis) return;
  state.reportedMillis = now;
  const millis = Math.round(lateMicros / 1_000);
  core.report(hostLine('warn', `Schedule \`${name}\` runs ${millis} ms late`));
}

export function countSkipped({ schedules }: DatabaseCore, { state }: Armed, count: number): void {
  state.counts.skipped += count;
  schedules.counts.skipped += count;
}

/** A run has ended. */
export function countRun(
  { schedules }: DatabaseCore,
  { state, functionName }: Armed,
  end: ScheduleRunEnd,
): void {
  state.counts.add(end);
  schedules.counts.add(end);
  const { startMicros, error, committed } = end;
  const { rows, offset } = committed ?? {};
  const hasFailed = error !== undefined;
  schedules.ended.add({ functionName, hasFailed, startMicros, count: 1, rows, offset });
}

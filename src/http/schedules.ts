import type { ListedSchedule } from '../database/schedules/schedule-ask.ts';
import type { ScheduleOrder } from '../host/databases/schedule-control.ts';
import { callerOf, type HttpContext, openTarget } from './context.ts';
import { badQuery, type Exchange, json, type Query, type Reply } from './exchange.ts';

/** What `POST /v1/database/:db/schedules/…` can do. */
export const scheduleOrders = ['run', 'skip', 'pause', 'resume'] as const;

/** `GET /v1/database/:db/schedules`, with rows that run, are repeated, or have failed. */
export async function listSchedules(exchange: Exchange, { host }: HttpContext): Promise<Reply> {
  const target = openTarget(exchange, host);
  const { isPaused, schedules } = await host.schedules.list(callerOf(exchange), target);
  return json(200, JSON.stringify({ paused: isPaused, schedules: schedules.map(shown) }));
}

/** `POST /v1/database/:db/schedules/run?name=…&row=…`, and likewise the other orders. */
export function controlSchedules(kind: ScheduleOrder['kind']) {
  return async (exchange: Exchange, { host }: HttpContext): Promise<Reply> => {
    const target = openTarget(exchange, host);
    const order = orderOf(kind, exchange.query);
    const schedules = await host.schedules.apply(callerOf(exchange), target, order);
    return json(200, JSON.stringify({ schedules }));
  };
}

function orderOf(kind: ScheduleOrder['kind'], query: Query): ScheduleOrder {
  const name = query.string('name');
  const row = query.string('row');
  if (name === undefined) {
    if (row !== undefined) throw badQuery('`row` needs the `name` of its schedule');
    return { kind };
  }
  if (row === undefined) return { kind, name };
  if (kind !== 'run' && kind !== 'skip') throw badQuery(`\`row\` means nothing to ${kind}`);
  return { kind, name, rowKey: rowKeyOf(row) };
}

function rowKeyOf(row: string): bigint {
  const key = /^\d{1,20}$/.test(row) ? BigInt(row) : undefined;
  if (key === undefined || key >= 2n ** 64n) throw badQuery('`row` is not a key of a row');
  return key;
}

/** Times are microseconds since the Unix epoch; a key is a text, for it can exceed any number. */
function shown(one: ListedSchedule) {
  return {
    name: one.name,
    kind: one.tableName === undefined ? 'cron' : 'table',
    table: one.tableName ?? null,
    function: one.functionName,
    target: one.target,
    catch_up: one.catchUp,
    expression: one.expression ?? null,
    time_zone: one.timeZone ?? null,
    state: one.state,
    row: one.rowKey?.toString() ?? null,
    armed_rows: one.armedRows,
    next_due: micros(one.nextDueMicros),
    last_due: micros(one.lastDueMicros),
    last_run: micros(one.lastRunMicros),
    last_outcome: one.lastOutcome ?? null,
    last_error: one.lastError ?? null,
    runs: one.runs,
    failures: one.failures,
    lateness_p50: micros(one.latenessP50Micros),
    lateness_p99: micros(one.latenessP99Micros),
  };
}

function micros(value: bigint | undefined): number | null {
  return value === undefined ? null : Number(value);
}

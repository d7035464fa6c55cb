import { databasePath, requestJson, send } from './http.ts';
import { type Json, listOf, numberOf, objectOf, textOf } from './json.ts';

/** A schedule, or one row of it that runs, is repeated, or has failed. */
export interface Schedule {
  readonly name: string;
  readonly kind: 'cron' | 'table';
  readonly function: string;
  readonly target: string;
  readonly catchUp: string;
  /** Of a cron. */
  readonly expression: string | null;
  readonly timeZone: string | null;
  readonly state: 'armed' | 'paused' | 'disabled' | 'running' | 'retrying' | 'failed';
  /** Key of the row that this is about; `null`: the schedule as a whole. */
  readonly row: string | null;
  readonly armedRows: number;
  /** Milliseconds since the Unix epoch. */
  readonly nextDue: number | null;
  readonly lastDue: number | null;
  readonly lastRun: number | null;
  readonly lastOutcome: string | null;
  readonly lastError: string | null;
  readonly runs: number;
  readonly failures: number;
  /** Microseconds from the due time to the start. */
  readonly lateness: { readonly p50: number | null; readonly p99: number | null };
}

export interface Schedules {
  /** True: all are paused together. */
  readonly isPaused: boolean;
  readonly schedules: readonly Schedule[];
}

export type ScheduleOrder = 'run' | 'skip' | 'pause' | 'resume';

/** `GET /v1/database/:db/schedules`. */
export async function readSchedules(database: string, signal?: AbortSignal): Promise<Schedules> {
  const path = databasePath(database, 'schedules');
  const body = objectOf(await requestJson(path, signal === undefined ? {} : { signal }));
  return { isPaused: body.paused === true, schedules: listOf(body.schedules).map(scheduleOf) };
}

/** `POST /v1/database/:db/schedules/run` and the like; without a name about all of them. */
export async function orderSchedule(
  database: string,
  order: ScheduleOrder,
  of: { readonly name: string; readonly row?: string | null } | null,
): Promise<void> {
  const query = new URLSearchParams();
  if (of !== null) query.set('name', of.name);
  if (typeof of?.row === 'string') query.set('row', of.row);
  await send(`${databasePath(database, 'schedules', order)}?${query}`, { method: 'POST' });
}

function scheduleOf(json: Json): Schedule {
  const body = objectOf(json);
  return {
    name: textOf(body.name),
    kind: body.kind === 'cron' ? 'cron' : 'table',
    function: textOf(body.function),
    target: textOf(body.target),
    catchUp: textOf(body.catch_up),
    expression: orNull(body.expression),
    timeZone: orNull(body.time_zone),
    state: textOf(body.state) as Schedule['state'],
    row: orNull(body.row),
    armedRows: numberOf(body.armed_rows) ?? 0,
    nextDue: millisOf(body.next_due),
    lastDue: millisOf(body.last_due),
    lastRun: millisOf(body.last_run),
    lastOutcome: orNull(body.last_outcome),
    lastError: orNull(body.last_error),
    runs: numberOf(body.runs) ?? 0,
    failures: numberOf(body.failures) ?? 0,
    lateness: { p50: numberOf(body.lateness_p50), p99: numberOf(body.lateness_p99) },
  };
}

function millisOf(json: Json | undefined): number | null {
  const micros = numberOf(json);
  return micros === null ? null : micros / 1_000;
}

function orNull(json: Json | undefined): string | null {
  return json === undefined || json === null ? null : textOf(json);
}

import { historyField, readHistorySetting } from '../doors/history-settings.ts';
import type { HistoryChange, HistoryStatus } from '../host/databases/history-control.ts';
import {
  type HistoryChoice,
  type HistoryField,
  historyFields,
  historySettingNames,
  writtenValue,
} from '../host/registry/history-choice.ts';
import type { HistoryFacts, ShownRowHistory } from '../host/seats/history-task.ts';
import { limits } from '../limits.ts';
import { parseJson } from '../values/json-text.ts';
import { jsonObject } from './body.ts';
import { callerOf, type HttpContext, openTarget, targetOf } from './context.ts';
import { type Exchange, HttpError, json, type Reply, text } from './exchange.ts';

/** `POST /v1/database/:db/snapshot`: 202 with the id of the job that takes it. */
export async function takeSnapshot(exchange: Exchange, { host }: HttpContext): Promise<Reply> {
  const { database } = openTarget(exchange, host);
  return started(await host.snapshots.take(callerOf(exchange), database));
}

/** `GET /v1/database/:db/history/status`. Times are microseconds since the Unix epoch. */
export async function historyStatus(exchange: Exchange, { host }: HttpContext): Promise<Reply> {
  const { database } = openTarget(exchange, host);
  const status = await host.history.status(callerOf(exchange), database);
  return json(200, JSON.stringify(shownStatus(status)));
}

/** `GET /v1/database/:db/history?table=note&key=7`: who changed a row, and how, newest first. */
export async function rowHistory(exchange: Exchange, { host }: HttpContext): Promise<Reply> {
  const { query } = exchange;
  const { database } = openTarget(exchange, host);
  const by = callerOf(exchange);
  host.access.require(by, database, 'viewHistory');
  const [table, key] = [query.string('table'), query.string('key')];
  if (table === undefined || key === undefined) {
    throw invalid('name a row, by `table` and `key`, its primary key');
  }
  const changesMax = query.count('limit') ?? limits.rowHistoryChanges;
  if (changesMax < 1 || changesMax > limits.rowHistoryChangesMax) {
    throw invalid(`\`limit\` must be between 1 and ${limits.rowHistoryChangesMax}`);
  }
  const history = await host.history.row(by, database, { table, key, changesMax });
  const changes = history.changes.map(changeText).join(',');
  const body = `{"from":${history.firstOffset},"more":${history.hasMore},"changes":[${changes}]}`;
  return json(200, body, { 'cache-control': 'no-cache' });
}

/** Rows are JSON already, which a process has written that a module may have taken over. */
function changeText(change: ShownRowHistory['changes'][number]): string {
  const { offset, micros, op, reducer, caller, connection, before, after } = change;
  for (const row of [before, after]) if (row !== null) parseJson(row);
  const facts = JSON.stringify({
    offset,
    time: new Date(micros / 1_000).toISOString(),
    op,
    reducer: reducer === '' ? null : reducer,
    caller,
    connection: connection === '' ? null : connection,
  });
  return `${facts.slice(0, -1)},"before":${before ?? 'null'},"after":${after ?? 'null'}}`;
}

/** `PUT /v1/database/:db/history/settings` with `{"keep":"30d","keep-bytes":null}`. */
export async function putHistory(exchange: Exchange, { host }: HttpContext): Promise<Reply> {
  const database = host.database(targetOf(exchange));
  host.access.require(callerOf(exchange), database, 'changeHistory');
  const change = changeIn(await jsonObject(exchange));
  const settings = await host.history.change(callerOf(exchange), database, change);
  return json(200, JSON.stringify({ settings: shownSettings(settings) }));
}

/** `POST /v1/database/:db/history/forget` with `{"before":"-1","confirm":"shop"}`. */
export async function forgetHistory(exchange: Exchange, { host }: HttpContext): Promise<Reply> {
  const target = targetOf(exchange);
  const database = host.database(target);
  host.access.require(callerOf(exchange), database, 'changeHistory');
  const { before, confirm } = await jsonObject(exchange);
  const given = typeof before === 'number' ? String(before) : before;
  if (typeof given !== 'string') throw invalid('`before` must be a place in the history');
  const names = [target, ...host.namesOf(database.identity)];
  if (!names.some((name) => name === confirm)) {
    throw invalid(`\`confirm\` must be the name of the database, \`${names.at(-1)}\``);
  }
  return started(await host.history.forget(callerOf(exchange), database, given));
}

/** `POST /v1/database/:db/verify?deep=true`: 202 with the id of the job that checks the files. */
export async function verifyHistory(exchange: Exchange, { host }: HttpContext): Promise<Reply> {
  const database = host.database(targetOf(exchange));
  const isDeep = exchange.query.boolean('deep', false);
  return started(await host.history.verify(callerOf(exchange), database, isDeep));
}

function started(job: string): Reply {
  return json(202, JSON.stringify({ job }));
}

/** `null`: as the service says. */
function changeIn(body: Readonly<Record<string, unknown>>): HistoryChange {
  const change = new Map<HistoryField, HistoryChoice>();
  for (const [name, value] of Object.entries(body)) {
    const field = historyField(name);
    if (field === undefined) {
      const names = Object.values(historySettingNames).join(', ');
      throw invalid(`\`${name}\` is not a setting of a history; one of ${names}`);
    }
    const read = value === null ? { choice: {} } : readHistorySetting(field, value);
    if ('fault' in read) throw invalid(`\`${name}\` ${read.fault}`);
    change.set(field, read.choice);
  }
  return change;
}

function invalid(message: string): HttpError {
  return new HttpError(text(400, message));
}

function shownStatus(status: HistoryStatus) {
  const { offset, durableOffset, snapshots, facts, replacedBytes, settings, own } = status;
  const newest =
    snapshots.offset < 0
      ? null
      : {
          offset: snapshots.offset,
          begun: snapshots.begunMicros,
          bytes: snapshots.bytes === 0 ? null : snapshots.bytes,
        };
  return {
    offset,
    durable_offset: durableOffset,
    ...shownFacts(facts),
    bytes: { ...facts.bytes, replaced: replacedBytes },
    settings: shownSettings(settings),
    chosen: shownSettings(own.choice),
    newest_snapshot: newest,
    log_bytes_since: snapshots.logBytes,
    taken: snapshots.taken,
    failures: snapshots.failures,
    given_up: snapshots.givenUp,
    running:
      snapshots.rowCount === 0 ? null : { rows: snapshots.rowCount, read: snapshots.rowsRead },
  };
}

function shownFacts(facts: HistoryFacts) {
  return {
    epoch: facts.epoch,
    floor: { offset: facts.floorOffset, time: facts.floorMicros },
    bytes: facts.bytes,
    segments: facts.segments,
    snapshots: facts.snapshots,
    holds: facts.held.map(({ by, fromOffset, bytes }) => ({ by, from: fromOffset, bytes })),
  };
}

/** By the names with which they are set; absent: nothing was chosen. */
function shownSettings(choice: HistoryChoice): Readonly<Record<string, string | number | null>> {
  return Object.fromEntries(
    historyFields
      .filter((field) => field in choice)
      .map((field) => [historySettingNames[field], writtenValue(choice, field)]),
  );
}

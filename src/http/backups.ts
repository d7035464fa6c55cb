import { present } from '../assert.ts';
import type { RestoreInto, RestoreOrder } from '../host/backups/restore-order.ts';
import { shownRepository } from '../host/backups/shown-repository.ts';
import { streamedPieceBytes } from '../host/backups/streamed-object.ts';
import { readWrittenPlace } from '../host/backups/written-place.ts';
import { jsonObject } from './body.ts';
import { callerOf, type HttpContext, targetOf } from './context.ts';
import { type Exchange, HttpError, json, type Reply, text } from './exchange.ts';
import { rangeOf } from './negotiation.ts';

type Body = Readonly<Record<string, unknown>>;

/** `POST /v1/database/:db/backup` with `{"repository": name, "history": false}`: a job. */
export async function backUp(exchange: Exchange, { host }: HttpContext): Promise<Reply> {
  const body = await jsonObject(exchange);
  const record = host.registered(targetOf(exchange));
  if (flagIn(body, 'keys')) throw invalid('`keys` is for a backup of the whole host');
  const job = host.backups.control.create(callerOf(exchange), record, choiceIn(body));
  return started(job);
}

/** `POST /v1/backups`: the whole host, for operators. */
export async function backUpHost(exchange: Exchange, { host }: HttpContext): Promise<Reply> {
  const body = await jsonObject(exchange);
  return started(host.backups.control.createAll(callerOf(exchange), choiceIn(body)));
}

/**
 * `POST /v1/database/:db/restore`: restores what a repository holds of a database, which need not
 * exist here. `as` names a new database, `in_place` replaces this one, `replaced` brings back a log
 * that a restore has replaced. With `dry_run` the job only plans.
 */
export async function restore(
  exchange: Exchange,
  { host, nowMicros }: HttpContext,
): Promise<Reply> {
  const body = await jsonObject(exchange);
  const by = callerOf(exchange);
  const database = targetOf(exchange);
  const replaced = numberIn(body, 'replaced');
  if (replaced !== undefined) {
    const record = host.registered(database);
    return started(host.backups.restores.restoreReplaced(by, record, replaced));
  }
  const at = textIn(body, 'at');
  const order: RestoreOrder = {
    repository: textIn(body, 'repository'),
    backup: textIn(body, 'backup') ?? 'latest',
    database: textIn(body, 'database') ?? database,
    at: at === undefined ? { kind: 'end' } : placeIn(at, nowMicros()),
    to: intoOf(body, database),
    isDry: flagIn(body, 'dry_run'),
  };
  return started(host.backups.restores.restore(by, order));
}

function intoOf(body: Body, target: string): RestoreInto {
  if (flagIn(body, 'in_place')) {
    if (textIn(body, 'as') !== undefined) throw invalid('`as` and `in_place` exclude each other');
    return { kind: 'inPlace', target, isForced: flagIn(body, 'force_foreign') };
  }
  const name = textIn(body, 'as');
  const sameIdentity = flagIn(body, 'same_identity');
  if (name === undefined && !sameIdentity) {
    throw invalid('Say where to restore it: `as` a new name, or `in_place`');
  }
  return {
    kind: 'new',
    name,
    sameIdentity,
    withGrants: flagIn(body, 'with_grants'),
    runsSchedules: flagIn(body, 'run_schedules'),
  };
}

/** `GET /v1/database/:db/backup/manifest`: what a backup has, for who writes it elsewhere. */
export async function backupManifest(exchange: Exchange, { host }: HttpContext): Promise<Reply> {
  const database = host.registered(targetOf(exchange));
  const described = await host.backups.control.describe(callerOf(exchange), database);
  return json(200, JSON.stringify(described), { 'cache-control': 'no-store' });
}

/** `DELETE /v1/database/:db/backup/manifest`: the caller has read what it needs. */
export function endBackup(exchange: Exchange, { host }: HttpContext): Reply {
  host.backups.control.release(callerOf(exchange), host.registered(targetOf(exchange)));
  return { status: 204 };
}

/** `GET /v1/database/:db/backup/objects/:name`, with `Range`. */
export function backupObject(exchange: Exchange, { host }: HttpContext): Reply {
  const database = host.registered(targetOf(exchange));
  const name = present(exchange.params.name, 'the path parameter :name');
  const object = host.backups.control.object(callerOf(exchange), database, name);
  const part = rangeOf(exchange.header('range'), object.bytes);
  if (part.kind === 'unsatisfiable') {
    return { status: 416, headers: { 'content-range': `bytes */${object.bytes}` } };
  }
  const { from, to } = part.kind === 'part' ? part : { from: 0, to: object.bytes - 1 };
  const isPart = part.kind === 'part';
  return {
    status: isPart ? 206 : 200,
    headers: {
      'content-type': 'application/octet-stream',
      'content-length': String(to - from + 1),
      'accept-ranges': 'bytes',
      ...(isPart && { 'content-range': `bytes ${from}-${to}/${object.bytes}` }),
    },
    body: ReadableStream.from(object.read(from, to + 1)) as ReadableStream<Uint8Array>,
    heldBytes: streamedPieceBytes,
  };
}

/** `GET /v1/backups?repository=`: what a repository holds, for operators. */
export async function listBackups(exchange: Exchange, { host }: HttpContext): Promise<Reply> {
  const repository = exchange.query.string('repository');
  const listed = await host.backups.control.list(callerOf(exchange), repository);
  return json(200, JSON.stringify(shownRepository(listed)));
}

/** `GET /v1/database/:db/backup?repository=`: what a repository holds of the database. */
export async function listOwnBackups(exchange: Exchange, { host }: HttpContext): Promise<Reply> {
  const database = host.registered(targetOf(exchange));
  const repository = exchange.query.string('repository');
  const listed = await host.backups.control.listOf(callerOf(exchange), database, repository);
  return json(200, JSON.stringify(shownRepository(listed)));
}

/** `GET /v1/database/:db/backup/replaced`: logs that restores in place have replaced. */
export function listReplaced(exchange: Exchange, { host }: HttpContext): Reply {
  const database = host.registered(targetOf(exchange));
  const logs = host.backups.replaced(callerOf(exchange), database);
  const replaced = logs.map(({ number, replacedMillis, bytes }) => {
    return { number, replaced: Math.round(replacedMillis * 1_000), bytes };
  });
  return json(200, JSON.stringify({ replaced }));
}

function started(job: string): Reply {
  return json(202, JSON.stringify({ job }));
}

function choiceIn(body: Body) {
  return {
    repository: textIn(body, 'repository'),
    withHistory: flagIn(body, 'history'),
    withLogs: flagIn(body, 'logs'),
    withKeys: flagIn(body, 'keys'),
  };
}

function placeIn(written: string, nowMicros: bigint) {
  const place = readWrittenPlace(written, nowMicros);
  if ('fault' in place) throw invalid(place.fault);
  return place;
}

function textIn(body: Body, key: string): string | undefined {
  const value = body[key];
  if (value === undefined || value === null) return undefined;
  if (typeof value === 'string' && value !== '') return value;
  throw invalid(`\`${key}\` must be a text`);
}

function flagIn(body: Body, key: string): boolean {
  const value = body[key] ?? false;
  if (typeof value === 'boolean') return value;
  throw invalid(`\`${key}\` must be true or false`);
}

function numberIn(body: Body, key: string): number | undefined {
  const value = body[key];
  if (value === undefined || value === null) return undefined;
  if (typeof value === 'number' && Number.isSafeInteger(value) && value >= 0) return value;
  throw invalid(`\`${key}\` must be a whole number`);
}

function invalid(message: string): HttpError {
  return new HttpError(text(400, message));
}

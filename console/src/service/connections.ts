import { databasePath, requestJson, send } from './http.ts';
import { listOf, numberOf, objectOf, textOf } from './json.ts';

/** A client that stays connected. */
export interface ClientConnection {
  readonly id: string;
  readonly identity: string;
  /** RFC 3339. */
  readonly since: string;
  readonly address: string;
  readonly protocol: string;
  readonly queuedBytes: number;
  readonly sentBytesPerSecond: number;
  readonly queries: number;
}

/** A query that clients watch, and what it costs. */
export interface WatchedQuery {
  readonly sql: string;
  readonly subscribers: number;
  /** Followed from changed rows, or run again. */
  readonly isIncremental: boolean;
  /** Why it is run again. */
  readonly reason: string | null;
  readonly evaluations: number;
  readonly microsMean: number;
  readonly rows: number | null;
}

/** `GET /v1/database/:db/connections`, the oldest first. */
export async function readConnections(
  database: string,
  signal?: AbortSignal,
): Promise<readonly ClientConnection[]> {
  const path = databasePath(database, 'connections');
  const list = listOf(await requestJson(path, signal === undefined ? {} : { signal }));
  return list.map(objectOf).map((body) => ({
    id: textOf(body.id),
    identity: textOf(body.identity),
    since: textOf(body.since),
    address: textOf(body.address),
    protocol: textOf(body.protocol),
    queuedBytes: numberOf(body.queued_bytes) ?? 0,
    sentBytesPerSecond: numberOf(body.sent_bytes_per_second) ?? 0,
    queries: numberOf(body.queries) ?? 0,
  }));
}

/** `DELETE /v1/database/:db/connections/:id`. */
export async function disconnectClient(database: string, id: string): Promise<void> {
  await send(databasePath(database, 'connections', id), { method: 'DELETE' });
}

/** `GET /v1/database/:db/watches`, those that took the most time first. */
export async function readWatches(
  database: string,
  signal?: AbortSignal,
): Promise<readonly WatchedQuery[]> {
  const path = databasePath(database, 'watches');
  const list = listOf(await requestJson(path, signal === undefined ? {} : { signal }));
  return list.map(objectOf).map((body) => ({
    sql: textOf(body.sql),
    subscribers: numberOf(body.subscribers) ?? 0,
    isIncremental: body.kind === 'incremental',
    reason: textOf(body.reason) === '' ? null : textOf(body.reason),
    evaluations: numberOf(body.evaluations) ?? 0,
    microsMean: numberOf(body.micros_mean) ?? 0,
    rows: numberOf(body.rows),
  }));
}

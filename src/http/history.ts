import { callerOf, type HttpContext, openTarget } from './context.ts';
import { type Exchange, json, type Reply } from './exchange.ts';

/** `POST /v1/database/:db/snapshot`: 202 with the id of the job that takes it. */
export async function takeSnapshot(exchange: Exchange, { host }: HttpContext): Promise<Reply> {
  const { database } = openTarget(exchange, host);
  const job = await host.snapshots.take(callerOf(exchange), database);
  return json(202, JSON.stringify({ job }));
}

/** `GET /v1/database/:db/history/status`. Times are microseconds since the Unix epoch. */
export async function historyStatus(exchange: Exchange, { host }: HttpContext): Promise<Reply> {
  const { database } = openTarget(exchange, host);
  const status = await host.snapshots.status(callerOf(exchange), database);
  const { offset, durableOffset, snapshots } = status;
  const newest =
    snapshots.offset < 0
      ? null
      : {
          offset: snapshots.offset,
          begun: snapshots.begunMicros,
          bytes: snapshots.bytes === 0 ? null : snapshots.bytes,
        };
  const body = {
    offset,
    durable_offset: durableOffset,
    newest_snapshot: newest,
    log_bytes_since: snapshots.logBytes,
    taken: snapshots.taken,
    failures: snapshots.failures,
    given_up: snapshots.givenUp,
    running:
      snapshots.rowCount === 0 ? null : { rows: snapshots.rowCount, read: snapshots.rowsRead },
  };
  return json(200, JSON.stringify(body));
}

import type { WatchFigures } from '../database/watch-figures.ts';
import type { Client } from '../doors/clients.ts';
import { connectionIdFromHex, connectionIdToHex } from '../values/connection-id.ts';
import { connectionNumber } from '../values/connection-number.ts';
import { identityToHex } from '../values/identity.ts';
import { callerOf, type HttpContext, targetOf } from './context.ts';
import { type Exchange, empty, json, type Reply, text } from './exchange.ts';

const uncached = { 'cache-control': 'no-cache' };

/** `GET /v1/database/:db/connections`: who is connected, the oldest first. */
export async function listConnections(
  exchange: Exchange,
  { host, clients }: HttpContext,
): Promise<Reply> {
  const database = host.database(targetOf(exchange));
  host.access.require(callerOf(exchange), database, 'viewConnections');
  const { identity } = database;
  const listed = (await clients.list?.(identity)) ?? clients.of(identity);
  return json(200, JSON.stringify(listed.map(shownClient)), uncached);
}

function shownClient({ id, identity, sinceMillis, ...client }: Client) {
  return {
    id: connectionIdToHex(id),
    identity: identityToHex(identity),
    since: new Date(sinceMillis).toISOString(),
    address: client.address,
    protocol: client.protocol,
    queued_bytes: client.queuedBytes,
    sent_bytes_per_second: client.sentBytesPerSecond,
    queries: client.queries,
    ...(client.host !== undefined && { host: client.host }),
  };
}

/** `DELETE /v1/database/:db/connections/:id`: closes it; the client may connect again. */
export async function disconnect(exchange: Exchange, context: HttpContext): Promise<Reply> {
  const { host, clients } = context;
  const caller = callerOf(exchange);
  const database = host.database(targetOf(exchange));
  host.access.require(caller, database, 'disconnectClients');
  const id = exchange.params.id ?? '';
  const parsed = connectionIdFromHex(id);
  const reason = 'disconnected by the owner';
  const count =
    parsed === undefined
      ? 0
      : clients.disconnect(database.identity, connectionNumber(parsed), reason);
  if (count === 0) return text(404, 'No such connection');
  const note = { action: 'disconnect client', caller, database: database.identity } as const;
  await host.audit.note({ ...note, outcome: 'done', detail: { connection: id } });
  return empty(200);
}

/** `GET /v1/database/:db/watches`: watched queries, those that took the most time first. */
export async function listWatches(exchange: Exchange, { host }: HttpContext): Promise<Reply> {
  const { handle, ...database } = host.database(targetOf(exchange));
  host.access.require(callerOf(exchange), database, 'viewWatches');
  // Nobody watches one that does not serve, and looking does not open it.
  const watches = handle.statistics().state === 'serving' ? await handle.watches() : [];
  return json(200, JSON.stringify(watches.map(shownWatch)), uncached);
}

function shownWatch({ sql, subscribers, kind, reason, ...watch }: WatchFigures) {
  return {
    ...{ sql, subscribers, kind },
    ...(reason !== undefined && { reason }),
    evaluations: watch.evaluations,
    micros_mean: Math.round(watch.microsMean * 10) / 10,
    rows: watch.rows ?? null,
  };
}

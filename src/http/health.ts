import type { DatabaseHealth, WaitingPart } from '../host/health.ts';
import { callerOf, type HttpContext, targetOf } from './context.ts';
import { type Exchange, json, type Reply } from './exchange.ts';

/** `GET /v1/health`: the process answers. */
export function processHealth({ packageName, version }: HttpContext): Reply {
  const body = { nodes: [0], package_name: packageName, schedulable: true, version };
  return json(200, JSON.stringify(body));
}

/**
 * `GET /v1/database/:db/health`: 200 while all parts of a database are fine, else 503. With
 * `?detail`, for developers and above, which part is not.
 */
export function databaseHealth(exchange: Exchange, { host }: HttpContext): Reply {
  const database = host.database(targetOf(exchange));
  const wantsDetail = detailIn(exchange);
  if (wantsDetail) host.access.require(callerOf(exchange), database, 'viewHealth');
  const health = database.handle.health();
  const body = wantsDetail ? detailed(health) : { ok: health.isFine };
  const headers = { 'cache-control': 'no-store' };
  return json(health.isFine ? 200 : 503, JSON.stringify(body), headers);
}

/** `?detail` says as much as `?detail=true`. */
function detailIn({ query }: Exchange): boolean {
  return query.string('detail') === '' || query.boolean('detail', false);
}

function detailed({ isFine, opened, commits, durability, fanOut }: DatabaseHealth) {
  return {
    ok: isFine,
    parts: {
      opened: { ok: opened.isFine, state: opened.state },
      commits: shown(commits),
      durability: { ...shown(durability), read_only: durability.isReadOnly },
      fan_out: shown(fanOut),
    },
  };
}

function shown({ isFine, waitingMillis }: WaitingPart) {
  return { ok: isFine, waiting_seconds: waitingMillis / 1_000 };
}

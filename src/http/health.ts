import type { DatabaseHandle } from '../host/supervision/database-handle.ts';
import type { DatabaseHealth, WaitingPart } from '../host/supervision/health.ts';
import { limits } from '../limits.ts';
import type { ClusterDesk } from './cluster-desk.ts';
import { callerOf, type HttpContext, targetOf } from './context.ts';
import { type Exchange, json, type Reply } from './exchange.ts';

/**
 * `GET /v1/health`: responds as long as the process runs. With `?detail`, operators also see its
 * cluster, and its part in each database.
 */
export async function processHealth(exchange: Exchange, context: HttpContext): Promise<Reply> {
  const { packageName, version, publicUrl, host, cluster } = context;
  const known = publicUrl === undefined ? {} : { public_url: publicUrl };
  const body = { nodes: [0], package_name: packageName, schedulable: true, version, ...known };
  if (!detailIn(exchange)) return json(200, JSON.stringify(body));
  await exchange.settleCaller('required');
  host.access.requireOperator(callerOf(exchange), 'view health');
  const status = cluster === undefined ? null : await clusterHealth(cluster);
  const detailed = JSON.stringify({ ...body, cluster: status });
  return json(200, detailed, { 'cache-control': 'no-store' });
}

async function clusterHealth(cluster: ClusterDesk): Promise<object> {
  const [status, databases] = await Promise.all([cluster.status(), cluster.databases()]);
  return { ...status, not_ready: cluster.notReady() ?? null, databases };
}

/**
 * `GET /v1/database/:db/health`: 200 if all parts of a database are healthy, else 503. With
 * `?detail`, developers and above also see which part is not.
 */
export function databaseHealth(exchange: Exchange, { host }: HttpContext): Reply {
  const database = host.database(targetOf(exchange));
  if (!detailIn(exchange)) {
    const ok = isFine(database.handle);
    return healthReply(ok, { ok });
  }
  host.access.require(callerOf(exchange), database, 'viewHealth');
  const health = database.handle.health();
  return healthReply(health.isFine, detailed(health));
}

function healthReply(ok: boolean, body: object): Reply {
  return json(ok ? 200 : 503, JSON.stringify(body), { 'cache-control': 'no-store' });
}

/** The last health result of each database, reused for requests without `?detail`. */
const lastLooks = new WeakMap<DatabaseHandle, { readonly at: number; readonly isFine: boolean }>();

/** Returns a recent result if any: a check visits all connections, and anyone can request it. */
function isFine(handle: DatabaseHandle): boolean {
  const at = performance.now();
  const last = lastLooks.get(handle);
  if (last !== undefined && at - last.at < limits.healthKeptMillis) return last.isFine;
  const health = handle.health();
  lastLooks.set(handle, { at, isFine: health.isFine });
  return health.isFine;
}

/** Treats `?detail` as `?detail=true`. */
function detailIn({ query }: Exchange): boolean {
  return query.string('detail') === '' || query.boolean('detail', false);
}

function detailed(health: DatabaseHealth) {
  const { opened, commits, durability, fanOut, schedules, snapshots, secrets } = health;
  return {
    ok: health.isFine,
    parts: {
      opened: { ok: opened.isFine, state: opened.state },
      commits: shown(commits),
      durability: { ...shown(durability), read_only: durability.isReadOnly },
      fan_out: shown(fanOut),
      schedules: { ...shown(schedules), paused: schedules.isPaused },
      snapshots: { ok: snapshots.isFine, failures: snapshots.failures },
      secrets: { ok: secrets.isFine, unreadable: secrets.unreadable },
    },
  };
}

function shown({ isFine, waitingMillis }: WaitingPart) {
  return { ok: isFine, waiting_seconds: waitingMillis / 1_000 };
}

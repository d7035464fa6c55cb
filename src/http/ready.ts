import type { ClusterDesk } from './cluster-desk.ts';
import { json, type Reply } from './exchange.ts';

/** The path where load balancers ask whether this service accepts requests. */
export const readyPath = '/v1/ready';

/**
 * Why it does not: it opens its databases, or finishes requests before a stop; or it is a host of a
 * cluster that gives its databases away, that lacks its secret or its engine, whose copy of the
 * registry is old, or whose disk fails.
 */
type Reason = 'starting' | 'stopping' | 'draining' | 'secret' | 'engine' | 'registry' | 'disk';

/** The response while it does not. */
export function notReady(reason: Reason): Reply {
  const body = JSON.stringify({ ready: false, reason });
  return json(503, body, { 'retry-after': '1', 'cache-control': 'no-store' });
}

/** Returns the response of a service that has started. */
export function readiness(stopping: AbortSignal, cluster?: Pick<ClusterDesk, 'notReady'>): Reply {
  const reason = stopping.aborted ? 'stopping' : cluster?.notReady();
  return reason === undefined ? json(200, '{"ready":true}') : notReady(reason);
}

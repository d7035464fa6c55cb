import { json, type Reply } from './exchange.ts';

/** The path where load balancers ask whether this service accepts requests. */
export const readyPath = '/v1/ready';

/** The response while it does not: it opens its databases, or finishes requests before a stop. */
export function notReady(reason: 'starting' | 'stopping'): Reply {
  const body = JSON.stringify({ ready: false, reason });
  return json(503, body, { 'retry-after': '1', 'cache-control': 'no-store' });
}

/** Returns the response of a service that has started. */
export function readiness(stopping: AbortSignal): Reply {
  return stopping.aborted ? notReady('stopping') : json(200, '{"ready":true}');
}

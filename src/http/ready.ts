import { json, type Reply } from './exchange.ts';

/** Where what spreads requests over services asks whether this one takes any. */
export const readyPath = '/v1/ready';

/** The answer while it does not: it opens its databases, or lets requests end before it stops. */
export function notReady(reason: 'starting' | 'stopping'): Reply {
  const body = JSON.stringify({ ready: false, reason });
  return json(503, body, { 'retry-after': '1', 'cache-control': 'no-store' });
}

/** The answer of a service that has started. */
export function readiness(stopping: AbortSignal): Reply {
  return stopping.aborted ? notReady('stopping') : json(200, '{"ready":true}');
}

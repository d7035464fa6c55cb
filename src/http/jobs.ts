import { present } from '../assert.ts';
import type { Job } from '../host/databases/jobs.ts';
import { identityToHex } from '../values/identity.ts';
import { callerOf, type HttpContext } from './context.ts';
import { type Exchange, empty, json, type Reply } from './exchange.ts';

/** `GET /v1/jobs/:id`: how far a job is, for those who started it and for operators. */
export function showJob(exchange: Exchange, { host }: HttpContext): Reply {
  const job = host.jobs.find(callerOf(exchange), idOf(exchange));
  return json(200, JSON.stringify(shown(job)), { 'cache-control': 'no-store' });
}

/** `DELETE /v1/jobs/:id` cancels it, or forgets one that has ended. */
export function cancelJob(exchange: Exchange, { host }: HttpContext): Reply {
  host.jobs.cancel(callerOf(exchange), idOf(exchange));
  return empty(200);
}

function idOf({ params }: Exchange): string {
  return present(params.id, 'the path parameter :id');
}

function shown({ id, kind, database, state, phase, done, total, result, error }: Job) {
  return {
    ...{ id, kind, database: identityToHex(database), state, phase, done, total },
    ...{ result: result ?? null, error: error ?? null },
  };
}

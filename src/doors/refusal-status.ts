import { unreachable } from '../assert.ts';
import type { RefusalBody } from '../database/outcome.ts';

/**
 * Maps each refusal to its HTTP status, including that of a connection refused before it is
 * upgraded. A new code breaks the build here.
 */
export function statusOf(code: RefusalBody['code']): number {
  if (code === 'jobs.tooManyOfOne' || code === 'requests.tooManyOfOne') return 429;
  switch (code) {
    case 'name.invalid':
    case 'name.taken':
    case 'publish.invalid':
    case 'migration.refused':
    case 'migration.breaksClients':
    case 'migration.invalidToken':
    case 'migration.failed':
    case 'grants.tooMany':
    case 'env.missing':
    case 'env.invalid':
    case 'idempotency.invalid':
    case 'history.invalid':
    case 'history.future':
    case 'backup.invalid':
      return 400;
    case 'name.notYours':
    case 'creation.forbidden':
      return 401;
    case 'caller.notAuthorized':
    case 'caller.notOperator':
    case 'token.limited':
    case 'databases.tooMany':
    case 'names.tooMany':
    case 'database.locked':
      return 403;
    case 'name.unknown':
    case 'database.unknown':
    case 'token.unknown':
    case 'schedule.unknown':
    case 'deploy.unknown':
    case 'env.unknown':
    case 'backup.unknownObject':
    case 'history.off':
    case 'job.unknown':
      return 404;
    case 'restore.conflict':
    case 'migration.cancelled':
    case 'migration.running':
    case 'schedule.paused':
    case 'static.missing':
    case 'env.needed':
    case 'history.other':
    case 'database.reset':
      return 409;
    case 'program.invalid':
    case 'init.failed':
    case 'database.broken':
    case 'value.tooLong':
      return 500;
    case 'database.notLeader':
      return 421;
    case 'database.noLeader':
    case 'database.noEngine':
    case 'database.overloaded':
    case 'database.opening':
    case 'database.stopped':
    case 'database.lost':
    case 'jobs.tooMany':
    case 'history.busy':
      return 503;
    case 'durability.timeout':
      return 504;
    case 'quota.exceeded':
    case 'database.full':
      return 507;
    default:
      return unreachable(code);
  }
}

import { Refusal } from '../../database/outcome.ts';
import type { RegistryAnswer } from '../replication/registry-change.ts';

/** What another host gets for a change that was refused here. */
export function answerOf(error: unknown): RegistryAnswer {
  if (!(error instanceof Refusal)) throw error;
  const { code, message } = error.body;
  if (code === 'database.notLeader') return { kind: 'notLeader' };
  return { kind: 'refused', body: { code, message } };
}

/** The error's words are about a database, and the caller means another one. */
export function refuseForRegistry(error: unknown): never {
  if (!(error instanceof Refusal)) throw error;
  const message = `The registry of the service could not be changed. ${error.body.message}`;
  throw new Refusal({ ...error.body, message }, { cause: error });
}

/** Tables of this version are not made while a host of an earlier one may lead the registry. */
export function earlierHostsRefusal(): Refusal {
  const message =
    'A host of an earlier version is in the cluster, which does not know this. Upgrade it, or, ' +
    'if it will not come back, have it forgotten with `reducerdb cluster forget <host>`';
  return new Refusal({ code: 'migration.refused', message });
}

import type { RequestCaller } from '../auth/caller.ts';
import type { Host } from '../host/host.ts';
import type { DatabaseRecord } from '../host/host-types.ts';
import { identityToHex } from '../values/identity.ts';

/**
 * What a caller is told of when it asks which databases there are: those that it owns, all of the
 * host for an operator, and for a limited token the one that it is for. In the order of creation.
 */
export function listedDatabases(host: Host, caller: RequestCaller): readonly DatabaseRecord[] {
  const { capability, identity } = caller;
  if (capability !== undefined) {
    return host.databases.filter((one) => one.identity === capability.database);
  }
  const isOperator = host.access.isOperator(caller);
  return host.databases.filter(({ owner }) => isOperator || owner === identity);
}

/** The same as JSON. */
export function databasesJson(host: Host, caller: RequestCaller): string {
  const databases = listedDatabases(host, caller).map(({ identity }) => ({
    identity: identityToHex(identity),
    names: host.namesOf(identity),
  }));
  return JSON.stringify({ databases });
}

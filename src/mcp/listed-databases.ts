import type { RequestCaller } from '../auth/caller.ts';
import type { Host } from '../host/host.ts';
import type { DatabaseRecord } from '../host/registry/database-record.ts';
import { identityToHex } from '../values/identity.ts';
import { owns } from '../values/identity-roles.ts';

/**
 * Lists the databases visible to a caller: its own, all of the host for an operator, and only its
 * own database for a limited token. In the order of creation.
 */
export function listedDatabases(host: Host, caller: RequestCaller): readonly DatabaseRecord[] {
  const { capability, identity } = caller;
  if (capability !== undefined) {
    return host.databases.filter((one) => one.identity === capability.database);
  }
  const isOperator = host.access.isOperator(caller);
  return host.databases.filter(({ owner }) => isOperator || owns(identity, owner));
}

/** Returns the listed databases as JSON. */
export function databasesJson(host: Host, caller: RequestCaller): string {
  const databases = listedDatabases(host, caller).map(({ identity }) => ({
    identity: identityToHex(identity),
    names: host.namesOf(identity),
  }));
  return JSON.stringify({ databases });
}

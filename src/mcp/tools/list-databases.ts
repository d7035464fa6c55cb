import type { DatabaseRecord, HostCaller } from '../../host/host-types.ts';
import { identityToHex } from '../../values/identity.ts';
import type { ToolSource } from '../tool.ts';

/**
 * Lists what the caller owns; all of the host for an operator, and for a limited token the one
 * database that it is for.
 */
export const listDatabases: ToolSource = {
  name: 'list_databases',
  title: 'List databases',
  description: 'The databases that you own on this host, each with its identity and names.',
  properties: {},
  required: [],
  takesDatabase: false,
  isReadOnly: true,
  run: async (_args, { session: { host, caller } }) => {
    const isListed = listedFor(caller, host.access.isOperator(caller));
    const databases = host.databases.filter(isListed).map(({ identity }) => ({
      identity: identityToHex(identity),
      names: host.namesOf(identity),
    }));
    return JSON.stringify({ databases });
  },
};

function listedFor({ identity, capability }: HostCaller, isOperator: boolean) {
  if (capability !== undefined)
    return (one: DatabaseRecord) => one.identity === capability.database;
  return ({ owner }: DatabaseRecord) => isOperator || owner === identity;
}

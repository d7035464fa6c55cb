import { identityToHex } from '../../values/identity.ts';
import type { Tool } from '../tool.ts';

/** Lists what the caller owns; for a limited token, the one database that it is for. */
export const listDatabases: Tool = {
  name: 'list_databases',
  title: 'List databases',
  description: 'The databases that you own on this host, each with its identity and names.',
  properties: {},
  required: [],
  takesDatabase: false,
  isReadOnly: true,
  run: async (_args, { host, caller }) => {
    const { capability } = caller;
    const identities =
      capability === undefined
        ? host.databasesOwnedBy(caller.identity)
        : [capability.database].filter((identity) => host.has(identity));
    const databases = identities.map((identity) => ({
      identity: identityToHex(identity),
      names: host.namesOf(identity),
    }));
    return JSON.stringify({ databases });
  },
};

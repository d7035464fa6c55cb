import { identityToHex } from '../../values/identity.ts';
import type { Tool } from '../tool.ts';

/** Lists what the caller owns. */
export const listDatabases: Tool = {
  name: 'list_databases',
  title: 'List databases',
  description: 'The databases that you own on this host, each with its identity and names.',
  properties: {},
  required: [],
  takesDatabase: false,
  isReadOnly: true,
  run: async (_args, { host, caller }) => {
    const databases = host.databasesOwnedBy(caller.identity).map((identity) => ({
      identity: identityToHex(identity),
      names: host.namesOf(identity),
    }));
    return JSON.stringify({ databases });
  },
};

import { databasesJson } from '../listed-databases.ts';
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
  run: async (_args, { session: { host, caller } }) => databasesJson(host, caller),
};

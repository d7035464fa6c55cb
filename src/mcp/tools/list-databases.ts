import { asData } from '../fence.ts';
import { databasesJson } from '../listed-databases.ts';
import { objectSchema, stringsSchema, type ToolSource } from '../tool.ts';

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
  outputSchema: objectSchema({
    databases: {
      type: 'array',
      items: objectSchema({
        identity: { type: 'string' },
        names: stringsSchema,
      }),
    },
  }),
  takesDatabase: false,
  effect: 'reads',
  run: async (_args, { session }) => {
    const structured = databasesJson(session.host, session.caller);
    return { texts: [asData(session, structured)], structured };
  },
};

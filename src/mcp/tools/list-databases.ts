import { asData } from '../fence.ts';
import { databasesJson } from '../listed-databases.ts';
import { objectSchema, stringsSchema, type ToolSource } from '../tool.ts';

/** Lists the caller's databases; for operators all, for a limited token its only one. */
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

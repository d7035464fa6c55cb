import { shownDefinition } from '../../host/shown-definition.ts';
import { schemaJson } from '../../schema/schema-json.ts';
import { asData } from '../fence.ts';
import { openDatabase } from '../open-database.ts';
import { quoteWideIntegers } from '../structured.ts';
import { databaseArgument, objectSchema, type ToolSource } from '../tool.ts';

/** Shows what a database is made of. */
export const getSchema: ToolSource = {
  name: 'get_schema',
  title: 'Get schema',
  description:
    'The schema as JSON: types, tables (private ones too) and reducers with their parameters.',
  properties: {},
  required: [],
  outputSchema: objectSchema({
    typespace: { type: 'object' },
    tables: { type: 'array' },
    reducers: { type: 'array' },
  }),
  takesDatabase: true,
  effect: 'reads',
  run: async (args, context) => {
    const { handle, caller } = openDatabase(databaseArgument(args, context), context);
    const { definition } = await handle.describe();
    const { session } = context;
    const schema = schemaJson(shownDefinition(definition, session.caller, caller.rights), 9);
    return { texts: [asData(session, schema)], structured: quoteWideIntegers(schema) };
  },
};

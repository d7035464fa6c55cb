import { asData } from '../fence.ts';
import { openDatabase } from '../open-database.ts';
import { shownSchema } from '../shown-schema.ts';
import { quoteWideIntegers } from '../structured.ts';
import { databaseArgument, objectSchema, type ToolSource } from '../tool.ts';

/** Shows the schema of a database. */
export const getSchema: ToolSource = {
  name: 'get_schema',
  title: 'Get schema',
  description:
    'The schema as JSON: types, tables (private ones too) and reducers with their parameters; ' +
    'procedures are in misc_exports.',
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
    const { session } = context;
    const open = openDatabase(databaseArgument(args, context), context);
    const schema = await shownSchema(open, session);
    return { texts: [asData(session, schema)], structured: quoteWideIntegers(schema) };
  },
};

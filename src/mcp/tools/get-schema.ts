import { shownDefinition } from '../../host/shown-definition.ts';
import { schemaJson } from '../../schema/schema-json.ts';
import { openDatabase } from '../open-database.ts';
import { databaseArgument, type ToolSource } from '../tool.ts';

/** Shows what a database is made of. */
export const getSchema: ToolSource = {
  name: 'get_schema',
  title: 'Get schema',
  description:
    'The schema as JSON: types, tables (private ones too) and reducers with their parameters.',
  properties: {},
  required: [],
  takesDatabase: true,
  isReadOnly: true,
  run: async (args, context) => {
    const { handle, caller } = openDatabase(databaseArgument(args, context), context);
    const { definition } = await handle.describe();
    return schemaJson(shownDefinition(definition, context.session.caller, caller.rights), 9);
  },
};

import { temporaryConnection } from '../../host/temporary-connection.ts';
import { sqlResultJson } from '../../protocol/sql-result.ts';
import { openDatabase } from '../open-database.ts';
import { databaseArgument, stringArgument, type Tool, ToolFailure } from '../tool.ts';

/** Runs one SQL statement. */
export const sql: Tool = {
  name: 'sql',
  title: 'Run SQL',
  description:
    'Runs one SQL statement and returns its rows as JSON. Reads see public tables; writes need ' +
    'ownership of the database. With `confirmed`, the answer waits until what it shows is durable.',
  properties: {
    sql: { type: 'string', description: 'One SQL statement.' },
    confirmed: { type: 'boolean', description: 'Wait for durability; true unless set to false.' },
  },
  required: ['sql'],
  takesDatabase: true,
  isReadOnly: false,
  run: async (args, context) => {
    const database = databaseArgument(args, context);
    const statement = stringArgument(args, 'sql');
    const { handle, caller } = openDatabase(database, context);
    const outcome = await handle.query({
      caller,
      connection: temporaryConnection(),
      sql: statement,
      confirmed: args.get('confirmed') !== false,
    });
    if (outcome.kind === 'result') return sqlResultJson(outcome);
    const { error } = outcome;
    throw new ToolFailure(
      error.code === 'sql.noTable' ? `no such table: ${error.table}` : error.message,
    );
  },
};

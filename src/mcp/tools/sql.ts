import type { SqlError } from '../../database/outcome.ts';
import { temporaryConnection } from '../../host/temporary-connection.ts';
import { RpcError, rpcCode } from '../../mcp-protocol/rpc-error.ts';
import {
  SqlParametersError,
  type SqlParameterValues,
  sqlParametersFromJson,
} from '../../protocol/sql-parameters.ts';
import { sqlResultJson } from '../../protocol/sql-result.ts';
import type { JsonObject } from '../../values/json.ts';
import { openDatabase } from '../open-database.ts';
import { databaseArgument, stringArgument, ToolFailure, type ToolSource } from '../tool.ts';

/** Runs one SQL statement. */
export const sql: ToolSource = {
  name: 'sql',
  title: 'Run SQL',
  description:
    'Runs one SQL statement and returns its rows as JSON. Reads see public tables; writes need ' +
    'ownership of the database. Joins, aggregates, subqueries, CTEs and EXPLAIN are there. ' +
    'Values of $1, $2, … may come in one more argument, the array `params`. ' +
    'With `confirmed`, the answer waits until what it shows is durable.',
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
    const parameters = parametersArgument(args);
    const { handle, caller } = openDatabase(database, context);
    const outcome = await handle.query({
      caller,
      connection: temporaryConnection(),
      sql: statement,
      ...(parameters === undefined ? {} : { parameters }),
      confirmed: args.get('confirmed') !== false,
    });
    if (outcome.kind === 'result') return sqlResultJson(outcome);
    throw failureOf(outcome.error);
  },
};

/** Not among the declared properties: the shape of the five tools is fixed. */
function parametersArgument(args: JsonObject): SqlParameterValues | undefined {
  const given = args.get('params');
  if (given === undefined || given === null) return undefined;
  try {
    return sqlParametersFromJson(given);
  } catch (error) {
    if (!(error instanceof SqlParametersError)) throw error;
    throw new RpcError(rpcCode.invalidParams, error.message);
  }
}

/**
 * The text of the HTTP door, and behind it the place and what to try instead. A table that is not
 * there has a short text of its own, and nothing behind it.
 */
function failureOf(error: SqlError): ToolFailure {
  if (error.code === 'sql.noTable') return new ToolFailure(`no such table: ${error.table}`);
  const { message, place, hint } = error;
  const where = place === undefined ? [] : [`At line ${place.line}, column ${place.column}.`];
  const advice = [...where, ...(hint === undefined ? [] : [hint])].join(' ');
  return new ToolFailure(message, advice === '' ? undefined : advice);
}

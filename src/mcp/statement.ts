import type { SqlError, SqlRequest } from '../database/outcome.ts';
import { RpcError, rpcCode } from '../mcp-protocol/rpc-error.ts';
import {
  SqlParametersError,
  type SqlParameterValues,
  sqlParametersFromJson,
} from '../protocol/sql-parameters.ts';
import type { JsonObject } from '../values/json.ts';
import { stringArgument, ToolFailure } from './tool.ts';

/** Values of a statement's parameters, as a tool declares them. */
export const parametersProperty = {
  type: ['array', 'object'],
  description: 'Values of $1, $2, … as an array, or of :name as an object.',
} as const;

/** What to ask of a database, in the arguments of a tool. Throws `RpcError` for another shape. */
export function statementArgument(args: JsonObject): Pick<SqlRequest, 'sql' | 'parameters'> {
  const sql = stringArgument(args, 'sql');
  const parameters = parametersArgument(args);
  return parameters === undefined ? { sql } : { sql, parameters };
}

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
export function sqlFailure(error: SqlError): ToolFailure {
  if (error.code === 'sql.noTable') return new ToolFailure(`no such table: ${error.table}`);
  const { message, place, hint } = error;
  const where = place === undefined ? [] : [`At line ${place.line}, column ${place.column}.`];
  const advice = [...where, ...(hint === undefined ? [] : [hint])].join(' ');
  return new ToolFailure(message, advice === '' ? undefined : advice);
}

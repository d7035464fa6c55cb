import type { SqlError, SqlRequest } from '../database/outcome.ts';
import { ownText } from '../mcp-protocol/own-text.ts';
import { invalidParams } from '../mcp-protocol/rpc-error.ts';
import {
  SqlParametersError,
  type SqlParameterValues,
  sqlParametersFromJson,
} from '../protocol/sql-parameters.ts';
import type { JsonObject } from '../values/json.ts';
import { refusedConnectionText } from './refused-connection.ts';
import { stringArgument, ToolFailure } from './tool.ts';

/** Parameter values of a statement, as a tool declares them. */
const scalarTypes = ['string', 'number', 'boolean', 'null'] as const;

export const parametersProperty = {
  type: ['array', 'object'],
  items: { type: [...scalarTypes, 'array'], items: { type: scalarTypes } },
  description: 'Values of $1, $2, … as an array, or of :name as an object.',
} as const;

/**
 * Reads a statement from the arguments of a tool, copied because cursors and previews keep it after
 * the request. Throws `RpcError` for any other shape.
 */
export function statementArgument(args: JsonObject): Pick<SqlRequest, 'sql' | 'parameters'> {
  const sql = ownText(stringArgument(args, 'sql'));
  const parameters = parametersArgument(args);
  return parameters === undefined ? { sql } : { sql, parameters };
}

function parametersArgument(args: JsonObject): SqlParameterValues | undefined {
  const given = args.get('params');
  if (given === undefined || given === null) return undefined;
  try {
    const own = [...sqlParametersFromJson(given)].map(
      ([name, value]) =>
        [ownText(name), typeof value === 'string' ? ownText(value) : value] as const,
    );
    return new Map(own);
  } catch (error) {
    if (!(error instanceof SqlParametersError)) throw error;
    throw invalidParams(error.message);
  }
}

/**
 * Creates a failure with the text of the HTTP door, and the position and a hint as advice. A
 * missing table has a short text of its own. `show` formats text that users wrote: a module's
 * rejection of the caller, and a run-time error, which has no position and may contain a value of a
 * row.
 */
export function sqlFailure(error: SqlError, show: (data: string) => string): ToolFailure {
  const { message, place, hint } = error;
  if (error.code === 'sql.noTable') {
    return new ToolFailure(`no such table: ${error.table}`, hint);
  }
  if (error.code === 'connection.refused') {
    return new ToolFailure(refusedConnectionText(message, show));
  }
  const isOfData = error.code === 'sql.invalid' && place === undefined;
  const where = place === undefined ? [] : [`At line ${place.line}, column ${place.column}.`];
  const advice = [...where, ...(hint === undefined ? [] : [hint])].join(' ');
  return new ToolFailure(isOfData ? show(message) : message, advice === '' ? undefined : advice);
}

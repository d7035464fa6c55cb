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

/** Values of a statement's parameters, as a tool declares them. */
export const parametersProperty = {
  type: ['array', 'object'],
  items: { type: ['string', 'number', 'boolean', 'null'] },
  description: 'Values of $1, $2, … as an array, or of :name as an object.',
} as const;

/**
 * What to ask of a database, in the arguments of a tool. Cursors and previews keep it when the
 * request has been answered. Throws `RpcError` for another shape.
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
 * The text of the HTTP door, and behind it the place and what to try instead. A table that is not
 * there has a short text of its own, and nothing behind it. `show` is what becomes of words that
 * users wrote: those of a module that does not let the caller in, and those of an error that came
 * up while the statement ran, which names no place in it and may name a value of a row.
 */
export function sqlFailure(error: SqlError, show: (data: string) => string): ToolFailure {
  if (error.code === 'sql.noTable') return new ToolFailure(`no such table: ${error.table}`);
  const { message, place, hint } = error;
  if (error.code === 'connection.refused') {
    return new ToolFailure(refusedConnectionText(message, show));
  }
  const isOfData = error.code === 'sql.invalid' && place === undefined;
  const where = place === undefined ? [] : [`At line ${place.line}, column ${place.column}.`];
  const advice = [...where, ...(hint === undefined ? [] : [hint])].join(' ');
  return new ToolFailure(isOfData ? show(message) : message, advice === '' ? undefined : advice);
}
